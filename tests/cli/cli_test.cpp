#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "parsnets/version.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {}  // namespace

TEST(Cli, HelpAndVersionAnswerOnStandardOutput) {
  const auto help = run_cli({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command : {"data", "info", "doctor", "completion"})
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
  EXPECT_EQ(run_cli({"--version"}).out, "parsnets " PARSNETS_VERSION "\n");
  EXPECT_EQ(run_cli({"data", "inspect", "--help"}).exit_code, 0);
}

TEST(Cli, MistakesInTheCallAreUsageErrors) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{},
                                                                     {"nonsense"},
                                                                     {"data"},
                                                                     {"data", "inspect"},
                                                                     {"data", "inspect", kDemo, "--nope"},
                                                                     {"docs", "novel"},
                                                                     {"completion", "tcsh"}}) {
    const auto result = run_cli(arguments);
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_FALSE(result.err.empty());
  }
}

TEST(Cli, OptionsWithoutTheirValuesAreNamedWithWhatIsExpected) {
  for (const auto& [arguments, message] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"extract", "--images"}, "extract: --images: expected one or more paths, found nothing"},
           {{"train", "--data", "--out", "x"}, "train: --data: expected text, found nothing"},
           {{"data", "inspect", kDemo, "--threads"}, "data inspect: --threads: expected an integer from 0 to"}}) {
    const auto result = run_cli(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("parsnets: " + message), std::string::npos) << result.err;
  }
}

TEST(Cli, MistypedNamesGetASuggestion) {
  struct Case {
    std::vector<std::string> arguments;
    const char* meant;
  };
  const std::vector<std::string> bench{"bench", "--data", kDemo};
  const auto with = [&](const char* flag, const char* value) {
    auto line = bench;
    line.insert(line.end(), {flag, value});
    return line;
  };
  for (const auto& [arguments, meant] : std::vector<Case>{
           {{"trian"}, "'train'"},
           {{"trian", "--help"}, "'train'"},
           {{"data", "inspct", kDemo}, "data: 'inspct' is not a command; did you mean 'inspect'"},
           {{"train", "--lamda", "3"}, "'--lambda'"},
           {{"train", "--lamda=3"}, "'--lambda'"},
           {with("--methods", "rigde"), "'ridge'"},
           {with("--methods", "ridge:lamda=3"), "'lambda'"},
           {with("--sweep", "activ=1,2"), "'active'"},
           {{"train", "--data", kDemo, "--out", "unused", "--search", "grid", "--grid", "netwroks=1"}, "'networks'"}}) {
    const auto result = run_cli(arguments);
    EXPECT_EQ(result.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_NE(result.err.find(meant), std::string::npos) << ::testing::PrintToString(arguments) << result.err;
    EXPECT_NE(result.err.find("did you mean"), std::string::npos) << result.err;
  }
  const auto nothing_near = run_cli({"table", "--help"});
  EXPECT_EQ(nothing_near.exit_code, 2);
  EXPECT_NE(nothing_near.err.find("'table' is not a command"), std::string::npos) << nothing_near.err;
}

TEST(Cli, EveryCommandAndGroupAnswersHelp) {
  const std::string top = run_cli({"--help"}).out;
  EXPECT_EQ(run_cli({"help"}).out, top);
  EXPECT_EQ(run_cli({"help", "data", "inspect"}).out, run_cli({"data", "inspect", "--help"}).out);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"train"},
                                                {"eval"},
                                                {"predict"},
                                                {"explain"},
                                                {"classes"},
                                                {"classes", "add"},
                                                {"export"},
                                                {"bench"},
                                                {"report"},
                                                {"data"},
                                                {"data", "synth"},
                                                {"info"},
                                                {"doctor"},
                                                {"completion"},
                                                {"docs"}}) {
    auto asked = words, helped = words;
    asked.push_back("--help");
    helped.insert(helped.begin(), "help");
    const auto answer = run_cli(asked);
    EXPECT_EQ(answer.exit_code, 0) << words[0];
    EXPECT_NE(answer.out.find("--help"), std::string::npos) << words[0];
    EXPECT_EQ(run_cli(helped).out, answer.out) << words[0];
  }
}

