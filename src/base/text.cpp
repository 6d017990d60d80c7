#include "base/text.hpp"

#include <algorithm>

#include "parsnets/error.hpp"

namespace parsnets {

bool append_utf8(std::string& text, std::uint32_t code_point) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff)) return false;
  if (code_point < 0x80) {
    put(code_point);
    return true;
  }
  const int more = code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;  // bytes after the first, of 6 bits each
  put((0xff00u >> (more + 1) & 0xff) | code_point >> 6 * more);
  for (int byte = more; byte-- > 0;) put(0x80 | (code_point >> 6 * byte & 0x3f));
  return true;
}

std::optional<std::uint32_t> next_code_point(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(position);
  if (first < 0x80) {
    ++position;
    return first;
  }
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() - position < length) return std::nullopt;
  std::uint32_t value = first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(position + i) & 0xc0) != 0x80) return std::nullopt;
    value = value << 6 | (byte(position + i) & 0x3f);
  }
  const std::uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (value < smallest || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return std::nullopt;
  position += length;
  return value;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();)
    if (!next_code_point(text, i)) return false;
  return true;
}

std::string escaped(std::string_view text, std::size_t longest) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() > longest) {
      out += "…";
      break;
    }
    const std::size_t start = i;
    const auto code_point = next_code_point(text, i);
    if (!code_point) i = start + 1;
    // C0 and C1 controls, and the line and paragraph separators, would break the line or the terminal.
    const bool plain = code_point && *code_point >= 0x20 && !(*code_point >= 0x7f && *code_point < 0xa0) &&
                       *code_point != 0x2028 && *code_point != 0x2029;
    if (plain)
      out += text.substr(start, i - start);
    else
      for (std::size_t k = start; k < i; ++k)
        for (const char digit : {'\\', 'x', kDigits[text[k] >> 4 & 15], kDigits[text[k] & 15]}) out += digit;
  }
  return out;
}

std::string escaped_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find_first_of("\n\t"), text.size());
    out += escaped(text.substr(0, length));
    if (length < text.size()) out += text[length];
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return out;
}

std::string in_quotes(std::string_view text) { return "'" + escaped(text, 39) + "'"; }

void require_printable(const std::vector<std::string>& names, const std::string& file, const std::string& field) {
  for (const auto& name : names)
    if (escaped(name) != name)
      throw Error(BadInput{file, field, "names in UTF-8 without control characters", in_quotes(name), "rename it"});
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= text.size(); start += parts.back().size() + 1)
    parts.push_back(text.substr(start, text.find_first_of(separators, start) - start));
  return parts;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string csv_cell(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // a reader would take it off
  if (text.find_first_of(",\"\r\n") == std::string_view::npos && !text.starts_with(kByteOrderMark))
    return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

std::string base64(std::string_view bytes) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() * 4 / 3 + 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::size_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
  return text;
}

std::unordered_map<std::string_view, std::size_t> places_by_name(const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < names.size(); ++i) places.emplace(names[i], i);
  return places;
}

namespace {

/// The optimal string alignment distance: insertions, deletions, replacements and exchanges of neighbours.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, const std::string& prefix) {
  constexpr std::size_t kLongest = 60;  // what is longer is no slip
  if (word.size() > kLongest) return "";
  std::size_t fewest = word.size() / 3 + 1;
  const std::string* nearest = nullptr;
  for (const auto& name : names)
    if (const std::size_t count = slips(word, name); count < fewest) {
      fewest = count;
      nearest = &name;
    }
  return nearest == nullptr ? "" : "; did you mean '" + prefix + *nearest + "'?";
}

}  // namespace parsnets
