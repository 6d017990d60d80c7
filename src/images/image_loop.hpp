#pragma once
// A loop over photographs by several threads, which ends soon after Ctrl-C and after the first failure.

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>

#include "parsnets/threads.hpp"

namespace parsnets {

/// Calls body(i) for [0, count), in any order, on the threads of `pool`. The calling thread calls report(done) before
/// all, and between its own. After an exception of either no further one begins, and it is rethrown.
inline void for_each_image(std::size_t count, ThreadPool& pool, const std::function<void(std::size_t done)>& report,
                           const std::function<void(std::size_t i)>& body) {
  if (count == 0) return;
  report(0);
  const auto caller = std::this_thread::get_id();
  bool reported = true;  // used by the caller alone
  std::atomic<std::size_t> done = 0;
  std::atomic<bool> ended = false;
  pool.parallel_for(count, 1, [&](std::size_t i, std::size_t, std::size_t) {
    if (ended) return;
    try {
      if (std::this_thread::get_id() == caller && !std::exchange(reported, false)) report(done);
      body(i);
      ++done;
    } catch (...) {
      ended = true;
      throw;
    }
  });
}

}  // namespace parsnets
