#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/linalg.hpp"
#include "base/random_matrix.hpp"
#include "eigen_reference.hpp"
#include "expect.hpp"
#include "features/fit_encoder.hpp"
#include "parsnets/model_parts.hpp"

namespace parsnets {

namespace {

using test::same_bits;

/// Mixed columns of falling strength, so that the spectrum decays slowly, as that of real features does.
Matrix<float> decaying(std::size_t n, std::size_t d, std::uint64_t seed, double power = 0.5) {
  Rng rng(seed);
  Matrix<double> mix(d, d), raw(n, d);
  for (double& v : mix.values()) v = rng.normal();
  orthonormalise_rows(mix.view());
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t c = 0; c < d; ++c) raw(r, c) = rng.normal() / std::pow(1.0 + static_cast<double>(c), power);
  ThreadPool pool(1);
  return to_float(product(pool, Trans::no, raw, Trans::no, mix).view());
}

/// Singular values by an independent library: ‖X − X WᵀW‖ cannot be below the tail of the spectrum.
double best_error(const Matrix<float>& x, std::size_t h) {
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const RowMajor> map(x.data(), static_cast<Eigen::Index>(x.rows()),
                                       static_cast<Eigen::Index>(x.cols()));
  const Eigen::VectorXd squares = test::singular_values(map.cast<double>()).array().square();
  return std::sqrt(squares.tail(squares.size() - static_cast<Eigen::Index>(h)).sum() / squares.sum());
}

/// The error from its definition, in double.
double direct_error(const Matrix<float>& x, const Matrix<float>& w) {
  ThreadPool pool(1);
  const auto xd = to_double(x.view()), wd = to_double(w.view());
  const Matrix<double> e = product(pool, Trans::no, xd, Trans::yes, wd);
  Matrix<double> residual = Matrix<double>::copy_of(xd.view());
  multiply(pool, Trans::no, e.view(), Trans::no, wd.view(), residual.view(), -1, 1);
  double lost = 0, total = 0;
  for (const double v : residual.values()) lost += v * v;
  for (const double v : xd.values()) total += v * v;
  return std::sqrt(lost / total);
}

void expect_orthonormal_rows(const Matrix<float>& w) {
  for (std::size_t i = 0; i < w.rows(); ++i)
    for (std::size_t j = 0; j <= i; ++j) ASSERT_NEAR(dot(w.row(i), w.row(j)), i == j ? 1 : 0, 1e-6) << i << ' ' << j;
}

constexpr bool kPrincipal = false, kRotated = true;  // axes

EncoderOptions options_for(int h, EncoderMethod method, bool random_rotation = kRotated, std::uint64_t seed = 1) {
  EncoderOptions options;
  options.dimensions = h;
  options.method = method;
  options.random_rotation = random_rotation;
  options.seed = seed;
  return options;
}

Encoder fit(const EncoderOptions& options, const Matrix<float>& x, ThreadPool& pool) {
  return fit_encoder(options, x.rows(), gram_of_columns(pool, x.view()).view(), pool);
}

struct Shape {
  std::size_t n, d;
  int h;
};

}  // namespace

TEST(Encoder, TheExactFitReachesTheErrorOfTheSingularValueDecomposition) {
  ThreadPool pool(2);
  for (const auto& [n, d, h] : {Shape{300, 120, 30}, Shape{90, 250, 30}, Shape{100, 100, 99}, Shape{300, 120, 1}}) {
    const auto x = decaying(n, d, 1);
    const double best = best_error(x, static_cast<std::size_t>(h));
    for (const bool rotation : {false, true}) {
      const auto encoder = fit(options_for(h, EncoderMethod::exact, rotation), x, pool);
      expect_orthonormal_rows(encoder.weights);
      EXPECT_NEAR(encoder.reconstruction_error, best, 1e-3) << n << " x " << d;
      EXPECT_NEAR(direct_error(x, encoder.weights), best, 1e-5);
    }
  }
}

