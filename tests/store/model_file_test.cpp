#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/rng.hpp"
#include "counted_memory.hpp"
#include "formats/safetensors.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "same_bytes.hpp"
#include "small_training.hpp"
#include "temp_dir.hpp"

namespace parsnets {

namespace {

Model small_model(const std::string& method, ThreadPool& pool) {
  return train(test::small_training_set(), test::small_options(method), pool);
}

}  // namespace

TEST(ModelFile, EveryMethodsModelReadsBackToTheSameScores) {
  test::TempDir dir;
  ThreadPool pool(1);
  const Dataset data = test::small_training_set();
  for (const auto& method : method_names()) {
    SCOPED_TRACE(method);
    const Model model = small_model(method, pool);
    save_model(model, dir / "m");
    const Model loaded = load_model(dir / "m");
    const Matrix<float> a = model.scores(data.features.view(), pool), b = loaded.scores(data.features.view(), pool);
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
    EXPECT_EQ(loaded.gamma, model.gamma);
    EXPECT_EQ(loaded.temperature, model.temperature);
    EXPECT_EQ(loaded.classes.names, model.classes.names);
    save_model(loaded, dir / "again");
    EXPECT_TRUE(test::same_file_bytes(dir / "m", dir / "again")) << "what was loaded is written back to the byte";
  }
}

TEST(ModelFile, PrototypesThatGiveNoFiniteOrNoHonestScoresAreRefused) {
  test::TempDir dir;
  ThreadPool pool(1);
  const auto refused = [&](auto spoil) {
    Model model = small_model("parsnets", pool);
    spoil(model);
    save_model(model, dir / "m");
    try {
      load_model(dir / "m");
    } catch (const Error& error) {
      return error.code() == ErrorCode::bad_input;
    }
    return false;
  };
  EXPECT_FALSE(refused([](Model&) {}));
  EXPECT_TRUE(refused([](Model& m) {
    for (float& v : m.prototypes.weights.values()) v = 3e38f;
  }));
  EXPECT_TRUE(refused([](Model& m) {
    for (float& v : m.prototypes.support.values()) v *= 2;
  }));
  EXPECT_TRUE(refused([](Model& m) { m.prototypes.width = 1e-4; }));
  EXPECT_TRUE(refused([](Model& m) { m.similarity = Similarity::dot; }));
  EXPECT_TRUE(refused([](Model& m) { std::fill_n(m.semantic_preprocess.whitening.begin(), m.attributes(), 0.0f); }));
}

TEST(ModelFile, TablesOfSemanticsSurviveAndHaveToAddUp) {
  test::TempDir dir;
  ThreadPool pool(1);
  Dataset data = test::small_training_set();
  data.semantics.tables = {{"a", 8}, {"b", data.semantics.values.cols() - 8}};
  for (const std::string method : {"parsnets", "ridge"}) {
    const TrainOptions options = test::small_options(method, "semantic-weights=0.3,0.7");
    Model model = train(data, options, pool);
    save_model(model, dir / "m");
    Model loaded = load_model(dir / "m");
    EXPECT_EQ(loaded.semantic_preprocess.tables, (std::vector<std::uint32_t>{8, 12}));
    for (Model* m : {&model, &loaded}) m->add_class("new", data.semantics.values.row(3));
    const Matrix<float> a = model.scores(data.features.view(), pool), b = loaded.scores(data.features.view(), pool);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
    for (const std::vector<std::uint32_t>& bad : {std::vector<std::uint32_t>{8, 11}, {20}, {0, 20}, {8, 13}}) {
      loaded.semantic_preprocess.tables = bad;
      save_model(loaded, dir / "bad");
      EXPECT_THROW(load_model(dir / "bad"), Error);
    }
  }
}

TEST(ModelFile, RejectionAndSetsSurviveAndHaveToMakeSense) {
  test::TempDir dir;
  ThreadPool pool(1);
  const auto calibrated = [&] {
    Model model = small_model("parsnets", pool);
    model.rejection.false_accept = 0.05;
    model.rejection.weights[0].fill(0.5f);
    model.rejection.weights[1].fill(-2);
    model.rejection.range[0].fill(-3);
    model.rejection.range[1].fill(3);
    model.rejection.thresholds = {0.25f, -0.75f};
    model.rejection.typical = {{{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}}};
    model.sets = {{0.5f, 0.25f, 1}, {0, 0, 2}, {0, 0.75f}};
    model.record.rejection = RejectionRecord{10, 16, 960, 5, 4.9, 3.5, 6.5, 40, 60, 80, 70};
    return model;
  };
  const Model model = calibrated();
  save_model(model, dir / "m");
  const Model loaded = load_model(dir / "m");
  EXPECT_EQ(loaded.rejection, model.rejection);
  EXPECT_EQ(loaded.sets, model.sets);
  EXPECT_EQ(loaded.record.rejection, model.record.rejection);
  save_model(loaded, dir / "again");
  EXPECT_TRUE(test::same_file_bytes(dir / "m", dir / "again"));
  const auto refused = [&](auto spoil) {
    Model bad = calibrated();
    spoil(bad);
    save_model(bad, dir / "bad");
    try {
      load_model(dir / "bad");
    } catch (const Error& error) {
      return error.code() == ErrorCode::bad_input;
    }
    return false;
  };
  EXPECT_TRUE(refused([](Model& m) { m.rejection.false_accept = 1.5; }));
  EXPECT_TRUE(refused([](Model& m) { m.rejection.weights[1][3] = std::numeric_limits<float>::infinity(); }));
  EXPECT_TRUE(refused([](Model& m) { m.rejection.range[1][0] = -4; }));
  EXPECT_TRUE(refused([](Model& m) { m.sets.seen_classes = {2, 0, 0}; }));
  EXPECT_TRUE(refused([](Model& m) { m.sets.seen_classes = {0, 0, 99}; }));
  EXPECT_TRUE(refused([](Model& m) { m.sets.seen_classes = {0, 0}; }));
  EXPECT_TRUE(refused([](Model& m) { m.sets.seen[0] = 1.5f; }));
  EXPECT_TRUE(refused([](Model& m) { m.sets.unseen = {0.75f, 0}; }));
}

TEST(ModelFile, ReluNetworksSurvive) {
  test::TempDir dir;
  ThreadPool pool(1);
  const Dataset data = test::small_training_set();
  const auto options = test::small_options("paper", "fit=ridge;relu=true");
  const Model model = train(data, options, pool);
  save_model(model, dir / "m");
  const Model loaded = load_model(dir / "m");
  EXPECT_TRUE(loaded.relu);
  const Matrix<float> a = model.scores(data.features.view(), pool), b = loaded.scores(data.features.view(), pool);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST(ModelFile, AnchorsSurvive) {
  test::TempDir dir;
  ThreadPool pool(1);
  const Dataset data = test::small_training_set();
  const auto options = test::small_options("scln", "gates=anchor;input=features");
  const Model model = train(data, options, pool);
  save_model(model, dir / "m");
  const Matrix<float> a = model.scores(data.features.view(), pool),
                      b = load_model(dir / "m").scores(data.features.view(), pool);
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TEST(ModelFile, FeatureNamesHaveToBeAsManyAsFeatures) {
  test::TempDir dir;
  ThreadPool pool(1);
  Model model = train(test::small_training_set(), test::small_options("ridge"), pool);
  model.feature_names.assign(model.dimensions, "the same name");
  save_model(model, dir / "m");
  EXPECT_EQ(load_model(dir / "m").feature_names, model.feature_names);
  model.feature_names.pop_back();
  save_model(model, dir / "m");
  try {
    load_model(dir / "m");
    FAIL() << "a name is missing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string(error.what()).find("names or none"), std::string::npos) << error.what();
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

TEST(ModelFile, SizesAreCheckedBeforeMemoryIsTaken) {
  test::TempDir dir;
  ThreadPool pool(1);
  Dataset data = test::small_training_set();
  data.semantics.tables = {{"a", 8}, {"b", data.semantics.values.cols() - 8}};
  Model placed = train(data, test::small_options("parsnets", "semantic-weights=0.3,0.7"), pool);
  placed.sets = {{0.5f, 0.25f, 1}, {0, 0, 2}, {0, 0.75f}};
  const Model paper = small_model("paper", pool), reverse = small_model("reverse-ridge", pool);
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

TEST(ModelFile, OtherVersionsAndWhatModelsDoNotHaveAreRefused) {
  test::TempDir dir;
  ThreadPool pool(1);
  for (const std::string method : {"parsnets", "scln"}) {
    save_model(small_model(method, pool), dir / "m");
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
    for (const auto& [key, value] : description.items())
      refused([&, name = key](auto& metadata, auto&) {
        auto changed = description;
        changed.erase(name);
        metadata["model"] = changed.dump();
      });
  }
}

TEST(ModelFile, EveryTruncationIsRefused) {
  test::TempDir dir;
  ThreadPool pool(1);
  auto data = test::small_training_set();
  save_model(small_model("ridge", pool), dir / "m");
  const std::string bytes = read_text_file(dir / "m");
  for (std::size_t size = 1; size < bytes.size(); size += size < 12000 ? 1 : 7) {
    write_text_file(dir / "cut", std::string_view(bytes).substr(0, size));
    EXPECT_THROW(load_model(dir / "cut"), Error) << size;
  }
}

TEST(ModelFile, FlippedBitsAreRefusedOrHarmless) {
  test::TempDir dir;
  ThreadPool pool(1);
  const Dataset data = test::small_training_set();
  save_model(small_model("ridge", pool), dir / "m");
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

}  // namespace parsnets
