#include "base/machine.hpp"

#include <gtest/gtest.h>

#include "base/scratch_file.hpp"
#include "expect.hpp"

namespace parsnets {
namespace {

TEST(MemoryLimit, SaysWhatIsNeededAndWhatToDo) {
  EXPECT_NO_THROW(require_memory(0, 1e18, "all", "nothing"));
  EXPECT_NO_THROW(require_memory(held_memory() + 200'000'000, 100e6, "a matrix", ""));
  for (const char* part : {"for a matrix", "use less"})
    test::expect_error([] { require_memory(held_memory() + 50'000'000, 100e6, "a matrix", "use less"); }, part,
                       ErrorCode::usage);
}

TEST(MemoryLimit, PagesOfMappedFilesDoNotCount) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "NOT TESTED: the thread sanitizer keeps memory of its own for each page";
#endif
  Matrix<float> mapped = new_matrix(20'000, 1000, {1, 0}, "values");  // 80 MB
  const auto before = held_memory(), resident = resident_memory();
  for (float& v : mapped.values()) v = 1;
  EXPECT_GT(resident_memory(), resident + 70'000'000);
  EXPECT_LT(held_memory(), before + 10'000'000);
  Matrix<float> own(20'000, 1000, 1.0f);
  EXPECT_GT(held_memory(), before + 70'000'000);
}

}  // namespace
}  // namespace parsnets
