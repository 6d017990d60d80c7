#include "serve/multipart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "serve/http.hpp"
#include "serve/request_checks.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostBoundary = 70;

/// One parameter after the other of a header like `form-data; name="a;b"; filename=c`.
class Parameters {
 public:
  explicit Parameters(std::string_view header) : rest_(header) {
    rest_.remove_prefix(std::min(rest_.find(';'), rest_.size()));
  }

  /// False: there are no more. `field`: the header, for errors.
  bool next(const char* field, std::string& name, std::string& value) {
    skip_blanks();
    if (rest_.empty()) return false;
    if (!rest_.starts_with(';')) throw HttpError({field, "a semicolon before a parameter", "other characters"});
    rest_.remove_prefix(1);
    skip_blanks();
    if (rest_.empty()) return false;
    const auto equals = rest_.find('=');
    if (equals == std::string_view::npos || !is_token(rest_.substr(0, equals)))
      throw HttpError({field, "parameters name=value", "another form"});
    name = lower_case(rest_.substr(0, equals));
    rest_.remove_prefix(equals + 1);
    value.clear();
    if (!rest_.starts_with('"')) {
      value = rest_.substr(0, rest_.find_first_of("; \t"));
      rest_.remove_prefix(value.size());
      return true;
    }
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        return true;
      }
      if (rest_[i] == '\\' && i + 1 < rest_.size()) ++i;
      value += rest_[i];
    }
    throw HttpError({field, "a closing quotation mark", "none"});
  }

 private:
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  std::string_view rest_;
};

/// The value of a parameter that is there at most once; none: it is not there.
std::optional<std::string> parameter(std::string_view header, const char* field, std::string_view wanted) {
  std::optional<std::string> found;
  std::string name, value;
  for (Parameters parameters(header); parameters.next(field, name, value);) {
    if (name != wanted) continue;
    if (found) throw HttpError({field, fmt::format("one {}", wanted), "several"});
    found = value;
  }
  return found;
}

std::string boundary_of(std::string_view content_type) {
  const std::string boundary = parameter(content_type, "Content-Type", "boundary").value_or("");
  const bool allowed = std::ranges::all_of(boundary, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("'()+_,-./:=? ").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (boundary.empty() || boundary.size() > kMostBoundary || boundary.back() == ' ' || !allowed)
    throw HttpError({"Content-Type",
                     fmt::format("a boundary of 1 to {} characters that RFC 2046 allows", kMostBoundary),
                     boundary.empty() ? "none" : fmt::format("'{}'", boundary.substr(0, kMostBoundary + 1))});
  return boundary;
}

/// The body from front to back; counts what it looks at.
class Scanner {
 public:
  Scanner(std::string_view body, std::size_t& looked_at) : body_(body), looked_at_(looked_at) {}

  /// Steps over `text` if it comes next.
  bool take(std::string_view text) {
    std::size_t same = 0;
    while (same < text.size() && at_ + same < body_.size() && body_[at_ + same] == text[same]) ++same;
    looked_at_ += std::min(same + 1, text.size());
    if (same < text.size()) return false;
    at_ += same;
    return true;
  }
  /// What comes before `delimiter`, which is stepped over; none: it does not come within `most` bytes. `delimiter`
  /// begins with CR and has no other, so that no two of its beginnings overlap and each byte is compared at most twice.
  std::optional<std::string_view> take_until(std::string_view delimiter, std::size_t most = std::string_view::npos) {
    const std::size_t begin = at_;
    for (;;) {
      const std::string_view rest = body_.substr(at_, most - std::min(most, at_ - begin));
      const auto found = rest.find('\r');
      looked_at_ += std::min(found, rest.size());
      if (found == std::string_view::npos || found + delimiter.size() > rest.size()) return std::nullopt;
      at_ += found;
      const std::size_t end = at_;
      if (take(delimiter)) return body_.substr(begin, end - begin);
      ++at_;
    }
  }
  void skip_blanks() {
    while (take(" ") || take("\t")) {
    }
  }

 private:
  std::string_view body_;
  std::size_t at_ = 0;
  std::size_t& looked_at_;
};

/// Name and type of a part, from its headers.
Part read_head(Scanner& scanner, const std::string& field) {
  Part part;
  std::size_t dispositions = 0;
  for (std::size_t left = kMostPartHeadBytes;;) {
    const auto line = scanner.take_until("\r\n", left);
    if (!line)
      throw HttpError(
          {field, fmt::format("headers of at most {} bytes and an empty line", kMostPartHeadBytes), "none"});
    if (line->empty()) break;
    left -= std::min(left, line->size() + 2);
    const auto [name, value] = parse_header(*line);
    if (name == "content-type") part.type = media_type(value);
    if (name != "content-disposition") continue;
    const auto given = parameter(value, "Content-Disposition", "name");
    if (media_type(value) == "form-data" && given && !given->empty()) part.name = *given;
    ++dispositions;
  }
  if (dispositions != 1 || part.name.empty())
    throw HttpError({field, "one 'Content-Disposition: form-data' with a name", dispositions > 1 ? "several" : "none"});
  return part;
}

}  // namespace

std::vector<Part> parse_multipart(std::string_view content_type, std::string_view body, std::size_t* looked_at) {
  const std::string first = "--" + boundary_of(content_type), delimiter = "\r\n" + first;
  std::size_t unused = 0;
  Scanner scanner(body, looked_at == nullptr ? unused : *looked_at);
  std::vector<Part> parts;
  if (!scanner.take(first) && !scanner.take_until(delimiter))
    throw HttpError({"body", "the boundary of the Content-Type header", "none"});
  while (!scanner.take("--")) {
    const std::string field = fmt::format("parts[{}]", parts.size());
    scanner.skip_blanks();
    if (!scanner.take("\r\n")) throw HttpError({field, "the end of a line after the boundary", "other characters"});
    if (parts.size() == kMostParts) throw HttpError(400, fmt::format("the body has more than {} parts", kMostParts));
    Part part = read_head(scanner, field);
    if (!scanner.take(first)) {  // without content, the empty line belongs to the boundary
      const auto content = scanner.take_until(delimiter);
      if (!content) throw HttpError({field, "a boundary after the part", "the end of the body"});
      part.content = *content;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace parsnets
