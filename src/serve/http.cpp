#include "serve/http.hpp"

#include <fmt/format.h>

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

}  // namespace

HttpError::HttpError(HttpErrorPlace place) : HttpError(400, sentence(place), place) {}

std::string_view http_error_code(int status) {
  switch (status) {
    case 400: return "bad_request";
    case 401: return "unauthorized";
    case 403: return "forbidden";
    case 404: return "not_found";
    case 405: return "method_not_allowed";
    case 408: return "timeout";
    case 411: return "length_required";
    case 413: return "too_large";
    case 414: return "uri_too_long";
    case 415: return "unsupported_media_type";
    case 417: return "expectation_failed";
    case 429: return "too_many_requests";
    case 431: return "headers_too_large";
    case 503: return "busy";
    case 505: return "version_not_supported";
    default: return status < 500 ? "bad_request" : "failure";
  }
}

HttpResponse error_response(const HttpError& error) {
  nlohmann::ordered_json json{{"code", http_error_code(error.status())}, {"message", error.what()}};
  if (!error.place().field.empty()) json["field"] = error.place().field;
  if (!error.place().expected.empty()) json["expected"] = error.place().expected;
  if (!error.place().found.empty()) json["found"] = error.place().found;
  // What was found may be any bytes.
  HttpResponse response{
      error.status(), "application/json",
      nlohmann::ordered_json{{"error", json}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
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

}  // namespace parsnets