TEST(Encoder, TheRandomizedFitIsWithinOnePerCentOfTheBest) {
  ThreadPool pool(2);
  // The last ones decay so slowly that a sketch without power iterations fails.
  for (const auto& [n, d, h] : {Shape{600, 200, 40}, Shape{150, 400, 40}, Shape{2000, 100, 20}, Shape{200, 1000, 10}})
    for (const double power : {1.0, 0.5, 0.25}) {
      const auto x = decaying(n, d, 2, power);
      const double best = best_error(x, static_cast<std::size_t>(h));
      const auto encoder = fit(options_for(h, EncoderMethod::randomized), x, pool);
      expect_orthonormal_rows(encoder.weights);
      const double error = direct_error(x, encoder.weights);
      EXPECT_GE(error, best - 1e-6);
      EXPECT_LE(error, 1.01 * best) << n << " x " << d << ", power " << power;
      EXPECT_NEAR(encoder.reconstruction_error, error, 1e-5);
    }
}

TEST(Encoder, PrincipalAxesAreOrderedByVarianceAndAgreeBetweenTheMethods) {
  ThreadPool pool(2);
  const auto x = decaying(500, 80, 3, 1.0);
  const auto exact = fit(options_for(10, EncoderMethod::exact, kPrincipal), x, pool);
  const auto randomized = fit(options_for(10, EncoderMethod::randomized, kPrincipal), x, pool);
  const auto e = encoded(exact, x.view(), pool);
  double before = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 10; ++i) {
    double energy = 0;
    for (std::size_t r = 0; r < e.rows(); ++r) energy += static_cast<double>(e(r, i)) * e(r, i);
    EXPECT_LT(energy, before);
    before = energy;
    EXPECT_NEAR(dot(exact.weights.row(i), randomized.weights.row(i)), 1, 1e-3) << "axis " << i << ", sign included";
  }
}

TEST(Encoder, ARotationChangesTheBasisButNotTheReconstruction) {
  ThreadPool pool(2);
  const auto x = decaying(200, 60, 4);
  const auto plain = fit(options_for(24, EncoderMethod::exact, kPrincipal), x, pool);
  const auto project = [&](const Encoder& encoder) {
    return product(pool, Trans::no, encoded(encoder, x.view(), pool), Trans::no, encoder.weights);
  };
  const auto expected = project(plain);
  Matrix<float> former;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const auto turned = fit(options_for(24, EncoderMethod::exact, kRotated, seed), x, pool);
    EXPECT_FALSE(same_bits(turned.weights, plain.weights));
    EXPECT_FALSE(same_bits(turned.weights, former));
    EXPECT_NEAR(turned.reconstruction_error, plain.reconstruction_error, 1e-6);
    const auto back = project(turned);
    for (std::size_t i = 0; i < back.size(); ++i) ASSERT_NEAR(back.data()[i], expected.data()[i], 2e-6);
    former = Matrix<float>::copy_of(turned.weights.view());
  }
}

TEST(Encoder, TheRandomRotationIsUniformlyDistributed) {
  // For X = I every orthonormal basis is principal, so W·V⁻¹ is the rotation itself: here V from the identity policy.
  // Haar entries have mean 0 and variance 1/h; without R's sign fix the diagonal would be biased.
  ThreadPool pool(1);
  constexpr std::size_t h = 5, draws = 2000;
  Matrix<float> x(h, h, 0.0f);
  for (std::size_t i = 0; i < h; ++i) x(i, i) = static_cast<float>(h - i);
  Matrix<double> sum(h, h, 0.0), squares(h, h, 0.0);
  for (std::size_t draw = 0; draw < draws; ++draw) {
    const auto w = fit(options_for(h, EncoderMethod::exact, kRotated, draw), x, pool).weights;
    for (std::size_t i = 0; i < w.size(); ++i) {
      sum.data()[i] += w.data()[i];
      squares.data()[i] += static_cast<double>(w.data()[i]) * w.data()[i];
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(sum.data()[i] / draws, 0, 5 * std::sqrt(1.0 / h / draws)) << i;
    EXPECT_NEAR(squares.data()[i] / draws, 1.0 / h, 0.03) << i;
  }
}

TEST(Encoder, FitsAndEmbeddingsDoNotDependOnTheNumberOfThreads) {
  for (const auto& [n, d, h] : {Shape{700, 150, 40}, Shape{140, 300, 40}, Shape{140, 1000, 5}}) {
    const auto x = decaying(n, d, 5);
    for (const auto method : {EncoderMethod::exact, EncoderMethod::randomized, EncoderMethod::automatic}) {
      ThreadPool one(1);
      const auto first = fit(options_for(h, method), x, one);
      const auto e = encoded(first, x.view(), one);
      for (const unsigned threads : {2u, 5u}) {
        ThreadPool pool(threads);
        const auto again = fit(options_for(h, method), x, pool);
        EXPECT_TRUE(same_bits(first.weights, again.weights));
        EXPECT_EQ(first.reconstruction_error, again.reconstruction_error);
        EXPECT_TRUE(same_bits(e, encoded(again, x.view(), pool)));
      }
    }
  }
}

TEST(Encoder, TheMethodIsExactUnlessThatIsMuchDearer) {
  ThreadPool pool(2);
  const auto small = decaying(300, 100, 5), large = decaying(1000, 900, 5);
  const auto weights = [&](const Matrix<float>& x, EncoderMethod method) {
    return fit(options_for(10, method), x, pool).weights;
  };
  EXPECT_TRUE(same_bits(weights(small, EncoderMethod::automatic), weights(small, EncoderMethod::exact)));
  EXPECT_TRUE(same_bits(weights(large, EncoderMethod::automatic), weights(large, EncoderMethod::randomized)));
  EXPECT_FALSE(same_bits(weights(small, EncoderMethod::exact), weights(small, EncoderMethod::randomized)));
}

TEST(Encoder, EncodingsAreProductsWithTheWeights) {
  ThreadPool pool(2);
  const auto x = decaying(150, 67, 6);
  const auto encoder = fit(options_for(20, EncoderMethod::exact), x, pool);
  const auto e = encoded(encoder, x.view(), pool);
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t i = 0; i < 20; ++i) ASSERT_NEAR(dot(encoder.weights.row(i), x.row(r)), e(r, i), 1e-6);
  EXPECT_THROW(encoded(encoder, MatrixView<const float>(x.data(), 10, 66), pool), Error);
}

