#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "capi/small_handles.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/training.hpp"
#include "same_bytes.hpp"

namespace parsnets::test {

namespace {

std::string bytes_of(const parsnets_model* model) {
  TempDir dir;
  const auto file = dir / "m.safetensors";
  EXPECT_OK(parsnets_model_save(model, file.c_str()));
  return read_text_file(file);
}

ModelHandle read_again(const parsnets_model* model) {
  TempDir dir;
  const std::string file = (dir / "m").string();
  EXPECT_OK(parsnets_model_save(model, file.c_str()));
  auto read = loaded(file);
  std::ofstream(file, std::ios::trunc) << "something else";  // it is not needed any more; a mapped one would be gone
  return read;
}

std::vector<float> scores_of(const parsnets_model* model, const parsnets_arrays& arrays, std::size_t samples) {
  const auto info = info_of(model);
  std::vector<float> scores(samples * info.classes);
  EXPECT_OK(
      parsnets_predict_scores(model, arrays.features, samples, arrays.dimensions, 1, scores.data(), info.classes));
  return scores;
}

}  // namespace

TEST(CApiModel, FactsAreThoseOfTheModel) {
  const SmallModel s({{"method", "parsnets"}, {"networks", "8"}, {"active", "3"}, {"seed", "9"}});
  const auto info = info_of(s.model.get());
  EXPECT_EQ(info.dimensions, s.small.arrays.dimensions);
  EXPECT_EQ(info.attributes, s.small.arrays.attributes);
  EXPECT_LT(info.outputs, info.attributes) << "whitened";
  EXPECT_EQ(info.classes, s.small.arrays.classes);
  EXPECT_EQ(info.seen_classes, s.small.data.seen_classes().size());
  EXPECT_EQ(info.networks, 8u);
  EXPECT_EQ(info.open, 3u);
  EXPECT_EQ(info.predicts_semantics, 1);
  EXPECT_STREQ(info.method, "parsnets");
  EXPECT_EQ(nlohmann::json::parse(info.options)["networks"], 8);
  EXPECT_EQ(nlohmann::json::parse(info.record)["seed"], 9);
  EXPECT_EQ(nlohmann::json::parse(info.record)["data"]["name"], "arrays");
  std::vector<std::uint8_t> seen(info.classes, 0);
  for (const auto c : s.small.data.seen_classes()) seen[static_cast<std::size_t>(c)] = 1;
  EXPECT_EQ(std::vector<std::uint8_t>(info.seen, info.seen + info.classes), seen);
  EXPECT_TRUE(std::equal(info.semantics, info.semantics + info.classes * info.attributes, s.small.arrays.semantics));
  const char* name = nullptr;
  ASSERT_OK(parsnets_model_class_name(s.model.get(), 5, &name));
  EXPECT_EQ(name, s.small.data.class_names[5]);
  ASSERT_OK(parsnets_model_attribute_name(s.model.get(), 5, &name));
  EXPECT_STREQ(name, "attribute 5");
  EXPECT_EQ(parsnets_model_class_name(s.model.get(), info.classes, &name), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_model_attribute_name(s.model.get(), info.attributes, &name), PARSNETS_USAGE);
}

TEST(CApiModel, ClonesAndFilesKeepEveryByteAndLoadedModelsNeedNoFile) {
  SmallArrays small;
  const auto data = small.handle();
  for (const Options& options : {Options{{"method", "parsnets"}},
                                 {{"method", "scln"},
                                  {"encoding", "24"},
                                  {"networks", "8"},
                                  {"active", "3"},
                                  {"feature-scaling", "standardize"}},
                                 {{"method", "sae-reverse"}, {"semantic-scaling", "standardize"}},
                                 {{"method", "dap"}}}) {
    const auto model = trained(data.get(), options);
    const std::string bytes = bytes_of(model.get());
    EXPECT_GT(bytes.size(), 1000u);
    EXPECT_TRUE(same_bytes(bytes_of(clone_of(model.get()).get()), bytes)) << options[0].second;
    const auto read = read_again(model.get());
    EXPECT_TRUE(same_bytes(bytes_of(read.get()), bytes)) << options[0].second;
    EXPECT_EQ(scores_of(read.get(), small.arrays, 20), scores_of(model.get(), small.arrays, 20));
    EXPECT_TRUE(same_bytes(bytes_of(clone_of(read.get()).get()), bytes)) << options[0].second;
  }
}

TEST(CApiModel, FeatureNamesSurviveClonesAndFilesAndChangeNothingElse) {
  const SmallModel s;
  const std::string unnamed = bytes_of(s.model.get());
  const std::size_t d = s.small.arrays.dimensions;
  const char* name = "";
  ASSERT_OK(parsnets_model_feature_name(s.model.get(), d - 1, &name));
  EXPECT_EQ(name, nullptr);
  EXPECT_EQ(parsnets_model_feature_name(s.model.get(), d, &name), PARSNETS_USAGE);

  std::vector<std::string> texts(d);
  std::vector<const char*> names(d);
  for (std::size_t i = 0; i < d; ++i) names[i] = (texts[i] = "feature \"" + std::to_string(i) + "\" µm").c_str();
  EXPECT_EQ(parsnets_model_set_feature_names(s.model.get(), names.data(), d - 1), PARSNETS_BAD_INPUT);
  EXPECT_EQ(bytes_of(s.model.get()), unnamed);
  ASSERT_OK(parsnets_model_set_feature_names(s.model.get(), names.data(), d));
  const auto read = read_again(s.model.get()), clone = clone_of(s.model.get());
  for (const auto* one : {s.model.get(), clone.get(), read.get()}) {
    ASSERT_OK(parsnets_model_feature_name(one, d - 1, &name));
    EXPECT_EQ(name, texts[d - 1]);
  }
  names[1] = "\xff";
  EXPECT_EQ(parsnets_model_set_feature_names(read.get(), names.data(), d), PARSNETS_BAD_INPUT);
  ASSERT_OK(parsnets_model_set_feature_names(read.get(), nullptr, 0));
  EXPECT_EQ(bytes_of(read.get()), unnamed);
}

TEST(CApiModel, MissingAndDamagedFilesAreBadInput) {
  TempDir dir;
  parsnets_model* model = nullptr;
  EXPECT_TRUE(fails(parsnets_model_load((dir / "absent").c_str(), &model), PARSNETS_BAD_INPUT, "absent"));
  write_text_file(dir / "damaged", "not a model");
  EXPECT_EQ(parsnets_model_load((dir / "damaged").c_str(), &model), PARSNETS_BAD_INPUT);
  EXPECT_EQ(model, nullptr);
  SmallArrays small;
  EXPECT_EQ(parsnets_model_save(trained(small.handle().get()).get(), (dir / "no" / "such" / "folder").c_str()),
            PARSNETS_FAILURE);
}

TEST(CApiModel, AnAddedClassIsScoredAndARemovedOneIsNot) {
  SmallArrays small;
  const auto data = small.handle();
  for (const char* method : {"parsnets", "reverse-ridge"}) {
    const auto model = trained(data.get(), {{"method", method}});
    const std::size_t c = small.arrays.classes, m = small.arrays.attributes, n = 20;
    const auto before = scores_of(model.get(), small.arrays, n);
    const auto unseen = static_cast<std::size_t>(small.data.unseen_classes()[0]);
    ASSERT_OK(add_class(model.get(), "twin", small.arrays.semantics + unseen * m, m));
    const auto after = scores_of(model.get(), small.arrays, n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < c; ++k) ASSERT_NEAR(after[i * (c + 1) + k], before[i * c + k], 1e-5);
      ASSERT_NEAR(after[i * (c + 1) + c], before[i * c + unseen], 1e-5)
          << "a class without samples lies where its description says";
    }
    const auto info = info_of(model.get());
    EXPECT_EQ(info.classes, c + 1);
    EXPECT_EQ(info.seen[c], 0);
    const char* name = nullptr;
    ASSERT_OK(parsnets_model_class_name(model.get(), c, &name));
    EXPECT_STREQ(name, "twin");
    ASSERT_OK(parsnets_model_remove_class(model.get(), small.class_names[0]));
    const auto fewer = scores_of(model.get(), small.arrays, n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(fewer[i * c], before[i * c + 1], 1e-5) << "class 1 moved up";
  }
}

TEST(CApiModel, ClassesAddedAtOnceAreThoseAddedOneByOneAndAllOrNone) {
  SmallArrays small;
  const std::size_t m = small.arrays.attributes;
  const auto single = trained(small.handle().get()), batch = trained(small.handle().get());
  scores_of(batch.get(), small.arrays, 1);  // classes that were prepared before are kept
  const char* const names[] = {"x", "y", "z"};
  for (std::size_t c = 0; c < 3; ++c) ASSERT_OK(add_class(single.get(), names[c], small.arrays.semantics + c * m, m));
  ASSERT_OK(parsnets_model_add_classes(batch.get(), names, small.arrays.semantics, 3, m));
  EXPECT_EQ(bytes_of(batch.get()), bytes_of(single.get()));
  EXPECT_EQ(scores_of(batch.get(), small.arrays, 5), scores_of(single.get(), small.arrays, 5));
  const char *const repeated[] = {"new", "new"}, *const unnamed[] = {"new", nullptr};
  EXPECT_EQ(parsnets_model_add_classes(batch.get(), repeated, small.arrays.semantics, 2, m), PARSNETS_BAD_INPUT);
  EXPECT_EQ(parsnets_model_add_classes(batch.get(), unnamed, small.arrays.semantics, 2, m), PARSNETS_USAGE);
  EXPECT_EQ(bytes_of(batch.get()), bytes_of(single.get())) << "nothing was added";
}

TEST(CApiModel, LearnsAfterTrainingAndForgets) {
  const SmallModel s(Options{{"method", "parsnets"}});
  const std::string before = bytes_of(s.model.get());
  const std::size_t c = s.small.arrays.classes, n = s.small.arrays.samples, d = s.small.arrays.dimensions;
  const auto scores = scores_of(s.model.get(), s.small.arrays, 5);
  auto done = sized<parsnets_adaptation>();
  std::vector<double> support(c), degrees(c);
  const auto adapt_to = [&](parsnets_model* to, const int32_t* movable, std::size_t count) {
    return parsnets_model_adapt(to, s.small.arrays.features, n, d, movable, count, 0, 1, &done, support.data(),
                                degrees.data(), c);
  };
  const ModelHandle copy = clone_of(s.model.get());
  ASSERT_OK(adapt_to(copy.get(), nullptr, 0));
  EXPECT_EQ(done.samples, n);
  ASSERT_GT(done.classes, 0u);
  for (std::size_t k = 0; k < c; ++k) {
    EXPECT_EQ(support[k] > 0, degrees[k] > 0);
    EXPECT_FALSE(support[k] > 0 && info_of(copy.get()).seen[k]);
  }
  EXPECT_NE(std::string(info_of(copy.get()).record).find("adaptations"), std::string::npos);
  EXPECT_NE(scores_of(copy.get(), s.small.arrays, 5), scores);
  EXPECT_EQ(bytes_of(s.model.get()), before) << "the copy learned, not the model";
  size_t rows[4] = {}, found = 0;
  ASSERT_OK(parsnets_model_suggest(s.model.get(), s.small.arrays.features, n, d, 4, 1, rows, &found));
  ASSERT_GT(found, 0u);
  ASSERT_LE(found, 4u);
  for (size_t i = 0; i < found; ++i) EXPECT_LT(rows[i], n);
  EXPECT_EQ(bytes_of(s.model.get()), before);
  EXPECT_EQ(parsnets_model_suggest(s.model.get(), s.small.arrays.features, n, d, 0, 1, rows, &found), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_model_suggest(s.model.get(), s.small.arrays.features, n, d - 1, 4, 1, rows, &found),
            PARSNETS_BAD_INPUT);
  ASSERT_OK(parsnets_model_undo_adaptation(copy.get()));
  EXPECT_EQ(bytes_of(copy.get()), before);
  EXPECT_EQ(scores_of(copy.get(), s.small.arrays, 5), scores);
  ASSERT_OK(parsnets_model_teach(copy.get(), s.small.class_names[0], s.small.arrays.features, 3, d, 1));
  const std::string taught = bytes_of(copy.get());
  EXPECT_NE(taught, before);
  const ModelHandle second = clone_of(copy.get());
  ASSERT_OK(parsnets_model_teach(second.get(), s.small.class_names[0], s.small.arrays.features, 3, d, 1));
  EXPECT_EQ(bytes_of(copy.get()), taught) << "sums are not shared";
  ASSERT_OK(parsnets_model_add_class_by_examples(copy.get(), "new", s.small.arrays.features, 3, d, 1));
  EXPECT_EQ(info_of(copy.get()).classes, c + 1);
  const int32_t wrong[] = {static_cast<int32_t>(c)};
  EXPECT_EQ(adapt_to(s.model.get(), wrong, 1), PARSNETS_USAGE);
  EXPECT_EQ(adapt_to(s.model.get(), wrong, 0), PARSNETS_USAGE);
  EXPECT_EQ(parsnets_model_teach(s.model.get(), "nobody", s.small.arrays.features, 3, d, 1), PARSNETS_BAD_INPUT);
  EXPECT_EQ(parsnets_model_teach(s.model.get(), s.small.class_names[0], s.small.arrays.features, 3, d - 1, 1),
            PARSNETS_BAD_INPUT);
  EXPECT_EQ(parsnets_model_add_class_by_examples(s.model.get(), "none", s.small.arrays.features, 0, d, 1),
            PARSNETS_BAD_INPUT);
  EXPECT_EQ(bytes_of(s.model.get()), before);
  const auto ridge = trained(s.small.handle().get(), {{"method", "ridge"}});
  EXPECT_EQ(adapt_to(ridge.get(), nullptr, 0), PARSNETS_USAGE);
}

TEST(CApiModel, BadClassesAndCalibrationsAreRefused) {
  const SmallModel s;
  const std::string before = bytes_of(s.model.get());
  const std::size_t m = s.small.arrays.attributes;
  std::vector<float> semantics(m, 1.0f);
  EXPECT_EQ(add_class(s.model.get(), s.small.class_names[0], semantics.data(), m), PARSNETS_BAD_INPUT);
  EXPECT_EQ(add_class(s.model.get(), "", semantics.data(), m), PARSNETS_BAD_INPUT);
  EXPECT_EQ(add_class(s.model.get(), "\xc3", semantics.data(), m), PARSNETS_BAD_INPUT);
  EXPECT_EQ(add_class(s.model.get(), "new", semantics.data(), m - 1), PARSNETS_BAD_INPUT);
  semantics[3] = std::nanf("");
  EXPECT_TRUE(fails(add_class(s.model.get(), "new", semantics.data(), m), PARSNETS_BAD_INPUT, "attribute 3"));
  EXPECT_EQ(parsnets_model_remove_class(s.model.get(), "new"), PARSNETS_BAD_INPUT);
  for (const auto& [gamma, temperature] : {std::pair(std::nan(""), 1.0), {1e41, 1.0}, {0.0, 0.0}, {0.0, std::nan("")}})
    EXPECT_EQ(parsnets_model_calibrate(s.model.get(), gamma, temperature), PARSNETS_USAGE);
  EXPECT_TRUE(same_bytes(bytes_of(s.model.get()), before));
  ASSERT_OK(parsnets_model_calibrate(s.model.get(), 0.25, 0.5));
  EXPECT_EQ(info_of(s.model.get()).gamma, 0.25);
  EXPECT_EQ(info_of(s.model.get()).temperature, 0.5);
}

TEST(CApiModel, ClonesShareTheWeightsAndOutliveTheirOriginal) {
  SmallArrays small;
  const auto data = small.handle();
  auto model = trained(data.get(), {{"method", "parsnets"}});
  const auto expected = scores_of(model.get(), small.arrays, 20);
  const auto copy = clone_of(model.get());
  const auto unseen = static_cast<std::size_t>(small.data.unseen_classes()[0]);
  ASSERT_OK(parsnets_model_remove_class(copy.get(), small.class_names[unseen]));
  ASSERT_OK(parsnets_model_calibrate(copy.get(), 7, 8));
  EXPECT_EQ(scores_of(model.get(), small.arrays, 20), expected);
  EXPECT_NE(info_of(model.get()).gamma, 7);
  const std::size_t m = small.arrays.attributes;
  ASSERT_OK(add_class(copy.get(), small.class_names[unseen], small.arrays.semantics + unseen * m, m));
  model.reset();
  const auto found = scores_of(copy.get(), small.arrays, 20);
  const std::size_t c = small.arrays.classes;
  for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(found[i * c + c - 1], expected[i * c + unseen], 1e-6);
}

TEST(CApiModel, CalibrationOnSamplesIsThatOfCpp) {
  const SmallModel s;
  Model cpp = in_cpp(s.model.get());
  ThreadPool pool(1);
  calibrate(cpp, s.small.data.features.view(), s.small.data.labels, pool);
  const auto& a = s.small.arrays;
  ASSERT_OK(parsnets_model_calibrate_on(s.model.get(), a.features, a.labels, a.samples, a.dimensions, 1));
  EXPECT_EQ(info_of(s.model.get()).gamma, cpp.gamma);
  EXPECT_EQ(info_of(s.model.get()).temperature, cpp.temperature);
  const std::vector<std::int32_t> one_kind(a.samples,
                                           a.labels[static_cast<std::size_t>(s.small.data.split.trainval[0])]);
  EXPECT_TRUE(fails(parsnets_model_calibrate_on(s.model.get(), a.features, one_kind.data(), a.samples, a.dimensions, 1),
                    PARSNETS_BAD_INPUT, "of unseen"));
  EXPECT_EQ(info_of(s.model.get()).gamma, cpp.gamma);
}

TEST(CApiModel, ModelsWithHugeScoresCanBeReadAgain) {
  SmallArrays small;
  for (float& v : small.data.semantics.values.values()) v *= 1e5f;
  const auto data = small.handle();
  const auto model = trained(data.get(), {{"method", "scln"},
                                          {"fit", "ridge"},
                                          {"networks", "8"},
                                          {"active", "3"},
                                          {"encoding", "24"},
                                          {"similarity", "dot"},
                                          {"semantic-scaling", "none"},
                                          {"feature-scaling", "none"}});
  EXPECT_GT(std::abs(info_of(model.get()).gamma), 1e6) << "or this tests nothing";
  EXPECT_EQ(info_of(read_again(model.get()).get()).gamma, info_of(model.get()).gamma);
}

}  // namespace parsnets::test
