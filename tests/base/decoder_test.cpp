#include "base/decoder.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/beside.hpp"
#include "environment_variable.hpp"
#include "expect.hpp"
#include "paths.hpp"

namespace parsnets::test {

namespace {

constexpr DecoderLimits kSmall{64u << 20, 1, 20};

class DecoderOf {
 public:
  explicit DecoderOf(const char* attempt, const DecoderLimits& limits = kSmall)
      : decoder(std::string("a ") + attempt, attempt, -1, limits) {}

  void ask() {
    decoder.ask([&](Channel& channel) {
      channel.put_number(0);
      channel.send();
      while (decoder.has_more(channel)) continue;
    });
  }
  std::string what_happens() {
    return error_message([&] { ask(); });
  }

  EnvironmentVariable program{"PARSNETS_DECODE",
                              (std::filesystem::path(PARSNETS_BINARY).parent_path() / "decoder_probe").string()};
  Decoder decoder;
};

bool has_filter() { return DecoderOf("nothing").decoder.sandbox() == "seccomp"; }

class Escapes : public testing::TestWithParam<const char*> {};

}  // namespace

// Each ends the process (by the filter), or fails (by the limits).
TEST_P(Escapes, AreForbiddenBySeccomp) {
  if (!has_filter()) GTEST_SKIP() << "NOT TESTED: no filter of system calls here";
  const std::string said = DecoderOf(GetParam()).what_happens();
  EXPECT_MENTIONS(said, std::string("a ") + GetParam());
  EXPECT_TRUE(contains(said, "which was prevented") || contains(said, "found failed")) << said;
}
INSTANTIATE_TEST_SUITE_P(All, Escapes,
                         testing::Values("open", "create", "socket", "fork", "exec", "kill", "ptrace", "code",
                                         "limits"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Decoder, WithoutAFilterLimitsForbidFilesAndConnections) {
  if (DecoderOf("nothing").decoder.sandbox() == "time") GTEST_SKIP() << "sanitizers need files";
  for (const char* attempt : {"open", "create", "socket"}) {
    const std::string said = DecoderOf(attempt).what_happens();
    EXPECT_TRUE(contains(said, "which was prevented") || contains(said, "found failed")) << said;
  }
}

TEST(Decoder, TooMuchMemoryEndsIt) {
  if (DecoderOf("nothing").decoder.sandbox() == "time") GTEST_SKIP() << "sanitizers use memory of their own";
  EXPECT_MENTIONS(DecoderOf("memory").what_happens(), "64 MB of memory, found one that takes more memory");
  rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);
  EXPECT_LT(children.ru_maxrss, 1 << 20) << "kB, of the largest child so far";
}

TEST(Decoder, AnEndlessLoopEndsIt) {
  EXPECT_MENTIONS(DecoderOf("loop").what_happens(),
                  "1 s of processor time and 64 MB of memory, found one that takes more time");
}

TEST(Decoder, SilenceEndsIt) {
  EXPECT_MENTIONS(DecoderOf("silence", {64u << 20, 5, 1}).what_happens(), "found no answer for 1 s");
}

TEST(Decoder, ACrashIsBadInput) {
  const std::string said = DecoderOf("crash").what_happens();
  EXPECT_TRUE(contains(said, "breaks its reader") || contains(said, "which was prevented") ||
              contains(said, "ends its reader"))
      << said;
  EXPECT_MENTIONS(DecoderOf("end").what_happens(), "found one that ends its reader");
}

TEST(Decoder, WhatItSaysIsNotTrusted) {
  EXPECT_MENTIONS(DecoderOf("nonsense").what_happens(), "an answer that makes no sense");
  EXPECT_MENTIONS(DecoderOf("endless text").what_happens(), "more text than the file can hold");
}

TEST(Decoder, ARefusalIsAnAnswerAndABreakdownStartsAnother) {
  DecoderOf refusing("nothing"), ending("end");
  for (int i = 0; i < 3; ++i) {
    EXPECT_MENTIONS(refusing.what_happens(), "a nothing: nothing: expected nothing else, found done");
    EXPECT_MENTIONS(ending.what_happens(), "ends its reader");
  }
}

TEST(Decoder, NoProcessStays) {
  {
    DecoderOf one("nothing");
    one.what_happens();
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "all children were waited for";
}

TEST(Decoder, AMissingProgramIsNamed) {
  const EnvironmentVariable none("PARSNETS_DECODE", "/nowhere/parsnets-decode");
  Decoder decoder("x.mat", "mat", -1, kSmall);
  expect_error([&] { decoder.sandbox(); },
               "x.mat: cannot start parsnets-decode, which reads it: /nowhere/parsnets-decode", ErrorCode::failure);
  const EnvironmentVariable other("PARSNETS_DECODE", "/bin/true");
  expect_error([&] { decoder.sandbox(); }, "/bin/true ends at once", ErrorCode::failure);
}

TEST(Decoder, WhatIsInstalledIsFoundBesideTheProgram) {
  const EnvironmentVariable none("PARSNETS_DECODE", std::nullopt);
  std::string problem;
  EXPECT_EQ(folder_of_this_code(), std::filesystem::read_symlink("/proc/self/exe").parent_path());
  EXPECT_TRUE(installed_with_this_code("no such program", problem).empty());
  EXPECT_MENTIONS(problem, "none beside /");
  EXPECT_EQ(decoder_program(), folder_of_this_code() / "parsnets-decode");
}

}  // namespace parsnets::test
