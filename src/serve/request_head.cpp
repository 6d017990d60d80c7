#include "serve/request_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "serve/http.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostTarget = 8000;  // bytes; the library below refuses request lines of more than 8,192
constexpr std::size_t kMostLine = 8000;
constexpr std::size_t kMostHeaders = 100;

bool is_visible(std::string_view text, bool blanks) {
  return std::ranges::all_of(
      text, [&](unsigned char c) { return (c > ' ' && c != 127) || (blanks && (c == ' ' || c == '\t')); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

void parse_request_line(std::string_view line, RequestHead& head) {
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last || !is_token(line.substr(0, first)))
    throw HttpError(400, "the request line must be 'METHOD TARGET HTTP/1.1'");
  const std::string_view target = line.substr(first + 1, last - first - 1), version = line.substr(last + 1);
  if (!version.starts_with("HTTP/")) throw HttpError(400, "the request line must end in HTTP/1.1");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") throw HttpError(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  if (target.size() > kMostTarget)
    throw HttpError(414, fmt::format("the request target has more than {} bytes", kMostTarget));
  if (!target.starts_with('/') || !is_visible(target, false))
    throw HttpError(400, "the request target must be a path that begins with '/'");
  head.method = line.substr(0, first);
  head.target = target;
  head.http_1_0 = version == "HTTP/1.0";
}

void read_length(RequestHead& head) {
  std::size_t lengths = 0;
  for (const auto& [name, value] : head.headers) {
    if (name == "content-length") {
      std::uint64_t length = 0;
      const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), length);
      if (++lengths > 1 || value.empty() || failed != std::errc() || end != value.data() + value.size() ||
          !std::isdigit(static_cast<unsigned char>(value[0])))
        throw HttpError(400, "Content-Length must be a single number");
      head.length = length;
    } else if (name == "transfer-encoding") {
      // Chunks have no bound before they are read, and readers disagree on where they end.
      throw HttpError(411, "Transfer-Encoding is not supported; send Content-Length");
    }
  }
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

std::pair<std::string, std::string> parse_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)) || !is_visible(line, true))
    throw HttpError(400, "every header must have the form 'Name: value'");
  return {lower_case(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))};
}

std::string media_type(std::string_view header) { return lower_case(trimmed(header.substr(0, header.find(';')))); }

const std::string* RequestHead::find(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return &value;
  return nullptr;
}

bool RequestHead::closes() const {
  const std::string* connection = find("connection");
  const std::string wish = connection == nullptr ? "" : lower_case(*connection);
  return wish.find("close") != std::string::npos || (http_1_0 && wish.find("keep-alive") == std::string::npos);
}

std::string RequestHead::text() const {
  std::string out = fmt::format("{} {} HTTP/1.1\r\n", method, target);
  for (const char* name : {"content-length", "expect"})
    if (const std::string* value = find(name))
      out += fmt::format("{}: {}\r\n", name, name == std::string_view("expect") ? lower_case(*value) : *value);
  return out + "\r\n";
}

RequestHead parse_request_head(std::string_view text) {
  RequestHead head;
  for (std::size_t at = 0, number = 0; at < text.size(); ++number) {
    const auto end = text.find('\n', at);
    if (end == std::string_view::npos || end == at || text[end - 1] != '\r')
      throw HttpError(400, "every header line must end in CRLF");
    const std::string_view line = text.substr(at, end - 1 - at);
    at = end + 1;
    if (number == 0) {
      parse_request_line(line, head);
      continue;
    }
    if (line.empty()) break;
    if (line.size() > kMostLine) throw HttpError(431, fmt::format("a header has more than {} bytes", kMostLine));
    if (head.headers.size() == kMostHeaders) throw HttpError(431, fmt::format("more than {} headers", kMostHeaders));
    head.headers.push_back(parse_header(line));
  }
  read_length(head);
  return head;
}

}  // namespace parsnets
