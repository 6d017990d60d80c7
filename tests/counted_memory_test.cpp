#include "counted_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace {

std::atomic<std::size_t> calls{0}, bytes{0};

}  // namespace

#if !defined(PARSNETS_SANITIZED)

// The two of a pair are both replaced, which the compiler does not see where it inlines one of them.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace {

void* counted(std::size_t size, std::size_t alignment) {
  ++calls;
  bytes += size;
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t))
    memory = std::malloc(size > 0 ? size : 1);
  else if (::posix_memalign(&memory, alignment, size > 0 ? size : 1) != 0)
    memory = nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Those of arrays call these.
void* operator new(std::size_t size) { return counted(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#endif

namespace parsnets::test {

bool memory_is_counted() {
#if defined(PARSNETS_SANITIZED)
  return false;
#else
  return true;
#endif
}

CountedMemory counted_memory() { return {calls, bytes}; }

TEST(CountedMemory, CountsVectors) {
  if (!memory_is_counted()) GTEST_SKIP();
  const CountedMemory before = counted_memory();
  auto many = std::make_unique<std::vector<double>>(1000, 1.0);
  const CountedMemory after = counted_memory();
  EXPECT_GE(after.bytes - before.bytes, many->size() * sizeof(double));
  EXPECT_GE(after.calls - before.calls, 2u);
}

}  // namespace parsnets::test
