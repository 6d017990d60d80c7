#pragma once
// The table of training options: one row per field of TrainOptions.

#include "base/options.hpp"
#include "parsnets/training.hpp"

namespace parsnets {

/// Refers to `options`, which must outlive it.
OptionTable train_option_table(TrainOptions& options);

/// Sets what the preset (and the method itself) prescribes where the user neither pinned an option nor changed its
/// field.
void apply_preset(TrainOptions& options, const Dataset& data);

/// What apply_preset made smaller than the preset says, since the features have too few dimensions; "" if nothing.
std::string reduced_preset(const TrainOptions& given, const TrainOptions& applied, const Dataset& data);

/// How many networks (at most 200) and dimensions of the encoding (at most 128) a data set of this size can feed.
int most_networks(const Dataset& data);
int most_encoding(const Dataset& data);

/// Reports every impossible combination at once; throws usage.
void validate(const TrainOptions& options);

/// Methods by name, as options and tables spell them.
const std::vector<std::pair<std::string, Method>>& method_names();

}  // namespace parsnets
