#include "parsnets/predictor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "counted_memory.hpp"
#include "expect.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

using test::counted_memory;
using Trained = test::TrainedModel;

std::vector<RankedClass> best_of(const Model& model, const Ranking& ranking, MatrixView<const float> x, std::size_t k) {
  ThreadPool pool(1);
  std::vector<RankedClass> best(x.rows() * k);
  Predictor(model, pool).visit_scores(x, pool, [&](std::size_t first, MatrixView<const float> scores) {
    for (std::size_t r = 0; r < scores.rows(); ++r)
      ranking.best(scores.row(r), std::span(best).subspan((first + r) * k, k));
  });
  return best;
}

bool same(const RankedClass& a, const RankedClass& b) {
  return a.class_index == b.class_index && a.score == b.score && a.confidence == b.confidence;
}

TEST(Predictor, RanksAsTheScoresDo) {
  for (const std::string method : {"parsnets", "scln", "eszsl", "reverse-ridge"}) {
    Trained t(method);
    test::add_new_classes(t.model, 3000);  // three blocks of classes
    ThreadPool two(2);
    const Predictor predictor(t.model, two);
    const MatrixView<const float> x(t.data.features.data(), 300, t.data.features.cols());
    for (const Among among : {Among::all, Among::seen, Among::unseen})
      for (const std::size_t k : {std::size_t{1}, std::size_t{5}, std::size_t{8}}) {
        const Ranking ranking(t.model, among);
        std::vector<RankedClass> found(x.rows() * k);
        predictor.rank(x, ranking, two, found);
        EXPECT_TRUE(std::ranges::equal(found, best_of(t.model, ranking, x, k), same));
        std::vector<RankedClass> without(x.rows() * k);
        predictor.rank(x, ranking, two, without, false);
        EXPECT_TRUE(std::ranges::equal(found, without, {}, &RankedClass::class_index, &RankedClass::class_index));
      }
    Matrix<float> scores(x.rows(), t.model.classes.names.size());
    predictor.scores(x, two, scores.view());
    EXPECT_TRUE(std::ranges::equal(scores.values(), t.model.scores(x, t.pool).values()));
  }
}

TEST(Predictor, AllocatesNothingOnceItHas) {
  if (!test::memory_is_counted()) GTEST_SKIP() << "sanitizers have their own operator new";
  for (const std::string method : {"parsnets", "scln"}) {
    Trained t(method);
    ThreadPool two(2);
    const Predictor predictor(t.model, two);
    const Ranking ranking(t.model);
    const auto x = t.data.features.view();
    std::vector<RankedClass> best(x.rows() * 5);
    Matrix<float> scores(x.rows(), t.model.classes.names.size());
    const auto round = [&] {
      predictor.rank(x, ranking, two, best);
      predictor.scores(x, two, scores.view());
      for (std::size_t r = 0; r < 20; ++r)
        predictor.rank({x.row(r).data(), 1, x.cols()}, ranking, t.pool, std::span(best).first(5));
    };
    std::size_t calls = 1;
    for (int i = 0; i < 50 && calls > 0; ++i) {  // which thread works in which memory is up to the system
      const std::size_t before = counted_memory().calls;
      round();
      calls = counted_memory().calls - before;
    }
    EXPECT_EQ(calls, 0u);
  }
}

TEST(Predictor, AHundredThousandClassesNeedNoScoresOfAll) {
  Trained t("ridge");
  constexpr std::size_t kMany = 100'000, kSamples = 2000, kTop = 5;
  test::add_new_classes(t.model, kMany);
  Matrix<float> x(kSamples, t.model.dimensions);
  for (std::size_t r = 0; r < kSamples; ++r)
    std::ranges::copy(t.data.features.row(r % t.data.features.rows()), x.row(r).begin());
  ThreadPool two(2);
  const std::size_t before_preparing = counted_memory().bytes;
  const Predictor predictor(t.model, two);
  const std::size_t bank = kMany * (t.model.outputs() + 1) * sizeof(float),
                    prepared = counted_memory().bytes - before_preparing;
  const Ranking ranking(t.model);
  std::vector<RankedClass> best(kSamples * kTop);
  const std::size_t before = counted_memory().bytes;
  predictor.rank(x.view(), ranking, two, best);
  const std::size_t used = counted_memory().bytes - before;
  if (test::memory_is_counted()) {
    EXPECT_GT(used, 0u);
    EXPECT_LT(used, std::size_t{64} << 20) << "of 800 MB of scores";
    // All that preparing ever asked for, much of which it gave back at once: the semantics of some classes at a time.
    EXPECT_LT(prepared, 8 * bank);
  }
  EXPECT_TRUE(std::ranges::equal(best, best_of(t.model, ranking, x.view(), kTop), same));
}

