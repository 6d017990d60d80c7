#include "base/json_file.hpp"

#include "base/file.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

nlohmann::json parse_json(std::string_view text, const std::string& file) {
  constexpr int kDeepest = 32;
  try {
    return nlohmann::json::parse(text, [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
      if (depth > kDeepest)
        throw Error(BadInput{file, "", "JSON nested at most 32 levels deep", "deeper nesting", "correct the JSON"});
      return true;
    });
  } catch (const nlohmann::json::exception& e) {
    std::string_view problem = e.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
    if (const auto name = problem.find("] "); problem.starts_with('[') && name != std::string_view::npos)
      problem.remove_prefix(name + 2);
    throw Error(BadInput{file, "", "a JSON object", std::string(problem), "correct the JSON"});
  }
}

nlohmann::json read_json_file(const std::filesystem::path& file) {
  return parse_json(read_text_file(file), file.string());
}

}  // namespace parsnets
