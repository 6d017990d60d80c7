#include "serve/http.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

std::string sentence(const HttpErrorPlace& place) {
  std::string text = place.field.empty() ? "" : place.field + ": ";
  text += "expected " + place.expected;
  return place.found.empty() ? text : text + ", found " + place.found;
}

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

/// Whether the path is that of the route; `captured` gets what stood for `*`.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& captured) {
  captured.clear();
  for (;;) {
    const auto star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == path;
    if (path.substr(0, star) != pattern.substr(0, star)) return false;
    path.remove_prefix(star);
    pattern.remove_prefix(star + 1);
    captured.emplace_back(path.substr(0, path.find('/')));
    if (captured.back().empty()) return false;
    path.remove_prefix(captured.back().size());
  }
}

}  // namespace

HttpError::HttpError(HttpErrorPlace place) : HttpError(400, sentence(place), place) {}

std::string_view http_title(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Internal Server Error";
  }
}

HttpResponse error_response(const HttpError& error) {
  nlohmann::ordered_json json{{"type", "about:blank"},  // there is no more to it than its status says
                              {"title", http_title(error.status())},
                              {"status", error.status()},
                              {"detail", error.what()}};
  if (!error.place().field.empty()) json["field"] = error.place().field;
  if (!error.place().expected.empty()) json["expected"] = error.place().expected;
  if (!error.place().found.empty()) json["found"] = error.place().found;
  // What was found may be any bytes.
  HttpResponse response{error.status(), "application/problem+json",
                        json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  if (error.status() == 429 || error.status() == 503) response.headers.emplace_back("Retry-After", "1");
  if (error.status() == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

HttpResponse response_of(const std::function<HttpResponse()>& work) {
  try {
    return work();
  } catch (const HttpError& e) {
    return error_response(e);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::bad_input && e.code() != ErrorCode::usage)
      return error_response(HttpError(500, e.what()));
    const BadInput parts = e.parts();
    return error_response(HttpError(400, e.message(), {parts.field, parts.expected, parts.found}));
  } catch (const std::bad_alloc&) {
    return error_response(HttpError(503, "out of memory"));
  } catch (const std::exception&) {
    return error_response(HttpError(500, "the request failed"));
  }
}

std::vector<std::pair<std::string, std::string>> headers_of(const HttpResponse& response, bool page) {
  std::vector<std::pair<std::string, std::string>> headers(std::begin(kSecurityHeaders), std::end(kSecurityHeaders));
  headers.emplace_back("Content-Security-Policy", page ? kPagePolicy : kDataPolicy);
  headers.emplace_back("Cache-Control", page ? "no-cache" : "no-store");
  headers.insert(headers.end(), response.headers.begin(), response.headers.end());
  return headers;
}

std::string response_head(const HttpResponse& response, bool page, bool last) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, http_title(response.status));
  for (const auto& [name, value] : headers_of(response, page)) text += fmt::format("{}: {}\r\n", name, value);
  return text + fmt::format("Connection: {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
                            last ? "close" : "keep-alive", response.type, response.body.size());
}

FoundRoute find_route(std::span<const Route> routes, std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  FoundRoute found;
  for (const Route& route : routes) {
    if (!matches(route.path, path, found.captured)) continue;
    found.allowed += (found.allowed.empty() ? "" : ", ") + route.method + (route.method == "GET" ? ", HEAD" : "");
    if (route.method != method) continue;
    found.route = &route;
    break;
  }
  return found;
}

}  // namespace parsnets
