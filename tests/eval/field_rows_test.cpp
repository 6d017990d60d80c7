#include "eval/field_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/scratch_file.hpp"
#include "model/copy.hpp"
#include "parsnets/error.hpp"
#include "small_training.hpp"

namespace parsnets {

namespace {

/// On disk, and more than are predicted at a time where the limit is as low as can be.
Matrix<float> many_samples(const Dataset& data) {
  const std::size_t rows = 5000;
  Matrix<float> samples = new_matrix(rows, data.features.cols(), {1, 0}, "samples");
  for (std::size_t r = 0; r < rows; ++r) {
    std::ranges::copy(data.features.row(r * 7 % data.samples()), samples.row(r).begin());
    samples(r, 0) += static_cast<float>(r) * 1e-5f;
  }
  return samples;
}

void expect_places(const Model& a, const Model& b, float tolerance) {
  const Matrix<float> x = a.class_vectors(), y = b.class_vectors();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x.data()[i], y.data()[i], tolerance);
}

}  // namespace

TEST(FieldRows, SamplesOnDiskTeachWhatSamplesInMemoryDo) {
  test::TrainedModel t(Method::parsnets);
  const Matrix<float> samples = many_samples(t.data);
  const std::string name = t.model.classes.names.front();
  // Without a limit to the bit; with one that holds a block of samples up to rounding.
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1}}) {
    Model whole = copy_in_memory(t.model), blocks = copy_in_memory(t.model);
    const float tolerance = limit == 0 ? 0.0f : 1e-5f;
    const Adaptation a = adapt(whole, samples.view(), {}, t.pool);
    const Adaptation b = adapt_rows(blocks, blocks_of(samples), {}, limit, t.pool);
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_EQ(a.convincing, b.convincing);
    EXPECT_NEAR(a.likelihood_gain, b.likelihood_gain, tolerance);
    expect_places(whole, blocks, tolerance);
    teach(whole, name, samples.view(), t.pool);
    teach_rows(blocks, name, blocks_of(samples), limit, t.pool);
    expect_places(whole, blocks, tolerance);
    add_class_by_examples(whole, "new", samples.view(), t.pool);
    add_class_by_rows(blocks, "new", blocks_of(samples), limit, t.pool);
    expect_places(whole, blocks, tolerance);
  }
}

TEST(FieldRows, RefusesWhatTheWholeRefuses) {
  test::TrainedModel t(Method::parsnets);
  Matrix<float> samples = many_samples(t.data);
  EXPECT_THROW(teach_rows(t.model, "nobody", blocks_of(samples), 0, t.pool), Error);
  EXPECT_THROW(adapt_rows(t.model, blocks_of(samples, 0, 0), {}, 0, t.pool), Error);
  samples(3001, 2) = std::numeric_limits<float>::quiet_NaN();
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{1}}) try {
      adapt_rows(t.model, blocks_of(samples), {}, limit, t.pool);
      FAIL();
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("sample 3001, feature 2"), std::string::npos) << error.what();
    }
}

}  // namespace parsnets
