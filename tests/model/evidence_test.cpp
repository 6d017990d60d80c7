#include "model/evidence.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "data/sample_set.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

using Trained = test::TrainedModel;

std::vector<Evidence> evidence_of_rows(const Model& model, MatrixView<const float> x, const Ranking& ranking,
                                       ThreadPool& pool, std::size_t k = 1) {
  const Predictor predictor(model, pool);
  std::vector<RankedClass> best(x.rows() * k);
  std::vector<Evidence> evidence(x.rows());
  predictor.rank(x, ranking, pool, best, evidence);
  return evidence;
}

/// Share of ‖x‖² outside of the span of the columns of V, by projecting on an orthonormal basis of them.
double outside_of(std::span<const float> x, MatrixView<const float> v, std::size_t columns) {
  Matrix<double> rows(columns, v.rows());
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t i = 0; i < v.rows(); ++i) rows(j, i) = v(i, j);
  orthonormalise_rows(rows.view());
  double inside = 0, all = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    double along = 0;
    for (std::size_t i = 0; i < v.rows(); ++i) along += rows(j, i) * static_cast<double>(x[i]);
    inside += along * along;
  }
  for (const float value : x) all += static_cast<double>(value) * value;
  return 1 - inside / all;
}

/// Every number as open_set.hpp defines it, from what the model tells in other ways.
void expect_by_definition(const Trained& trained) {
  constexpr double tolerance = 2e-5;
  const Model& model = trained.model;
  ThreadPool pool(1);
  const Ranking ranking(model);
  const auto rows = trained.data.split.test_seen;
  const Matrix<float> x = gather_rows(trained.data.features.view(), rows), f = model.predict(x.view(), pool),
                      scores = model.scores(x.view(), pool), places = model.class_vectors();
  const auto evidence = evidence_of_rows(model, x.view(), ranking, pool);
  const std::size_t p = model.outputs();
  // The linear map: the shared network, or without gates the only one, whose first row is its bias.
  const MatrixView<const float> map =
      model.shared.empty()
          ? MatrixView<const float>(model.networks.row(1).data(), model.dimensions, model.networks.cols())
          : model.shared.view();
  for (std::size_t i = 0; i < x.rows(); ++i) {
    std::vector<double> compared;
    for (std::size_t c = 0; c < scores.cols(); ++c)
      compared.push_back(scores(i, c) - (model.classes.seen[c] ? static_cast<float>(model.gamma) : 0.0f));
    const auto winner = static_cast<std::size_t>(std::ranges::max_element(compared) - compared.begin());
    const double top = compared[winner];
    double sum = 0, length = 0, place = 0;
    for (const double s : compared) sum += std::exp((s - top) / model.temperature);
    for (std::size_t j = 0; j < p; ++j) {
      length += std::pow(f(i, j) - model.semantic_centre[j], 2);
      place += std::pow(places(winner, j), 2);
    }
    length = std::sqrt(length);
    place = std::sqrt(place);
    const double cosine = scores(i, winner);
    EXPECT_NEAR(evidence[i].score, top, tolerance);
    EXPECT_NEAR(evidence[i].energy, top + model.temperature * std::log(sum / static_cast<double>(compared.size())),
                tolerance);
    const double root = std::sqrt(static_cast<double>(p));
    EXPECT_NEAR(evidence[i].length, length / root, tolerance * length);
    EXPECT_NEAR(evidence[i].distance, length * std::sqrt(1 - cosine * cosine) / root, tolerance * length);
    EXPECT_NEAR(evidence[i].fit, length * cosine / place, tolerance * length / place);
    std::vector<float> prepared(x.row(i).begin(), x.row(i).end());
    model.feature_preprocess.apply(prepared);
    EXPECT_NEAR(evidence[i].outside, outside_of(prepared, map, p), 1e-4);
  }
}

TEST(Evidence, IsWhatItsDefinitionSaysAlsoWithGatedNetworks) {
  expect_by_definition(Trained(test::options_with("parsnets")));
  expect_by_definition(Trained("parsnets"));
}

TEST(Evidence, DoesNotDependOnBatchThreadsOrTheNumberOfClassesAskedFor) {
  const Trained trained(test::options_with("parsnets"));
  ThreadPool one(1), three(3);
  const Ranking ranking(trained.model);
  const auto all = evidence_of_rows(trained.model, trained.data.features.view(), ranking, one);
  const auto again = evidence_of_rows(trained.model, trained.data.features.view(), ranking, three, 4);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].values(), again[i].values());
  for (const std::size_t i : {std::size_t{0}, all.size() / 2, all.size() - 1}) {
    const MatrixView<const float> alone(trained.data.features.row(i).data(), 1, trained.data.features.cols());
    EXPECT_EQ(evidence_of_rows(trained.model, alone, ranking, one)[0].values(), all[i].values());
  }
}

TEST(Evidence, AZeroVectorHasFiniteEvidence) {
  const Trained trained(test::options_with("parsnets"));
  ThreadPool pool(1);
  const Matrix<float> zero(1, trained.data.features.cols(), 0.0f);
  for (const float v : evidence_of_rows(trained.model, zero.view(), Ranking(trained.model), pool)[0].values())
    EXPECT_TRUE(std::isfinite(v));
}

TEST(Evidence, TheSpanMeasuresWhatIsOutsideOfIt) {
  Model model;
  model.dimensions = 4;
  model.classes.semantics = Matrix<float>(2, 2, 1.0f);
  model.targets = Targets::classes;
  model.shared = Matrix<float>(4, 2, 0.0f);
  model.shared(0, 0) = 2;
  model.shared(0, 1) = model.shared(1, 1) = 5;  // spans the first two axes
  model.networks = Matrix<float>(5, 2, 0.0f);
  model.bias = {10, 20};
  ThreadPool pool(1);
  const LinearSpan span(model, pool);
  const auto share = [&](std::vector<float> x) {
    std::vector<float> f = model.bias, outside;
    for (std::size_t j = 0; j < 2; ++j)
      for (std::size_t i = 0; i < 4; ++i) f[j] += model.shared(i, j) * x[i];
    const float* in = x.data();
    float* out = f.data();
    span.measure({&in, 1}, 4, {&out, 1}, outside);
    return outside[0];
  };
  EXPECT_NEAR(share({3, -1, 0, 0}), 0, 1e-6);
  EXPECT_NEAR(share({0, 0, 2, 5}), 1, 1e-6);
  EXPECT_NEAR(share({1, 0, 1, 0}), 0.5, 1e-6);
  EXPECT_EQ(share({0, 0, 0, 0}), 0);
}

TEST(Evidence, OtherSimilaritiesAreRefused) {
  EXPECT_THROW(require_evidence(Trained("eszsl").model), Error) << "compares by dot products";
  EXPECT_THROW(require_evidence(Trained("reverse-ridge").model), Error);
  EXPECT_NO_THROW(require_evidence(Trained("ridge").model));
}

}  // namespace
}  // namespace parsnets
