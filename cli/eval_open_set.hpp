#pragma once
// The results of open-set recognition as eval prints them, apart from those of other protocols.

#include <string>
#include <vector>

#include "parsnets/open_set_evaluation.hpp"

namespace parsnets::cli {

/// The value of --unknown-classes: names, or all unseen classes for "all", or none for "". Throws usage.
std::vector<std::string> parse_unknown_classes(const std::string& text, const Dataset& data);

/// Three tables: how well scores tell unknown samples, what the thresholds accept, and inputs of no class.
std::string open_set_text(const OpenSetEvaluation& result, const Rejection& rejection);

}  // namespace parsnets::cli
