#pragma once
// The request line and the headers, checked before anything acts on them: two readers of a head that is not exact could
// disagree on where the request ends.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parsnets {

std::string lower_case(std::string_view text);
/// Whether the text is a token of RFC 9110, such as the name of a header.
bool is_token(std::string_view text);
/// Name in lower case and value of a line `Name: value` without its CRLF. Throws HttpError 400.
std::pair<std::string, std::string> parse_header(std::string_view line);
/// Of a Content-Type header, the type without parameters, lower case.
std::string media_type(std::string_view header);

/// A head that was valid.
struct RequestHead {
  std::string method, target;
  bool http_1_0 = false;
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case
  std::optional<std::uint64_t> length;                       ///< of the body

  bool has_body() const { return length.value_or(0) > 0; }
  /// The value of a header; null: none.
  const std::string* find(std::string_view name) const;
  /// Whether the client wants the connection closed after this request.
  bool closes() const;
  /// The head again, with the headers that say how long the body is and whether to ask for it, and no other that would
  /// change how the body is read or the response: cpp-httplib's own reader of multipart bodies knows no limits.
  std::string text() const;
};

/// Parses a head up to and including its empty line. Throws HttpError: 400 for anything but lines that end in CRLF, a
/// known form, visible characters and one meaning of the body's length; 411 for any Transfer-Encoding; 414, 431, 505.
RequestHead parse_request_head(std::string_view text);

}  // namespace parsnets