TEST(Cli, EveryImpossibleOptionIsNamedInOneMessage) {
  const auto result = run_cli({"data", "synth", "out", "--classes", "1", "--noise", "x", "--format", "xls"});
  EXPECT_EQ(result.exit_code, 2);
  for (const char* part : {"--classes: expected an integer from 3", "--noise: expected auto or a number",
                           "--format: expected one of: npy"})
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST(Cli, MessagesOfTheLibraryNameFlags) {
  TempDir dir;
  const auto model = (dir / "m").string();
  const auto train = run_cli({"train", "--data", kDemo, "--out", model, "--method", "ridge", "--search", "auto"});
  EXPECT_EQ(train.exit_code, 2);
  EXPECT_NE(train.err.find("--search auto requires --method parsnets"), std::string::npos) << train.err;
  const auto inspect = run_cli({"data", "inspect", kDemo, "--semantics", "none", "--json"});
  EXPECT_EQ(inspect.exit_code, 3);
  EXPECT_EQ(inspect.json()["error"]["advice"], "set --semantics to one of them");
}

TEST(Cli, QuietLeavesResults) {
  EXPECT_NE(run_cli({"train", "--help"}).out.find("suppress progress; results, warnings and errors stay"),
            std::string::npos);
  TempDir dir;
  const std::string out = (dir / "m.safetensors").string();
  const auto result = run_cli({"train", "--data", kDemo, "--method", "ridge", "--out", out, "--quiet"});
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("m.safetensors"), std::string::npos) << result.out;
}

TEST(Cli, JsonIsOneObjectAlsoForErrors) {
  EXPECT_EQ(run_cli({"data", "inspect", kDemo, "--json"}).json()["samples"], 2400);
  const auto error = run_cli({"data", "inspect", "/nowhere", "--json"});
  EXPECT_EQ(error.exit_code, 3);
  EXPECT_EQ(error.json()["error"]["file"], "/nowhere");
  EXPECT_NE(error.err.find("/nowhere"), std::string::npos);
}

TEST(Cli, ConfigFilesFillInOptionsAndFlagsWin) {
  TempDir dir;
  write_text_file(dir / "c", "seed = 9\nclasses = 6\nsamples = 30\ndimensions = 5\nnoise = 4\nattributes = 4\n");
  const auto config = (dir / "c").string(), out = (dir / "o").string();
  auto result = run_cli({"data", "synth", out, "--config", config, "--samples", "36", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["samples"], 36);
  EXPECT_EQ(result.json()["classes"], 6);
  EXPECT_EQ(result.json()["seed"], 9);
  write_text_file(dir / "bad", "clases = 6\n");
  result = run_cli({"data", "synth", out, "--config", (dir / "bad").string()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find(":1: unknown option 'clases'; did you mean 'classes'?"), std::string::npos) << result.err;
}

TEST(Cli, PrintConfigPrintsWhatWouldBeUsed) {
  TempDir dir;
  const auto printed = run_cli({"data", "synth", "unused", "--classes", "7", "--print-config"});
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_NE(printed.out.find("\nclasses = 7\n"), std::string::npos) << printed.out;
  write_text_file(dir / "c", printed.out);
  EXPECT_EQ(run_cli({"data", "synth", "unused", "--config", (dir / "c").string(), "--print-config"}).out, printed.out);
}

TEST(Cli, DoctorTellsAboutBlasSimdThreadsAndMemory) {
  const auto info = run_cli({"doctor", "--json"}).json();
  EXPECT_NE(info["blas"].get<std::string>().find("OpenBLAS"), std::string::npos);
  EXPECT_GE(info["threads"].get<int>(), 1);
  EXPECT_GT(info["memory_bytes"].get<double>(), 1e8);
  EXPECT_FALSE(info["simd"].get<std::string>().empty());
  EXPECT_FALSE(info["libraries"].empty());
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
  const auto info = run_cli({"info", kDemo + "/features.npy", "--json"}).json();
  EXPECT_EQ(info["contents"][0]["type"], "float16");
  EXPECT_EQ(info["contents"][0]["shape"], "2400 x 192");
  EXPECT_EQ(run_cli({"info", "--json"}).json()["version"], PARSNETS_VERSION);
}

}  // namespace parsnets::test
