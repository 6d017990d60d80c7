#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>

#include "capi/small_handles.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets::test {

namespace {

/// One model file, read by the C ABI and by C++: the same bytes at the same addresses within a page.
struct Pair {
  SmallArrays small;
  TempDir dir;
  std::string file = (dir / "m.safetensors").string();
  ModelHandle c;
  Model cpp;
  MatrixView<const float> x = small.data.features.view();

  explicit Pair(const char* method = "parsnets") {
    EXPECT_OK(parsnets_model_save(trained(small.handle().get(), {{"method", method}}).get(), file.c_str()));
    c = loaded(file);
    cpp = load_model(file);
  }
  std::size_t classes() const { return cpp.classes.names.size(); }
};

template <class Values>
std::vector<float> floats(const Values& values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST(CApiPrediction, AgreesWithCppToTheBit) {
  for (const char* method : {"parsnets", "scln", "reverse-ridge", "eszsl"}) {
    Pair pair(method);
    for (const std::size_t n : {std::size_t{1}, std::size_t{100}, pair.x.rows()})
      for (const unsigned threads : {0u, 1u, 3u}) {
        const MatrixView<const float> x(pair.x.data(), n, pair.x.cols());
        ThreadPool pool(1);
        const auto expect_of = [&](const auto& predict, const Matrix<float>& expected) {
          std::vector<float> found(expected.size());
          ASSERT_OK(predict(pair.c.get(), x.data(), n, x.cols(), threads, found.data(), expected.cols()));
          ASSERT_EQ(found, floats(expected.values())) << method << ", " << n << " samples, " << threads << " threads";
        };
        Matrix<float> expected = pair.cpp.scores(x, pool);
        expect_of(parsnets_predict_scores, expected);
        for (std::size_t r = 0; r < n; ++r) Ranking(pair.cpp).to_confidences(expected.row(r));
        expect_of(parsnets_predict_confidences, expected);
        if (pair.cpp.direction == Direction::forward)
          expect_of(parsnets_predict_semantics, pair.cpp.predict_semantics(x, pool));
      }
  }
}

TEST(CApiPrediction, ManySamplesAreScoredInBatchesWithoutAGap) {
  Pair pair("ridge");
  const std::size_t n = 5000, d = pair.x.cols(), c = pair.classes();
  std::vector<float> x(n * d), found(n * c), one(c);
  for (std::size_t i = 0; i < n; ++i) std::copy_n(pair.x.row(i % pair.x.rows()).data(), d, x.data() + i * d);
  ASSERT_OK(parsnets_predict_scores(pair.c.get(), x.data(), n, d, 2, found.data(), c));
  for (const std::size_t i : {std::size_t{0}, std::size_t{2047}, std::size_t{2048}, std::size_t{4096}, n - 1}) {
    ASSERT_OK(parsnets_predict_scores(pair.c.get(), x.data() + i * d, 1, d, 1, one.data(), c));
    for (std::size_t k = 0; k < c; ++k) ASSERT_NEAR(found[i * c + k], one[k], 1e-5) << "sample " << i;
  }
}

TEST(CApiPrediction, TheBestClassesComeFirstAmongThoseThatCompete) {
  Pair pair;
  const std::size_t n = 50, d = pair.x.cols(), c = pair.classes();
  const auto info = info_of(pair.c.get());
  std::vector<float> all(n * c);
  ASSERT_OK(parsnets_predict_confidences(pair.c.get(), pair.x.data(), n, d, 1, all.data(), c));
  for (const std::int32_t among : {PARSNETS_ALL, PARSNETS_SEEN, PARSNETS_UNSEEN}) {
    const std::size_t compete = among == PARSNETS_ALL    ? c
                                : among == PARSNETS_SEEN ? info.seen_classes
                                                         : c - info.seen_classes;
    std::vector<std::int32_t> top(n * compete), first(n);
    std::vector<float> confidences(n * compete);
    ASSERT_OK(
        parsnets_predict_top(pair.c.get(), pair.x.data(), n, d, among, compete, 1, top.data(), confidences.data()));
    ASSERT_OK(parsnets_predict_top(pair.c.get(), pair.x.data(), n, d, among, 1, 1, first.data(), nullptr));
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0, share = 0;
      for (std::size_t k = 0; k < compete; ++k) {
        const auto best = static_cast<std::size_t>(top[i * compete + k]);
        if (among != PARSNETS_ALL) {
          EXPECT_EQ(info.seen[best] != 0, among == PARSNETS_SEEN);
        }
        sum += confidences[i * compete + k];
        share += all[i * c + best];
        if (k > 0) {
          EXPECT_LE(confidences[i * compete + k], confidences[i * compete + k - 1]);
        }
      }
      EXPECT_NEAR(sum, 1, 1e-5);
      EXPECT_EQ(first[i], top[i * compete]);
      if (share > 1e-3) {  // among fewer the same softmax, renormalised
        EXPECT_NEAR(confidences[i * compete], all[i * c + static_cast<std::size_t>(first[i])] / share, 1e-3);
      }
    }
    for (const std::size_t k : {std::size_t{0}, compete + 1})
      EXPECT_EQ(parsnets_predict_top(pair.c.get(), pair.x.data(), n, d, among, k, 1, top.data(), nullptr),
                PARSNETS_USAGE);
  }
  std::int32_t best = 0;
  for (const std::int32_t among : {-1, 3})
    EXPECT_EQ(parsnets_predict_top(pair.c.get(), pair.x.data(), 1, d, among, 1, 1, &best, nullptr), PARSNETS_USAGE);
}

TEST(CApiPrediction, AListOfClassesIsRankedAsTheSameClassesByKind) {
  Pair pair;
  const std::size_t n = 20, d = pair.x.cols();
  const auto info = info_of(pair.c.get());
  std::vector<std::int32_t> unseen;
  for (std::size_t c = 0; c < pair.classes(); ++c)
    if (!info.seen[c]) unseen.push_back(static_cast<std::int32_t>(c));
  const std::size_t k = unseen.size();
  std::vector<std::int32_t> top(n * k), ranked(n * k);
  std::vector<float> shares(n * k), scores(n * k), confidences(n * k);
  ASSERT_OK(parsnets_predict_top(pair.c.get(), pair.x.data(), n, d, PARSNETS_UNSEEN, k, 1, top.data(), shares.data()));
  std::vector<std::int32_t> backwards(unseen.rbegin(), unseen.rend());
  ASSERT_OK(parsnets_rank(pair.c.get(), pair.x.data(), n, d, backwards.data(), k, k, 1, ranked.data(), scores.data(),
                          confidences.data()));
  EXPECT_EQ(ranked, top);
  EXPECT_EQ(confidences, shares);
  for (std::size_t i = 1; i < k; ++i) EXPECT_GE(scores[i - 1], scores[i]);
  const std::int32_t twice[] = {0, 0}, none[] = {static_cast<std::int32_t>(pair.classes())};
  const auto refused = [&](const std::int32_t* list, std::size_t count) {
    return parsnets_rank(pair.c.get(), pair.x.data(), 1, d, list, count, 1, 1, ranked.data(), nullptr, nullptr);
  };
  EXPECT_EQ(refused(twice, 2), PARSNETS_USAGE);
  EXPECT_EQ(refused(none, 1), PARSNETS_USAGE);
  EXPECT_EQ(refused(twice, 0), PARSNETS_USAGE);
  EXPECT_EQ(refused(nullptr, 1), PARSNETS_USAGE);
}

TEST(CApiPrediction, ExplanationsAreThoseOfCpp) {
  Pair pair;
  const std::size_t d = pair.x.cols(), m = pair.cpp.attributes(), k = pair.cpp.gates.open;
  ThreadPool pool(1);
  for (const std::size_t row : {std::size_t{0}, std::size_t{17}, std::size_t{400}}) {
    const Explanation expected = explain(pair.cpp, pair.x.row(row), pool);
    auto why = sized<parsnets_explanation>();
    std::vector<float> contributions(m), semantics(m);
    std::vector<std::int32_t> open(k);
    ASSERT_OK(parsnets_explain(pair.c.get(), pair.x.row(row).data(), d, &why, contributions.data(), semantics.data(), m,
                               open.data(), k));
    EXPECT_EQ(why.winner, expected.winner);
    EXPECT_EQ(why.runner_up, expected.runner_up);
    EXPECT_EQ(why.winner_score, expected.winner_score);
    EXPECT_EQ(why.runner_up_score, expected.runner_up_score);
    EXPECT_EQ(why.calibration, expected.calibration);
    EXPECT_EQ(why.examples, expected.examples);
    EXPECT_EQ(semantics, expected.predicted);
    EXPECT_TRUE(std::equal(open.begin(), open.end(), expected.open_networks.begin(), expected.open_networks.end()));
    for (const auto& one : expected.attributes) EXPECT_EQ(contributions[one.index], static_cast<float>(one.amount));
    const double sum = std::accumulate(contributions.begin(), contributions.end(), 0.0);
    EXPECT_NEAR(sum + why.calibration + why.examples, why.winner_score - why.runner_up_score, 1e-4);
    ASSERT_OK(parsnets_explain(pair.c.get(), pair.x.row(row).data(), d, &why, nullptr, nullptr, 0, nullptr, 0));
    EXPECT_EQ(parsnets_explain(pair.c.get(), pair.x.row(row).data(), d, &why, contributions.data(), nullptr, m - 1,
                               nullptr, 0),
              PARSNETS_BAD_INPUT);
    EXPECT_EQ(parsnets_explain(pair.c.get(), pair.x.row(row).data(), d, &why, nullptr, nullptr, 0, open.data(), k + 1),
              PARSNETS_BAD_INPUT);
  }
}

TEST(CApiPrediction, WrongSizesAndNonFiniteValuesAreRefused) {
  Pair pair("ridge");
  const std::size_t d = pair.x.cols(), c = pair.classes(), m = pair.cpp.attributes();
  std::vector<float> x = floats(pair.x.row(0)), out(std::max(c, m));
  const parsnets_model* model = pair.c.get();
  EXPECT_TRUE(
      fails(parsnets_predict_scores(model, x.data(), 1, d - 1, 1, out.data(), c), PARSNETS_BAD_INPUT, "dimensions"));
  EXPECT_EQ(parsnets_predict_scores(model, x.data(), 1, d, 1, out.data(), c - 1), PARSNETS_BAD_INPUT);
  EXPECT_EQ(parsnets_predict_confidences(model, x.data(), 1, d, 1, out.data(), c + 1), PARSNETS_BAD_INPUT);
  EXPECT_EQ(parsnets_predict_semantics(model, x.data(), 1, d, 1, out.data(), m + 1), PARSNETS_BAD_INPUT);
  EXPECT_EQ(parsnets_predict_scores(model, x.data(), ~std::size_t{0} / 8, d, 1, out.data(), c), PARSNETS_USAGE);
  EXPECT_OK(parsnets_predict_scores(model, x.data(), 0, d, 1, out.data(), c));
  x[2] = std::nanf("");
  EXPECT_TRUE(fails(parsnets_predict_scores(model, x.data(), 1, d, 1, out.data(), c), PARSNETS_BAD_INPUT, "feature 2"));
  std::int32_t best = 0;
  EXPECT_EQ(parsnets_predict_top(model, x.data(), 1, d, PARSNETS_ALL, 1, 1, &best, nullptr), PARSNETS_BAD_INPUT);
}

TEST(CApiPrediction, ModelsThatMapToFeaturesPredictNoSemantics) {
  Pair pair("reverse-ridge");
  EXPECT_EQ(info_of(pair.c.get()).predicts_semantics, 0);
  std::vector<float> out(pair.cpp.attributes());
  EXPECT_EQ(parsnets_predict_semantics(pair.c.get(), pair.x.data(), 1, pair.x.cols(), 1, out.data(), out.size()),
            PARSNETS_USAGE);
  auto why = sized<parsnets_explanation>();
  EXPECT_EQ(parsnets_explain(pair.c.get(), pair.x.data(), pair.x.cols(), &why, nullptr, nullptr, 0, nullptr, 0),
            PARSNETS_USAGE);
}

TEST(CApiPrediction, FourThreadsPredictWhileAFifthChangesItsOwnClone) {
  Pair pair;
  const std::size_t n = 64, d = pair.x.cols(), c = pair.classes(), m = pair.cpp.attributes();
  std::vector<float> expected(n * c);
  ASSERT_OK(parsnets_predict_scores(pair.c.get(), pair.x.data(), n, d, 1, expected.data(), c));
  const auto fresh = loaded(pair.file);  // so that the four meet before its classes have been prepared
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::vector<float> found(n * c);
      for (int round = 0; round < 20; ++round)
        wrong += parsnets_predict_scores(fresh.get(), pair.x.data(), n, d, 1, found.data(), c) != PARSNETS_OK ||
                 found != expected;
    });
  threads.emplace_back([&] {
    const auto mine = clone_of(fresh.get());
    std::vector<float> found;
    for (std::size_t i = 0; i < 20; ++i) {
      const std::string name = "new " + std::to_string(i);
      wrong += add_class(mine.get(), name.c_str(), pair.small.arrays.semantics + m * (i % c), m) != PARSNETS_OK;
      found.resize(n * (c + i + 1));
      wrong += parsnets_predict_scores(mine.get(), pair.x.data(), n, d, 1, found.data(), c + i + 1) != PARSNETS_OK;
    }
  });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(info_of(fresh.get()).classes, c);
}

}  // namespace parsnets::test
