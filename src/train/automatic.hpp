#pragma once
// Preset auto: a search from plain ridge upwards, one group of choices at a time, on validation classes.

#include "train/selection.hpp"

namespace parsnets {

/// Each round looks at a small grid around the best candidate so far, leaving options that are set alone; a later round
/// must win by a margin that noise does not give. Once search.time_budget is used up no further path is begun. The
/// first round is plain ridge, so that the result does not fall behind it.
Selected search_automatically(Candidates& evaluator, const Dataset& data, const TrainOptions& options,
                              ProgressObserver* progress);

}  // namespace parsnets
