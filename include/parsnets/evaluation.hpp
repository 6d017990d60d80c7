#pragma once
// Evaluation on the test samples of a data set by the zero-shot protocol. All accuracies are in percent.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

class Processes;           // base/processes.hpp
struct EvaluationDetails;  // eval/metrics.hpp

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

/// Coverages that evaluation makes prediction sets for.
inline constexpr std::array<double, 3> kCoverages{0.8, 0.9, 0.95};

/// Everything the protocol asks of a model on a data set's test samples.
struct Evaluation {
  Accuracy zsl;                       ///< unseen test samples among the unseen classes
  bool has_gzsl = false;              ///< there are test samples of seen classes; otherwise gzsl is empty
  Gzsl gzsl;                          ///< among all classes, at the model's gamma
  std::vector<std::string> warnings;  ///< which results are meaningless, and why
  std::int64_t trained_samples = 0;   ///< test samples that the model was trained on; -1: some, the number is not known
  /// Sample by sample, prediction sets and reliability (eval/metrics.hpp); never null.
  std::shared_ptr<const EvaluationDetails> details;
};
/// Evaluates a model. Classes are matched by name; throws bad_input when the model lacks a test class, when the data
/// set was loaded with other semantics than the model's, and when it was trained on test samples unless
/// `allow_trained_samples`. With `processes` every process calls it with the same model and data; each scores a part of
/// the samples, scores go to all (4·C bytes a sample), and all get the same result. `coverages` are shares.
Evaluation evaluate(const Model& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress = nullptr,
                    bool allow_trained_samples = false, Processes* processes = nullptr,
                    std::span<const double> coverages = kCoverages);

/// Sets gamma and temperature by samples (n x d, labels are places in the class bank) that training did not see, of
/// seen and of unseen classes: the best harmonic mean, then the best likelihood. Throws bad_input, and changes nothing
/// then, without samples of both kinds.
void calibrate(Model& model, MatrixView<const float> x, std::span<const std::int32_t> labels, ThreadPool& pool);

}  // namespace parsnets
