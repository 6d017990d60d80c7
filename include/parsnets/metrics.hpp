#pragma once
// Metrics of zero-shot learning, computed from scores. All accuracies are in percent.
// Scores are n x C, one column per class of the bank; lists of classes hold column indices. Bad_input is thrown unless
// candidates are at least one, in range and distinct, their scores finite, the labels one per row and (except in
// confusion_matrix) at least one and all among the candidates.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// Accuracy on the samples of one class.
struct ClassAccuracy {
  std::int32_t class_index = 0;  ///< column of the scores
  std::size_t samples = 0;       ///< of the class
  double top1 = 0;               ///< share of them that is predicted right
};

/// Accuracy among a set of candidate classes.
struct Accuracy {
  double top1_per_class = 0;           ///< mean over the classes that occur: the protocol's metric
  double top1 = 0;                     ///< plain share of samples
  double top5 = 0;                     ///< plain; 100 with five candidates or fewer
  std::vector<ClassAccuracy> classes;  ///< those that occur, in the order of the candidates
};

/// Accuracy of scores. Only `candidates` compete. Ties go to the earlier candidate.
Accuracy accuracy_among(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                        std::span<const std::int32_t> candidates);

/// One point of the trade-off between seen and unseen accuracy. It holds from `gamma` (included) to the next point's.
struct TradeOff {
  double gamma = 0, u = 0, s = 0;  ///< where it begins, and the accuracies on unseen and on seen classes
};

/// Results of generalised zero-shot learning.
struct Gzsl {
  double u = 0, s = 0, h = 0;  ///< per-class accuracies over all classes and their harmonic mean, at `gamma`
  double ausuc = 0;            ///< area under the seen-unseen curve over gamma, in percent like the others
  double gamma = 0;            ///< subtracted from seen scores
  /// Every distinct point, by rising gamma: from all predicted seen (u = 0) to all predicted unseen (s = 0). The first
  /// holds for any smaller gamma too; its own is finite.
  std::vector<TradeOff> curve;
  std::vector<ClassAccuracy> unseen_classes, seen_classes;  ///< that occur, at `gamma`
};

/// Scores of test samples of unseen and of seen classes, for generalised zero-shot evaluation.
struct GzslScores {
  /// The samples of the unseen or of the seen classes.
  struct Side {
    MatrixView<const float> scores;         ///< n x C; higher is better
    std::span<const std::int32_t> labels;   ///< n, each among `classes`
    std::span<const std::int32_t> classes;  ///< that compete on this side; none is on both
  };
  Side unseen, seen;  ///< with the same C
};

/// Generalised zero-shot evaluation with calibrated stacking (Chao et al., ECCV 2016): a seen class is predicted iff
/// the best seen score − the best unseen score > gamma, so such ties go to the unseen class; within each list, to the
/// earlier class. The curve is exact: every gamma at which a prediction changes is visited once, and the area is the
/// trapezoid sum over its points. A class on both sides is bad_input, a gamma that is nan usage.
Gzsl evaluate_gzsl(const GzslScores& scores, double gamma);

/// The gamma with the largest harmonic mean on the given (validation) scores: the middle of the best interval, of
/// several equally good ones the widest, then the lowest. 0 if no gamma gets the harmonic mean above 0. Errors as
/// above.
double best_gamma(const GzslScores& scores);

/// The temperature t > 0 that minimises the mean of −log softmax(scores / t)[label] over `candidates`, to about 12
/// digits. Where the minimum lies at 0 or infinity (all labels on top, or scores no better than chance) it is 1e-4 or
/// 1e4 times the largest spread of scores in a row; 1 if all scores of each row are equal.
double fit_temperature(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                       std::span<const std::int32_t> candidates);

/// The same over all classes, with gamma applied to the scores of the seen ones: just what confidences are made from.
double fit_temperature(const GzslScores& scores, double gamma);

/// `classes` x `classes` counts: row = label (any below `classes`), column = prediction among `candidates`, ties to the
/// earlier.
Matrix<std::uint32_t> confusion_matrix(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                                       std::span<const std::int32_t> candidates, std::size_t classes);

/// Samples whose best class has a confidence in one of equal parts of 0 to 1.
struct ReliabilityBin {
  std::size_t samples = 0;  ///< in it; if there are none, the others are 0
  double confidence = 0;    ///< their mean, in percent
  double accuracy = 0;      ///< share that is predicted right, in percent
};

/// Whether confidences are shares of right predictions.
struct Reliability {
  std::size_t samples = 0;  ///< in all bins
  double ece = 0;           ///< expected calibration error: mean over samples of |accuracy − confidence| of bins
  std::vector<ReliabilityBin> bins;  ///< by rising confidence
};

/// Reliability of n confidences from 0 to 1 of the predicted classes, `correct` (n) telling which were right. Bin i of
/// B takes those above i/B up to (i+1)/B, the first also 0. Bad_input for none, for other numbers and for no bins.
Reliability reliability(std::span<const float> confidences, std::span<const std::uint8_t> correct,
                        std::size_t bins = 15);

/// A mean and how sure it is.
struct Interval {
  double mean = 0;           ///< of the values
  double sd = 0;             ///< of the values, with n − 1
  double low = 0, high = 0;  ///< 95 % confidence interval of the mean (Student's t)
};
/// The confidence interval of a mean. `values` finite and not empty, else bad_input. A single value has no spread to
/// judge by: sd, low and high are nan.
Interval confidence_interval(std::span<const double> values);

}  // namespace parsnets
