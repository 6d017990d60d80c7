#include "features/preprocess.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "expect.hpp"

namespace parsnets {

namespace {

Matrix<float> random_features(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Rng rng(seed);
  Matrix<float> out(rows, cols);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c)
      out(r, c) = static_cast<float>(100 + static_cast<double>(c) * rng.normal());  // column 0 is constant
  return out;
}

std::vector<std::int32_t> first_rows(std::size_t count) {
  std::vector<std::int32_t> rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

double mean_of_column(const Matrix<float>& x, std::size_t c) {
  double sum = 0;
  for (std::size_t r = 0; r < x.rows(); ++r) sum += x(r, c);
  return sum / static_cast<double>(x.rows());
}

double length(std::span<const float> x) { return std::sqrt(dot(x, x)); }

}  // namespace

TEST(Preprocess, SignedRootsAreScaledToUnitLength) {
  FeaturePreprocess p;
  p.scaling = FeatureScaling::sqrt_l2;
  std::vector<float> x{4, -9, 0};
  p.apply(x);
  EXPECT_NEAR(x[0], 2 / std::sqrt(13.0), 1e-7);
  EXPECT_NEAR(x[1], -3 / std::sqrt(13.0), 1e-7);
  EXPECT_EQ(x[2], 0);
}

TEST(Preprocess, UnitLengthSurvivesHugeAndTinyValues) {
  FeaturePreprocess p;
  p.scaling = FeatureScaling::l2;
  for (const float scale : {1.0f, 1e38f, 1e-38f, 1e-44f}) {
    std::vector<float> x{3 * scale, 0, 0};
    p.apply(x);
    EXPECT_EQ(x[0], 1) << scale;
  }
  std::vector<float> x{3e30f, 4e30f};
  p.apply(x);
  EXPECT_FLOAT_EQ(x[0], 0.6f);
  EXPECT_FLOAT_EQ(x[1], 0.8f);
}

TEST(Preprocess, AZeroSampleStaysZeroWhenScaled) {
  for (const auto scaling : {FeatureScaling::none, FeatureScaling::l2, FeatureScaling::sqrt_l2}) {
    FeaturePreprocess p;
    p.scaling = scaling;
    std::vector<float> x(5, 0.0f);
    p.apply(x);
    EXPECT_EQ(x, std::vector<float>(5, 0.0f));
  }
}

TEST(Preprocess, CentringUsesTheMeanOfTheScaledTrainingRowsOnly) {
  ThreadPool pool(2);
  auto x = random_features(300, 8, 1);
  const auto train = first_rows(200);
  for (const auto scaling : {FeatureScaling::none, FeatureScaling::l2, FeatureScaling::sqrt_l2}) {
    const auto p = fit_feature_preprocess(scaling, x.view(), train, pool);
    EXPECT_TRUE(p.factor.empty());
    const auto fitted = preprocessed_rows(p, x.view(), train, pool);
    for (std::size_t c = 0; c < 8; ++c) EXPECT_NEAR(mean_of_column(fitted, c), 0, 1e-5);
    auto other = Matrix<float>::copy_of(x.view());
    for (std::size_t r = 200; r < 300; ++r)
      for (float& v : other.row(r)) v *= 7;
    EXPECT_EQ(fit_feature_preprocess(scaling, other.view(), train, pool).mean, p.mean);
  }
  FeaturePreprocess plain;
  plain.scaling = FeatureScaling::l2;
  const auto unit = preprocessed_rows(plain, x.view(), train, pool);
  for (std::size_t r = 0; r < unit.rows(); ++r) EXPECT_NEAR(length(unit.row(r)), 1, 1e-6);
}

TEST(Preprocess, StandardizedFeaturesHaveMeanZeroAndVarianceOne) {
  ThreadPool pool(2);
  const auto x = random_features(500, 6, 2);
  const auto p = fit_feature_preprocess(FeatureScaling::standardize, x.view(), first_rows(500), pool);
  const auto z = preprocessed_rows(p, x.view(), first_rows(500), pool);
  for (std::size_t c = 1; c < 6; ++c) {
    EXPECT_NEAR(mean_of_column(z, c), 0, 1e-5);
    double squares = 0;
    for (std::size_t r = 0; r < 500; ++r) squares += static_cast<double>(z(r, c)) * z(r, c);
    EXPECT_NEAR(squares / 500, 1, 1e-5);
  }
  Matrix<float> tiny(2, 1);  // population variance: (1, 3) -> mean 2, deviation 1
  tiny(0, 0) = 1;
  tiny(1, 0) = 3;
  const auto q = fit_feature_preprocess(FeatureScaling::standardize, tiny.view(), first_rows(2), pool);
  EXPECT_EQ(q.mean, std::vector<float>{2});
  EXPECT_EQ(q.factor, std::vector<float>{1});
}

TEST(Preprocess, AConstantFeatureGetsFactorZeroExactly) {
  ThreadPool pool(2);
  Matrix<float> x(1001, 3);
  for (std::size_t r = 0; r < x.rows(); ++r) {
    x(r, 0) = 0.1f;  // not a binary fraction: naive sums would leave a residue
    x(r, 1) = 12345.678f;
    x(r, 2) = static_cast<float>(r);
  }
  const auto p = fit_feature_preprocess(FeatureScaling::standardize, x.view(), first_rows(1001), pool);
  EXPECT_EQ(p.factor[0], 0);
  EXPECT_EQ(p.factor[1], 0);
  EXPECT_GT(p.factor[2], 0);
  std::vector<float> strange{1e30f, -1e30f, 500};
  p.apply(strange);
  EXPECT_EQ(strange, std::vector<float>(3, 0.0f));
}

TEST(Preprocess, RowsAreTakenInTheOrderAskedFor) {
  ThreadPool pool(2);
  const auto x = random_features(10, 3, 3);
  FeaturePreprocess p;
  p.scaling = FeatureScaling::none;
  const std::vector<std::int32_t> rows{7, 0, 7};
  const auto out = preprocessed_rows(p, x.view(), rows, pool);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(out(i, c), x(static_cast<std::size_t>(rows[i]), c));
}

TEST(Preprocess, TheFitDoesNotDependOnTheNumberOfThreads) {
  const auto x = random_features(5003, 17, 4);
  for (const auto scaling : {FeatureScaling::sqrt_l2, FeatureScaling::standardize}) {
    ThreadPool one(1);
    const auto alone = fit_feature_preprocess(scaling, x.view(), first_rows(5003), one);
    for (const unsigned threads : {2u, 7u}) {
      ThreadPool pool(threads);
      const auto p = fit_feature_preprocess(scaling, x.view(), first_rows(5003), pool);
      EXPECT_EQ(p.mean, alone.mean);
      EXPECT_EQ(p.factor, alone.factor);
    }
  }
}

TEST(Preprocess, ANonFiniteValueIsReportedWithItsSample) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto x = random_features(3000, 4, 5);
    x(2900, 1) = bad;
    x(1234, 2) = bad;
    for (const unsigned threads : {1u, 3u}) {
      ThreadPool pool(threads);
      for (const bool fit : {true, false}) {
        const auto read = [&] {
          if (fit) return void(fit_feature_preprocess(FeatureScaling::sqrt_l2, x.view(), first_rows(3000), pool));
          preprocessed_rows(FeaturePreprocess{}, x.view(), first_rows(3000), pool);
        };
        const Error error = test::error_of(read);
        EXPECT_EQ(error.parts().field, "features");
        EXPECT_MENTIONS(error.what(), "row 1234, column 2");
      }
      fit_feature_preprocess(FeatureScaling::sqrt_l2, x.view(), first_rows(1234), pool);  // it is not among these
    }
  }
}

