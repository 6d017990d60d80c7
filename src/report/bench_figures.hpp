#pragma once
// Sweeps and ablations, from what `bench --out` wrote.

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "eval/open_set.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

/// Adds "sweep" or "ablation" to the JSON of a run when the bench file holds one; other files are left alone. `text` is
/// the file, `name` is for messages. Throws bad_input for a file that is no JSON object, is of other data than `data`,
/// or is the second of its kind.
void add_bench_figures(const std::string& text, const std::string& name, const Dataset& data,
                       nlohmann::ordered_json& run);

// Learning in the field, from what `eval --transductive` and `eval --few-shot` wrote.

/// Adds a protocol to "transductive", or "few_shot", to the JSON of a run when the file holds one; other files are left
/// alone. `test` is the evaluation of the run's model. Throws bad_input for a file that is no JSON object, is of other
/// data or of another model, or is the second of its kind.
void add_field_figures(const std::string& text, const std::string& name, const Dataset& data, const Evaluation& test,
                       nlohmann::ordered_json& run);

// Open-set recognition: curves, scores around the thresholds, and inputs of no class.

/// Shares of samples by JudgedSample::above_threshold: {"edges", "known_seen", "known_unseen", "unknown" (percent per
/// bin, or null without samples), "out_of_range": {the same three}}. 0 is an edge. The first and the last bin take what
/// lies beyond them; samples whose evidence is out of range are in no bin.
nlohmann::ordered_json open_set_histogram(std::span<const JudgedSample> samples);

/// The part "open_set" of a run; null for a model without rejection, and where there are no known or no unknown
/// samples.
nlohmann::ordered_json open_set_figures(const Model& model, const Dataset& data, std::uint64_t seed, ThreadPool& pool,
                                        ProgressObserver* progress);

}  // namespace parsnets
