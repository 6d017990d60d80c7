#include "train/fit_prototypes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"
#include "parsnets/error.hpp"

namespace parsnets {
namespace {

struct Problem {
  Matrix<float> vectors{7, 4}, f{60, 4};
  std::vector<std::int32_t> labels;
  std::vector<float> centre{0.2f, -0.1f, 0, 0.3f};

  Problem() {
    Rng rng(5);
    for (float& v : vectors.values()) v = static_cast<float>(rng.normal());
    for (std::size_t l = 0; l < f.rows(); ++l) {
      labels.push_back(static_cast<std::int32_t>(l % 5));  // classes 5 and 6 are unseen
      for (std::size_t j = 0; j < 4; ++j)
        f(l, j) = static_cast<float>(vectors(l % 5, j) + centre[j] + 0.5 * rng.normal() + 0.3);
    }
  }

  std::vector<double> unit_mean(std::size_t c) const {
    std::vector<double> mean(4, 0.0);
    for (std::size_t l = c; l < f.rows(); l += 5) {
      double squares = 0;
      for (std::size_t j = 0; j < 4; ++j) squares += std::pow(f(l, j) - centre[j], 2);
      for (std::size_t j = 0; j < 4; ++j) mean[j] += (f(l, j) - centre[j]) / std::sqrt(squares);
    }
    double squares = 0;
    for (const double v : mean) squares += v * v;
    for (double& v : mean) v /= std::sqrt(squares);
    return mean;
  }
};

/// The class vector of centred semantics a, in place.
void apply(const Prototypes& prototypes, std::vector<float>& a) {
  double squares = 0;
  for (const float v : a) squares += static_cast<double>(v) * v;
  std::vector<double> sum;
  for (const float v : a) sum.push_back(v / std::sqrt(squares));
  prototypes.add(a, sum);
  a.assign(sum.begin(), sum.end());
}

TEST(FitPrototypes, WithoutRidgeSeenClassesLieWhereTheirSamplesDo) {
  const Problem p;
  const Prototypes prototypes = fit_prototypes(p.f.view(), p.labels, p.vectors.view(), p.centre, 1, 1e-9);
  for (std::size_t c = 0; c < 5; ++c) {
    std::vector<float> a(p.vectors.row(c).begin(), p.vectors.row(c).end());
    apply(prototypes, a);
    const auto expected = p.unit_mean(c);
    for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(a[j], expected[j], 1e-3);
  }
}

TEST(FitPrototypes, SolveTheRegularisedSystem) {
  const Problem p;
  const double width = 1.4, lambda = 0.3;
  const Prototypes prototypes = fit_prototypes(p.f.view(), p.labels, p.vectors.view(), p.centre, width, lambda);
  for (std::size_t s = 0; s < 5; ++s) {
    const auto mean = p.unit_mean(s);
    for (std::size_t j = 0; j < 4; ++j) {  // (K + λI)α = R, row by row
      double sum = lambda * prototypes.weights(s, j);
      for (std::size_t t = 0; t < 5; ++t) {
        double product = 0;
        for (std::size_t i = 0; i < 4; ++i)
          product += static_cast<double>(prototypes.support(s, i)) * prototypes.support(t, i);
        sum += std::exp((product - 1) / (width * width)) * prototypes.weights(t, j);
      }
      EXPECT_NEAR(sum, mean[j] - prototypes.support(s, j), 1e-5);
    }
  }
}

TEST(FitPrototypes, WithAHugeRidgeClassesStayWhereTheyAre) {
  const Problem p;
  const Prototypes prototypes = fit_prototypes(p.f.view(), p.labels, p.vectors.view(), p.centre, 1, 1e9);
  std::vector<float> a(p.vectors.row(6).begin(), p.vectors.row(6).end());
  double squares = 0;
  for (const float v : a) squares += static_cast<double>(v) * v;
  apply(prototypes, a);
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(a[j], p.vectors(6, j) / std::sqrt(squares), 1e-5);
}

TEST(FitPrototypes, RefuseImpossibleParameters) {
  const Problem p;
  EXPECT_THROW(fit_prototypes(p.f.view(), p.labels, p.vectors.view(), p.centre, 0, 1), Error);
  EXPECT_THROW(fit_prototypes(p.f.view(), p.labels, p.vectors.view(), p.centre, 1, 0), Error);
}

}  // namespace
}  // namespace parsnets
