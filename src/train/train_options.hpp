#pragma once
// The table of training options: one row per field of TrainOptions.

#include "base/options.hpp"
#include "parsnets/training.hpp"

namespace parsnets {

/// Refers to `options`, which must outlive it.
OptionTable train_option_table(TrainOptions& options);

/// The options with what the preset, or the nature of the method, prescribes: a search leaves these fields alone, as it
/// does those that the user has set. The first half of resolve_options().
TrainOptions prescribed_options(const TrainOptions& options, const Dataset& data);

/// What is smaller than the preset says, since the features have too few dimensions; "" if nothing.
std::string reduced_preset(const TrainOptions& resolved, const Dataset& data);

/// How many networks (at most 200) and dimensions of the encoding (at most 128) a data set of this size can feed.
int most_networks(const Dataset& data);
int most_encoding(const Dataset& data);

/// ρ for n samples of d dimensions: the fewer samples per dimension, the less their covariance says.
double usual_shrinkage(std::size_t dimensions, double samples);

/// Reports every impossible combination of resolved options at once; throws usage.
void validate(const TrainOptions& options);

/// Methods by name, as options and tables spell them.
const std::vector<std::pair<std::string, Method>>& method_names();

}  // namespace parsnets
