#include "eval/counts.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kCountedRows = 53, kClasses = 11;

struct CountsProblem {
  std::vector<std::int32_t> unseen{0, 2, 5}, seen{1, 3, 4, 6, 8, 10}, unseen_labels, seen_labels;
  Matrix<float> unseen_scores{kCountedRows, kClasses}, seen_scores{kCountedRows, kClasses};

  CountsProblem() {
    Rng rng(7);
    for (auto* scores : {&unseen_scores, &seen_scores})
      for (float& v : scores->values()) v = static_cast<float>(rng.below(9)) / 4;  // with ties
    for (std::size_t i = 0; i < kCountedRows; ++i) {
      unseen_labels.push_back(unseen[rng.below(unseen.size())]);
      seen_labels.push_back(seen[rng.below(seen.size())]);
    }
  }
};

/// `scores` in blocks of 8 rows; counts how often they are visited.
ScoreSource in_blocks(const Matrix<float>& scores, int& visits) {
  return {scores.rows(), scores.cols(), [&](const ScoreVisitor& visit) {
            ++visits;
            for (std::size_t first = 0; first < scores.rows(); first += 8)
              visit(first, {scores.row(first).data(), std::min<std::size_t>(8, scores.rows() - first), scores.cols()});
          }};
}

}  // namespace

TEST(Counts, FiguresOfBlocksAreThoseOfTheWhole) {
  const CountsProblem p;
  int visits = 0;
  AccuracyCount accuracy(kClasses, p.unseen_labels, p.unseen);
  GzslCount gzsl(kClasses, {{p.unseen_labels, p.unseen}, {p.seen_labels, p.seen}});
  in_blocks(p.unseen_scores, visits).visit([&](std::size_t first, MatrixView<const float> scores) {
    accuracy.add(first, scores);
    gzsl.add_unseen(first, scores);
  });
  in_blocks(p.seen_scores, visits).visit([&](std::size_t first, MatrixView<const float> scores) {
    gzsl.add_seen(first, scores);
  });
  const Accuracy whole = accuracy_among(p.unseen_scores.view(), p.unseen_labels, p.unseen);
  EXPECT_EQ(accuracy.result().top1_per_class, whole.top1_per_class);
  EXPECT_EQ(accuracy.result().top1, whole.top1);
  EXPECT_EQ(accuracy.result().top5, whole.top5);
  const GzslScores scores{{p.unseen_scores.view(), p.unseen_labels, p.unseen},
                          {p.seen_scores.view(), p.seen_labels, p.seen}};
  const double gamma = best_gamma(scores);
  EXPECT_EQ(gzsl.best_gamma(), gamma);
  const Gzsl expected = evaluate_gzsl(scores, gamma);
  EXPECT_GT(expected.h, 0);
  EXPECT_EQ(gzsl.at(gamma).h, expected.h);
  EXPECT_EQ(gzsl.at(gamma).ausuc, expected.ausuc);
}

TEST(Counts, CorrectnessAddsUpToTheAccuracies) {
  const CountsProblem p;
  int visits = 0;
  AccuracyCount accuracy(kClasses, p.unseen_labels, p.unseen);
  GzslCount gzsl(kClasses, {{p.unseen_labels, p.unseen}, {p.seen_labels, p.seen}});
  in_blocks(p.unseen_scores, visits).visit([&](std::size_t first, MatrixView<const float> scores) {
    accuracy.add(first, scores);
    gzsl.add_unseen(first, scores);
  });
  in_blocks(p.seen_scores, visits).visit([&](std::size_t first, MatrixView<const float> scores) {
    gzsl.add_seen(first, scores);
  });
  const auto check = [](const std::vector<ClassAccuracy>& classes, const std::vector<std::int32_t>& labels,
                        const std::vector<std::uint8_t>& correct) {
    ASSERT_EQ(correct.size(), labels.size());
    for (const auto& c : classes) {
      double right = 0;
      for (std::size_t i = 0; i < labels.size(); ++i) right += labels[i] == c.class_index && correct[i];
      EXPECT_EQ(c.top1, 100 * right / static_cast<double>(c.samples));
    }
  };
  check(accuracy.result().classes, p.unseen_labels, accuracy.correct());
  for (const double gamma : {-0.5, 0.0, 0.25, gzsl.best_gamma(), 1.0}) {  // of multiples of 1/4: with ties
    const Gzsl at = gzsl.at(gamma);
    check(at.unseen_classes, p.unseen_labels, gzsl.correct_unseen(gamma));
    check(at.seen_classes, p.seen_labels, gzsl.correct_seen(gamma));
  }
}

TEST(Counts, TheTemperatureOfBlocksIsThatOfTheWholeKeptOrNot) {
  const CountsProblem p;
  const double whole = fit_temperature(
      GzslScores{{p.unseen_scores.view(), p.unseen_labels, p.unseen}, {p.seen_scores.view(), p.seen_labels, p.seen}},
      0.25);
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
    int visits = 0;
    const ScoreSource unseen = kept(in_blocks(p.unseen_scores, visits), bytes),
                      seen = kept(in_blocks(p.seen_scores, visits), bytes);
    EXPECT_EQ(fit_temperature(GzslSources{{unseen, p.unseen_labels, p.unseen}, {seen, p.seen_labels, p.seen}}, 0.25),
              whole);
    if (bytes == 0)
      EXPECT_GT(visits, 6);
    else
      EXPECT_EQ(visits, 2) << "kept from the first visit on";
  }
}

}  // namespace parsnets
