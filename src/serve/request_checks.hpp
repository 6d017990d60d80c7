#pragma once
// Who asks, and for what: checks of a request, all but that of its query before its body is read.

#include <map>
#include <string>
#include <vector>

#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/rate_limiter.hpp"
#include "serve/request_head.hpp"
#include "serve/route_finder.hpp"

namespace parsnets {

struct RequestRules {
  std::vector<std::string> hosts;      ///< what a Host header may name, without ports, lower case; empty: anything
  std::string token;                   ///< every route that is not open asks for it; empty: none
  std::size_t body_bytes = 16u << 20;  ///< of a request
  double rate = 0;                     ///< requests per second and address; 0: any number
};

/// The parameters of a decoded query by their names. Throws HttpError 400 for those that the route does not have and
/// those with two values.
std::map<std::string, std::string> checked_query(const std::multimap<std::string, std::string>& query,
                                                 const Route& route);

/// Thread-safe.
class RequestChecks {
 public:
  /// `metrics` counts what is refused, and must outlive it.
  RequestChecks(RequestRules rules, std::vector<Route> routes, Metrics& metrics)
      : rules_(std::move(rules)), routes_(std::move(routes)), metrics_(metrics), limiter_(rules_.rate) {}

  /// `address`: the bytes of the client's address. `found` is set as soon as the route is known, so that a request that
  /// is refused later counts as one of its route. Throws HttpError: 400, 401, 403, 404, 405 with the methods of the
  /// path as what was expected, 411, 413, 415, 417, 429.
  void check(const RequestHead& head, const std::string& address, FoundRoute& found) const;

 private:
  void check_host(const RequestHead& head) const;
  void check_token(const RequestHead& head) const;
  void check_site(const RequestHead& head) const;
  void check_body(const RequestHead& head) const;
  HttpError refused(const char* reason, HttpError error) const;

  const RequestRules rules_;
  const std::vector<Route> routes_;
  Metrics& metrics_;
  mutable RateLimiter limiter_;
};

}  // namespace parsnets
