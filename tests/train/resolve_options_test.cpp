#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parsnets/synth.hpp"
#include "parsnets/training.hpp"
#include "small_training.hpp"
#include "train/train_options.hpp"

namespace parsnets {
namespace {

TEST(ResolveOptions, FillsEveryFieldForEveryMethodAndPresetAndIsIdempotent) {
  const Dataset data = test::small_training_set();
  for (const auto& [name, method] : method_names())
    for (const Preset preset : {Preset::none, Preset::paper, Preset::automatic}) {
      TrainOptions given;
      given.method = method;
      given.preset = preset;
      TrainOptions once = resolve_options(given, data), twice = resolve_options(once, data);
      const auto values = train_option_table(once).to_json();
      for (const auto& [option, value] : values.items()) EXPECT_FALSE(value.is_null()) << name << " " << option;
      EXPECT_EQ(values, train_option_table(twice).to_json()) << name;
    }
}

// Version 0.1 took a field that equals its default for one that was not set.
TEST(ResolveOptions, AFieldThatIsSetIsObeyedWhateverItsValue) {
  const Dataset data = test::small_training_set();
  const std::pair<const char*, const char*> old_defaults[] = {{"feature-scaling", "sqrt-l2"},
                                                              {"semantic-scaling", "l2"},
                                                              {"semantic-whitening", "0"},
                                                              {"semantic-weights", "1"},
                                                              {"similarity", "cosine"},
                                                              {"lambda", "1"},
                                                              {"semantic-lambda", "1"},
                                                              {"encoding", "400"},
                                                              {"rotation", "random"},
                                                              {"gates", "energy"},
                                                              {"networks", "200"},
                                                              {"open", "40"},
                                                              {"shared", "false"},
                                                              {"fit", "ridge"},
                                                              {"mmg", "0"},
                                                              {"mmg-samples", "active"},
                                                              {"joint-steps", "0"},
                                                              {"refine-steps", "0"},
                                                              {"refine-rate", "1"},
                                                              {"refine-sharpness", "10"},
                                                              {"gate-weight", "0.3"},
                                                              {"balance", "0"},
                                                              {"targets", "semantics"},
                                                              {"shrinkage", "3"},
                                                              {"prototype-width", "0"},
                                                              {"prototype-lambda", "0.1"},
                                                              {"attribute-steps", "0"},
                                                              {"prior-samples", "300"},
                                                              {"semantic-head", "0"},
                                                              {"c", "0.1"}};
  std::size_t tried = 0;
  for (const auto& [method_name, method] : method_names())
    for (const Preset preset : {Preset::none, Preset::paper})
      for (const auto& [name, value] : old_defaults) {
        TrainOptions given;
        given.method = method;
        given.preset = preset;
        const auto table = train_option_table(given);
        ASSERT_EQ(table.find(name)->assign(value), std::nullopt) << name;
        const auto wanted = table.find(name)->value();
        TrainOptions resolved = resolve_options(given, data);
        EXPECT_EQ(train_option_table(resolved).find(name)->value(), wanted) << method_name << " " << name;
        ++tried;
      }
  std::size_t optional = 0;
  TrainOptions any;
  const auto table = train_option_table(any);
  for (const auto& option : table.options()) optional += option.can_be_auto;
  EXPECT_EQ(tried, method_names().size() * 2 * optional) << "every option that can be left to training is tried";
}

TEST(ResolveOptions, TrainingObeysAnOldDefaultAndStoresWhatItUsed) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  TrainOptions options;
  options.geometry.weight = 0;
  options.gates.kind = GateKind::energy;
  options.gates.networks = 8;
  options.encoder.dimensions = 24;
  options.refinement.steps = 0;
  options.fit.lambda = 1;
  const Model model = train(data, options, pool);
  const auto stored = nlohmann::json::parse(model.options);
  EXPECT_EQ(model.gates.kind, GateKind::energy);
  EXPECT_EQ(stored["gates"], "energy");
  EXPECT_EQ(stored["mmg"], 0);
  EXPECT_EQ(stored["lambda"], 1);
  EXPECT_EQ(stored["refine-steps"], 0);
  TrainOptions resolved = resolve_options(options, data);
  EXPECT_EQ(stored, nlohmann::json::parse(train_option_table(resolved).to_json().dump()));
}

TEST(ResolveOptions, TrainingOnResolvedOptionsGivesTheSameModel) {
  const Dataset data = test::small_training_set();
  ThreadPool pool(2);
  for (const auto& [name, method] : method_names()) {
    const TrainOptions options = test::small_options(method);
    Model a = train(data, options, pool), b = train(data, resolve_options(options, data), pool);
    a.record.asked = b.record.asked;  // less was asked of the first
    EXPECT_EQ(a.options, b.options) << name;
    EXPECT_TRUE(a.record == b.record) << name;
    EXPECT_TRUE(std::ranges::equal(a.networks.values(), b.networks.values())) << name;
  }
}

}  // namespace
}  // namespace parsnets