TEST(Preprocess, ImpossibleRequestsAreRefused) {
  ThreadPool pool(1);
  const auto x = random_features(5, 3, 6);
  EXPECT_THROW(fit_feature_preprocess(FeatureScaling::l2, x.view(), {}, pool), Error);
  for (const std::int32_t outside : {-1, 5}) {
    const std::vector<std::int32_t> rows{outside};
    EXPECT_THROW(fit_feature_preprocess(FeatureScaling::l2, x.view(), rows, pool), Error);
    EXPECT_THROW(preprocessed_rows(FeaturePreprocess{}, x.view(), rows, pool), Error);
    EXPECT_THROW(fit_semantic_preprocess(SemanticScaling::l2, x.view(), rows), Error);
  }
  const auto p = fit_feature_preprocess(FeatureScaling::l2, x.view(), first_rows(5), pool);
  std::vector<float> shorter(2, 1.0f);
  EXPECT_THROW(p.apply(shorter), Error);
}

TEST(Preprocess, SemanticsAreScaledByWhatTheSeenClassesSay) {
  auto a = random_features(12, 5, 7);
  const auto seen = first_rows(9);
  const auto fit = [&](SemanticScaling scaling) { return fit_semantic_preprocess(scaling, a.view(), seen); };
  const auto apply = [&](SemanticScaling scaling) { return preprocessed_semantics(fit(scaling), a.view()); };

  const auto none = apply(SemanticScaling::none);
  EXPECT_EQ(std::memcmp(none.data(), a.data(), a.size() * sizeof(float)), 0);

  const auto unit = apply(SemanticScaling::l2), centred = apply(SemanticScaling::centre_l2);
  const auto standard = apply(SemanticScaling::standardize), binary = apply(SemanticScaling::binary);
  for (std::size_t c = 0; c < 12; ++c) {
    EXPECT_NEAR(length(unit.row(c)), 1, 1e-6);
    EXPECT_NEAR(length(centred.row(c)), 1, 1e-6);
    std::vector<double> shifted(5);
    double squares = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      double mean = 0, variance = 0;
      for (std::size_t s = 0; s < 9; ++s) mean += a(s, j) / 9.0;
      for (std::size_t s = 0; s < 9; ++s) variance += (a(s, j) - mean) * (a(s, j) - mean) / 9;
      shifted[j] = a(c, j) - mean;
      squares += shifted[j] * shifted[j];
      EXPECT_NEAR(standard(c, j), j > 0 ? shifted[j] / std::sqrt(variance) : 0, 1e-5);
      EXPECT_EQ(binary(c, j), shifted[j] > 0 ? 1 : 0);
      EXPECT_NEAR(unit(c, j), a(c, j) / length(a.row(c)), 1e-6);
    }
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(centred(c, j), shifted[j] / std::sqrt(squares), 1e-5);
  }
  a(10, 3) = std::numeric_limits<float>::quiet_NaN();  // an unseen class
  EXPECT_NO_THROW(fit(SemanticScaling::centre_l2));
  EXPECT_THROW(apply(SemanticScaling::centre_l2), Error);
}

