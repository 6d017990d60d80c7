#pragma once
// The weights of several tables of semantics, chosen on validation classes.

#include <functional>
#include <string>
#include <vector>

#include "parsnets/training.hpp"
#include "train/place_samples.hpp"
#include "train/validation.hpp"

namespace parsnets {

using TableWeights = std::vector<double>;

/// As a value of a grid: "0.1:0.9".
std::string weights_text(const TableWeights& weights);

/// Candidates around `start` (two or more weights that sum to 1): each share from 0.05 to 0.95 for one table, the rest
/// for the others in their proportions. Of two tables the first alone takes them, which says everything.
std::vector<TableWeights> weights_around(const TableWeights& start);

struct ChosenWeights {
  TableWeights weights;              ///< sum to 1
  std::string choice;                ///< of the winner, as in the trace
  std::vector<SelectionStep> trace;  ///< every candidate, in the order looked at
};

/// Figures of each of the weights, in their order.
using WeightsJudge = std::function<std::vector<SelectionStep>(const std::vector<TableWeights>&)>;

/// From equal weights, the best candidate around the best so far, until none is better.
ChosenWeights search_weights(std::size_t tables, const WeightsJudge& judge);

/// The same by the closed form of class space on the folds, whatever `resolved` trains: weights change the places of
/// classes alone there, so that a fold is fitted once for all of them. Throws as train().
ChosenWeights choose_semantic_weights(const Dataset& data, const TrainOptions& resolved, const std::vector<Fold>& folds,
                                      ThreadPool& pool, ProgressObserver* progress, SamplePlace place = {});

}  // namespace parsnets
