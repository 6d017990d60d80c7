#include "serve/turnstile.hpp"

#include <algorithm>

namespace parsnets {

Turnstile::Turn Turnstile::enter(Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  if (free_ > 0) {
    --free_;
    return Turn(*this);
  }
  Waiter own;
  waiting_.push_back(&own);
  lock.unlock();
  const bool called = own.called.try_acquire_until(deadline);
  lock.lock();  // leave() is done with `own` then
  if (!called && !own.has_turn) {
    std::erase(waiting_, &own);
    throw HttpError(503, "too many requests are waiting");
  }
  return Turn(*this);
}

void Turnstile::leave() {
  std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  Waiter& next = *waiting_.front();
  waiting_.pop_front();
  next.has_turn = true;
  next.called.release();
}

}  // namespace parsnets
