#include "parsnets/predictor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "counted_memory.hpp"
#include "parsnets/error.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

using test::counted_memory;
using Trained = test::TrainedModel;

std::vector<RankedClass> best_of(const Model& model, const Ranking& ranking, MatrixView<const float> x, std::size_t k) {
  ThreadPool pool(1);
  const PreparedClasses prepared = model.prepare_classes(pool);
  std::vector<RankedClass> best(x.rows() * k);
  model.visit_scores(x, prepared, pool, [&](std::size_t first, MatrixView<const float> scores) {
    for (std::size_t r = 0; r < scores.rows(); ++r)
      ranking.best(scores.row(r), std::span(best).subspan((first + r) * k, k));
  });
  return best;
}

bool same(const RankedClass& a, const RankedClass& b) {
  return a.class_index == b.class_index && a.score == b.score && a.confidence == b.confidence;
}

void add_classes(Model& model, std::size_t many) {
  std::vector<std::string> names;
  Matrix<float> semantics(many, model.attributes());
  for (std::size_t c = 0; c < many; ++c) {
    names.push_back("new " + std::to_string(c));
    for (std::size_t a = 0; a < semantics.cols(); ++a) semantics(c, a) = std::sin(static_cast<float>(c * 31 + a));
  }
  model.add_classes(names, semantics.view());
}

}  // namespace

TEST(Predictor, RanksAsTheScoresDo) {
  for (const Method method : {Method::parsnets, Method::scln, Method::eszsl, Method::reverse_ridge}) {
    Trained t(method);
    add_classes(t.model, 3000);  // three blocks of classes
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
  for (const Method method : {Method::parsnets, Method::scln}) {
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
  Trained t(Method::ridge);
  constexpr std::size_t kMany = 100'000, kSamples = 2000, kTop = 5;
  add_classes(t.model, kMany);
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
  Trained t(Method::parsnets);
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
  Trained t(Method::ridge);
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

}  // namespace parsnets
