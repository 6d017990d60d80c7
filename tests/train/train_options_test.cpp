#include "train/train_options.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "paths.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

TEST(TrainOptions, ResolvingLeavesNothingToTheSizeOfTheDataAndIsIdempotent) {
  const Dataset data = test::small_training_set();
  for (const auto& name : method_names()) {
    TrainOptions once = resolve_options(test::options_with(name), data), twice = resolve_options(once, data);
    const auto values = train_option_table(once).to_json();
    for (const auto& [option, value] : values.items()) EXPECT_NE(value, "auto") << name << " " << option;
    EXPECT_EQ(options_text(once), options_text(twice)) << name;
  }
}

// A row that writes to a field of another row, or that reads another one, would show here.
TEST(TrainOptions, EveryRowHasAFieldOfItsOwnThatIsObeyed) {
  const Dataset data = test::small_training_set();
  for (const auto& name : method_names()) {
    TrainOptions usual = test::options_with(name);
    const OptionTable rows = train_option_table(usual);
    for (const auto& row : rows.options()) {
      if (row.name == "method") continue;
      TrainOptions changed = test::options_with(name);
      const OptionTable table = train_option_table(changed);
      std::string value;
      for (const std::string candidate : {"true", "false", "2", "0.5", "50%", "1MB", "l2", "standardize", "identity",
                                          "anchor", "features", "ridge", "grid", "dot"})
        if (!table.find(row.name)->assign(candidate) && table.find(row.name)->value() != row.value()) {
          value = candidate;
          break;
        }
      ASSERT_FALSE(value.empty()) << name << " " << row.name;
      EXPECT_EQ(changed_options(changed).count(row.name), 1u);
      EXPECT_EQ(changed_options(changed).size(), name == "parsnets" ? 1u : 2u) << "and no other: " << row.name;
      const auto wanted = table.find(row.name)->value();
      if (name == "scln" && (row.name == "mmg" || row.name == "joint-steps")) continue;  // it is what scln leaves out
      if (name == "mmg" && row.name == "gates") continue;                                // all networks are active
      if (name == "dap" && row.name == "semantic-scaling") continue;                     // binary, always
      if (row.name == "semantic-weights") continue;                                      // there is one table
      TrainOptions resolved = resolve_options(changed, data);
      EXPECT_EQ(train_option_table(resolved).find(row.name)->value(), wanted) << name << " " << row.name;
    }
  }
}

TEST(TrainOptions, SettingsOfAllMethodsHaveEveryRowOfEveryMethodOnce) {
  TrainSettings settings;
  const OptionTable all = train_option_table(settings);
  std::map<std::string, int> names;
  for (const auto& row : all.options()) ++names[row.name];
  for (const auto& [name, count] : names) EXPECT_EQ(count, 1) << name;
  for (const auto& method : method_names()) {
    TrainOptions options = test::options_with(method);
    const OptionTable own = train_option_table(options);
    for (const auto& row : own.options()) {
      ASSERT_TRUE(names.contains(row.name)) << row.name;
      EXPECT_EQ(all.find(row.name)->expected, row.expected) << row.name << ": the same in every method that has it";
    }
  }
}

// A file that names a third of the options would be a second list, which an option can be missing from.
TEST(TrainOptions, NoOtherFileListsThem) {
  TrainSettings settings;
  const OptionTable all = train_option_table(settings);
  const std::filesystem::path root = PARSNETS_SOURCE_DIR;
  std::string only;
  for (const char* folder : {"src", "cli", "include", "python/parsnets", "mpi"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".cpp" && ending != ".hpp" && ending != ".h" && ending != ".py") continue;
      const std::string text = read_text_file(entry.path());
      std::size_t named = 0;
      for (const auto& row : all.options()) {
        std::string python = row.name;
        std::ranges::replace(python, '-', '_');
        for (const char* quote : {"\"", "'"})
          if (text.find(quote + row.name + quote) != std::string::npos ||
              text.find(quote + python + quote) != std::string::npos) {
            ++named;
            break;
          }
      }
      if (3 * named > all.options().size()) only += entry.path().filename().string() + " ";
    }
  EXPECT_EQ(only, "train_options.cpp ");
}

TEST(TrainOptions, SettingsBecomeTheOptionsOfTheirMethodInAnyOrder) {
  TrainSettings settings;
  const OptionTable table = train_option_table(settings);
  ASSERT_FALSE(table.find("c")->assign("0.5"));
  ASSERT_FALSE(table.find("semantic-whitening")->assign("0.1"));
  EXPECT_THROW(settings.options(), Error) << "c is an option of other methods";
  ASSERT_FALSE(table.find("method")->assign("scln"));
  const TrainOptions options = settings.options();
  const auto& paper = std::get<PaperOptions>(options.method);
  EXPECT_EQ(paper.part, PaperPart::scln);
  EXPECT_EQ(paper.c, 0.5);
  EXPECT_EQ(paper.semantics.whitening, 0.1);
  EXPECT_EQ(table.find("c")->value(), 0.5);
  EXPECT_TRUE(table.find("method")->assign("svm"));
  TrainSettings again;
  again.set(options);
  EXPECT_EQ(options_text(again.options()), options_text(options));
}

TEST(TrainOptions, ComeBackFromTheTextOfAModel) {
  for (const auto& name : method_names()) {
    const TrainOptions options = test::small_options(name, "semantic-whitening=0.125;calibrate=false");
    EXPECT_EQ(options_text(options_from_text(options_text(options), "m")), options_text(options)) << name;
  }
  EXPECT_THROW(options_from_text(R"({"method":"wings"})", "m"), Error);
  EXPECT_THROW(options_from_text(R"({"method":"ridge","lambda":"many"})", "m"), Error);
}

TEST(TrainOptions, TrainingOnResolvedOptionsGivesTheSameModel) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  for (const auto& name : method_names()) {
    const TrainOptions options = test::small_options(name);
    Model a = train(data, options, pool), b = train(data, resolve_options(options, data), pool);
    a.record.asked = b.record.asked;  // less was asked of the first
    EXPECT_EQ(a.options, b.options) << name;
    EXPECT_TRUE(a.record == b.record) << name;
    EXPECT_TRUE(std::ranges::equal(a.networks.values(), b.networks.values())) << name;
  }
}

TEST(TrainOptions, SizesFollowTheirFunctions) {
  EXPECT_EQ(default_shrinkage(2048, 7057), 10 * 2048.0 / 7057);
  EXPECT_EQ(default_shrinkage(10, 1e6), 0.1);
  EXPECT_EQ(default_networks(63, 100000), 0);
  EXPECT_EQ(default_networks(64, 100000), 100);
  EXPECT_EQ(default_networks(64, 80), 10);
  EXPECT_EQ(default_attribute_steps(150), 8);
  EXPECT_EQ(most_encoding(48, 960), 48);
  const auto o =
      std::get<ParsNetsOptions>(resolve_options(test::options_with("parsnets"), test::small_training_set()).method);
  EXPECT_EQ(o.networks, 0);
  EXPECT_EQ(o.attribute_steps, 1);
}

}  // namespace
}  // namespace parsnets
