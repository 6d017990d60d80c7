#pragma once
// Metrics of zero-shot learning, counted from scores that come some rows at a time. All accuracies are in percent.
// Scores are n x C, one column per class of the bank; lists of classes hold column indices. Bad_input is thrown unless
// candidates are at least one, in range and distinct, their scores finite, and the labels at least one and all among
// the candidates. Counts refer to the labels and lists of classes that they are given; labels are one per row.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "parsnets/evaluation.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// Hands out all rows of n x C scores, some at a time, as often as asked and to the same bits.
using ScoreRows = std::function<void(const ScoreVisitor&)>;

/// Accuracy of scores. Only `candidates` compete. Ties go to the earlier candidate.
class AccuracyCount {
 public:
  AccuracyCount(std::size_t classes, std::span<const std::int32_t> labels, std::span<const std::int32_t> candidates);
  /// Scores of the samples from `first` on.
  void add(std::size_t first, MatrixView<const float> scores);
  Accuracy result() const;
  const std::vector<std::uint8_t>& correct() const { return correct_; }  ///< per label; 1: its class came first

 private:
  std::span<const std::int32_t> labels_, candidates_;
  std::vector<std::uint8_t> correct_;
  std::vector<std::size_t> truth_, samples_, right_;
  std::size_t among_five_ = 0;
};

/// Test samples of unseen and of seen classes, for generalised zero-shot evaluation.
struct GzslLabels {
  struct Side {
    std::span<const std::int32_t> labels;   ///< n, each among `classes`
    std::span<const std::int32_t> classes;  ///< that compete on this side; none is on both
  };
  Side unseen, seen;
};

/// Generalised zero-shot evaluation with calibrated stacking (Chao et al., ECCV 2016): a seen class is predicted iff
/// the best seen score − the best unseen score > gamma, so such ties go to the unseen class; within each list, to the
/// earlier class. The curve is exact: every gamma at which a prediction changes is visited once, and the area is the
/// trapezoid sum over its points. A class on both sides is bad_input, a gamma that is nan usage.
class GzslCount {
 public:
  GzslCount(std::size_t classes, const GzslLabels& labels);
  void add_unseen(std::size_t first, MatrixView<const float> scores) { add(unseen_, seen_, first, scores); }
  void add_seen(std::size_t first, MatrixView<const float> scores) { add(seen_, unseen_, first, scores); }
  /// The gamma with the largest harmonic mean on these (validation) scores: the middle of the best interval, of several
  /// equally good ones the widest, then the lowest. 0 if no gamma gets the harmonic mean above 0.
  double best_gamma() const;
  Gzsl at(double gamma) const;
  /// Per label; 1: at() counts the sample as right.
  std::vector<std::uint8_t> correct_unseen(double gamma) const { return correct(unseen_, gamma); }
  std::vector<std::uint8_t> correct_seen(double gamma) const { return correct(seen_, gamma); }

 private:
  struct Flip {
    double gamma = 0;          ///< where the sample's prediction changes side
    std::uint32_t place = 0;   ///< its class
    std::uint32_t sample = 0;  ///< its label's place
  };
  /// The test samples of the unseen (or of the seen) classes.
  struct Side {
    bool is_seen;
    std::span<const std::int32_t> labels, classes;
    std::vector<std::size_t> truth;    ///< per sample, the place of its class
    std::vector<std::size_t> samples;  ///< per class
    std::vector<Flip> flips = {};      ///< of the samples that can be right
  };

  static void add(Side& own, const Side& other, std::size_t first, MatrixView<const float> scores);
  static std::vector<std::uint8_t> correct(const Side& side, double gamma);
  std::vector<TradeOff> curve() const;

  Side unseen_, seen_;
};

/// The temperature t > 0 that minimises the mean of −log softmax(scores / t)[label] over all classes, with gamma
/// applied to the scores of the seen ones: just what confidences are made from. To about 12 digits. Where the minimum
/// lies at 0 or infinity (all labels on top, or scores no better than chance) it is 1e-4 or 1e4 times the largest
/// spread of scores in a row; 1 if all scores of each row are equal. Visits the scores some dozens of times.
double fit_temperature(std::size_t classes, const ScoreRows& unseen, const ScoreRows& seen, const GzslLabels& labels,
                       double gamma, ThreadPool& pool);

/// How many test samples of class `label` were taken for class `predicted`; both are places in the data set's classes.
struct Confusion {
  std::int32_t label = 0, predicted = 0;  ///< classes
  std::uint32_t samples = 0;              ///< at least 1
};

/// Which test samples were predicted right: 1, otherwise 0. In the order of the split's lists.
struct Correctness {
  std::vector<std::uint8_t> zsl;     ///< test_unseen, among the unseen classes
  std::vector<std::uint8_t> unseen;  ///< test_unseen, among all classes with gamma; empty without gzsl
  std::vector<std::uint8_t> seen;    ///< test_seen, likewise
};

