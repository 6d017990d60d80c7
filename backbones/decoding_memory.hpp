#pragma once
// Decoders report a shortage of memory as a damaged file: it is found before they start.

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace parsnets {

/// Bytes that several threads use at a time. Thread-safe.
class DecodingMemory {
 public:
  /// Waits while others use memory that is short. False: not even alone can this much be had.
  bool take(std::size_t bytes);
  void give_back(std::size_t bytes);

 private:
  std::mutex mutex_;
  std::condition_variable less_used_;
  std::size_t used_ = 0;
};

/// Whether the system would give this much now. Pages are not touched.
bool can_allocate(std::size_t bytes);

}  // namespace parsnets