/// Class vectors in the space of attributes.
Matrix<float> whitened(const Matrix<float>& semantics, SemanticScaling scaling, std::size_t seen, double exponent) {
  const auto preprocess = fit_semantic_preprocess(scaling, semantics.view(), first_rows(seen), exponent);
  const Matrix<float> vectors = preprocessed_semantics(preprocess, semantics.view());
  EXPECT_EQ(vectors.cols(), preprocess.outputs(semantics.cols()));
  Matrix<float> out(semantics.rows(), semantics.cols());
  for (std::size_t c = 0; c < out.rows(); ++c) {
    preprocess.expand(vectors.row(c), out.row(c));
    EXPECT_NEAR(length(out.row(c)), length(vectors.row(c)), 1e-4) << "expanding keeps lengths";
  }
  return out;
}

TEST(Whitening, ScalesPrincipalAxesOfTheSeenClassesAsItsFormulaSays) {
  // Classes on three orthogonal axes with known spread: the singular values are known without a solver.
  const std::size_t m = 12;
  Matrix<float> semantics(7, m, 0.0f);
  const double spread[] = {3, 1, 0.2};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    semantics(2 * axis, axis) = static_cast<float>(spread[axis]);
    semantics(2 * axis + 1, axis) = static_cast<float>(-spread[axis]);
  }
  for (float& v : semantics.row(6)) v = 0.7f;  // an unseen class
  for (float& v : semantics.values()) v += 5;  // the mean must not matter
  const double a = 0.4;
  const Matrix<float> out = whitened(semantics, SemanticScaling::none, 6, a);
  const auto factor = [&](std::size_t axis) { return std::pow(std::pow(spread[axis] / spread[0], 2) + 1e-3, -a / 2); };
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t j = 0; j < m; ++j) {
      EXPECT_NEAR(out(2 * axis, j), j == axis ? factor(axis) * spread[axis] : 0, 1e-4);
      EXPECT_NEAR(out(6, j), j < 3 ? factor(j) * 0.7 : 0, 1e-4) << "what no seen class varies in is dropped";
    }
}