/// Prediction sets of the test samples of seen or of unseen classes.
struct SetSide {
  std::size_t samples = 0;  ///< if there are none, the others are 0
  double coverage = 0;      ///< share of samples whose class is in their set, in percent
  double size = 0;          ///< classes in a set, on average
};

/// Prediction sets of one coverage, over all classes that model and data set share.
struct SetResult {
  double stated = 0;  ///< the coverage that was asked for, in percent
  SetSide seen;       ///< test_seen
  SetSide unseen;     ///< test_unseen; the thresholds of unseen classes are calibrated on validation classes
};

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

/// The details of an evaluation.
struct EvaluationDetails {
  std::vector<Confusion> confusion;  ///< pairs that occur, by label: all test samples among all classes, with gamma
  Correctness correct;               ///< what zsl and gzsl count, sample by sample
  std::vector<SetResult> sets;       ///< by coverage; empty for models without prediction sets
  Reliability seen_reliability;      ///< of the confidences of test_seen among all classes; no bins without samples
  Reliability unseen_reliability;    ///< of those of test_unseen
};

/// Reliability of n confidences from 0 to 1 of the predicted classes, `correct` (n) telling which were right. Bin i of
/// B takes those above i/B up to (i+1)/B, the first also 0. Bad_input for none, for other numbers and for no bins.
Reliability reliability(std::span<const float> confidences, std::span<const std::uint8_t> correct,
                        std::size_t bins = 15);

// Prediction sets and reliability as eval and the report write them.

/// [{"stated", "seen": {"samples", "coverage", "size"}, "unseen": {..., "calibrated_on": "validation classes"}}], by
/// coverage, in percent; null for a side without samples, and for models without prediction sets.
nlohmann::ordered_json sets_json(const EvaluationDetails& result);

/// {"seen": {"samples", "ece", "bins": [{"samples", "confidence", "accuracy"}]}, "unseen": {...}} in percent; null for
/// a side without samples, as the confidence and the accuracy of a bin without samples.
nlohmann::ordered_json reliability_json(const EvaluationDetails& result);

/// What confidences are worth: reliability, and prediction sets. Of the test samples of seen or of unseen classes.
/// Refers to everything it is given.
class ConfidenceCount {
 public:
  /// `thresholds`: of each coverage one per class of the ranking.
  ConfidenceCount(const Ranking& ranking, std::span<const std::vector<float>> thresholds)
      : ranking_(ranking), thresholds_(thresholds), covered_(thresholds.size()), classes_(thresholds.size()) {}

  /// n x C raw scores and n labels, which are candidates.
  void add(std::span<const std::int32_t> labels, MatrixView<const float> scores);

  /// Without bins if no sample was added.
  Reliability reliability() const;
  /// Of the sets of one coverage.
  SetSide set(std::size_t coverage) const;

 private:
  const Ranking& ranking_;
  std::span<const std::vector<float>> thresholds_;
  std::vector<float> row_, confidences_;
  std::vector<std::uint8_t> correct_;
  std::vector<std::uint64_t> covered_, classes_;  ///< of each coverage: samples with their class, and classes in sets
};

/// A mean and how sure it is.
struct Interval {
  double mean = 0;           ///< of the values
  double sd = 0;             ///< of the values, with n − 1
  double low = 0, high = 0;  ///< 95 % confidence interval of the mean (Student's t)
};
/// The confidence interval of a mean. `values` finite and not empty, else bad_input. A single value has no spread to
/// judge by: sd, low and high are nan.
Interval confidence_interval(std::span<const double> values);

/// 2us / (u + s), or 0 if both are 0.
inline double harmonic_mean(double u, double s) { return u + s > 0 ? 2 * u * s / (u + s) : 0; }

// What every metric asks of its input: candidate lists, labels and scores are checked here, once, before they count.

/// For each of `classes` classes its place in `candidates`, or −1. Throws bad_input, naming `what`, unless there is at
/// least one candidate, each below `classes` and listed once.
std::vector<std::int32_t> places_of(std::span<const std::int32_t> candidates, std::size_t classes,
                                    const std::string& what);

/// Throws bad_input, naming `what`, unless every candidate's score is finite. `first`: the number of the first row.
void check_finite_scores(MatrixView<const float> scores, std::span<const std::int32_t> candidates,
                         const std::string& what, std::size_t first = 0);

/// The places of the labels. Throws bad_input, naming `what`, unless there is at least one and all are candidates.
std::vector<std::size_t> places_of_labels(std::span<const std::int32_t> labels, std::span<const std::int32_t> places,
                                          const std::string& what);

/// The place of the largest score; ties go to the earlier candidate.
inline std::size_t best_place(std::span<const float> row, std::span<const std::int32_t> candidates) {
  std::size_t best = 0;
  float top = row[static_cast<std::size_t>(candidates[0])];
  for (std::size_t k = 1; k < candidates.size(); ++k) {
    const float score = row[static_cast<std::size_t>(candidates[k])];
    if (score > top) {
      top = score;
      best = k;
    }
  }
  return best;
}

}  // namespace parsnets
