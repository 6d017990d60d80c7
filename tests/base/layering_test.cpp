// Data flows one way through src/: a folder may include only the folders before it. Eigen and BLAS stay inside src/.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "paths.hpp"

namespace {

const std::vector<std::string> kOrder{"base", "formats", "data",  "features", "model",  "solvers",
                                      "eval", "train",   "store", "device",   "report", "capi"};

std::vector<std::string> includes_of(const std::filesystem::path& file) {
  std::vector<std::string> found;
  std::ifstream in(file);
  const std::regex pattern("^\\s*#include [<\"]([^>\"]+)[>\"]");
  std::smatch match;
  for (std::string line; std::getline(in, line);)
    if (std::regex_search(line, match, pattern)) found.push_back(match[1]);
  return found;
}

template <class Visit>
void for_each_source(const std::string& folder, Visit visit) {
  const std::filesystem::path root(PARSNETS_SOURCE_DIR);
  if (!std::filesystem::exists(root / folder)) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    const auto ending = entry.path().extension();
    if (ending == ".cpp" || ending == ".hpp" || ending == ".h" || ending == ".c") visit(entry.path());
  }
}

}  // namespace

TEST(Layering, FoldersOfSrcIncludeOnlyTheOnesBeforeThem) {
  std::size_t files = 0;
  for (std::size_t rank = 0; rank < kOrder.size(); ++rank)
    for_each_source("src/" + kOrder[rank], [&](const std::filesystem::path& file) {
      ++files;
      for (const auto& include : includes_of(file)) {
        const auto slash = include.find('/');
        const auto found = std::find(kOrder.begin(), kOrder.end(), include.substr(0, slash));
        if (slash == std::string::npos || found == kOrder.end()) continue;
        EXPECT_LE(static_cast<std::size_t>(found - kOrder.begin()), rank) << file << " includes " << include;
      }
    });
  EXPECT_GT(files, 20u);
}

TEST(Layering, EigenAndBlasStayInsideSrc) {
  for (const char* folder : {"include", "cli", "runtime"})
    for_each_source(folder, [](const std::filesystem::path& file) {
      for (const auto& include : includes_of(file))
        EXPECT_TRUE(include.find("Eigen") == std::string::npos && include.find("cblas") == std::string::npos) << file;
    });
}

TEST(Layering, OnlyTheCommandLinePrints) {
  const std::regex printing("(std::cout|std::cerr|\\bprintf\\(|fputs\\(|fmt::print|std::abort|std::exit|\\bexit\\()");
  for_each_source("src", [&](const std::filesystem::path& file) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
      EXPECT_FALSE(std::regex_search(line, printing)) << file << ": " << line;
  });
}