TEST(Encoder, AnEncoderWithoutWeightsIsTheIdentity) {
  ThreadPool pool(1);
  const auto x = decaying(5, 7, 7);
  const Encoder encoder;
  EXPECT_TRUE(encoder.is_identity());
  EXPECT_TRUE(same_bits(encoded(encoder, x.view(), pool), x));
}

TEST(Encoder, DataOfLowerRankThanTheEncoderIsReconstructedExactly) {
  ThreadPool pool(2);
  for (const bool wide : {false, true}) {
    const std::size_t n = wide ? 60 : 200, d = wide ? 200 : 60;
    const Matrix<float> x = product(pool, Trans::no, test::random_matrix<float>(n, 4, 8), Trans::no,
                                    test::random_matrix<float>(4, d, 9)),
                        zero(n, d, 0.0f);
    for (const auto method : {EncoderMethod::exact, EncoderMethod::randomized}) {
      const auto encoder = fit(options_for(30, method), x, pool);
      expect_orthonormal_rows(encoder.weights);
      EXPECT_LT(encoder.reconstruction_error, 1e-3);
      EXPECT_LT(direct_error(x, encoder.weights), 1e-5);
      const auto of_zero = fit(options_for(30, method), zero, pool);
      expect_orthonormal_rows(of_zero.weights);
      EXPECT_EQ(of_zero.reconstruction_error, 0);
    }
  }
}

TEST(Encoder, AllDimensionsKeepEverything) {
  ThreadPool pool(2);
  for (const auto method : {EncoderMethod::exact, EncoderMethod::randomized, EncoderMethod::automatic}) {
    const auto x = decaying(90, 30, 9);
    const auto encoder = fit(options_for(30, method), x, pool);
    expect_orthonormal_rows(encoder.weights);
    EXPECT_LT(encoder.reconstruction_error, 1e-3);
    EXPECT_LT(direct_error(x, encoder.weights), 1e-6);
  }
}

TEST(Encoder, ImpossibleDimensionsAreAUsageError) {
  ThreadPool pool(1);
  const auto x = decaying(20, 10, 10);
  for (const int h : {-1, 0, 11})
    EXPECT_EQ(test::code_of([&] { fit(options_for(h, EncoderMethod::automatic), x, pool); }), ErrorCode::usage) << h;
}

TEST(Encoder, NonFiniteSamplesAreRefusedRatherThanEncoded) {
  ThreadPool pool(1);
  auto x = decaying(50, 30, 11);
  x(7, 3) = std::numeric_limits<float>::quiet_NaN();
  for (const auto method : {EncoderMethod::exact, EncoderMethod::randomized})
    EXPECT_THROW(fit(options_for(5, method), x, pool), Error);
}

}  // namespace parsnets
