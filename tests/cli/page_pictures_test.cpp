// The figures of a report as files.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/file.hpp"
#include "cli/run_cli.hpp"

namespace parsnets::test {

namespace {

bool chromium_is_installed() {
  return std::system(
             "command -v chromium > /dev/null || command -v chromium-browser > /dev/null || "
             "command -v google-chrome > /dev/null") == 0;
}

/// A run of a method with few figures, on little data.
std::string small_run(const TempDir& dir) {
  const std::string data = (dir / "tiny set").string(), run = (dir / "run").string();
  EXPECT_EQ(run_cli({"data", "synth", data, "--classes", "6", "--attributes", "8", "--samples", "120", "--dimensions",
                     "12", "--quiet"})
                .exit_code,
            0);
  EXPECT_EQ(run_cli({"train", "--data", data, "--run", run, "--method", "ridge", "--quiet"}).exit_code, 0);
  return run;
}

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

TEST(CliPagePictures, EveryFigureIsWrittenInEveryFormatAndStandsAlone) {
  if (!chromium_is_installed()) GTEST_SKIP() << "NOT TESTED: no Chromium is installed, which draws the pictures";
  TempDir dir;
  const std::filesystem::path pictures = dir / "figures";
  const auto made = run_cli({"report", "--run", small_run(dir), "--out", (dir / "r.html").string(), "--points", "20",
                             "--pictures", "svg,pdf", "--quiet", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(pictures)) {
    const std::filesystem::path& file = entry.path();
    const std::string text = read_text_file(file);
    names.insert(file.stem());
    if (file.extension() == ".svg") {
      EXPECT_TRUE(text.starts_with("<svg ")) << file;
      EXPECT_TRUE(text.ends_with("</svg>\n")) << file;
      EXPECT_NE(text.find("xmlns=\"http://www.w3.org/2000/svg\""), std::string::npos) << file;
      EXPECT_EQ(text.find("class="), std::string::npos) << file << " needs the page's style sheet";
      EXPECT_EQ(text.find("var(--"), std::string::npos) << file << " needs the page's colours";
    } else {
      EXPECT_TRUE(text.starts_with("%PDF-")) << file;
      EXPECT_EQ(occurrences(text, "/MediaBox ["), 1u) << file << " has one page";
      EXPECT_EQ(text.find("/MediaBox [0 0 612 792]"), std::string::npos) << file << " is not cropped";
    }
  }
  EXPECT_EQ(made.json()["pictures"], 2 * names.size());
  for (const char* figure : {"tradeoff", "per-class", "confusion", "tsne"})
    for (const char* ending : {".svg", ".pdf"})
      EXPECT_TRUE(std::filesystem::exists(pictures / (std::string(figure) + ending))) << figure << ending;
  EXPECT_NE(read_text_file(pictures / "confusion.svg").find("href=\"data:image/png;base64,"), std::string::npos)
      << "drawn on a canvas, and embedded as an image";
}

TEST(CliPagePictures, FilesOfSeveralDataSetsAreNamedByTheirData) {
  if (!chromium_is_installed()) GTEST_SKIP() << "NOT TESTED: no Chromium is installed, which draws the pictures";
  TempDir dir;
  const std::string demo = std::string(PARSNETS_SOURCE_DIR) + "/data/demo", other = (dir / "demo/ridge").string();
  ASSERT_EQ(run_cli({"train", "--data", demo, "--run", other, "--method", "ridge", "--quiet"}).exit_code, 0);
  const std::filesystem::path pictures = dir / "figures";
  const auto made = run_cli({"report", "--run", small_run(dir) + "," + other, "--out", (dir / "r.html").string(),
                             "--points", "20", "--pictures", "svg", "--quiet"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(std::filesystem::exists(pictures / "tiny_set-tradeoff.svg"));
  EXPECT_NE(read_text_file(pictures / "demo-explanations.svg").find("href=\"data:image/jpeg;base64,"),
            std::string::npos)
      << "photographs are there before the figure is written";
}

TEST(CliPagePictures, WrongOptionsAreRefusedBeforeTheWork) {
  TempDir dir;
  for (const auto& [out, formats] : {std::pair("r.html", "svg,gif"), std::pair("r.json", "svg")})
    EXPECT_EQ(
        run_cli({"report", "--run", (dir / "none").string(), "--out", (dir / out).string(), "--pictures", formats})
            .exit_code,
        2)
        << out;
}

}  // namespace parsnets::test
