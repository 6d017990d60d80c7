#pragma once
// A token bucket per client: `rate` requests per second, twice as many at once.

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

#include "serve/http.hpp"

namespace parsnets {

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

}  // namespace parsnets
