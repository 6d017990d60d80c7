// Accuracy among candidate classes, and the table of which class was taken for which.

#include <fmt/format.h>

#include <algorithm>

#include "eval/scores.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

Accuracy accuracy_among(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                        std::span<const std::int32_t> candidates) {
  const auto places = places_of(candidates, scores.cols(), "candidate classes");
  check_scores(scores, labels, candidates, "scores");
  const auto truth = places_of_labels(labels, places, "scores");

  std::vector<std::size_t> samples(candidates.size(), 0), right(candidates.size(), 0);
  std::size_t first = 0, among_five = 0;
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const auto row = scores.row(i);
    const float own = row[static_cast<std::size_t>(labels[i])];
    std::size_t ahead = 0;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
      const float other = row[static_cast<std::size_t>(candidates[k])];
      ahead += other > own || (other == own && k < truth[i]);
    }
    ++samples[truth[i]];
    right[truth[i]] += ahead == 0;
    first += ahead == 0;
    among_five += ahead < 5;
  }

  Accuracy result;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    if (samples[k] == 0) continue;
    const double top1 = 100.0 * static_cast<double>(right[k]) / static_cast<double>(samples[k]);
    result.classes.push_back({candidates[k], samples[k], top1});
    result.top1_per_class += top1;
  }
  const auto n = static_cast<double>(labels.size());
  result.top1_per_class /= static_cast<double>(result.classes.size());
  result.top1 = 100.0 * static_cast<double>(first) / n;
  result.top5 = 100.0 * static_cast<double>(among_five) / n;
  return result;
}

Matrix<std::uint32_t> confusion_matrix(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                                       std::span<const std::int32_t> candidates, std::size_t classes) {
  places_of(candidates, std::min(classes, scores.cols()), "candidate classes");
  check_scores(scores, labels, candidates, "scores");
  Matrix<std::uint32_t> counts(classes, classes, 0);
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes)
      throw Error(BadInput{"scores", fmt::format("label {}", i), fmt::format("a class index below {}", classes),
                           fmt::format("{}", labels[i]), "count all classes of the bank"});
    const auto predicted = candidates[best_place(scores.row(i), candidates)];
    ++counts(static_cast<std::size_t>(labels[i]), static_cast<std::size_t>(predicted));
  }
  return counts;
}

}  // namespace parsnets
