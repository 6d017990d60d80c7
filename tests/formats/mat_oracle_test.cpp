// MAT files against other programs: scipy and h5py in every run, Octave when PARSNETS_PEERS=1 is set.

#include <sys/wait.h>

#include <cstdlib>

#include "formats/mat_manifest.hpp"
#include "paths.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

constexpr int kMissing = 77;

// Exit code of `command`, or kMissing when the program or a module of it is not installed.
int run(const std::string& command) {
  const int status = std::system(command.c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return code == 127 ? kMissing : code;
}

int run_python(const std::string& mode, const std::filesystem::path& folder) {
  return run("/usr/bin/python3 '" PARSNETS_SOURCE_DIR "/tests/oracles/mat_oracle.py' " + mode + " '" + folder.string() +
             "'");
}

int run_octave(const std::string& mode, const std::filesystem::path& folder) {
  return run("octave-cli -qf '" PARSNETS_SOURCE_DIR "/tests/oracles/octave_mat.m' " + mode + " '" + folder.string() +
             "'");
}

#define PARSNETS_SKIP_IF_MISSING(code) \
  if ((code) == kMissing)              \
  GTEST_SKIP() << "NOT TESTED against scipy and h5py: install python3-numpy, python3-scipy and python3-h5py"

}  // namespace

TEST(MatOracle, FilesOfScipyAndH5pyReadAsTheyReadThem) {
  const test::TempDir dir;
  const int code = run_python("make", dir.path());
  PARSNETS_SKIP_IF_MISSING(code);
  ASSERT_EQ(code, 0);
  test::expect_manifest_holds(dir.path());
}

TEST(MatOracle, ScipyAndH5pyReadOurFilesExactly) {
  const test::TempDir dir;
  test::write_for_oracle(dir.path());
  const int code = run_python("check", dir.path());
  PARSNETS_SKIP_IF_MISSING(code);
  EXPECT_EQ(code, 0);
}

TEST(MatPeers, OctaveFilesReadAsOctaveReadsThem) {
  if (std::getenv("PARSNETS_PEERS") == nullptr) GTEST_SKIP() << "set PARSNETS_PEERS=1 to test against Octave";
  const test::TempDir dir;
  ASSERT_EQ(run_octave("make", dir.path()), 0);
  test::expect_manifest_holds(dir.path());
}

TEST(MatPeers, OctaveReadsOurFilesExactly) {
  if (std::getenv("PARSNETS_PEERS") == nullptr) GTEST_SKIP() << "set PARSNETS_PEERS=1 to test against Octave";
  const test::TempDir dir;
  test::write_for_oracle(dir.path());
  EXPECT_EQ(run_octave("check", dir.path()), 0);
}

}  // namespace parsnets
