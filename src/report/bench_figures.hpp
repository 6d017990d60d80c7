#pragma once
// Figures from what `bench --out` and `eval --out` wrote, and of open-set recognition.

#include <nlohmann/json.hpp>
#include <span>

#include "eval/open_set.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/evaluation.hpp"
#include "report/report.hpp"

namespace parsnets {

/// Adds "sweep", "ablation", a protocol to "transductive", or "few_shot" to the JSON of a run when the file holds one;
/// other files are left alone. `test` is the evaluation of the run's model. Throws bad_input for a file that is no JSON
/// object, is of other data than `data`, of learning in the field by another model, or the second of its kind.
void add_file_figures(const BenchFile& file, const Dataset& data, const Evaluation& test, nlohmann::ordered_json& run);

/// Shares of samples by JudgedSample::above_threshold: {"edges", "known_seen", "known_unseen", "unknown" (percent per
/// bin, or null without samples), "out_of_range": {the same three}}. 0 is an edge. The first and the last bin take what
/// lies beyond them; samples whose evidence is out of range are in no bin.
nlohmann::ordered_json open_set_histogram(std::span<const JudgedSample> samples);

/// The part "open_set" of a run; null for a model without rejection, and where there are no known or no unknown
/// samples.
nlohmann::ordered_json open_set_figures(const Model& model, const Dataset& data, std::uint64_t seed, ThreadPool& pool,
                                        ProgressObserver* progress);

}  // namespace parsnets
