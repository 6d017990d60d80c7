// Files of earlier versions (tests/golden) are read, and give what they gave then.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "formats/safetensors.hpp"
#include "parsnets/device.hpp"
#include "parsnets/ranking.hpp"
#include "paths.hpp"
#include "store/train_record_json.hpp"
#include "temp_dir.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

const std::filesystem::path kVersion01 = std::filesystem::path(PARSNETS_SOURCE_DIR) / "tests/golden/v0.1";
constexpr std::size_t kSamples = 6, kFeatures = 12, kClasses = 12;

Matrix<float> table(const std::string& name, std::size_t rows, std::size_t cols) {
  std::ifstream in(kVersion01 / name);
  Matrix<float> values(rows, cols);
  for (std::size_t r = 0; r < rows; ++r)
    for (float& value : values.row(r)) EXPECT_TRUE(in >> value) << name << ", row " << r;
  return values;
}

void expect_near(MatrixView<const float> found, MatrixView<const float> expected) {
  ASSERT_EQ(found.rows(), expected.rows());
  ASSERT_EQ(found.cols(), expected.cols());
  for (std::size_t r = 0; r < expected.rows(); ++r)
    for (std::size_t c = 0; c < expected.cols(); ++c)
      EXPECT_NEAR(found(r, c), expected(r, c), 1e-5) << "sample " << r << ", class " << c;
}

Matrix<float> confidences(const Model& model) {
  ThreadPool pool(1);
  Matrix<float> scores = model.scores(table("features.txt", kSamples, kFeatures).view(), pool);
  const Ranking ranking(model);
  for (std::size_t r = 0; r < scores.rows(); ++r) ranking.to_confidences(scores.row(r));
  return scores;
}

}  // namespace

TEST(Golden, AModelOfVersion01GivesTheConfidencesItGaveThen) {
  const Model model = load_model(kVersion01 / "model.safetensors");
  EXPECT_EQ(model.gates.networks, 6u);
  EXPECT_EQ(model.gates.open, 2u);
  ASSERT_EQ(model.classes.names.size(), kClasses);
  expect_near(confidences(model).view(), table("confidences.txt", kSamples, kClasses).view());
}

TEST(Golden, AModelOfVersion01IsWrittenAgainWithoutLoss) {
  test::TempDir dir;
  save_model(load_model(kVersion01 / "model.safetensors"), dir / "again.safetensors");
  expect_near(confidences(load_model(dir / "again.safetensors")).view(),
              table("confidences.txt", kSamples, kClasses).view());
}

TEST(Golden, TheRecordOfVersion01IsWrittenAgainAsItWas) {
  const auto text = SafetensorsFile(kVersion01 / "model.safetensors").metadata().at("record");
  EXPECT_EQ(to_json(train_record_from_json(text, "record")).dump(), text);
}

TEST(Golden, TheRecordAndOptionsOfVersion01AreReadable) {
  const Model model = load_model(kVersion01 / "model.safetensors");
  const TrainRecord& record = model.record;
  EXPECT_EQ(record.data.samples, 240u);
  EXPECT_EQ(record.data.trained, TrainedSamples{}) << "version 0.1 did not store them";
  EXPECT_EQ(record.seed, 7u);
  EXPECT_NEAR(record.validation.zsl, 100, 1e-9) << "percent, as today";
  EXPECT_NEAR(record.validation.h, 46.6667, 1e-3) << "percent, as today";
  EXPECT_EQ(record.gates->samples.size(), 6u);
  TrainOptions options;
  train_option_table(options).from_json(nlohmann::json::parse(model.options), "model.safetensors");
  EXPECT_EQ(options.method, Method::parsnets);
  EXPECT_EQ(options.gates.networks, 6);
  EXPECT_EQ(options.gates.open, 2);
}

TEST(Golden, ADeviceFileOfVersion01GivesTheScoresItGaveThen) {
  const DeviceModel model = load_device_model(kVersion01 / "model.pnrt");
  EXPECT_EQ(model.precision(), Precision::int8);
  ASSERT_EQ(model.class_names().size(), kClasses);
  ThreadPool pool(1);
  expect_near(model.scores(table("features.txt", kSamples, kFeatures).view(), pool).view(),
              table("device_scores.txt", kSamples, kClasses).view());
}

}  // namespace parsnets
