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
  const std::string data = dir.file("tiny set"), run = dir.file("run");
  run_ok({"data", "synth", data, "--classes", "6", "--attributes", "8", "--samples", "120", "--dimensions", "12",
          "--quiet"});
  run_ok({"train", "--data", data, "--run", run, "--method", "ridge", "--quiet"});
  return run;
}

std::size_t occurrences(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

using CliPagePictures = FolderTest;

TEST_F(CliPagePictures, EveryFigureIsWrittenInEveryFormatAndStandsAlone) {
  if (!chromium_is_installed()) GTEST_SKIP() << "NOT TESTED: no Chromium is installed, which draws the pictures";
  const fs::path pictures = dir / "figures";
  const auto made = run_ok({"report", "--run", small_run(dir), "--out", dir.file("r.html"), "--points", "20",
                            "--pictures", "svg,pdf", "--quiet", "--json"});
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(pictures)) {
    const fs::path& file = entry.path();
    const std::string text = read_text_file(file);
    names.insert(file.stem());
    if (file.extension() == ".svg") {
      EXPECT_TRUE(text.starts_with("<svg ")) << file;
      EXPECT_TRUE(text.ends_with("</svg>\n")) << file;
      EXPECT_TRUE(has(text, "xmlns=\"http://www.w3.org/2000/svg\"")) << file;
      EXPECT_FALSE(has(text, "class=")) << file << " needs the page's style sheet";
      EXPECT_FALSE(has(text, "var(--")) << file << " needs the page's colours";
    } else {
      EXPECT_TRUE(text.starts_with("%PDF-")) << file;
      EXPECT_EQ(occurrences(text, "/MediaBox ["), 1u) << file << " has one page";
      EXPECT_FALSE(has(text, "/MediaBox [0 0 612 792]")) << file << " is not cropped";
    }
  }
  EXPECT_EQ(made.json()["pictures"], 2 * names.size());
  for (const char* figure : {"tradeoff", "per-class", "confusion", "tsne"})
    for (const char* ending : {".svg", ".pdf"})
      EXPECT_TRUE(fs::exists(pictures / (std::string(figure) + ending))) << figure << ending;
  EXPECT_TRUE(has(read_text_file(pictures / "confusion.svg"), "href=\"data:image/png;base64,"))
      << "drawn on a canvas, and embedded as an image";
}

TEST_F(CliPagePictures, FilesOfSeveralDataSetsAreNamedByTheirData) {
  if (!chromium_is_installed()) GTEST_SKIP() << "NOT TESTED: no Chromium is installed, which draws the pictures";
  const std::string other = dir.file("demo/ridge");
  run_ok({"train", "--data", kDemo, "--run", other, "--method", "ridge", "--quiet"});
  const fs::path pictures = dir / "figures";
  run_ok({"report", "--run", small_run(dir) + "," + other, "--out", dir.file("r.html"), "--points", "20", "--pictures",
          "svg", "--quiet"});
  EXPECT_TRUE(fs::exists(pictures / "tiny_set-tradeoff.svg"));
  EXPECT_TRUE(has(read_text_file(pictures / "demo-explanations.svg"), "href=\"data:image/jpeg;base64,"))
      << "photographs are there before the figure is written";
}

TEST_F(CliPagePictures, WrongOptionsAreRefusedBeforeTheWork) {
  for (const auto& [out, formats] : {std::pair("r.html", "svg,gif"), std::pair("r.json", "svg")})
    run_error({"report", "--run", dir.file("none"), "--out", dir.file(out), "--pictures", formats}, 2);
}

}  // namespace parsnets::test
