#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "train/selection.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

constexpr double kShares[] = {0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95};

/// The closed form of class space on the same features and, for a model of class space, with the same prototypes.
TrainOptions closed_form(const TrainOptions& resolved, const Dataset& data) {
  ParsNetsOptions o;
  if (const auto* own = std::get_if<ParsNetsOptions>(&resolved.method)) o = *own;
  o.feature_scaling = feature_scaling_of(resolved.method);
  o.semantics.scaling = semantics_of(resolved.method).scaling;
  o.refine_steps = o.networks = 0;
  TrainOptions made;
  made.method = o;
  made.run = resolved.run;
  return resolve_options(made, data);
}

}  // namespace

TableWeights equal_weights(std::size_t tables) { return TableWeights(tables, 1.0 / static_cast<double>(tables)); }

std::string weights_text(const TableWeights& weights) { return fmt::format("{}", fmt::join(weights, ":")); }

std::vector<TableWeights> weights_around(const TableWeights& start) {
  std::vector<TableWeights> around;
  for (std::size_t t = 0; t < (start.size() == 2 ? 1 : start.size()); ++t)
    for (const double share : kShares) {
      TableWeights weights = start;
      for (double& w : weights) w = std::round(1e6 * w * (1 - share) / (1 - start[t])) / 1e6;
      weights[t] = share;
      around.push_back(std::move(weights));
    }
  return around;
}

ChosenWeights search_weights(std::size_t tables, const WeightsJudge& judge) {
  constexpr int kMostPasses = 4;
  ChosenWeights chosen;
  chosen.weights = equal_weights(tables);
  double best = -1;
  for (int pass = 0; pass < (tables == 2 ? 1 : kMostPasses); ++pass) {
    const auto candidates = weights_around(chosen.weights);
    const auto steps = judge(candidates);
    const auto winner = std::ranges::max_element(steps, {}, &SelectionStep::merit);
    chosen.trace.insert(chosen.trace.end(), steps.begin(), steps.end());
    if (winner->merit() <= best) break;
    best = winner->merit();
    chosen.weights = candidates[static_cast<std::size_t>(winner - steps.begin())];
    chosen.choice = winner->choice;
  }
  return chosen;
}

ChosenWeights choose_semantic_weights(const Dataset& data, const TrainOptions& resolved, const std::vector<Fold>& folds,
                                      ThreadPool& pool, ProgressObserver* progress, SamplePlace place) {
  Candidates evaluator(data, folds, pool, progress, place);
  const TrainOptions options = closed_form(resolved, data);
  return search_weights(data.semantics.tables.size(), [&](const std::vector<TableWeights>& weights) {
    GridAxis axis{"semantic-weights", {}};
    for (const auto& w : weights) axis.values.push_back(weights_text(w));
    auto candidates = combinations(options, {axis});
    evaluator.evaluate(candidates);
    std::vector<SelectionStep> steps;
    for (const Candidate& candidate : candidates) steps.push_back(candidate.result);
    return steps;
  });
}

}  // namespace parsnets
