#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/rng.hpp"
#include "copied_model.hpp"
#include "counted_memory.hpp"
#include "formats/safetensors.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "same_bytes.hpp"
#include "small_training.hpp"

namespace parsnets {

namespace {

struct ModelFile : test::SmallTraining {
  Model trained(const std::string& method, const std::string& changes = "") {
    return train(data, test::small_options(method, changes), pool);
  }
  Model read_back(const Model& model) const {
    save_model(model, dir / "m");
    return load_model(dir / "m");
  }
  void expect_refused(Model model, const std::function<void(Model&)>& spoil) const {
    spoil(model);
    test::expect_error([&] { read_back(model); });
  }
  void expect_same_scores(const Model& a, const Model& b) {
    const Matrix<float> first = a.scores(data.features.view(), pool), second = b.scores(data.features.view(), pool);
    EXPECT_TRUE(std::ranges::equal(first.values(), second.values()));
  }
};

TEST_F(ModelFile, EveryKindOfModelReadsBackToTheSameScores) {
  std::vector<std::pair<std::string, std::string>> kinds{{"paper", "fit=ridge;relu=true"},
                                                         {"scln", "gates=anchor;input=features"}};
  for (const auto& method : method_names()) kinds.emplace_back(method, "");
  for (const auto& [method, changes] : kinds) {
    SCOPED_TRACE(method + " " + changes);
    const Model model = trained(method, changes), loaded = read_back(model);
    expect_same_scores(model, loaded);
    EXPECT_EQ(loaded.relu, model.relu);
    EXPECT_EQ(loaded.gamma, model.gamma);
    EXPECT_EQ(loaded.temperature, model.temperature);
    EXPECT_EQ(loaded.classes.names, model.classes.names);
    save_model(loaded, dir / "again");
    EXPECT_TRUE(test::same_file_bytes(dir / "m", dir / "again")) << "what was loaded is written back to the byte";
  }
}

TEST_F(ModelFile, PrototypesThatGiveNoFiniteOrNoHonestScoresAreRefused) {
  const Model model = trained("parsnets");
  EXPECT_NO_THROW(read_back(model));
  const std::function<void(Model&)> faults[] = {
      [](Model& m) { std::ranges::fill(m.prototypes.weights.values(), 3e38f); },
      [](Model& m) {
        for (float& v : m.prototypes.support.values()) v *= 2;
      },
      [](Model& m) { m.prototypes.width = 1e-4; },
      [](Model& m) { m.similarity = Similarity::dot; },
      [](Model& m) { std::fill_n(m.semantic_preprocess.whitening.begin(), m.attributes(), 0.0f); },
  };
  for (const auto& spoil : faults) expect_refused(test::copied_model(model), spoil);
}

TEST_F(ModelFile, TablesOfSemanticsSurviveAndHaveToAddUp) {
  data.semantics.tables = {{"a", 8}, {"b", data.semantics.values.cols() - 8}};
  for (const std::string method : {"parsnets", "ridge"}) {
    Model model = trained(method, "semantic-weights=0.3,0.7"), loaded = read_back(model);
    EXPECT_EQ(loaded.semantic_preprocess.tables, (std::vector<std::uint32_t>{8, 12}));
    for (Model* m : {&model, &loaded}) m->add_class("new", data.semantics.values.row(3));
    expect_same_scores(model, loaded);
    for (const std::vector<std::uint32_t>& bad : {std::vector<std::uint32_t>{8, 11}, {20}, {0, 20}, {8, 13}}) {
      model.semantic_preprocess.tables = bad;
      EXPECT_THROW(read_back(model), Error);
    }
  }
}

TEST_F(ModelFile, RejectionAndSetsSurviveAndHaveToMakeSense) {
  Model model = trained("parsnets");
  model.rejection.false_accept = 0.05;
  model.rejection.weights[0].fill(0.5f);
  model.rejection.weights[1].fill(-2);
  model.rejection.range[0].fill(-3);
  model.rejection.range[1].fill(3);
  model.rejection.thresholds = {0.25f, -0.75f};
  model.rejection.typical = {{{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}}};
  model.sets = {{0.5f, 0.25f, 1}, {0, 0, 2}, {0, 0.75f}};
  model.record.rejection = RejectionRecord{10, 16, 960, 5, 4.9, 3.5, 6.5, 40, 60, 80, 70};
  const Model loaded = read_back(model);
  EXPECT_EQ(loaded.rejection, model.rejection);
  EXPECT_EQ(loaded.sets, model.sets);
  EXPECT_EQ(loaded.record.rejection, model.record.rejection);
  save_model(loaded, dir / "again");
  EXPECT_TRUE(test::same_file_bytes(dir / "m", dir / "again"));
  const std::function<void(Model&)> faults[] = {
      [](Model& m) { m.rejection.false_accept = 1.5; },
      [](Model& m) { m.rejection.weights[1][3] = std::numeric_limits<float>::infinity(); },
      [](Model& m) { m.rejection.range[1][0] = -4; },
      [](Model& m) {
        m.sets.seen_classes = {2, 0, 0};
      },
      [](Model& m) {
        m.sets.seen_classes = {0, 0, 99};
      },
      [](Model& m) {
        m.sets.seen_classes = {0, 0};
      },
      [](Model& m) { m.sets.seen[0] = 1.5f; },
      [](Model& m) {
        m.sets.unseen = {0.75f, 0};
      },
  };
  for (const auto& spoil : faults) expect_refused(test::copied_model(model), spoil);
}

TEST_F(ModelFile, FeatureNamesHaveToBeAsManyAsFeatures) {
  Model model = trained("ridge");
  model.feature_names.assign(model.dimensions, "the same name");
  EXPECT_EQ(read_back(model).feature_names, model.feature_names);
  model.feature_names.pop_back();
  test::expect_error([&] { read_back(model); }, "names or none");
}

TEST_F(ModelFile, NamesThatATerminalWouldActOnAreRefused) {
  for (const bool class_name : {true, false}) {
    Model model = trained("ridge");
    auto& names = class_name ? model.classes.names : model.attribute_names;
    if (!class_name) names.assign(model.attributes(), "plain");
    read_back(model);
    names[1] = "\x1b]0;owned\x07";
    test::expect_error([&] { read_back(model); }, "without control characters");
  }
}

/// Loads a model file after a change of its metadata or the shapes of its tensors.
void load_changed(const std::filesystem::path& from, const std::filesystem::path& to,
                  const std::function<void(std::map<std::string, std::string>&, std::vector<TensorView>&)>& change) {
  const SafetensorsFile file(from);
  auto metadata = file.metadata();
  auto tensors = file.tensors();
  change(metadata, tensors);
  write_safetensors(to, metadata, tensors);
  load_model(to);
}

TEST_F(ModelFile, SizesAreCheckedBeforeMemoryIsTaken) {
  const Model paper = trained("paper"), reverse = trained("reverse-ridge");
  data.semantics.tables = {{"a", 8}, {"b", data.semantics.values.cols() - 8}};
  Model placed = trained("parsnets", "semantic-weights=0.3,0.7");
  placed.sets = {{0.5f, 0.25f, 1}, {0, 0, 2}, {0, 0.75f}};
  const Model* const models[] = {&placed, &paper, &reverse};
  for (const Model* model : models) {
    save_model(*model, dir / "m");
    const auto description = nlohmann::ordered_json::parse(SafetensorsFile(dir / "m").metadata().at("model"));
    std::size_t fields = 0;
    for (const auto& [key, value] : description.items()) {
      if (!value.is_number_unsigned()) continue;
      for (const std::uint64_t size : {65535u, 1u << 20, 1u << 30, 1u << 31}) {
        const std::size_t before = test::counted_memory().bytes;
        EXPECT_THROW(load_changed(dir / "m", dir / "bad",
                                  [&](auto& metadata, auto&) {
                                    auto changed = description;
                                    changed[key] = size;
                                    metadata["model"] = changed.dump();
                                  }),
                     Error)
            << key << " " << size;
        EXPECT_LT(test::counted_memory().bytes - before, 4'000'000u) << key << " " << size;
      }
      ++fields;
    }
    EXPECT_GE(fields, 8u);
  }
}

TEST_F(ModelFile, OtherVersionsAndWhatModelsDoNotHaveAreRefused) {
  for (const std::string method : {"parsnets", "scln"}) {
    save_model(trained(method), dir / "m");
    const auto refused = [&](auto change) { EXPECT_THROW(load_changed(dir / "m", dir / "bad", change), Error); };
    for (const char* version : {"1", "3", ""})
      refused([&](auto& metadata, auto&) { metadata["format_version"] = version; });
    // No tensor and no field can be missing but those that prediction does without.
    const SafetensorsFile file(dir / "m");
    for (std::size_t i = 0; i < file.tensors().size(); ++i) {
      const std::string name = file.tensors()[i].name;
      const auto drop = [&](auto& metadata, auto& tensors) {
        tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(i));
        metadata["payload_crc32"] = payload_checksum(tensors);
      };
      const bool optional = name == "shared" || name == "feature_mean" || name == "feature_factor" ||
                            name == "semantic_mean" || name == "semantic_factor" || name == "semantic_centre" ||
                            name == "set_unseen";
      if (optional)
        EXPECT_NO_THROW(load_changed(dir / "m", dir / "other", drop)) << name;
      else
        refused(drop);
    }
    const auto description = nlohmann::ordered_json::parse(file.metadata().at("model"));
    for (const auto& [key, value] : description.items()) {
      if (key == "prototype_ridge" || key == "adapt_strong" || key == "adapt_strong_gamma_shift" ||
          key == "adapt_least_length")
        continue;  // of adapting; models without them adapt in the careful form
      refused([&, name = key](auto& metadata, auto&) {
        auto changed = description;
        changed.erase(name);
        metadata["model"] = changed.dump();
      });
    }
  }
}

TEST_F(ModelFile, EveryTruncationIsRefused) {
  save_model(trained("ridge"), dir / "m");
  const std::string bytes = read_text_file(dir / "m");
  for (std::size_t size = 1; size < bytes.size(); size += size < 12000 ? 1 : 7) {
    write_text_file(dir / "cut", std::string_view(bytes).substr(0, size));
    EXPECT_THROW(load_model(dir / "cut"), Error) << size;
  }
}

TEST_F(ModelFile, FlippedBitsAreRefusedOrHarmless) {
  save_model(trained("ridge"), dir / "m");
  const std::string bytes = read_text_file(dir / "m");
  Rng rng(11);
  int accepted = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string flipped = bytes;
    const std::size_t place = rng.below(trial % 2 == 0 ? bytes.size() : 4000);
    flipped[place] = static_cast<char>(flipped[place] ^ (1 << rng.below(8)));
    write_text_file(dir / "f", flipped);
    try {
      const Model model = load_model(dir / "f");
      const Matrix<float> scores = model.scores({data.features.data(), 2, data.features.cols()}, pool);
      for (const float s : scores.values()) ASSERT_TRUE(std::isfinite(s));
      ++accepted;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input);
    }
  }
  // Flips inside names, the record or the digits of an option leave a valid model; the payload is covered by its
  // checksum.
  EXPECT_LT(accepted, 1500);
}

}  // namespace
}  // namespace parsnets
