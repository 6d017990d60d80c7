#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "parsnets/metrics.hpp"

namespace parsnets {
namespace {

using Labels = std::vector<std::int32_t>;

MatrixView<const float> view(const std::vector<float>& values, std::size_t cols) {
  return {values.data(), values.size() / cols, cols};
}

template <class Call>
std::string message_of_bad_input(Call call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_input);
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Accuracy, PerClassMeanCountsEveryOccurringClassAlike) {
  // Class 0: 3 of 4 right; class 2: 0 of 1; class 1 has no samples and takes no part in the mean.
  const std::vector<float> scores{3, 1, 2,  //
                                  3, 1, 2,  //
                                  3, 1, 2,  //
                                  1, 3, 2,  //
                                  5, 4, 3};
  const auto a = accuracy_among(view(scores, 3), Labels{0, 0, 0, 0, 2}, Labels{0, 1, 2});
  EXPECT_DOUBLE_EQ(a.top1_per_class, (75.0 + 0.0) / 2);
  EXPECT_DOUBLE_EQ(a.top1, 60.0);
  ASSERT_EQ(a.classes.size(), 2u);
  EXPECT_EQ(a.classes[0].class_index, 0);
  EXPECT_EQ(a.classes[0].samples, 4u);
  EXPECT_DOUBLE_EQ(a.classes[0].top1, 75.0);
  EXPECT_EQ(a.classes[1].class_index, 2);
  EXPECT_EQ(a.classes[1].samples, 1u);
  EXPECT_DOUBLE_EQ(a.classes[1].top1, 0.0);
}

TEST(Accuracy, OnlyCandidatesCompete) {
  const std::vector<float> scores{9, 1, 2};
  EXPECT_EQ(accuracy_among(view(scores, 3), Labels{2}, Labels{0, 1, 2}).top1, 0);
  EXPECT_EQ(accuracy_among(view(scores, 3), Labels{2}, Labels{1, 2}).top1, 100);
}

TEST(Accuracy, TiesGoToTheEarlierCandidate) {
  const std::vector<float> scores{1, 1};
  EXPECT_EQ(accuracy_among(view(scores, 2), Labels{0}, Labels{0, 1}).top1, 100);
  EXPECT_EQ(accuracy_among(view(scores, 2), Labels{0}, Labels{1, 0}).top1, 0);
}

TEST(Accuracy, TopFiveEndsAtTheFifthAndIsFullBelowFiveCandidates) {
  const std::vector<float> scores{6, 5, 4, 3, 2, 1};
  const Labels all{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(accuracy_among(view(scores, 6), Labels{4}, all).top5, 100);
  EXPECT_EQ(accuracy_among(view(scores, 6), Labels{5}, all).top5, 0);
  EXPECT_EQ(accuracy_among(view(scores, 6), Labels{5}, Labels{0, 2, 4, 5}).top5, 100);
  const std::vector<float> equal(6, 1.0f);  // a tie at the fifth place goes to the earlier candidate
  EXPECT_EQ(accuracy_among(view(equal, 6), Labels{4}, all).top5, 100);
  EXPECT_EQ(accuracy_among(view(equal, 6), Labels{5}, all).top5, 0);
}

TEST(Accuracy, AgreesWithSortingEveryRow) {
  Rng rng(11);
  for (int problem = 0; problem < 200; ++problem) {
    const std::size_t classes = 1 + rng.below(12), n = 1 + rng.below(30);
    std::vector<float> scores(n * classes);
    for (auto& s : scores) s = static_cast<float>(rng.below(6));  // many ties
    const auto order = rng.permutation(classes);
    Labels candidates(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(1 + rng.below(classes))), labels(n);
    for (auto& l : labels) l = candidates[rng.below(candidates.size())];

    std::size_t first = 0, five = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Labels ranked = candidates;
      std::stable_sort(ranked.begin(), ranked.end(), [&](auto a, auto b) {
        return scores[i * classes + static_cast<std::size_t>(a)] > scores[i * classes + static_cast<std::size_t>(b)];
      });
      const auto rank = std::find(ranked.begin(), ranked.end(), labels[i]) - ranked.begin();
      first += rank < 1;
      five += rank < 5;
    }
    const auto a = accuracy_among(view(scores, classes), labels, candidates);
    EXPECT_DOUBLE_EQ(a.top1, 100.0 * static_cast<double>(first) / static_cast<double>(n));
    EXPECT_DOUBLE_EQ(a.top5, 100.0 * static_cast<double>(five) / static_cast<double>(n));

    // The confusion matrix counts the same predictions.
    const auto confusion = confusion_matrix(view(scores, classes), labels, candidates, classes);
    std::size_t diagonal = 0;
    for (std::size_t c = 0; c < classes; ++c) diagonal += confusion(c, c);
    EXPECT_EQ(diagonal, first);
    EXPECT_EQ(std::accumulate(confusion.values().begin(), confusion.values().end(), std::size_t{0}), n);
    for (const auto& c : a.classes) {
      const auto index = static_cast<std::size_t>(c.class_index);
      const auto row = confusion.row(index);
      EXPECT_EQ(std::accumulate(row.begin(), row.end(), std::size_t{0}), c.samples);
      EXPECT_DOUBLE_EQ(c.top1, 100.0 * confusion(index, index) / static_cast<double>(c.samples));
    }
  }
}

TEST(Accuracy, RandomScoresAreRightByChanceOnly) {
  Rng rng(12);
  const std::size_t n = 20000, classes = 10;
  std::vector<float> scores(n * classes);
  for (auto& s : scores) s = static_cast<float>(rng.uniform());
  Labels labels(n), all(classes);
  std::iota(all.begin(), all.end(), 0);
  for (auto& l : labels) l = static_cast<std::int32_t>(rng.below(classes));
  const auto a = accuracy_among(view(scores, classes), labels, all);
  EXPECT_NEAR(a.top1_per_class, 10, 0.9);  // 4.2 standard deviations
  EXPECT_NEAR(a.top5, 50, 1.5);
}

TEST(Accuracy, MonotoneMapsOfARowChangeNothing) {
  Rng rng(13);
  const std::size_t n = 100, classes = 7;
  std::vector<float> scores(n * classes), mapped(n * classes);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = static_cast<float>(rng.below(20));
    mapped[i] = scores[i] * scores[i] * 0.5f - static_cast<float>(i / classes);
  }
  Labels labels(n), all(classes);
  std::iota(all.begin(), all.end(), 0);
  for (auto& l : labels) l = static_cast<std::int32_t>(rng.below(classes));
  const auto a = accuracy_among(view(scores, classes), labels, all);
  const auto b = accuracy_among(view(mapped, classes), labels, all);
  EXPECT_EQ(a.top1_per_class, b.top1_per_class);
  EXPECT_EQ(a.top1, b.top1);
  EXPECT_EQ(a.top5, b.top5);
}

