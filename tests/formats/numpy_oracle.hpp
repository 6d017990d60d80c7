#pragma once
// Runs the Python oracles that need numpy, and small file helpers for the tests of the data readers.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

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

#include "parsnets/error.hpp"
#include "paths.hpp"

namespace parsnets::test {

/// Runs tests/oracles/<script> with the system's Python; true when it exits with 0.
inline bool run_oracle(const std::string& script, const std::string& command, const std::string& folder = "") {
  const std::string line =
      "/usr/bin/python3 '" PARSNETS_SOURCE_DIR "/tests/oracles/" + script + "' " + command + " '" + folder + "'";
  return std::system(line.c_str()) == 0;
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

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
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

/// The message of the bad_input error that `body` throws; a failed test (and "") when it throws none.
template <class Body>
std::string bad_input_message(Body body) {
  try {
    body();
    ADD_FAILURE() << "expected an error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_input) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "";
}

#define EXPECT_MENTIONS(message, part) \
  EXPECT_NE((message).find(part), std::string::npos) << "message: " << (message) << "\nlacks: " << (part)

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
