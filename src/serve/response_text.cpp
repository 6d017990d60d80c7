#include "serve/response_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace parsnets {

namespace {

const std::pair<const char*, const char*> kSecurityHeaders[]{
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr const char* kDataPolicy = "default-src 'none'; frame-ancestors 'none'";

}  // namespace

std::vector<std::pair<std::string, std::string>> headers_of(const HttpResponse& response, bool page) {
  std::vector<std::pair<std::string, std::string>> headers(std::begin(kSecurityHeaders), std::end(kSecurityHeaders));
  headers.emplace_back("Content-Security-Policy", page ? kPagePolicy : kDataPolicy);
  headers.emplace_back("Cache-Control", page ? "no-cache" : "no-store");
  for (const auto& header : response.headers) headers.push_back(header);
  return headers;
}

std::string closing_text(const HttpResponse& response, bool head_alone) {
  std::string reason(http_error_code(response.status));
  std::ranges::replace(reason, '_', ' ');
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason);
  for (const auto& [name, value] : headers_of(response, false)) text += fmt::format("{}: {}\r\n", name, value);
  return text + fmt::format("Connection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}", response.type,
                            response.body.size(), head_alone ? "" : response.body);
}

}  // namespace parsnets
