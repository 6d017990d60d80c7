// A device file as a C header: words in hexadecimal, so that the array is aligned without compiler extensions.

#include <fmt/format.h>

#include <cctype>
#include <set>

#include "data/feature_source.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

std::string c_header(std::span<const std::byte> file, const std::string& name) {
  bool identifier = !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
  for (const char c : name) identifier = identifier && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_');
  static const std::set<std::string> reserved{
      "auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
      "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
      "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
      "switch", "typedef",  "union",    "unsigned", "void",  "volatile", "while",   "size_t", "uint32_t"};
  identifier = identifier && !reserved.contains(name);
  if (!identifier)
    throw Error(ErrorCode::usage, option_name("c-name") + ": expected a C identifier, found '" + name + "'");
  if (file.empty()) return "";
  const DeviceModel model({file.begin(), file.end()}, "the device file");
  std::string source;  // its names are left out: they might end the comment
  if (const auto& made = model.source())
    source = fmt::format(
        "\n * Features come from the network of sha256 {},\n * {} x {} {} {}: see pnrt_feature_source.", made->sha256,
        made->input.width, made->input.height, name_of(made->input.preset), name_of(made->input.fit));
  std::string text = fmt::format(
      "/* A device model exported by ParsNets. For pnrt_open(&model, {0}, {0}_bytes).\n"
      " * {0}_work_bytes: working memory of its calls, without a bank.{4} */\n"
      "#ifndef {0}_INCLUDED\n#define {0}_INCLUDED\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
      "enum {{ {0}_work_bytes = {3} }};\nstatic const size_t {0}_bytes = {1};\nstatic const uint32_t {0}[{2}] = {{\n",
      name, file.size(), file.size() / 4, model.work_bytes(), source);
  text.reserve(text.size() + file.size() * 3);
  for (std::size_t i = 0; i + 4 <= file.size(); i += 4) {
    std::uint32_t word = 0;
    for (std::size_t b = 0; b < 4; ++b) word |= std::to_integer<std::uint32_t>(file[i + b]) << (8 * b);
    fmt::format_to(std::back_inserter(text), "0x{:08x},{}", word, i % 40 == 36 ? "\n" : "");
  }
  return text + "\n};\n\n#endif\n";
}

}  // namespace parsnets
