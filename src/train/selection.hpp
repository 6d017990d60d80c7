#pragma once
// Searches a grid of options on validation classes.

#include <string>
#include <vector>

#include "parsnets/training.hpp"
#include "train/validation.hpp"

namespace parsnets {

struct GridAxis {
  std::string option;
  std::vector<std::string> values;
};

/// The axes that are searched: those of options.grid, or the method's own without the pinned ones. Throws usage for an
/// unknown option or an impossible value.
std::vector<GridAxis> search_grid(const TrainOptions& options);

struct Selected {
  TrainOptions options;               ///< the winner
  double gamma = 0, temperature = 1;  ///< its calibration, mean over the folds
  double zsl = 0, h = 0;              ///< its validation figures, mean over the folds
  std::vector<SelectionStep> trace;   ///< every candidate, in the order looked at
};

/// Fits every candidate on every fold. The highest mean ZSL accuracy wins, the earlier candidate in a tie.
Selected select_options(const Dataset& data, const TrainOptions& options, const std::vector<Fold>& folds,
                        ThreadPool& pool, ProgressObserver* progress);

}  // namespace parsnets