TEST(Predictor, ServesSeveralThreadsAtOnce) {
  Trained t("parsnets");
  const Predictor predictor(t.model, t.pool);
  const Ranking ranking(t.model);
  const auto x = t.data.features.view();
  const std::vector<RankedClass> expected = best_of(t.model, ranking, x, 3);
  std::vector<std::vector<RankedClass>> found(4, std::vector<RankedClass>(x.rows() * 3));
  std::vector<std::thread> threads;
  for (auto& best : found)
    threads.emplace_back([&] {
      ThreadPool pool(1);
      for (int round = 0; round < 5; ++round) predictor.rank(x, ranking, pool, best);
    });
  for (auto& thread : threads) thread.join();
  for (const auto& best : found) EXPECT_TRUE(std::ranges::equal(best, expected, same));
}

TEST(Predictor, RefusesWhatDoesNotFit) {
  Trained t("ridge");
  const Predictor predictor(t.model, t.pool);
  const Ranking ranking(t.model), few(t.model, {0, 2});
  const auto x = t.data.features.view();
  std::vector<RankedClass> best(x.rows() * 3);
  Matrix<float> narrow(x.rows(), 3);
  EXPECT_THROW(predictor.rank(x, few, t.pool, best), Error) << "more than there are candidates";
  EXPECT_THROW(predictor.rank(x, ranking, t.pool, std::span(best).first(x.rows() + 1)), Error);
  EXPECT_THROW(predictor.rank(x, ranking, t.pool, {}), Error);
  EXPECT_THROW(predictor.scores(x, t.pool, narrow.view()), Error);
  EXPECT_THROW(predictor.rank(narrow.view(), ranking, t.pool, best), Error) << "too few features";
  auto stale = std::make_shared<const PreparedClasses>(t.model.prepare_classes(t.pool));
  t.model.remove_class(t.model.classes.names[0]);
  EXPECT_THROW(Predictor(t.model, stale), Error);
  EXPECT_THROW(predictor.rank(x, Ranking(t.model), t.pool, best), Error) << "a ranking of other classes";
}

constexpr std::size_t kDimensions = 21, kEncoding = 12, kNetworks = 6, kOpen = 2, kAttributes = 7, kClasses = 9;

/// What may differ from a plain model.
struct Kind {
  std::string name;
  bool encoder = true, shared = true, relu = false, see_encoding = true, class_space = false;
  FeatureScaling scaling = FeatureScaling::sqrt_l2;
  GateKind gates = GateKind::anchor;
  Similarity similarity = Similarity::cosine;
  Direction direction = Direction::forward;
};

std::vector<Kind> kinds() {
  return {{.name = "plain"},
          {.name = "relu", .relu = true},
          {.name = "class space", .class_space = true},
          {.name = "standardize", .scaling = FeatureScaling::standardize},
          {.name = "energy", .gates = GateKind::energy},
          {.name = "always", .gates = GateKind::always},
          {.name = "no encoder", .encoder = false, .scaling = FeatureScaling::l2},
          {.name = "networks see x", .shared = false, .see_encoding = false},
          {.name = "dot", .similarity = Similarity::dot},
          {.name = "euclidean", .similarity = Similarity::euclidean},
          {.name = "reverse", .direction = Direction::reverse}};
}

Matrix<float> drawn(Rng& rng, std::size_t rows, std::size_t cols) {
  Matrix<float> values(rows, cols);
  for (float& v : values.values()) v = static_cast<float>(rng.normal());
  return values;
}

std::vector<float> random_vector(Rng& rng, std::size_t count) {
  const Matrix<float> values = drawn(rng, 1, count);
  return {values.values().begin(), values.values().end()};
}

