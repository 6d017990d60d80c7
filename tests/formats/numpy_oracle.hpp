#pragma once
// Runs the Python oracles that need numpy, and small file helpers for the tests of the data readers.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "expect.hpp"
#include "parsnets/progress.hpp"
#include "paths.hpp"

namespace parsnets::test {

/// Runs tests/oracles/<script> with the system's Python, or another program. Returns its exit code.
inline int oracle_code(const std::string& script, const std::string& command, const std::string& folder = "",
                       const std::string& program = "/usr/bin/python3") {
  const int status = std::system(
      (program + " '" PARSNETS_SOURCE_DIR "/tests/oracles/" + script + "' " + command + " '" + folder + "'").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
inline bool run_oracle(const std::string& script, const std::string& command, const std::string& folder = "") {
  return oracle_code(script, command, folder) == 0;
}

#define PARSNETS_NEED_NUMPY()                                                               \
  if (!::parsnets::test::run_oracle("npy_oracle.py", "probe"))                              \
  GTEST_SKIP() << "NOT TESTED: /usr/bin/python3 has no numpy (Debian: python3-numpy); the " \
                  "comparison with numpy did not run"

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

template <class T>
std::vector<T> read_raw(const std::filesystem::path& file) {
  const std::string bytes = read_bytes(file);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Of a vector, or of the values of a matrix.
template <class T>
std::string raw_bytes(std::span<const T> values) {
  return values.empty() ? "" : std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}
template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return raw_bytes(std::span<const T>(values));
}

/// Bitwise equal, any NaN equal to any other; returns the first index that differs, or -1.
template <class T>
std::ptrdiff_t first_difference(std::span<const T> a, std::span<const T> b) {
  if (a.size() != b.size()) return 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0 && !(std::isnan(a[i]) && std::isnan(b[i])))
      return static_cast<std::ptrdiff_t>(i);
  return -1;
}

/// What a reader tells. Cancels at the event after so many.
struct ProgressRecorder final : ProgressObserver {
  explicit ProgressRecorder(std::size_t events = SIZE_MAX) : cancel_after(events) {}
  bool on_progress(const ProgressEvent& event) override {
    done.push_back(event.done);
    stage = event.stage;
    unit = event.unit;
    total = event.total;
    return done.size() <= cancel_after;
  }
  /// Everything that a file of so many megabytes makes it tell, in order.
  void expect_load(const std::string& what, std::uint64_t megabytes) const {
    EXPECT_EQ(stage, "load " + what);
    EXPECT_EQ(unit, "MB");
    EXPECT_EQ(total, megabytes);
    EXPECT_EQ(done.front(), 0u);
    EXPECT_EQ(done.back(), megabytes);
    EXPECT_TRUE(std::ranges::is_sorted(done));
  }

  std::size_t cancel_after;
  std::vector<std::uint64_t> done;
  std::string stage, unit;
  std::uint64_t total = 0;
};

/// While it lives, allocating more than `bytes` beyond what is in use fails with bad_alloc. Sanitizers reserve the
/// address space for themselves, so there it does nothing.
class AddressSpaceCap {
 public:
  explicit AddressSpaceCap([[maybe_unused]] std::uint64_t bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
#ifndef PARSNETS_SANITIZED
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    struct rlimit cap = before_;
    cap.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + bytes;
    ::setrlimit(RLIMIT_AS, &cap);
#endif
  }
  ~AddressSpaceCap() { ::setrlimit(RLIMIT_AS, &before_); }
  AddressSpaceCap(const AddressSpaceCap&) = delete;
  AddressSpaceCap& operator=(const AddressSpaceCap&) = delete;

 private:
  struct rlimit before_ {};
};

}  // namespace parsnets::test
