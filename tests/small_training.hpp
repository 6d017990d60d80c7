#pragma once
// A data set small enough to train on in a test, and options that fit it.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "data/synth.hpp"
#include "expect.hpp"
#include "parsnets/training.hpp"
#include "temp_dir.hpp"
#include "train/selection.hpp"
#include "train/train_options.hpp"

namespace parsnets::test {

inline Dataset small_training_set(std::uint64_t seed = 3) {
  return synthesize({.classes = 16,
                     .attributes = 20,
                     .samples = 960,
                     .dimensions = 48,
                     .attribute_noise = 0.3,
                     .signature = 0.2,
                     .nuisance = 0.3,
                     .hidden = 64,
                     .seed = seed});
}

/// For tests that train on it.
struct SmallTraining : testing::Test {
  Dataset data = small_training_set();
  ThreadPool pool{2};
  const TempDir dir;
};

/// The first seen classes become the validation classes.
inline void hold_out(Dataset& data, std::size_t classes) {
  data.split.val.clear();
  data.split.train.clear();
  const auto last = data.seen_classes()[classes - 1];
  for (const auto s : data.split.trainval)
    (data.labels[static_cast<std::size_t>(s)] <= last ? data.split.val : data.split.train).push_back(s);
}

/// The default options of a method with changes, "name=value;name=value".
inline TrainOptions options_with(const std::string& method, const std::string& changes = "") {
  TrainOptions options;
  options.method = method_options(method);
  const OptionTable table = train_option_table(options);
  for (const auto& change : split_list(changes, ';')) {
    const auto equals = change.find('=');
    const Option* option = table.find(change.substr(0, equals));
    if (option == nullptr || option->assign(change.substr(equals + 1))) throw Error(ErrorCode::usage, change);
  }
  return options;
}

/// The same with networks that are small enough for the data set.
inline TrainOptions small_options(const std::string& method = "parsnets", const std::string& changes = "") {
  TrainOptions options = options_with(method);
  const bool gated = !std::holds_alternative<BaselineOptions>(options.method);
  return options_with(method, (gated ? "encoding=24;networks=8;" : "") +
                                  std::string(gated && method != "mmg" ? "active=3;" : "") + changes);
}

/// Adds "new 0", "new 1", …, all described differently; returns their names.
inline std::vector<std::string> add_new_classes(Model& model, std::size_t many) {
  std::vector<std::string> names;
  Matrix<float> semantics(many, model.attributes());
  for (std::size_t c = 0; c < many; ++c) {
    names.push_back("new " + std::to_string(c));
    for (std::size_t a = 0; a < semantics.cols(); ++a) semantics(c, a) = std::sin(static_cast<float>(c * 31 + a));
  }
  model.add_classes(names, semantics.view());
  return names;
}

/// A model trained on that data set.
struct TrainedModel {
  Dataset data = small_training_set();
  ThreadPool pool{1};
  Model model;
  explicit TrainedModel(const TrainOptions& options) : model(train(data, options, pool)) {}
  explicit TrainedModel(const std::string& method) : TrainedModel(small_options(method)) {}
};

}  // namespace parsnets::test
