#include "statistics_input.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "data/feature_source.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

const char* scaling_name(FeatureScaling scaling) {
  return scaling == FeatureScaling::none ? "none" : scaling == FeatureScaling::l2 ? "l2" : "sqrt-l2";
}

std::vector<std::string> files_in(const std::string& list, const std::string& option) {
  std::vector<std::string> files;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    files.push_back(list.substr(start, end - start));
    if (files.back().empty())
      throw Error(ErrorCode::usage, fmt::format("--{}: expected files separated by commas, found '{}'", option, list));
    if (std::ranges::count(files, files.back()) > 1)
      throw Error(ErrorCode::usage,
                  fmt::format("--{}: expected each file only once, found '{}' twice", option, files.back()));
    start = end + 1;
  }
  return files;
}

}  // namespace

StatisticsInput read_statistics(const std::string& list, const std::string& option, ProgressObserver* progress) {
  StatisticsInput input;
  const auto files = files_in(list, option);
  for (std::size_t f = 0; f < files.size(); ++f) {
    report(progress, {"load statistics", f, files.size(), "files"});
    Statistics one = load_statistics(files[f]);
    input.parts.push_back({std::filesystem::path(files[f]).filename().string(), one.samples(), one.weight()});
    if (f == 0) {
      input.sum = std::move(one);
      continue;
    }
    try {
      input.sum.merge(one);
    } catch (const Error& error) {
      const BadInput what = error.parts();
      throw Error(BadInput{files[f], what.field, what.expected + ", as in " + files[0], what.found, what.advice});
    }
  }
  return input;
}

Statistics sum_of_processes(Statistics own, Processes& processes) {
  if (processes.size() == 1) return own;
  // Kept samples and classes of other processes go with the sums: the file format has all of it.
  const auto folder = std::filesystem::temp_directory_path();
  const auto file = folder / fmt::format("parsnets-statistics-{}-{}", ::getpid(), processes.rank());
  struct Removed {
    const std::filesystem::path& file;
    ~Removed() {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
    }
  } removed{file};
  save_statistics(own, file);
  const auto all = processes.gather(read_text_file(file));
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    write_text_file(file, all[rank]);
    own.merge(load_statistics(file));
  }
  return own;
}

nlohmann::ordered_json statistics_info(const Statistics& statistics) {
  std::size_t kept = 0;
  for (const auto& rows : statistics.kept_rows()) kept += rows.size();
  nlohmann::ordered_json json{
      {"samples", statistics.samples()},
      {"weight", statistics.weight()},
      {"classes", std::ranges::count_if(statistics.class_weights(), [](double w) { return w > 0; })},
      {"features", statistics.dimensions()},
      {"feature_scaling", scaling_name(statistics.scaling())},
      {"groups", statistics.options().groups},
      {"kept_rows_per_class", statistics.options().kept_rows},
      {"kept_rows", kept}};
  if (statistics.source()) json["source"] = to_json(*statistics.source());
  return json;
}

std::string statistics_text(const nlohmann::ordered_json& facts) {
  return fmt::format("statistics of {} samples of {} classes, {} features, scaling {}, {} groups, {} kept rows",
                     facts["samples"].get<std::uint64_t>(), facts["classes"].get<std::uint64_t>(),
                     facts["features"].get<std::uint64_t>(), facts["feature_scaling"].get<std::string>(),
                     facts["groups"].get<std::uint64_t>(), facts["kept_rows"].get<std::uint64_t>());
}

}  // namespace parsnets::cli