TEST(Whitening, IsTheSameFromEitherSide) {
  Rng rng(11);
  const std::size_t m = 6;
  Matrix<float> many(40, m), padded(40, 60, 0.0f);
  for (std::size_t c = 0; c < 40; ++c)
    for (std::size_t j = 0; j < m; ++j)
      padded(c, j) = many(c, j) = static_cast<float>(rng.normal() * (1 + static_cast<double>(j)));
  // 40 classes by 6 attributes goes by attributes, 40 by 60 (zeros added) by classes.
  const auto narrow = whitened(many, SemanticScaling::l2, 30, 0.5),
             wide = whitened(padded, SemanticScaling::l2, 30, 0.5);
  for (std::size_t c = 0; c < 40; ++c)
    for (std::size_t j = 0; j < m; ++j) EXPECT_NEAR(narrow(c, j), wide(c, j), 1e-4);
}

TEST(Whitening, OfSeveralTablesIsThatOfEachWithItsWeightAsMeanSquaredLength) {
  Rng rng(5);
  Semantics semantics;
  semantics.tables = {{"a", 4}, {"b", 20}, {"c", 3}};
  semantics.values = Matrix<float>(14, 27);
  for (std::size_t c = 0; c < 14; ++c)
    for (std::size_t j = 0; j < 27; ++j)
      semantics.values(c, j) =
          static_cast<float>((j < 4 ? 100 : 1) * (rng.normal() + 1) / (1.0 + static_cast<double>(j)));
  const auto seen = first_rows(10);
  SemanticOptions options;
  options.whitening = 0.35;
  options.weights = {1, 6, 3};
  for (const auto scaling : {SemanticScaling::none, SemanticScaling::l2, SemanticScaling::centre_l2,
                             SemanticScaling::standardize, SemanticScaling::binary}) {
    SCOPED_TRACE(static_cast<int>(scaling));
    options.scaling = scaling;
    const auto preprocess = fit_semantic_preprocess(options, semantics, seen, false);
    const Matrix<float> vectors = preprocessed_semantics(preprocess, semantics.values.view());
    std::size_t first = 0, axis = 0;
    for (std::size_t t = 0; t < 3; first += semantics.tables[t++].second) {
      Matrix<float> table(14, semantics.tables[t].second);
      for (std::size_t c = 0; c < 14; ++c)
        std::ranges::copy(semantics.values.row(c).subspan(first, table.cols()), table.row(c).begin());
      const auto alone = fit_semantic_preprocess(scaling, table.view(), seen, 0.35, true);
      const Matrix<float> expected = preprocessed_semantics(alone, table.view());
      double squares = 0;
      for (const auto c : seen) squares += std::pow(length(expected.row(static_cast<std::size_t>(c))), 2) / 10;
      const double scale = std::sqrt(options.weights[t] / 10 / squares);
      for (std::size_t c = 0; c < 14; ++c)
        for (std::size_t i = 0; i < expected.cols(); ++i)
          EXPECT_NEAR(vectors(c, axis + i), scale * expected(c, i), 1e-4);
      axis += expected.cols();
    }
    EXPECT_EQ(axis, vectors.cols());
  }
  options.weights = {1, 2};
  EXPECT_THROW(fit_semantic_preprocess(options, semantics, seen, false), Error);
  options.weights = {1, 2, 0};
  EXPECT_THROW(fit_semantic_preprocess(options, semantics, seen, false), Error);
}

TEST(Whitening, OfEqualClassesLeavesThemAlone) {
  Matrix<float> semantics(4, 3, 2.0f);
  const auto preprocess = fit_semantic_preprocess(SemanticScaling::none, semantics.view(), first_rows(4), 0.3);
  EXPECT_TRUE(preprocess.whitening.empty());
}

}  // namespace parsnets