TEST(Accuracy, RefusesScoresThatAreNotFiniteButOnlyOfCandidates) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {std::nanf(""), inf, -inf}) {
    const std::vector<float> scores{1, 2, 3, 1, bad, 3};
    const Labels labels{0, 2};
    const auto text = message_of_bad_input([&] { accuracy_among(view(scores, 3), labels, Labels{0, 1, 2}); });
    EXPECT_TRUE(holds(text, "row 1, class 1")) << text;
    message_of_bad_input([&] { confusion_matrix(view(scores, 3), labels, Labels{0, 1, 2}, 3); });
    EXPECT_NO_THROW(accuracy_among(view(scores, 3), labels, Labels{0, 2}));
  }
}

TEST(Accuracy, RefusesListsThatDoNotFit) {
  const std::vector<float> scores{1, 2, 3, 1, 2, 3};
  const auto refuse = [&](const Labels& labels, const Labels& candidates, const char* part) {
    const auto text = message_of_bad_input([&] { accuracy_among(view(scores, 3), labels, candidates); });
    EXPECT_TRUE(holds(text, part)) << text;
  };
  refuse({0, 1}, {}, "at least one class");
  refuse({0, 1}, {0, 3}, "entry 1");
  refuse({0, 1}, {-1, 1}, "entry 0");
  refuse({0, 1}, {0, 1, 0}, "class 0 twice");
  refuse({0}, {0, 1}, "labels");
  refuse({0, 2}, {0, 1}, "label 1");
  refuse({0, -7}, {0, 1}, "label 1");
  refuse({0, 2147483647}, {0, 1}, "label 1");
  const auto text =
      message_of_bad_input([&] { accuracy_among(MatrixView<const float>(scores.data(), 0, 3), Labels{}, Labels{0}); });
  EXPECT_TRUE(holds(text, "at least one sample")) << text;
}

TEST(ConfusionMatrix, RowsAreLabelsAndColumnsPredictions) {
  const std::vector<float> scores{1, 5, 2,  //
                                  1, 5, 2,  //
                                  9, 5, 6};
  const auto m = confusion_matrix(view(scores, 3), Labels{2, 1, 0}, Labels{1, 2}, 4);  // class 0 is no candidate
  ASSERT_EQ(m.rows(), 4u);
  ASSERT_EQ(m.cols(), 4u);
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      EXPECT_EQ(m(r, c), (r == 2 && c == 1) || (r == 1 && c == 1) || (r == 0 && c == 2) ? 1u : 0u) << r << ' ' << c;
}

TEST(ConfusionMatrix, RefusesClassesBeyondItsSize) {
  const std::vector<float> scores{1, 5, 2};
  message_of_bad_input([&] { confusion_matrix(view(scores, 3), Labels{2}, Labels{0}, 2); });
  message_of_bad_input([&] { confusion_matrix(view(scores, 3), Labels{-1}, Labels{0}, 2); });
  message_of_bad_input([&] { confusion_matrix(view(scores, 3), Labels{0}, Labels{2}, 2); });
  message_of_bad_input([&] { confusion_matrix(view(scores, 3), Labels{0}, Labels{3}, 9); });
}

}  // namespace
}  // namespace parsnets
