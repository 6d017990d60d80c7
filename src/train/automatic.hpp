#pragma once
// Search auto: a search on validation classes, one group of choices at a time, from the closed form of class space to
// refined, gated networks.

#include "train/selection.hpp"

namespace parsnets {

/// Each round looks at a small grid around the best candidate of its family (baselines, class space, semantic targets),
/// leaving options that are set alone; costly rounds must win by a margin that noise does not give. The default
/// options, ridge and eszsl are among the candidates, so that the result does not fall behind them on the folds. Once
/// search.time_budget is used up no further path is begun.
Selected search_automatically(Candidates& evaluator, const Dataset& data, const TrainOptions& options,
                              ProgressObserver* progress);

}  // namespace parsnets
