#pragma once
// Evaluation of open-set recognition: test samples of classes that are not in the bank, and inputs that are of no class
// at all. Apart from the other protocols, in which every test sample is of a class of the bank.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "eval/metrics.hpp"
#include "eval/open_set_metrics.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/model.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// Which classes are unknown. Those of the data set that the model's bank lacks always are, unless they have training
/// samples.
struct OpenSetEvaluationOptions {
  /// Unseen classes that are left out of the bank, in one turn. Empty: none if the bank lacks classes anyway, else the
  /// unseen classes in two halves, drawn by seed; each is left out in turn while the other stays. A single unseen class
  /// is left out.
  std::vector<std::string> unknown_classes;
  std::size_t inputs = 1000;  ///< of each kind that is of no class; at least 1
  std::uint64_t seed = 1;     ///< of the halves and of these inputs
};

/// What a test sample is in a turn.
enum class OpenSetKind { known_seen, known_unseen, unknown };

/// A test sample in a turn.
struct JudgedSample {
  std::int32_t row = 0;                        ///< of the data set
  OpenSetKind kind = OpenSetKind::known_seen;  ///< by its class and the turn's bank
  bool right = false;                          ///< its class came first; never for unknown ones
  float known_score = 0;                       ///< Rejection::known_score()
  float above_threshold = 0;                   ///< known_score minus the threshold that applies; accepted from 0 on
  float confidence = 0;                        ///< of the best class: the largest softmax
};

/// How well a score tells known samples from unknown ones, over all turns.
struct OpenSetQuality {
  static constexpr std::size_t kCurvePoints = 500;  ///< that are kept of each curve, evenly spread

  double auroc = 0;                              ///< area under the ROC curve, percent
  double fpr95 = 0;                              ///< unknown samples accepted where 95 % of the known ones are
  double oscr = 0;                               ///< area under the OSCR curve, percent
  std::vector<AcceptancePoint> roc, oscr_curve;  ///< thinned; the areas are those of all points
};

/// Samples of one kind at the model's thresholds, over all turns.
struct AcceptedShare {
  std::size_t samples = 0, classes = 0;  ///< a sample counts in each of its turns
  double accepted = 0;                   ///< percent of the samples; 0 without any
  Interval of_classes;  ///< mean over the shares of the classes, its interval within 0 to 100; nan without any
};

/// Inputs that are of no class by construction, among all classes of the bank. Their features are made from the overall
/// least, largest and mean feature and the overall standard deviation of the test samples, and from drawn test samples.
struct NoClassInputs {
  std::string_view name;      ///< "uniform", "gaussian", "shuffled", "scaled", "far", "constant" or "zero"
  std::string_view features;  ///< how they are made, in words
  std::size_t inputs = 0;     ///< how many
  double rejected = 0;        ///< percent of them, at the model's thresholds
  double auroc = 0;           ///< of known_score, against all test samples among all classes of the bank
};

/// Results of open-set recognition.
struct OpenSetEvaluation {
  std::vector<std::vector<std::string>> turns;      ///< the classes that each left out of the bank
  std::vector<std::string> not_in_bank;             ///< classes of the data set that are unknown in every turn
  AcceptedShare known_seen, known_unseen, unknown;  ///< at the model's thresholds
  double known_right = 0;                           ///< percent of known samples that are given their class
  OpenSetQuality by_known_score, by_confidence;     ///< Rejection::known_score(), and the largest softmax beside it
  std::vector<NoClassInputs> no_class;              ///< by kind
  std::vector<JudgedSample> samples;                ///< turn by turn
  std::vector<std::string> warnings;                ///< what these results are not, and why
};
/// Evaluates the model's rejection; the model stays as it is. Known samples are those of test_seen and of the unseen
/// classes that stayed in the bank. Features are read some rows at a time; 24 bytes are kept of a sample and turn.
/// Results depend on the seed, not on the number of threads. Throws usage for a model without rejection and options out
/// of range, bad_input as evaluate(), for classes that cannot be left out, and where there are no known or no unknown
/// samples.
OpenSetEvaluation evaluate_open_set(const Model& model, const Dataset& data, const OpenSetEvaluationOptions& options,
                                    ThreadPool& pool, ProgressObserver* progress = nullptr);

// The results of open-set recognition as eval prints them and the report shows them.

/// {"units", "false_accept", "turns", "not_in_bank", "known_seen": {...}, "known_unseen", "unknown", "known_right",
/// "known_score": {"auroc", "fpr95", "oscr"}, "confidence", "no_class": [...], "warnings"}; without curves and samples.
nlohmann::ordered_json open_set_json(const OpenSetEvaluation& result, const Rejection& rejection);

// Inputs that are of no class by construction.

/// Takes n x d inputs of one kind.
using NoClassVisitor =
    std::function<void(std::string_view name, std::string_view features, MatrixView<const float> inputs)>;

/// Makes the inputs of eval/open_set.hpp, kind by kind, `count` of each that is drawn by `seed`, from
/// the given rows (at least one) of `features`. At most two times `count` x d values are in memory.
void visit_no_class_inputs(const Matrix<float>& features, std::span<const std::int32_t> rows, std::size_t count,
                           std::uint64_t seed, const NoClassVisitor& visit);

}  // namespace parsnets
