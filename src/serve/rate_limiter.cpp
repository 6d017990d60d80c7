#include "serve/rate_limiter.hpp"

#include <algorithm>

namespace parsnets {

void RateLimiter::fill(Bucket& bucket, Clock::time_point now) const {
  const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
  bucket.tokens = std::min(burst(), bucket.tokens + std::max(seconds, 0.0) * rate_);
  bucket.filled = std::max(now, bucket.filled);
}

bool RateLimiter::allows(const std::string& client, Clock::time_point now) {
  if (rate_ == 0) return true;
  std::lock_guard lock(mutex_);
  auto found = buckets_.find(client);
  if (found == buckets_.end() && buckets_.size() >= most_clients_)
    std::erase_if(buckets_, [&](const auto& entry) {
      Bucket bucket = entry.second;
      fill(bucket, now);
      return bucket.tokens >= burst();
    });
  if (found == buckets_.end()) {
    const bool full = buckets_.size() >= most_clients_;
    found = buckets_.try_emplace(full ? std::string() : client, Bucket{burst(), now}).first;
  }
  Bucket& bucket = found->second;
  fill(bucket, now);
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

std::size_t RateLimiter::clients() const {
  std::lock_guard lock(mutex_);
  return buckets_.size();
}

}  // namespace parsnets
