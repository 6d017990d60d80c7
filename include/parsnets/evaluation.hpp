#pragma once
// Evaluation on the test samples of a data set: the zero-shot protocol, and two that learn in the field and are kept
// apart from it.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/field.hpp"
#include "parsnets/metrics.hpp"
#include "parsnets/model.hpp"
#include "parsnets/processes.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

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

/// Coverages that evaluation makes prediction sets for.
inline constexpr std::array<double, 3> kCoverages{0.8, 0.9, 0.95};

/// Everything the protocol asks of a model on a data set's test samples.
struct Evaluation {
  Accuracy zsl;                       ///< unseen test samples among the unseen classes
  bool has_gzsl = false;              ///< there are test samples of seen classes; otherwise gzsl is empty
  Gzsl gzsl;                          ///< among all classes, at the model's gamma
  std::vector<Confusion> confusion;   ///< pairs that occur, by label: all test samples among all classes, with gamma
  Correctness correct;                ///< what zsl and gzsl count, sample by sample
  std::vector<SetResult> sets;        ///< by coverage; empty for models without prediction sets
  Reliability seen_reliability;       ///< of the confidences of test_seen among all classes; no bins without samples
  Reliability unseen_reliability;     ///< of those of test_unseen
  std::vector<std::string> warnings;  ///< which results are meaningless, and why
  std::int64_t trained_samples = 0;   ///< test samples that the model was trained on; -1: some, the number is not known
};
/// Evaluates a model. Classes are matched by name; throws bad_input when the model lacks a test class, when the data
/// set was loaded with other semantics than the model's, and when it was trained on test samples unless
/// `allow_trained_samples`. With `processes` every process calls it with the same model and data; each scores a part of
/// the samples, scores go to all (4·C bytes a sample), and all get the same result. `coverages` are shares.
Evaluation evaluate(const Model& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress = nullptr,
                    bool allow_trained_samples = false, Processes* processes = nullptr,
                    std::span<const double> coverages = kCoverages);

/// Which test samples a model adapts to before it is evaluated on them. Labels are never used.
enum class TransductiveProtocol {
  unseen,  ///< those of unseen classes alone: the model is told that no sample is of a seen class
  mixed    ///< all
};

/// Results of the transductive protocol.
struct TransductiveEvaluation {
  TransductiveProtocol protocol = TransductiveProtocol::mixed;  ///< what it adapted to
  Adaptation adaptation;                                        ///< what moved
  Evaluation before, after;                                     ///< of the model as given, and of its adapted copy
};
/// Adapts a copy of the model to test samples and evaluates it; the model stays as it is. Throws as evaluate() and
/// adapt(), and bad_input for a model that has been adapted or, with mixed, without test samples of seen classes.
TransductiveEvaluation evaluate_transductive(const Model& model, const Dataset& data, ThreadPool& pool,
                                             TransductiveProtocol protocol, ProgressObserver* progress = nullptr);

/// How many examples of each unseen class a model is taught.
struct FewShotOptions {
  std::vector<int> examples = {1, 2, 5, 10};  ///< each at least 1
  int draws = 20;                             ///< of examples, per number of them
  std::uint64_t seed = 1;                     ///< of the draws
};

/// ZSL accuracy (top-1 per class) on the samples that are no examples, over the draws. With one draw sd is nan.
struct FewShotAccuracy {
  int examples = 0;         ///< of each class
  Interval taught;          ///< descriptions and examples
  Interval examples_alone;  ///< the classes known by examples alone: the nearest mean in class space
};

/// Results of the few-shot protocol.
struct FewShotEvaluation {
  double descriptions_alone = 0;      ///< ZSL accuracy without examples, on all unseen test samples
  std::vector<FewShotAccuracy> rows;  ///< in the order of the options
};
/// Teaches a copy of the model examples drawn from the unseen test samples and evaluates it on the others; the model
/// stays as it is. Of one draw, the examples of a smaller number are among those of a larger one. Throws as evaluate()
/// and teach(), usage for options out of range, and bad_input for a model that has been taught or adapted and for
/// unseen classes with too few test samples.
FewShotEvaluation evaluate_few_shot(const Model& model, const Dataset& data, const FewShotOptions& options,
                                    ThreadPool& pool, ProgressObserver* progress = nullptr);

/// Sets gamma and temperature by samples (n x d, labels are places in the class bank) that training did not see, of
/// seen and of unseen classes: the best harmonic mean, then the best likelihood. Throws bad_input, and changes nothing
/// then, without samples of both kinds.
void calibrate(Model& model, MatrixView<const float> x, std::span<const std::int32_t> labels, ThreadPool& pool);

}  // namespace parsnets
