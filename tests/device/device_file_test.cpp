#include <gtest/gtest.h>

#include <cmath>

#include "base/linalg.hpp"
#include "device/device_file_builder.hpp"
#include "device/device_reader.hpp"
#include "expect.hpp"
#include "model/evidence.hpp"
#include "pool_test.hpp"
#include "rejecting_model.hpp"

namespace parsnets {
namespace {

using test::small_model;
using DeviceFileTest = test::PoolTest;

double most_apart(const Matrix<float>& a, const Matrix<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a.data()[i]) - b.data()[i]));
  return most;
}

TEST_F(DeviceFileTest, Float32ScoresAgreeWithTheLibraryForEveryKindOfModel) {
  const Matrix<float> x = test::small_samples(200);
  for (const auto& kind : test::small_model_kinds()) {
    const Model model = small_model(kind, pool);
    const DeviceModel device(device_file(model, Precision::float32, 0, pool), kind);
    EXPECT_LT(most_apart(device.scores(x.view(), pool), model.scores(x.view(), pool)), 1e-5) << kind;
    EXPECT_LT(most_apart(device.predict(x.view(), pool), model.predict(x.view(), pool)), 1e-5) << kind;
  }
}

TEST_F(DeviceFileTest, HalfAndInt8ScoresStayCloseAndGetSmaller) {
  const Matrix<float> x = test::small_samples(200);
  for (const auto& kind : test::small_model_kinds()) {
    const Model model = small_model(kind, pool);
    const Matrix<float> exact = model.scores(x.view(), pool);
    double spread = 0;
    for (const float v : exact.values()) spread = std::max(spread, std::abs(static_cast<double>(v)));
    const DeviceModel whole(device_file(model, Precision::float32, 0, pool), kind),
        half(device_file(model, Precision::float16, 0, pool), kind),
        bytes(device_file(model, Precision::int8, 0, pool), kind);
    EXPECT_LT(most_apart(half.scores(x.view(), pool), exact), 3e-3 * spread) << kind;
    // A gate near a tie may open differently, which moves a score for good reason; the mean tells.
    const Matrix<float> rounded = bytes.scores(x.view(), pool);
    double sum = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
      sum += std::abs(static_cast<double>(exact.data()[i]) - rounded.data()[i]);
    EXPECT_LT(sum / static_cast<double>(exact.size()), 0.02 * spread) << kind;
    EXPECT_LT(half.bytes().size(), whole.bytes().size()) << kind;
    EXPECT_LT(bytes.bytes().size(), half.bytes().size()) << kind;
  }
}

TEST_F(DeviceFileTest, MixturesOfAllRanksPredictWhatTheirNetworksDo) {
  const Matrix<float> x = test::small_samples(60);
  for (const char* kind : {"anchor", "energy", "relu", "classes"}) {
    const Model model = small_model(kind, pool);
    const Matrix<float> exact = model.predict(x.view(), pool);
    double last = 1e30;
    for (const std::size_t rank : {1u, 3u, 5u, 7u}) {
      const DeviceModel device(device_file(model, Precision::float32, rank, pool), kind);
      const double error = most_apart(device.predict(x.view(), pool), exact);
      EXPECT_LT(error, last * 1.5) << kind << ", rank " << rank;  // falls, if not at every step
      last = error;
    }
    const DeviceModel most(device_file(model, Precision::float32, 8, pool), kind);
    EXPECT_LT(most_apart(most.predict(x.view(), pool), exact), 1e-5) << kind;
  }
}

TEST_F(DeviceFileTest, KeepsNamesSeenAndAttributes) {
  Model model = small_model("anchor", pool);
  model.attribute_names.clear();
  for (std::size_t a = 0; a < model.attributes(); ++a)
    model.attribute_names.push_back("attribute " + std::to_string(a));
  const auto file = device_file(model, Precision::float32, 3, pool);
  const DeviceInfo info = read_device_info(file, "test");
  EXPECT_EQ(info.class_names, model.classes.names);
  EXPECT_EQ(info.class_seen, model.classes.seen);
  EXPECT_EQ(info.attribute_names, model.attribute_names);
  EXPECT_EQ(info.basis, 3u);
  const Matrix<float> attributes = test::device_matrix(file, info, DevicePart::class_attributes);
  EXPECT_TRUE(std::equal(attributes.values().begin(), attributes.values().end(), model.classes.semantics.data()));
}

