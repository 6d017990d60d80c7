// The library knows no command line: messages of src/ mention options by option_name() and commands not at all.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "paths.hpp"

namespace {

const std::filesystem::path kRoot(PARSNETS_SOURCE_DIR);

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

template <class Visit>
void for_each_match(const std::string& text, const std::regex& pattern, Visit visit) {
  for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found) visit(*found);
}

template <class Visit>
void for_each_source(Visit visit) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "src"))
    if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp")
      visit(entry.path(), text_of(entry.path()));
}

}  // namespace

TEST(Messages, MentionOptionsOfTheOptionTables) {
  std::set<std::string> options;
  for_each_match(text_of(kRoot / "docs" / "options.md"), std::regex("`--([a-z0-9-]+)"),
                 [&](const std::smatch& found) { options.insert(found[1]); });
  std::size_t mentions = 0;
  for_each_source([&](const std::filesystem::path& file, const std::string& text) {
    for_each_match(text, std::regex("option_name\\(\"([^\"]*)\""), [&](const std::smatch& found) {
      ++mentions;
      if (found[1] == "allow-trained-samples") return;  // a parameter of C and Python; the command line says --force
      EXPECT_TRUE(options.contains(found[1])) << file << ": no command has an option " << found[1];
    });
  });
  EXPECT_GT(mentions, 40u);
}

TEST(Messages, NameNeitherFlagsNorCommands) {
  const std::regex literal("\"((?:[^\"\\\\\n]|\\\\.)*)\""), command_line("(^|\\W)--[a-z]|['`](parsnets|train|bench) ");
  std::size_t literals = 0;
  for_each_source([&](const std::filesystem::path& file, const std::string& text) {
    for_each_match(text, literal, [&](const std::smatch& found) {
      ++literals;
      EXPECT_FALSE(std::regex_search(found[1].str(), command_line)) << file << ": " << found[1];
    });
  });
  EXPECT_GT(literals, 1000u);
}
