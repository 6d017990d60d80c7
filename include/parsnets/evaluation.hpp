#pragma once
// Evaluation: the zero-shot protocol, from scores to figures. All accuracies are in percent.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

struct ClassAccuracy {
  std::int32_t class_index = 0;
  std::size_t samples = 0;
  double top1 = 0;
};

/// Accuracy among a set of candidate classes.
struct Accuracy {
  double top1_per_class = 0;  ///< mean over the classes that occur: the protocol's figure
  double top1 = 0;            ///< plain share of samples
  double top5 = 0;            ///< plain; candidates beyond their number count as right
  std::vector<ClassAccuracy> classes;
};

/// `scores` is n x C over all classes of the bank; only `candidates` compete. Ties go to the earlier candidate.
Accuracy accuracy_among(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                        std::span<const std::int32_t> candidates);

/// One point of the trade-off between seen and unseen accuracy.
struct TradeOff {
  double gamma = 0, u = 0, s = 0;
};

struct Gzsl {
  double u = 0, s = 0, h = 0;  ///< per-class accuracies over all classes and their harmonic mean, at `gamma`
  double ausuc = 0;            ///< area under the seen-unseen curve over gamma, 0 to 1
  double gamma = 0;            ///< subtracted from seen scores
  std::vector<TradeOff> curve; ///< every distinct point, by rising gamma
  std::vector<ClassAccuracy> unseen_classes, seen_classes;  ///< at `gamma`
};

/// Generalised zero-shot evaluation with calibrated stacking. The curve is exact: every gamma at which a prediction
/// changes is visited once. `unseen_scores` n_u x C with labels in `unseen`, `seen_scores` n_s x C with labels in `seen`.
Gzsl evaluate_gzsl(MatrixView<const float> unseen_scores, std::span<const std::int32_t> unseen_labels,
                   MatrixView<const float> seen_scores, std::span<const std::int32_t> seen_labels,
                   std::span<const std::int32_t> unseen, std::span<const std::int32_t> seen, double gamma);

/// The gamma with the largest harmonic mean on the given (validation) scores: the middle of the best interval.
double best_gamma(MatrixView<const float> unseen_scores, std::span<const std::int32_t> unseen_labels,
                  MatrixView<const float> seen_scores, std::span<const std::int32_t> seen_labels,
                  std::span<const std::int32_t> unseen, std::span<const std::int32_t> seen);

/// The temperature t > 0 that minimises the mean of −log softmax(scores / t)[label] over `candidates` (golden section in log t).
double fit_temperature(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                       std::span<const std::int32_t> candidates);

/// C x C counts: row = label, column = prediction among `candidates`.
Matrix<std::uint32_t> confusion_matrix(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                                       std::span<const std::int32_t> candidates, std::size_t classes);

struct Interval {
  double mean = 0, sd = 0, low = 0, high = 0;  ///< 95 % confidence interval of the mean (Student's t)
};
Interval confidence_interval(std::span<const double> values);

}  // namespace parsnets
