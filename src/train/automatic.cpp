#include "train/automatic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "model/names.hpp"
#include "parsnets/error.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

/// A richer model must beat the best so far by this much, in points, or the simpler one stays.
constexpr double kNoise = 0.15;

struct Round {
  const char* name;
  const char* grid;
  double margin;
};

/// From cheap and decisive to costly and subtle. "@scalings" stands for the two feature scalings that did best for
/// plain ridge, "@steps" for numbers of steps around the best so far.
constexpr Round kRounds[] = {
    {"plain ridge", "method=ridge;feature-scaling=sqrt-l2,l2,none,standardize;lambda=0.1,0.3,1,3,10", 0},
    {"refinement",
     "method=parsnets;fit=ridge;gates=always;mmg=0;joint-steps=0;semantic-whitening=0.25;feature-scaling=@scalings;"
     "lambda=2,8,30;refine-steps=0,2,4,6,8,10,12,15,18,22;prototype-width=0,1.4",
     0},
    {"class space", "semantic-whitening=0,0.15,0.35,0.5;refine-steps=@steps;prototype-width=0,1.4", 0},
    {"strength", "lambda=1,4,15,60;refine-steps=@steps;prototype-width=0,1,1.4,2", 0},
    {"pace", "refine-sharpness=5,10;refine-rate=0.5;refine-steps=@steps", kNoise},
    {"balance", "balance=0.5;refine-steps=@steps", kNoise},
    {"class scaling", "semantic-scaling=standardize,centre-l2;refine-steps=@steps", kNoise},
    {"gates",
     "gates=anchor;encoding=128;rotation=identity;networks=200;shared=true;open=20,60;gate-weight=0.3,1;"
     "refine-steps=@steps",
     0},
    {"margin geometry", "mmg=0.1,0.3;refine-steps=@steps", kNoise},
};

std::string steps_around(int best) {
  std::string text;
  int last = 0;
  for (const double factor : {0.25, 0.4, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0}) {
    const int steps = std::max(last + 1, static_cast<int>(std::lround(factor * std::max(best, 4))));
    text += fmt::format("{}{}", text.empty() ? "" : ",", steps);
    last = steps;
  }
  return text;
}

/// The two feature scalings that did best for plain ridge, as a list of values.
std::string best_two_scalings(const std::vector<Candidate>& candidates) {
  std::vector<std::pair<double, std::string>> best;
  for (const auto& [name, scaling] : feature_scaling_names()) {
    double merit = -1;
    for (const auto& c : candidates)
      if (*c.options.preprocessing.feature_scaling == scaling) merit = std::max(merit, c.result.merit());
    best.emplace_back(-merit, name);
  }
  std::sort(best.begin(), best.end());
  return best[0].second + "," + best[1].second;
}

}  // namespace

Selected search_automatically(Candidates& evaluator, const Dataset& data, const TrainOptions& options,
                              ProgressObserver* progress) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  const auto out_of_time = [&] { return options.search.time_budget > 0 && seconds() > options.search.time_budget; };
  const TrainOptions resolved = resolve_options(options, data);
  TrainOptions fixed = options;
  const OptionTable given = train_option_table(fixed);
  Selected selected;
  bool have = false;
  std::string scalings = "sqrt-l2,l2", problem;
  for (const auto& round : kRounds) {
    if (have && out_of_time()) {
      selected.left_out.push_back(round.name);
      continue;
    }
    const TrainOptions base = have ? selected.winner.options : resolved;
    std::vector<GridAxis> axes;
    std::string grid = round.grid;
    const auto put = [&](const std::string& token, const std::string& values) {
      if (const auto place = grid.find(token); place != std::string::npos) grid.replace(place, token.size(), values);
    };
    put("@scalings", scalings);
    put("@steps", steps_around(*base.refinement.steps));
    for (auto& axis : parse_grid(grid, base)) {
      if (given.is_set(axis.option)) continue;
      if (axis.option == "networks") axis.values = {std::to_string(most_networks(data))};
      if (axis.option == "encoding") axis.values = {std::to_string(most_encoding(data))};
      axes.push_back(std::move(axis));
    }
    auto candidates = combinations(base, axes);
    std::erase_if(candidates, [&](Candidate& c) {
      if (!given.is_set("open")) c.options.gates.open = std::min(*c.options.gates.open, *c.options.gates.networks);
      try {
        validate(c.options);
        return false;
      } catch (const Error& error) {
        problem = error.message(option_name);  // an option that was given rules it out
        return true;
      }
    });
    if (candidates.empty()) continue;
    report_message(progress,
                   fmt::format("auto: {} ({} candidates, {:.0f} s so far)", round.name, candidates.size(), seconds()));
    const std::size_t wanted = candidates.size();
    evaluator.evaluate(candidates, {}, out_of_time);
    if (candidates.size() < wanted)
      selected.left_out.push_back(
          fmt::format("{}: {} of {} candidates", round.name, wanted - candidates.size(), wanted));
    for (auto& candidate : candidates) {
      candidate.result.choice = fmt::format("{}: {}", round.name, candidate.result.choice);
      selected.trace.push_back(candidate.result);
    }
    const auto best =
        std::max_element(candidates.begin(), candidates.end(),
                         [](const Candidate& a, const Candidate& b) { return a.result.merit() < b.result.merit(); });
    if (!have || best->result.merit() > selected.winner.result.merit() + round.margin) selected.winner = *best;
    if (!have) scalings = best_two_scalings(candidates);
    have = true;
  }
  if (!have) throw Error(ErrorCode::usage, option_name("preset", "auto") + ": " + problem);
  std::vector<Candidate> winner{selected.winner};
  evaluator.evaluate(winner);  // with its temperature
  selected.winner = std::move(winner[0]);
  return selected;
}

}  // namespace parsnets