Model model_of(const Kind& kind) {
  Rng rng(5);
  Model model;
  model.dimensions = kDimensions;
  model.feature_preprocess.scaling = kind.scaling;
  model.feature_preprocess.mean = random_vector(rng, kDimensions);
  if (kind.scaling == FeatureScaling::standardize) model.feature_preprocess.factor = random_vector(rng, kDimensions);
  if (kind.encoder) model.encoder.weights = drawn(rng, kEncoding, kDimensions);
  const std::size_t e = kind.encoder ? kEncoding : kDimensions;
  model.networks_see_encoding = kind.see_encoding;
  model.gates.kind = kind.gates;
  if (kind.gates != GateKind::always) {
    model.gates.networks = kNetworks;
    model.gates.open = kOpen;
  }
  if (kind.gates == GateKind::anchor) model.gates.anchors = drawn(rng, kNetworks, e);
  model.direction = kind.direction;
  model.similarity = kind.similarity;
  model.classes.semantics = drawn(rng, kClasses, kAttributes);
  for (std::size_t c = 0; c < kClasses; ++c) {
    model.classes.names.push_back(std::to_string(c));
    model.classes.seen.push_back(c % 2);
  }
  const std::size_t z = model.z_dimensions(), o = kind.class_space ? 3 : kAttributes;
  if (kind.direction == Direction::reverse) {
    model.reverse = drawn(rng, kAttributes + 1, z);
    return model;
  }
  if (kind.class_space) {
    model.targets = Targets::classes;
    model.prototypes.support = drawn(rng, 4, kAttributes);
    model.prototypes.weights = drawn(rng, 4, o);
  }
  model.networks = drawn(rng, model.gates.networks * (z + 1), o);
  model.relu = kind.relu;
  if (kind.shared) model.shared = drawn(rng, kDimensions, o);
  model.bias = random_vector(rng, o);
  if (kind.similarity == Similarity::cosine) model.semantic_centre = random_vector(rng, o);
  return model;
}

std::vector<double> times(MatrixView<const float> rows, const std::vector<double>& v) {
  std::vector<double> out(rows.rows(), 0.0);
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t j = 0; j < v.size(); ++j) out[r] += rows(r, j) * v[j];
  return out;
}

/// The definition in double, step by step.
struct Definition {
  std::vector<double> f, scores;

  Definition(const Model& model, std::span<const float> raw, const PreparedClasses& classes) {
    std::vector<double> x(raw.begin(), raw.end());
    const FeaturePreprocess& p = model.feature_preprocess;
    if (p.scaling == FeatureScaling::sqrt_l2)
      for (double& v : x) v = std::copysign(std::sqrt(std::abs(v)), v);
    if (p.scaling != FeatureScaling::standardize) {
      double squares = 0;
      for (const double v : x) squares += v * v;
      for (double& v : x) v /= std::sqrt(squares);
    }
    for (std::size_t j = 0; j < x.size(); ++j) {
      x[j] -= p.mean[j];
      if (!p.factor.empty()) x[j] *= p.factor[j];
    }
    const std::vector<double> e = model.encoder.is_identity() ? x : times(model.encoder.weights.view(), x),
                              z = model.networks_see_encoding ? e : x;
    std::vector<double> compared = z;
    if (model.direction == Direction::forward) {
      f.assign(model.bias.begin(), model.bias.end());
      std::vector<std::uint16_t> open(model.gates.open);
      model.gates.select(std::vector<float>(e.begin(), e.end()), open);
      for (std::size_t j = 0; j < f.size(); ++j) {
        for (std::size_t i = 0; i < x.size() && !model.shared.empty(); ++i) f[j] += model.shared(i, j) * x[i];
        for (const auto network : open) {
          const std::size_t first = network * (z.size() + 1);
          double sum = model.networks(first, j);
          for (std::size_t i = 0; i < z.size(); ++i) sum += model.networks(first + 1 + i, j) * z[i];
          f[j] += model.relu ? std::max(0.0, sum) : sum;
        }
      }
      compared = f;
      for (std::size_t j = 0; j < f.size() && model.similarity == Similarity::cosine; ++j)
        compared[j] -= model.semantic_centre[j];
    }
    for (std::size_t c = 0; c < classes.vectors.rows(); ++c) scores.push_back(similarity(model, compared, classes, c));
  }

