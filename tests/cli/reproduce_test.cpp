// reproduce as a user calls it.

#include <gtest/gtest.h>

#include "cli/run_cli.hpp"
#include "formats/array_files.hpp"

namespace parsnets::test {

namespace {

/// A root with the embedded set, under its own name and converted under another.
struct Root {
  TempDir folder;
  std::string root = folder.file("data"), out = folder.file("out");
  Root() {
    fs::create_directories(root);
    fs::create_directory_symlink(kDemo, root + "/demo");
  }
  Words command(const Words& more) const { return Words{"reproduce", "--root", root, "--out", out} + more; }
};

const Words kSmall{"--methods", "ridge,eszsl,default", "--seeds", "2", "--points", "20"};

nlohmann::json table(const CliResult& result, const std::string& name) {
  const auto json = result.json();
  for (const auto& one : json["tables"])
    if (one["name"] == name) return one;
  return {};
}

}  // namespace

TEST(CliReproduce, InterruptedTwiceItGoesOnAndEndsWithTheTablesOfAnUninterruptedCall) {
  const Root interrupted, whole;
  for (const char* line : {"demo, ridge, seed 2", "demo, default, seed 1"}) {
    CliProcess process(interrupted.command(kSmall));
    ASSERT_TRUE(process.wait_for_line(line));
    process.send(SIGINT);
    expect_error(process.finish(), 130, "the same command goes on");
  }
  const Words options = kSmall + Words{"--json"};
  const CliResult resumed = run_ok(interrupted.command(options)), at_once = run_ok(whole.command(options));
  EXPECT_GE(resumed.json()["reused"].get<int>(), 1);
  EXPECT_EQ(resumed.json()["reused"].get<int>() + resumed.json()["runs"].get<int>(), 6);
  for (const char* name : {"zsl", "gzsl", "intervals", "comparisons"})
    EXPECT_EQ(table(resumed, name), table(at_once, name)) << name;
}

TEST(CliReproduce, OwnRowsAndAConvertedCopyUnderAnotherNameStandBesideTheOriginal) {
  const Root root;
  save_xlsa17(load_dataset(root.root + "/demo"), root.root + "/photos");
  write_text_file(root.folder / "rows.csv",
                  "method,data,ZSL,source\nmine,demo,99.5,a paper\nmine,photos,99.5,a paper\n");
  const Words options = kSmall + Words{"--rows", root.folder.file("rows.csv"), "--json"};
  const auto zsl = table(run_ok(root.command(options)), "zsl");
  ASSERT_EQ(zsl["columns"].size(), 2u);
  ASSERT_EQ(zsl["rows"].size(), 4u);
  for (const auto& row : zsl["rows"]) EXPECT_EQ(row["cells"][0], row["cells"][1]) << row;
  EXPECT_EQ(zsl["rows"][3]["source"], "own");
}

TEST(CliReproduce, AWholeStudyWritesEveryTableInEveryFormatAndOneReport) {
  const Root root;
  const auto result = run_ok(root.command({"--methods", "ridge,default,ablation,sparsity", "--seeds", "1", "--quiet"}));
  for (const char* name : {"zsl", "gzsl", "ablation", "sparsity", "costs", "intervals", "comparisons", "data"})
    for (const char* ending : {".md", ".csv", ".tex", ".json"})
      EXPECT_TRUE(fs::exists(root.out + "/tables/" + name + ending)) << name << ending;
  EXPECT_TRUE(has(read_text_file(root.out + "/tables/sparsity.csv"), "\n10,measured,")) << "rows are numbers";
  EXPECT_TRUE(has(result.out, "report.html"));
  EXPECT_TRUE(has(result.out, "SHA-256")) << "missing public files are named";
  const std::string page = read_text_file(root.out + "/report.html");
  for (const char* part : {"\"sweep\":{", "\"ablation\":{", "\"tsne\":{"}) EXPECT_TRUE(has(page, part)) << part;
}

TEST(CliReproduce, BadInputIsOneErrorAndNothingIsWritten) {
  const Root root;
  run_error({"reproduce"}, 2);
  run_error(root.command({"--methods", "nonsense"}), 2);
  write_text_file(root.folder / "rows.csv", "method,data\nmine,demo\n");
  run_error(root.command({"--rows", root.folder.file("rows.csv")}), 3);
  run_error({"reproduce", "--root", root.folder.file("none"), "--out", root.out}, 3);
  EXPECT_FALSE(fs::exists(root.out));
}

TEST(CliReproducePeers, TheLatexOfAllTablesCompiles) {
  if (std::getenv("PARSNETS_PEERS") == nullptr) GTEST_SKIP() << "set PARSNETS_PEERS=1 to run LaTeX";
  const Root root;
  run_ok(root.command({"--methods", "ridge,default,ablation", "--seeds", "2", "--quiet"}));
  const std::string line = "cd " + shell_quoted(root.out + "/tables") +
                           " && pdflatex -interaction=nonstopmode -halt-on-error tables.tex > latex.log 2>&1";
  ASSERT_EQ(std::system(line.c_str()), 0) << read_text_file(root.out + "/tables/latex.log");
  EXPECT_GT(fs::file_size(root.out + "/tables/tables.pdf"), 10000u);
}

}  // namespace parsnets::test
