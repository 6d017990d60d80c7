#include "train/place_classes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"
#include "class_means.hpp"
#include "features/preprocess.hpp"

namespace parsnets {
namespace {

/// Five classes with samples and two without; 6 attributes, 3 outputs.
struct Problem {
  Model model;
  Matrix<float> f{50, 3};
  std::vector<std::int32_t> labels;
  ParsNetsOptions options;

  explicit Problem(double width = 1, double lambda = 0.3, double prior = 5) {
    Rng rng(4);
    model.targets = Targets::classes;
    model.bias.assign(3, 0.0f);
    model.classes.semantics = Matrix<float>(7, 6);
    for (float& v : model.classes.semantics.values()) v = static_cast<float>(1 + rng.normal());
    for (int c = 0; c < 7; ++c) model.classes.names.push_back("class " + std::to_string(c));
    model.classes.seen = {1, 1, 1, 1, 1, 0, 0};
    const std::vector<std::int32_t> seen{0, 1, 2, 3, 4};
    model.semantic_preprocess =
        fit_semantic_preprocess(SemanticScaling::l2, model.classes.semantics.view(), seen, 0.25, true);
    for (std::size_t l = 0; l < 50; ++l) {
      labels.push_back(static_cast<std::int32_t>(l < 10 ? l % 2 : 2 + l % 3));  // 5 samples, or 13 and 14
      for (std::size_t j = 0; j < 3; ++j)
        f(l, j) = static_cast<float>(rng.normal() + labels.back() * (j == 0 ? 1.0 : -0.5));
    }
    options.prototype_width = width;
    options.prototype_lambda = lambda;
    options.prior_samples = prior;
    place_classes(model, test::class_means(f.view(), labels), options);
  }
};

TEST(PlaceClasses, MeansAreThoseOfTheSamples) {
  const Problem p;
  const ClassMeans means = test::class_means(p.f.view(), p.labels);
  ASSERT_EQ(means.classes, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  double sum = 0;
  for (std::size_t l = 0; l < 10; l += 2) sum += p.f(l, 1);
  EXPECT_EQ(means.samples[0], 5);
  EXPECT_NEAR(means.means(0, 1), sum / 5, 1e-6);
}

TEST(PlaceClasses, SolveTheRegularisedSystem) {
  for (const double width : {0.0, 1.4}) {
    const Problem p(width, 0.3);
    const auto& [support, weights, w, ridge] = p.model.prototypes;
    EXPECT_DOUBLE_EQ(ridge, 0.3);
    for (std::size_t s = 0; s < 5; ++s)
      for (std::size_t j = 0; j < 3; ++j) {  // (K + λI)α = M, row by row
        double sum = ridge * weights(s, j);
        for (std::size_t t = 0; t < 5; ++t) {
          double product = 0;
          for (std::size_t i = 0; i < support.cols(); ++i)
            product += static_cast<double>(support(s, i)) * support(t, i);
          sum += (width == 0 ? product : std::exp((product - 1) / (width * width))) * weights(t, j);
        }
        EXPECT_NEAR(sum, p.model.classes.means(s, j), 1e-4);
      }
  }
}

TEST(PlaceClasses, SamplesDrawAClassTowardsItsMean) {
  const Problem trusts_samples(1, 0.3, 1e-6), balanced(1, 0.3, 5), trusts_semantics(1, 0.3, 1e9);
  const Matrix<float> own = trusts_samples.model.class_vectors(), middle = balanced.model.class_vectors(),
                      predicted = trusts_semantics.model.class_vectors();
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(own(0, j), balanced.model.classes.means(0, j), 1e-4);
    EXPECT_NEAR(middle(0, j), (own(0, j) + predicted(0, j)) / 2, 1e-4);  // 5 samples against 5
    EXPECT_NEAR(middle(5, j), predicted(5, j), 1e-6);                    // a class without samples
  }
}

TEST(PlaceClasses, ClassesComeAndGoWithTheirMeans) {
  Problem p;
  const Matrix<float> before = p.model.class_vectors();
  p.model.add_class("new", p.model.classes.semantics.row(6));
  p.model.remove_class("class 1");
  const Matrix<float> after = p.model.class_vectors();
  ASSERT_EQ(after.rows(), 7u);
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_EQ(after(0, j), before(0, j));
    EXPECT_EQ(after(1, j), before(2, j));
    EXPECT_EQ(after(6, j), before(6, j));  // the same description
  }
}

}  // namespace
}  // namespace parsnets
