#pragma once
// Who asks, and for what: checks of a request, all but that of its query before its body is read.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "serve/http.hpp"
#include "serve/metrics.hpp"

namespace parsnets {

// The request line and the headers, checked before anything acts on them: two readers of a head that is not exact could
// disagree on where the request ends.

std::string lower_case(std::string_view text);
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
  /// The target without its query.
  std::string_view path() const { return std::string_view(target).substr(0, target.find_first_of("?#")); }
};

/// Bytes of the head that `received` begins with, its empty line included; 0: its end has not come. `checked`: bytes
/// that were looked at before. Throws HttpError: 400 for what can be no head, 431 for more than 32 KB.
std::size_t end_of_head(std::string_view received, std::size_t& checked);

/// Parses a head up to and including its empty line. Throws HttpError: 400 for anything but lines that end in CRLF, a
/// known form, visible characters and one meaning of the body's length; 411 for any Transfer-Encoding; 414, 431, 505.
RequestHead parse_request_head(std::string_view text);

// A token bucket per client: `rate` requests per second, twice as many at once.

/// Thread-safe. Remembers a bounded number of clients; of more, those forgotten are the ones with full buckets, and
/// without any such, new clients share one bucket.
class RateLimiter {
 public:
  /// `rate` 0: no limit.
  explicit RateLimiter(double rate, std::size_t most_clients = 4096) : rate_(rate), most_clients_(most_clients) {}
  /// Whether the client may have one more request now.
  bool allows(const std::string& client, Clock::time_point now);
  std::size_t clients() const;

 private:
  struct Bucket {
    double tokens = 0;
    Clock::time_point filled;
  };
  void fill(Bucket& bucket, Clock::time_point now) const;
  double burst() const { return rate_ < 1 ? 1 : 2 * rate_; }

  const double rate_;
  const std::size_t most_clients_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
};

struct RequestRules {
  std::vector<std::string> hosts{};    ///< what a Host header may name, without ports, lower case; empty: anything
  std::string token{};                 ///< every route that is not open asks for it; empty: none
  std::size_t body_bytes = 16u << 20;  ///< of a request
  double rate = 0;                     ///< requests per second and address; 0: any number
};

/// The parameters of a target's query by their names, decoded. Throws HttpError 400 for those that the route does not
/// have and those with two values.
std::map<std::string, std::string> checked_query(std::string_view target, const Route& route);

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
