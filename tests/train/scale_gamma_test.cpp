#include "train/scale_gamma.hpp"

#include <gtest/gtest.h>

#include "small_training.hpp"

namespace parsnets {
namespace {

/// Classes are directions in a plane, in degrees.
Dataset directions(const std::vector<double>& degrees) {
  Dataset data;
  data.semantics.values = Matrix<float>(degrees.size(), 2);
  for (std::size_t c = 0; c < degrees.size(); ++c) {
    const double angle = degrees[c] * 3.14159265358979 / 180;
    data.semantics.values(c, 0) = static_cast<float>(std::cos(angle));
    data.semantics.values(c, 1) = static_cast<float>(std::sin(angle));
  }
  return data;
}

Fold fold_of(std::vector<std::int32_t> fit, std::vector<std::int32_t> held) {
  Fold fold;
  fold.fit_classes = std::move(fit);
  fold.held_classes = std::move(held);
  return fold;
}

const SemanticOptions kPlain{SemanticScaling::l2, 0, {}};

}  // namespace

TEST(ScaleGamma, IsProportionalToTheDistanceOfSeenFromUnseenClasses) {
  // The seen classes lie evenly on the circle, in the fold and in all, so that their mean is its centre.
  const Dataset data = directions({0, 120, 240, 60, 180, 300, 30, 150, 270});
  const std::vector<std::int32_t> seen{0, 1, 2};
  // Each is 60 degrees from the nearest held-out class of the fold, and 30 from the nearest unseen one.
  const Fold folds[] = {fold_of({0, 1, 2}, {3, 4, 5})};
  const double near = 1 - std::sqrt(0.75), far = 0.5;
  EXPECT_NEAR(scale_gamma(0.4, folds, seen, data, kPlain), 0.4 * near / far, 1e-6);
  EXPECT_NEAR(scale_gamma(-0.4, folds, seen, data, kPlain), -0.4 * near / far, 1e-6);
  const Fold two[] = {folds[0], fold_of({0, 1, 2}, {6, 7, 8})};
  EXPECT_NEAR(scale_gamma(0.4, two, seen, data, kPlain), 0.4 * near / ((near + far) / 2), 1e-6) << "mean of the folds";
}

TEST(ScaleGamma, StaysWithoutUnseenClasses) {
  const Dataset data = directions({0, 120, 240, 60});
  const std::vector<std::int32_t> seen{0, 1, 2, 3};
  const Fold folds[] = {fold_of({0, 1, 2}, {3})};
  EXPECT_EQ(scale_gamma(0.4, folds, seen, data, kPlain), 0.4);
}

}  // namespace parsnets
