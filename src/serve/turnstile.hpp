#pragma once
// Lets some in at a time, the others in the order in which they came: with many more threads than cores at work, some
// requests would take many times as long as others.

#include <cstddef>
#include <deque>
#include <mutex>
#include <semaphore>

#include "serve/http.hpp"

namespace parsnets {

/// Thread-safe.
class Turnstile {
 public:
  explicit Turnstile(std::size_t places) : free_(places) {}

  /// A place inside, until it is destroyed.
  class Turn {
   public:
    explicit Turn(Turnstile& turnstile) : turnstile_(turnstile) {}
    ~Turn() { turnstile_.leave(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    Turnstile& turnstile_;
  };
  /// Waits for its turn. Throws HttpError 503 when it has not come by the deadline.
  Turn enter(Clock::time_point deadline);

 private:
  struct Waiter {
    std::binary_semaphore called{0};
    bool has_turn = false;
  };
  void leave();

  std::mutex mutex_;
  std::size_t free_;
  std::deque<Waiter*> waiting_;  ///< the first to come first
};

}  // namespace parsnets
