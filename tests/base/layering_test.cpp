// What all sources promise. Data flows one way through src/: a folder may include only the folders before it. Eigen and
// BLAS stay inside src/. docs/architecture.md is the picture; scripts/include_graph.py draws it and reads kOrder here.
// The library knows no command line: messages of src/ mention options by option_name() and commands not at all.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "paths.hpp"

namespace {

const std::vector<std::string> kOrder{"base",  "formats", "data",   "images", "features",    "model", "solvers", "eval",
                                      "train", "store",   "device", "report", "experiments", "capi",  "serve"};

const std::set<std::string> kRoomsOfTheCommandLine{"base",        "data",    "eval",     "formats", "images",
                                                   "train",       "device",  "features", "report",  "store",
                                                   "experiments", "include", "runtime",  "serve"};

// Tests of no single source: of a whole program, of what several files promise together, or of data.
const std::set<std::string> kTestsOfSeveralFiles{
    "base/layering_test.cpp",         // all sources
    "cli/cli_test.cpp",               // what all commands have in common
    "cli/config_test.cpp",            // config files of all commands
    "cli/eval_open_set_test.cpp",     // eval --unknown-classes
    "cli/memory_test.cpp",            // --memory-limit of all commands
    "cli/outputs_test.cpp",           // output files of all commands
    "device/real_export_test.cpp",    // export on real data
    "solvers/svr_promises_test.cpp",  // what all parts of the SVR promise together
    "train/properties_test.cpp",      // what training on any data set has in common
    "train/real_data_test.cpp",       // training on real data
};

const std::filesystem::path kRoot(PARSNETS_SOURCE_DIR);

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

template <class Visit>
void for_each_match(const std::string& text, const std::regex& pattern, Visit visit) {
  for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found) visit((*found)[1]);
}

std::vector<std::string> includes_of(const std::filesystem::path& file) {
  std::vector<std::string> found;
  for_each_match(text_of(file), std::regex("(?:^|\n)[ \t]*#include [<\"]([^>\"\n]+)[>\"]"),
                 [&](const std::string& name) { found.push_back(name); });
  return found;
}

template <class Visit>
void for_each_source(const std::string& folder, Visit visit) {
  if (!std::filesystem::exists(kRoot / folder)) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / folder)) {
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

TEST(Layering, PublicHeadersIncludeOnlyEachOther) {
  std::size_t files = 0;
  for_each_source("include", [&](const std::filesystem::path& file) {
    ++files;
    for (const auto& include : includes_of(file))  // the standard library's headers are in no folder
      EXPECT_TRUE(include.find('/') == std::string::npos || include.starts_with("parsnets/"))
          << file << " includes " << include;
  });
  EXPECT_GT(files, 10u);
}

TEST(Layering, TheCommandLineIncludesTheRoomsItMay) {
  std::set<std::string> used;
  for_each_source("cli", [&](const std::filesystem::path& file) {
    for (const auto& include : includes_of(file)) {
      std::string room;
      if (std::filesystem::exists(kRoot / "src" / include)) room = include.substr(0, include.find('/'));
      for (const char* folder : {"include", "runtime"})
        if (std::filesystem::exists(kRoot / folder / include)) room = folder;
      if (room.empty()) continue;  // a header of the system, of CMake or of cli/
      used.insert(room);
      EXPECT_TRUE(kRoomsOfTheCommandLine.contains(room)) << file << " includes " << include;
    }
  });
  EXPECT_EQ(used, kRoomsOfTheCommandLine) << "a room that is no longer used leaves the list";
}

TEST(Layering, ATestIsNamedAfterTheFileItTests) {
  std::set<std::string> without_a_source;
  for_each_source("tests", [&](const std::filesystem::path& file) {
    const std::string test = std::filesystem::relative(file, kRoot / "tests").generic_string(), ending = "_test.cpp";
    if (!test.ends_with(ending)) return;
    const std::string tested = test.substr(0, test.size() - ending.size()), name = tested.substr(tested.rfind('/') + 1);
    const auto exists = [&](const std::string& path) { return std::filesystem::exists(kRoot / path); };
    if (exists("src/" + tested + ".cpp") || exists("src/" + tested + ".hpp") || exists(tested + ".cpp") ||
        exists(tested + ".hpp") || exists(tested + ".c") || exists("include/parsnets/" + name + ".hpp") ||
        exists("tests/" + tested + ".hpp"))
      return;
    without_a_source.insert(test);
  });
  EXPECT_EQ(without_a_source, kTestsOfSeveralFiles);
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
    for_each_match(text_of(file), printing, [&](const std::string& found) { ADD_FAILURE() << file << ": " << found; });
  });
}

TEST(Messages, MentionOptionsOfTheOptionTables) {
  std::set<std::string> options;
  for_each_match(text_of(kRoot / "docs" / "options.md"), std::regex("`--([a-z0-9-]+)"),
                 [&](const std::string& found) { options.insert(found); });
  std::size_t mentions = 0;
  for_each_source("src", [&](const std::filesystem::path& file) {
    for_each_match(text_of(file), std::regex("option_name\\(\"([^\"]*)\""), [&](const std::string& found) {
      ++mentions;
      if (found == "allow-trained-samples") return;  // a parameter of C and Python; the command line says --force
      EXPECT_TRUE(options.contains(found)) << file << ": no command has an option " << found;
    });
  });
  EXPECT_GT(mentions, 40u);
}

TEST(Messages, NameNeitherFlagsNorCommands) {
  const std::regex literal("\"((?:[^\"\\\\\n]|\\\\.)*)\""), command_line("(^|\\W)--[a-z]|['`](parsnets|train|bench) ");
  std::size_t literals = 0;
  for_each_source("src", [&](const std::filesystem::path& file) {
    for_each_match(text_of(file), literal, [&](const std::string& found) {
      ++literals;
      EXPECT_FALSE(std::regex_search(found, command_line)) << file << ": " << found;
    });
  });
  EXPECT_GT(literals, 1000u);
}
