#pragma once
// What the server and the routes exchange: requests, responses, and errors that become responses.

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parsnets {

using Clock = std::chrono::steady_clock;

/// A request whose framing was valid and whose body is complete.
struct HttpRequest {
  std::string method, path;
  std::map<std::string, std::string> query;  ///< decoded; every name is one of the route's parameters
  std::string type;                          ///< media type without parameters, lower case; empty: no body
  std::string body;
  std::vector<std::string> captured;  ///< what stood in place of `*` in the path of the route
  Clock::time_point deadline;         ///< work that waits gives up then
};

/// What is sent back. Security headers are the server's business.
struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// The parts of an error that name a place in the request; all may be empty.
struct HttpErrorPlace {
  std::string field, expected, found;
};

/// Ends a request with a status and a problem document.
class HttpError : public std::runtime_error {
 public:
  HttpError(int status, const std::string& message, HttpErrorPlace place = {})
      : std::runtime_error(message), status_(status), place_(std::move(place)) {}
  /// 400; the message is made of the parts.
  explicit HttpError(HttpErrorPlace place);
  int status() const { return status_; }
  const HttpErrorPlace& place() const { return place_; }

 private:
  int status_;
  HttpErrorPlace place_;
};

/// What HTTP calls a status: "Not Found".
std::string_view http_title(int status);
/// As RFC 9457 describes problems, with the place in the request: {"type", "title", "status", "detail", "field", …}.
HttpResponse error_response(const HttpError& error);
/// What `work` returns, or the response for what it throws. Only messages of HttpError and Error are told.
HttpResponse response_of(const std::function<HttpResponse()>& work);

/// A path and what answers it. `*` stands for one segment without a slash.
struct Route {
  std::string method, path;
  std::function<HttpResponse(const HttpRequest&)> handle;
  bool open = false;                         ///< needs no token; a ready text, so that it may be answered by the loop
  bool page = false;                         ///< part of the page: may be cached, and gets its content security policy
  std::vector<std::string> parameters = {};  ///< that a query may have, each once; any other gets 400
};

// What every response carries.

/// The headers of a response except its type and length: its own, security and caching. `page`: as in Route.
std::vector<std::pair<std::string, std::string>> headers_of(const HttpResponse& response, bool page);

/// What is sent before the body. `last`: the connection ends after it.
std::string response_head(const HttpResponse& response, bool page, bool last);

// Which route answers a path.

struct FoundRoute {
  const Route* route = nullptr;       ///< null: no route has this path, or none of them this method
  std::string allowed;                ///< methods of the path, as in an Allow header; empty: there is no such path
  std::vector<std::string> captured;  ///< what stood in place of `*`
};

/// The first route with this path and method; HEAD is answered as GET. The routes must outlive what is returned.
FoundRoute find_route(std::span<const Route> routes, std::string_view method, std::string_view path);

}  // namespace parsnets
