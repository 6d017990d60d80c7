#include "decoding_memory.hpp"

#include <sys/mman.h>

namespace parsnets {

bool can_allocate(std::size_t bytes) {
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages != MAP_FAILED && ::munmap(pages, bytes) == 0;
}

bool DecodingMemory::take(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  // What others took may not be allocated yet, so that it counts as if none were.
  while (!can_allocate(used_ + bytes)) {
    if (used_ == 0) return false;
    less_used_.wait(lock);
  }
  used_ += bytes;
  return true;
}

void DecodingMemory::give_back(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  less_used_.notify_all();
}

}  // namespace parsnets
