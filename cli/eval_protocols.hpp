#pragma once
// The results of learning in the field as eval prints them, apart from those of the inductive protocol.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.hpp"
#include "eval/open_set.hpp"
#include "eval/protocols.hpp"
#include "eval/uncertainty.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/train_record.hpp"

namespace parsnets::cli {

/// ZSL and GZSL of an evaluation; `name` begins each line.
std::string evaluation_text(const Evaluation& result, const std::string& gamma_from, const std::string& name);
/// A line with the intervals of an evaluation and what they cover; `name` begins it.
std::string intervals_text(const EvaluationIntervals& intervals, const std::string& name);

/// [{"class", "support", "degrees"}, ...]
nlohmann::ordered_json moves_json(const Adaptation& adaptation, const Model& model);
/// {"transductive": {"protocol", "samples", "classes_moved", "likelihood_gain", "zsl", "gzsl", "intervals", "before":
/// {...}, "moves": [...]}}. `intervals`: of the adapted copy.
Output transductive_output(const TransductiveEvaluation& result, const EvaluationIntervals& intervals,
                           const Model& model);

/// Numbers of examples, "1,2,5,10", ascending. Throws usage.
std::vector<int> parse_example_counts(const std::string& text);
Output few_shot_output(const FewShotEvaluation& result, const FewShotOptions& options);

// The results of open-set recognition as eval prints them, apart from those of other protocols.

/// The value of --unknown-classes: names, or all unseen classes for "all", or none for "halves". Throws usage.
std::vector<std::string> parse_unknown_classes(const std::string& text, const Dataset& data);

/// Three tables: how well scores tell unknown samples, what the thresholds accept, and inputs of no class.
std::string open_set_text(const OpenSetEvaluation& result, const Rejection& rejection);

// What calibration for unknown samples reached, as 'calibrate', 'train' and 'info' tell it.

inline nlohmann::ordered_json rejection_json(const RejectionRecord& r) {
  return {{"folds", r.folds},
          {"classes", r.classes},
          {"samples", r.samples},
          {"false_accept", r.false_accept},
          {"accepted", r.accepted},
          {"accept_interval", {r.accept_low, r.accept_high}},
          {"rejected_seen", r.rejected_seen},
          {"rejected_unseen", r.rejected_unseen},
          {"auroc", r.auroc},
          {"confidence_auroc", r.confidence_auroc}};
}

/// Percent, on held-out classes: below, rejection is hardly better than chance (50), and is not offered.
inline constexpr double kLeastAuroc = 60;

/// Removes a rejection below that, unless it is forced; its record and the prediction sets stay. Returns why.
inline std::string drop_weak_rejection(Model& model, bool force) {
  const auto& found = model.record.rejection;
  if (force || model.rejection.empty() || !found || found->auroc >= kLeastAuroc) return "";
  model.rejection = {};
  return fmt::format(
      "the model gets no rejection: on held-out classes its AUROC is {:.1f}, below {:g} (chance: 50); --force stores "
      "it "
      "all the same",
      found->auroc, kLeastAuroc);
}

inline std::string rejection_text(const RejectionRecord& r) {
  std::string text = fmt::format(
      "accepts {:.1f} % of unknown samples (target: {:g} %; 95 % interval over {} held-out classes: {:.1f} to {:.1f} "
      "%)\nfalse rejection: {:.1f} % of the samples of seen",
      r.accepted, r.false_accept, r.classes, r.accept_low, r.accept_high, r.rejected_seen);
  if (r.rejected_unseen > 0) text += fmt::format(" and {:.1f} % of those of unseen", r.rejected_unseen);
  return text + fmt::format(" classes\nAUROC of known against unknown samples: {:.2f} (confidence alone: {:.2f})\n",
                            r.auroc, r.confidence_auroc);
}

}  // namespace parsnets::cli