TEST_F(DeviceFileTest, KeepsHowClassVectorsCameAbout) {
  Model model = small_model("classes linear", pool);
  model.field = {6, 21, 41, 0.625};
  const auto file = device_file(model, Precision::float32, 0, pool);
  EXPECT_EQ(read_device_info(device_file(small_model("anchor", pool), Precision::float32, 0, pool), "test").support,
            0u);
  const DeviceInfo info = read_device_info(file, "test");
  EXPECT_EQ(info.outputs, model.outputs());
  EXPECT_EQ(info.semantics, model.semantic_outputs());
  EXPECT_EQ(info.example_prior, 6);
  EXPECT_EQ(info.strength, 21);
  EXPECT_EQ(info.sharpness, 41);
  EXPECT_EQ(info.certainty, 0.625f);
  ASSERT_NE(info.outputs, info.semantics);
  const Matrix<float> lengths = test::device_matrix(file, info, DevicePart::class_lengths),
                      predicted = test::device_matrix(file, info, DevicePart::class_predicted),
                      unit = test::device_matrix(file, info, DevicePart::class_vectors),
                      vectors = model.class_vectors();
  for (std::size_t c = 0; c < vectors.rows(); ++c) {
    const double n = model.classes.samples[c];
    EXPECT_NEAR(predicted(0, c), n > 0 ? model.prior_samples / (n + model.prior_samples) : 1, 1e-6);
    for (std::size_t j = 0; j < vectors.cols(); ++j) EXPECT_NEAR(lengths(0, c) * unit(c, j), vectors(c, j), 1e-5);
  }
}

/// A file without some of its last sections, whose bytes follow `from`, and with 0 instead of some bytes of the header.
std::vector<std::byte> without(std::vector<std::byte> file, std::size_t from, std::vector<std::size_t> header) {
  file.resize(from);
  for (const std::size_t at : header) file[at] = std::byte{0};
  test::mend(file);
  return file;
}

TEST_F(DeviceFileTest, RejectionChangesNothingElse) {
  for (const char* kind : {"classes", "classes closed"})
    for (const Precision precision : {Precision::float32, Precision::float16, Precision::int8}) {
      Model model = test::rejecting_model(kind, pool);
      const Rejection& rejection = model.rejection;
      const auto file = device_file(model, precision, 0, pool);
      const DeviceInfo info = read_device_info(file, "test");
      const Matrix<float> values = test::device_matrix(file, info, DevicePart::rejection),
                          basis = test::device_matrix(file, info, DevicePart::span),
                          offset = test::device_matrix(file, info, DevicePart::span_offset);
      std::vector<float> expected;
      for (const auto& part : rejection.weights) expected.insert(expected.end(), part.begin(), part.end());
      for (const auto& part : rejection.range) expected.insert(expected.end(), part.begin(), part.end());
      expected.insert(expected.end(), rejection.thresholds.begin(), rejection.thresholds.end());
      EXPECT_TRUE(std::ranges::equal(values.values(), expected)) << kind;
      const LinearSpan span(model, pool);
      ASSERT_FALSE(span.basis().empty());
      ASSERT_EQ(basis.rows(), model.outputs());
      ASSERT_EQ(basis.cols(), model.outputs());
      for (std::size_t i = 0; i < basis.rows(); ++i)
        for (std::size_t j = 0; j < basis.cols(); ++j)
          EXPECT_EQ(basis(i, j), i < span.basis().rows() ? span.basis()(i, j) : 0.0f) << kind;
      EXPECT_TRUE(std::ranges::equal(offset.values(), span.offset())) << kind;
      model.rejection = {};
      std::vector<std::size_t> types;
      for (const DevicePart part : {DevicePart::rejection, DevicePart::span, DevicePart::span_offset})
        types.push_back(PNRT_TYPES_AT + static_cast<std::size_t>(part));
      EXPECT_EQ(device_file(model, precision, 0, pool),
                without(file, info.section(DevicePart::rejection).offset, types))
          << kind;
      const DeviceModel with(file, kind), plain(device_file(model, precision, 0, pool), kind);
      EXPECT_GE(with.work_bytes(), plain.work_bytes()) << kind;
      EXPECT_LE(with.work_bytes(), plain.work_bytes() + 4 * model.outputs() + 16) << kind;
    }
}

TEST_F(DeviceFileTest, ASourceChangesNothingElse) {
  for (const char* kind : {"anchor", "classes", "rejecting"})
    for (const Precision precision : {Precision::float32, Precision::int8}) {
      const bool rejects = std::string(kind) == "rejecting";
      Model model = rejects ? test::rejecting_model("classes", pool) : small_model(kind, pool);
      const auto plain = device_file(model, precision, 0, pool);
      model.record.data.source = test::small_source();
      const auto file = device_file(model, precision, 0, pool);
      const DeviceInfo info = read_device_info(file, "test");
      EXPECT_EQ(info.source, test::small_source()) << kind;
      std::vector<std::size_t> header{PNRT_TYPES_AT + static_cast<std::size_t>(DevicePart::source)};
      for (const auto& field : test::header_fields())
        for (std::size_t i = 0; std::string(field.name).starts_with("source_") && i < field.bytes; ++i)
          header.push_back(field.offset + i);
      EXPECT_EQ(without(file, info.section(DevicePart::source).offset, header), plain) << kind;
      const DeviceModel with(file, kind), sourceless(plain, kind);
      EXPECT_EQ(with.source(), test::small_source());
      EXPECT_EQ(sourceless.source(), std::nullopt);
      EXPECT_EQ(with.work_bytes(), sourceless.work_bytes());
      const Matrix<float> x = test::small_samples(20);
      EXPECT_TRUE(std::ranges::equal(with.scores(x.view(), pool).values(), sourceless.scores(x.view(), pool).values()));
    }
}

