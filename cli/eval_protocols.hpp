#pragma once
// The results of learning in the field as eval prints them, apart from those of the inductive protocol.

#include <nlohmann/json.hpp>
#include <string>

#include "parsnets/evaluation.hpp"
#include "parsnets/uncertainty.hpp"

namespace parsnets::cli {

/// A line with the intervals of an evaluation and what they cover; `name` begins it.
std::string intervals_text(const EvaluationIntervals& intervals, const std::string& name);

/// {"protocol", "samples", "classes_moved", "likelihood_gain", "zsl", "gzsl", "intervals", "before": {...}, "moves":
/// [...]}. `intervals`: of the adapted copy.
nlohmann::ordered_json transductive_json(const TransductiveEvaluation& result, const EvaluationIntervals& intervals,
                                         const Model& model);
std::string transductive_text(const TransductiveEvaluation& result, const EvaluationIntervals& intervals,
                              const Model& model);

/// Numbers of examples, "1,2,5,10", ascending. Throws usage.
std::vector<int> parse_example_counts(const std::string& text);
nlohmann::ordered_json few_shot_json(const FewShotEvaluation& result, const FewShotOptions& options);
std::string few_shot_text(const FewShotEvaluation& result, const FewShotOptions& options);

}  // namespace parsnets::cli
