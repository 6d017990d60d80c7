#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "parsnets/version.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

TEST(Cli, HelpAndVersionAnswerOnStandardOutput) {
  const auto help = run_ok({"--help"});
  for (const char* command : {"data", "info", "doctor", "completion"}) EXPECT_TRUE(has(help.out, command)) << command;
  EXPECT_EQ(run_cli({"--version"}).out, "parsnets " PARSNETS_VERSION "\n");
  run_ok({"data", "inspect", "--help"});
}

TEST(Cli, MistakesInTheCallAreUsageErrors) {
  for (const char* line :
       {"", "nonsense", "data", "data inspect", "data inspect unused --nope", "docs novel", "completion tcsh"})
    EXPECT_FALSE(run_error(words_in(line), 2).err.empty());
}

TEST(Cli, OptionsWithoutTheirValuesAreNamedWithWhatIsExpected) {
  for (const auto& [arguments, message] : std::vector<std::pair<Words, std::string>>{
           {{"extract", "--images"}, "extract: --images: expected one or more paths, found nothing"},
           {{"train", "--data", "--out", "x"}, "train: --data: expected text, found nothing"},
           {{"data", "inspect", kDemo, "--threads"}, "data inspect: --threads: expected an integer from 0 to"}})
    run_error(arguments, 2, "parsnets: " + message);
}

TEST(Cli, MistypedNamesGetASuggestion) {
  for (const auto& [line, meant] : std::vector<std::pair<std::string, std::string>>{
           {"trian", "'train'"},
           {"trian --help", "'train'"},
           {"data inspct " + kDemo, "data: 'inspct' is not a command; did you mean 'inspect'"},
           {"train --lamda 3", "'--lambda'"},
           {"train --lamda=3", "'--lambda'"},
           {"bench --methods rigde --data " + kDemo, "'ridge'"},
           {"bench --methods ridge:lamda=3 --data " + kDemo, "'lambda'"},
           {"bench --sweep activ=1,2 --data " + kDemo, "'active'"},
           {"train --out unused --search grid --grid netwroks=1 --data " + kDemo, "'networks'"}})
    EXPECT_TRUE(has(run_error(words_in(line), 2, meant).err, "did you mean"));
  run_error({"table", "--help"}, 2, "'table' is not a command");
}

TEST(Cli, EveryCommandAndGroupAnswersHelp) {
  EXPECT_EQ(run_cli({"help"}).out, run_cli({"--help"}).out);
  EXPECT_EQ(run_cli({"help", "data", "inspect"}).out, run_cli({"data", "inspect", "--help"}).out);
  for (const char* command : {"train", "eval", "predict", "explain", "classes", "classes add", "export", "bench",
                              "report", "data", "data synth", "info", "doctor", "completion", "docs"}) {
    const auto answer = run_ok(words_in(command) + Words{"--help"});
    EXPECT_TRUE(has(answer.out, "--help"));
    EXPECT_EQ(run_cli(Words{"help"} + words_in(command)).out, answer.out) << command;
  }
}

TEST(Cli, EveryImpossibleOptionIsNamedInOneMessage) {
  const auto result = run_error({"data", "synth", "out", "--classes", "1", "--noise", "x", "--format", "xls"}, 2);
  EXPECT_TRUE(has_all(result.err, {"--classes: expected an integer from 3", "--noise: expected auto or a number",
                                   "--format: expected one of: npy"}));
}

TEST(Cli, MessagesOfTheLibraryNameFlags) {
  run_error({"train", "--data", kDemo, "--out", "unused", "--method", "ridge", "--search", "auto"}, 2,
            "--search auto requires --method parsnets");
  const auto inspect = run_error({"data", "inspect", kDemo, "--semantics", "none", "--json"}, 3);
  EXPECT_EQ(inspect.json()["error"]["advice"], "set --semantics to one of them");
}

TEST(Cli, QuietLeavesResults) {
  EXPECT_TRUE(has(run_cli({"train", "--help"}).out, "suppress progress; results, warnings and errors stay"));
  TempDir dir;
  const std::string out = dir.file("m.safetensors");
  const auto result = run_cli({"train", "--data", kDemo, "--method", "ridge", "--out", out, "--quiet"});
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(has(result.out, "m.safetensors"));
}

TEST(Cli, JsonIsOneObjectAlsoForErrors) {
  EXPECT_EQ(run_json({"data", "inspect", kDemo})["samples"], 2400);
  const auto error = run_error({"data", "inspect", "/nowhere", "--json"}, 3);
  EXPECT_EQ(error.json()["error"]["file"], "/nowhere");
  EXPECT_TRUE(has(error.err, "/nowhere"));
}

TEST(Cli, ConfigFilesFillInOptionsAndFlagsWin) {
  TempDir dir;
  write_text_file(dir / "c", "seed = 9\nclasses = 6\nsamples = 30\ndimensions = 5\nnoise = 4\nattributes = 4\n");
  const auto config = dir.file("c"), out = dir.file("o");
  EXPECT_TRUE(has_members(run_json({"data", "synth", out, "--config", config, "--samples", "36"}),
                          {{"samples", 36}, {"classes", 6}, {"seed", 9}}));
  write_text_file(dir / "bad", "clases = 6\n");
  run_error({"data", "synth", out, "--config", dir.file("bad")}, 3,
            ":1: unknown option 'clases'; did you mean 'classes'?");
}

TEST(Cli, DoctorTellsAboutProductsLibrariesThreadsAndMemory) {
  const auto info = run_json({"doctor"});
  EXPECT_GE(info["threads"].get<int>(), 1);
  EXPECT_GT(info["memory_bytes"].get<double>(), 1e8);
  EXPECT_FALSE(info["simd"].get<std::string>().empty());
  EXPECT_FALSE(info["libraries"].empty());
  for (const char* rate : {"peak_gflops", "one_core_gflops", "all_cores_gflops"})
    EXPECT_GT(info["products"][rate].get<double>(), 0) << rate;
  EXPECT_FALSE(info.contains("optional")) << "no part of the build is optional";
}

TEST(Cli, GeneratedPagesInDocsAreCurrent) {
  const std::string docs = std::string(PARSNETS_SOURCE_DIR) + "/docs/";
  EXPECT_TRUE(same_bytes(run_cli({"docs", "options"}).out, read_text_file(docs + "options.md"))) << "run 'make docs'";
  EXPECT_TRUE(same_bytes(run_cli({"docs", "man"}).out, read_text_file(docs + "parsnets.1"))) << "run 'make docs'";
}

TEST(Cli, MessagesThatNobodyReadsChangeNothing) {
  for (const char* messages : {"/dev/full", "&-"})
    for (const auto& [words, code] : {std::pair("nosuch", 2), std::pair("info /no/such/file", 3)}) {
      const std::string line = shell_quoted(PARSNETS_BINARY) + " " + words + " 2>" + messages;
      EXPECT_EQ(exit_code_of(std::system(line.c_str())), code) << line;
    }
}

TEST(Cli, InfoListsWhatIsInADataFile) {
  EXPECT_TRUE(has_members(run_json({"info", kDemo + "/features.npy"})["contents"][0],
                          {{"type", "float16"}, {"shape", "2400 x 192"}}));
  EXPECT_EQ(run_json({"info"})["version"], PARSNETS_VERSION);
}

}  // namespace parsnets::test