TEST_F(DeviceFileTest, RefusesASourceThatItCannotHold) {
  Model model = small_model("linear", pool);
  const auto refused = [&](auto change, const char* part) {
    model.record.data.source = test::small_source();
    change(*model.record.data.source);
    test::expect_error([&] { device_file(model, Precision::int8, 0, pool); }, part);
  };
  refused([](FeatureSource& s) { s.sha256 = "abc"; }, "source.sha256");
  refused([](FeatureSource& s) { s.sha256[3] = 'G'; }, "source.sha256");
  refused([](FeatureSource& s) { s.input.width = 8193; }, "source.width");
  refused([](FeatureSource& s) { s.dimensions = 0; }, "source.dimensions");
  refused([](FeatureSource& s) { s.layer = std::string("a\0b", 3); }, "zero bytes");
  refused([](FeatureSource& s) { s.backbone = std::string("a\0b", 3); }, "zero bytes");
}

TEST_F(DeviceFileTest, AMapThatSpansEverythingHasNoSpan) {
  const Dataset data =
      synthesize({.classes = 16, .attributes = 20, .samples = 400, .dimensions = 8});  // fewer than seen classes
  TrainOptions options;
  options.calibration.enabled = false;
  Model model = train(data, options, pool);
  ASSERT_GE(model.outputs(), model.dimensions);
  test::reject_by_hand(model, data.features.view(), pool);
  const auto file = device_file(model, Precision::float32, 0, pool);
  const DeviceInfo info = read_device_info(file, "test");
  EXPECT_TRUE(info.section(DevicePart::rejection).present());
  EXPECT_FALSE(info.section(DevicePart::span).present());
  EXPECT_FALSE(info.section(DevicePart::span_offset).present());
  const auto verdicts = DeviceModel(file, "test").unknown(data.features.view(), Among::all, pool);
  const auto engine = test::judge(model, data.features.view(), Ranking(model), pool);
  for (std::size_t i = 0; i < engine.size(); ++i)
    EXPECT_TRUE(engine[i].slack(model.rejection) <= 1e-4f || (verdicts[i] != 0) == engine[i].unknown) << i;
}

TEST_F(DeviceFileTest, SeveralTablesOfSemanticTargetsScoreAsInTheLibrary) {
  Dataset data = test::small_training_set();
  data.semantics.tables = {{"a", 8}, {"b", data.semantics.values.cols() - 8}};
  for (const std::string scaling : {"l2", "standardize"}) {
    Model model =
        train(data, test::small_options("ridge", "semantic-weights=0.3,0.7;semantic-scaling=" + scaling), pool);
    const DeviceModel device(device_file(model, Precision::float32, 0, pool), "file");
    test::SmallBank bank({device.bytes().begin(), device.bytes().end()}, 1);
    const Matrix<float> x = test::small_samples(20);
    EXPECT_LT(most_apart(model.scores(x.view(), pool), device.scores(x.view(), pool)), 1e-4);
    // A class that is added is scaled by its tables, too.
    std::vector<float> attributes(model.classes.semantics.row(3).begin(), model.classes.semantics.row(3).end());
    attributes[0] += 0.5f;
    ASSERT_EQ(bank.add("new", attributes), PNRT_OK);
    const auto scores = bank.scores(x.data());
    model.add_class("new", attributes);
    EXPECT_NEAR(scores.back(), model.scores(x.view(), pool)(0, scores.size() - 1), 1e-4);
  }
}

TEST_F(DeviceFileTest, BytesDependOnTheModelAlone) {
  ThreadPool one(1), two(2);
  const Model model = small_model("anchor", one);
  for (const Precision precision : {Precision::float32, Precision::int8})
    EXPECT_EQ(device_file(model, precision, 3, one), device_file(model, precision, 3, two));
}

TEST_F(DeviceFileTest, RefusesWhatItCannotHold) {
  TrainOptions options = test::small_options("reverse-ridge");
  options.calibration.enabled = false;
  const Model reverse = train(test::small_training_set(), options, pool);
  EXPECT_THROW(device_file(reverse, Precision::int8, 0, pool), Error);
  Model model = small_model("anchor", pool);
  EXPECT_THROW(device_file(model, Precision::int8, 9, pool), Error);
  model.classes.semantics(0, 0) = 1e6f;
  EXPECT_THROW(device_file(model, Precision::float16, 0, pool), Error);
  EXPECT_NO_THROW(device_file(model, Precision::float32, 0, pool));
}

}  // namespace
}  // namespace parsnets
