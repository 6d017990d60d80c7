#pragma once
// Open-set recognition: curves, scores around the thresholds, and inputs of no class.

#include <nlohmann/json.hpp>
#include <span>

#include "parsnets/open_set_evaluation.hpp"

namespace parsnets {

/// Shares of samples by JudgedSample::above_threshold: {"edges", "known_seen", "known_unseen", "unknown" (percent per
/// bin, or null without samples), "out_of_range": {the same three}}. 0 is an edge. The first and the last bin take what
/// lies beyond them; samples whose evidence is out of range are in no bin.
nlohmann::ordered_json open_set_histogram(std::span<const JudgedSample> samples);

/// The part "open_set" of a run; null for a model without rejection, and where there are no known or no unknown
/// samples.
nlohmann::ordered_json open_set_figures(const Model& model, const Dataset& data, std::uint64_t seed, ThreadPool& pool,
                                        ProgressObserver* progress);

}  // namespace parsnets
