#pragma once
// Counts what `operator new` hands out in this program. Sanitizers have an operator of their own: nothing is counted.

#include <cstddef>

namespace parsnets::test {

struct CountedMemory {
  std::size_t calls = 0, bytes = 0;
};

/// Whether memory is counted in this build.
bool memory_is_counted();
/// All that was handed out so far, to any thread.
CountedMemory counted_memory();

}  // namespace parsnets::test
