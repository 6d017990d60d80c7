#pragma once
// The results of learning in the field as eval prints them, apart from those of the inductive protocol.

#include <nlohmann/json.hpp>
#include <string>

#include "parsnets/evaluation.hpp"

namespace parsnets::cli {

/// {"protocol", "samples", "classes_moved", "likelihood_gain", "zsl", "gzsl", "before": {...}, "moves": [...]}.
nlohmann::ordered_json transductive_json(const TransductiveEvaluation& result, const Model& model);
std::string transductive_text(const TransductiveEvaluation& result, const Model& model);

/// Numbers of examples, "1,2,5,10", ascending. Throws usage.
std::vector<int> parse_example_counts(const std::string& text);
nlohmann::ordered_json few_shot_json(const FewShotEvaluation& result, const FewShotOptions& options);
std::string few_shot_text(const FewShotEvaluation& result, const FewShotOptions& options);

}  // namespace parsnets::cli
