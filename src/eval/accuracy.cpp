// Accuracy among candidate classes, and the table of which class was taken for which.

#include <fmt/format.h>

#include <algorithm>

#include "eval/counts.hpp"
#include "eval/scores.hpp"
#include "parsnets/error.hpp"
#include "parsnets/metrics.hpp"

namespace parsnets {

AccuracyCount::AccuracyCount(std::size_t classes, std::span<const std::int32_t> labels,
                             std::span<const std::int32_t> candidates)
    : labels_(labels),
      candidates_(candidates),
      correct_(labels.size(), 0),
      truth_(places_of_labels(labels, places_of(candidates, classes, "candidate classes"), "scores")),
      samples_(candidates.size(), 0),
      right_(candidates.size(), 0) {}

void AccuracyCount::add(std::size_t first, MatrixView<const float> scores) {
  check_finite_scores(scores, candidates_, "scores", first);
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const auto row = scores.row(i);
    const std::size_t truth = truth_[first + i];
    const float own = row[static_cast<std::size_t>(labels_[first + i])];
    std::size_t ahead = 0;
    for (std::size_t k = 0; k < candidates_.size(); ++k) {
      const float other = row[static_cast<std::size_t>(candidates_[k])];
      ahead += other > own || (other == own && k < truth);
    }
    ++samples_[truth];
    right_[truth] += ahead == 0;
    first_ += ahead == 0;
    correct_[first + i] = ahead == 0;
    among_five_ += ahead < 5;
  }
}

Accuracy AccuracyCount::result() const {
  Accuracy result;
  for (std::size_t k = 0; k < candidates_.size(); ++k) {
    if (samples_[k] == 0) continue;
    const double top1 = 100.0 * static_cast<double>(right_[k]) / static_cast<double>(samples_[k]);
    result.classes.push_back({candidates_[k], samples_[k], top1});
    result.top1_per_class += top1;
  }
  const auto n = static_cast<double>(labels_.size());
  result.top1_per_class /= static_cast<double>(result.classes.size());
  result.top1 = 100.0 * static_cast<double>(first_) / n;
  result.top5 = 100.0 * static_cast<double>(among_five_) / n;
  return result;
}

Accuracy accuracy_among(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                        std::span<const std::int32_t> candidates) {
  check_label_count(scores.rows(), labels, "scores");
  AccuracyCount count(scores.cols(), labels, candidates);
  count.add(0, scores);
  return count.result();
}

Matrix<std::uint32_t> confusion_matrix(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                                       std::span<const std::int32_t> candidates, std::size_t classes) {
  places_of(candidates, std::min(classes, scores.cols()), "candidate classes");
  check_label_count(scores.rows(), labels, "scores");
  check_finite_scores(scores, candidates, "scores");
  Matrix<std::uint32_t> counts(classes, classes, 0);
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes)
      throw Error(BadInput{"scores", fmt::format("label {}", i), fmt::format("a class index below {}", classes),
                           fmt::format("{}", labels[i]), "pass the number of all classes"});
    const auto predicted = candidates[best_place(scores.row(i), candidates)];
    ++counts(static_cast<std::size_t>(labels[i]), static_cast<std::size_t>(predicted));
  }
  return counts;
}

}  // namespace parsnets