  static double similarity(const Model& model, const std::vector<double>& f, const PreparedClasses& classes,
                           std::size_t c) {
    double product = 0, own = 0, other = 0, distance = 0;
    for (std::size_t j = 0; j < f.size(); ++j) {
      const double a = classes.vectors(c, j);
      product += f[j] * a;
      own += f[j] * f[j];
      other += a * a;
      distance += (f[j] - a) * (f[j] - a);
    }
    return model.similarity == Similarity::dot      ? product
           : model.similarity == Similarity::cosine ? product / std::sqrt(own * other)
                                                    : -std::sqrt(distance);
  }
};

TEST(Predictor, EqualsTheDefinitionForEveryKindOfModel) {
  Rng rng(8);
  const Matrix<float> x = drawn(rng, 60, kDimensions);
  ThreadPool pool(1);
  for (const Kind& kind : kinds()) {
    const Model model = model_of(kind);
    const PreparedClasses classes = model.prepare_classes(pool);
    const Matrix<float> scores = model.scores(x.view(), classes, pool);
    Matrix<float> f;
    if (kind.direction == Direction::forward) f = model.predict(x.view(), pool);
    for (std::size_t r = 0; r < x.rows(); ++r) {
      const Definition expected(model, x.row(r), classes);
      for (std::size_t j = 0; j < expected.f.size(); ++j)
        ASSERT_NEAR(f(r, j), expected.f[j], 1e-4 * (1 + std::abs(expected.f[j]))) << kind.name;
      for (std::size_t c = 0; c < kClasses; ++c)
        ASSERT_NEAR(scores(r, c), expected.scores[c], 1e-4 * (1 + std::abs(expected.scores[c]))) << kind.name;
    }
  }
}

TEST(Predictor, BitsDependOnTheSampleAlone) {
  Rng rng(9);
  const std::size_t n = 1100;  // several blocks
  const Matrix<float> x = drawn(rng, n, kDimensions);
  ThreadPool one(1), three(3);
  for (const Kind& kind : kinds()) {
    const Model model = model_of(kind);
    const PreparedClasses classes = model.prepare_classes(one);
    const Matrix<float> whole = model.scores(x.view(), classes, one);
    EXPECT_TRUE(std::ranges::equal(model.scores(x.view(), classes, three).values(), whole.values())) << kind.name;
    for (const std::size_t r : {std::size_t{0}, std::size_t{511}, std::size_t{512}, n - 1}) {
      const Matrix<float> alone = model.scores({x.row(r).data(), 1, x.cols()}, classes, three);
      EXPECT_TRUE(std::ranges::equal(alone.values(), whole.row(r))) << kind.name << ", sample " << r;
    }
    if (kind.direction != Direction::forward) continue;
    const Matrix<float> f = model.predict(x.view(), three);
    predictor_of(model, classes).compare(f.view(), three, [&](std::size_t first, MatrixView<const float> scores) {
      EXPECT_EQ(std::memcmp(scores.data(), whole.row(first).data(), scores.values().size_bytes()), 0) << kind.name;
    });
  }
}

TEST(Predictor, TheFirstBadValueIsNamedWhereverItsBlockRuns) {
  const Model model = model_of(kinds()[0]);
  Rng rng(10);
  Matrix<float> x = drawn(rng, 3000, kDimensions);
  x(2900, 1) = x(1700, 5) = std::nanf("");
  ThreadPool pool(3);
  const Predictor predictor(model, pool);
  const auto field_of = [](const auto& call) { return test::error_of(call).parts().field; };
  EXPECT_EQ(field_of([&] { model.scores(x.view(), pool); }), "sample 1700, feature 5");
  EXPECT_EQ(field_of([&] { predictor.visit_scores(x.view(), pool, [](std::size_t, MatrixView<const float>) {}); }),
            "sample 1700, feature 5");
}

TEST(Predictor, WeightsThatOverflowAreRefused) {
  Model model = model_of(kinds()[0]);
  Rng rng(11);
  const Matrix<float> x = drawn(rng, 3, kDimensions);
  for (float& v : model.shared.values()) v = 3e38f;
  ThreadPool pool(1);
  EXPECT_THROW(model.scores(x.view(), pool), Error);
}

}  // namespace
}  // namespace parsnets
