#include "train/automatic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include "model/names.hpp"
#include "parsnets/error.hpp"
#include "train/semantic_weights.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

/// A richer model must beat the best so far by this much, in points, or the simpler one stays.
constexpr double kNoise = 0.15;

/// Candidates of one kind of targets, and the baselines, compete among themselves first.
enum class Family { baseline, classes, semantics };
constexpr std::size_t kFamilies = 3;

/// The options that a round's grid is set on top of: those of the family's best candidate so far, or defaults.
enum class Start { best, ridge, eszsl, classes, semantics };

struct Round {
  const char* name;
  Family family;
  Start start;
  const char* grid;
  double margin = 0;
};

/// From cheap and decisive to costly and subtle. A grid may be several, separated by "|". "@shrinkage" stands for
/// values around the default, "@scaling" for the feature scaling of the best candidate of class space, "@steps" for
/// numbers of steps around the best so far, "@more" for more steps than that, if it took the most that were tried,
/// "@weights" for weights of several tables of semantics. The closed form of class space is fitted once for all places
/// of classes.
constexpr int kMostSteps = 8;
constexpr Round kRounds[] = {
    {"ridge", Family::baseline, Start::ridge, "feature-scaling=sqrt-l2,l2;lambda=0.3,3"},
    {"eszsl", Family::baseline, Start::eszsl, "lambda=1,10"},
    {"class space", Family::classes, Start::classes,
     "gates=always;refine-steps=0;attribute-steps=0;feature-scaling=sqrt-l2,l2,standardize|"
     "gates=always;refine-steps=0;attribute-steps=0;shrinkage=@shrinkage"},
    {"tables of semantics", Family::classes, Start::best, "semantic-weights=@weights"},
    {"places of classes", Family::classes, Start::best,
     "semantic-whitening=0,0.2,0.35,0.5,0.7;prototype-lambda=0.1,0.3,1;prototype-width=0,0.8,1.2,1.6|"
     "prototype-lambda=0.03,3;prototype-width=0,1.2"},
    {"tables and places", Family::classes, Start::best, "semantic-weights=@weights"},
    {"attribute weights", Family::classes, Start::best, "attribute-steps=2,5,8,12|prior-samples=10,100,1000"},
    {"defaults", Family::classes, Start::classes, ""},
    {"refinement and gates", Family::classes, Start::best,
     "gates=always;refine-steps=1,2,3,4,6,8|"
     "gates=anchor;encoding=64;rotation=identity;networks=100;open=10;shared=true;gate-weight=1,3;"
     "refine-steps=2,3,4,6,8"},
    {"more steps", Family::classes, Start::best, "refine-steps=@more"},
    {"margin geometry", Family::classes, Start::best, "mmg=0.1", kNoise},
    {"semantic targets", Family::semantics, Start::semantics,
     "gates=always;mmg=0;feature-scaling=@scaling;refine-steps=0,6,12;prototype-width=0,1.4"},
    {"semantic space", Family::semantics, Start::best,
     "semantic-whitening=0,0.15,0.35,0.5;refine-steps=@steps;prototype-width=0,1.4"},
    {"strength", Family::semantics, Start::best, "lambda=1,4,15,60;refine-steps=@steps;prototype-width=0,1,1.4,2"},
    {"balance", Family::semantics, Start::best, "balance=0.5;refine-steps=@steps", kNoise},
    {"class scaling", Family::semantics, Start::best, "semantic-scaling=standardize,centre-l2;refine-steps=@steps",
     kNoise},
    {"semantic gates", Family::semantics, Start::best,
     "gates=anchor;encoding=128;rotation=identity;networks=200;shared=true;open=20,60;gate-weight=0.3,1;"
     "refine-steps=@steps"},
    {"two heads", Family::classes, Start::best, "semantic-head=0.15,0.4,1", kNoise},
};

std::string steps_around(int best) {
  std::string text;
  int last = 0;
  for (const double factor : {0.4, 0.7, 1.0, 1.4, 2.0}) {
    const int steps = std::max(last + 1, static_cast<int>(std::lround(factor * std::max(best, 2))));
    text += fmt::format("{}{}", text.empty() ? "" : ",", steps);
    last = steps;
  }
  return text;
}

class Search {
 public:
  Search(Candidates& evaluator, const Dataset& data, const TrainOptions& options, ProgressObserver* progress)
      : evaluator_(evaluator),
        data_(data),
        options_(options),
        fixed_(options),
        given_(train_option_table(fixed_)),
        progress_(progress) {}

  Selected run() {
    for (const Round& round : kRounds) {
      if (!selected_.trace.empty() && evaluator_.any_process(out_of_time()))
        selected_.left_out.push_back(round.name);
      else if ((round.start != Start::best || is_worth_refining(round.family)) && has_tables_for(round))
        look(round);
    }
    if (selected_.trace.empty()) throw Error(ErrorCode::usage, option_name("preset", "auto") + ": " + problem_);
    std::vector<Candidate> winner{**std::ranges::max_element(best_, {}, merit_of)};
    selected_.field = evaluator_.evaluate_winner(winner);
    selected_.winner = std::move(winner[0]);
    return std::move(selected_);
  }

 private:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  bool out_of_time() const { return options_.search.time_budget > 0 && seconds() > options_.search.time_budget; }

  static double merit_of(const std::optional<Candidate>& c) { return c ? c->result.merit() : -1; }
  std::optional<Candidate>& best_of(Family family) { return best_[static_cast<std::size_t>(family)]; }

  /// Class space is searched to its end; semantic targets only while they are ahead of it.
  bool is_worth_refining(Family family) {
    return best_of(family) &&
           (family != Family::semantics || merit_of(best_of(family)) > merit_of(best_of(Family::classes)));
  }

  bool has_tables_for(const Round& round) const {
    const bool weighs = std::string_view(round.grid).find("@weights") != std::string_view::npos;
    return !weighs || (!data_.semantics.tables.empty() && !given_.is_set("semantic-weights"));
  }

  TrainOptions start_of(const Round& round) {
    if (round.start == Start::best) return best_of(round.family)->options;
    TrainOptions o = options_;
    o.preset = Preset::none;
    if (round.start == Start::ridge) o.method = Method::ridge;
    if (round.start == Start::eszsl) o.method = Method::eszsl;
    if (!given_.is_set("targets"))
      o.class_space.targets = round.start == Start::classes ? Targets::classes : Targets::semantics;
    if (const auto& placed = best_of(Family::classes); placed && !given_.is_set("semantic-weights"))
      o.preprocessing.semantic_weights = placed->options.preprocessing.semantic_weights;
    TrainOptions resolved = resolve_options(o, data_);
    resolved.preset = Preset::automatic;
    return resolved;
  }

  std::string with_values(std::string grid, const TrainOptions& base) {
    const auto put = [&](const std::string& token, const std::string& values) {
      for (auto place = grid.find(token); place != std::string::npos; place = grid.find(token))
        grid.replace(place, token.size(), values);
    };
    const double usual = *base.class_space.shrinkage;
    put("@shrinkage", fmt::format("{},{},{}", usual / 5, usual / 2, usual * 2.5));
    const auto& placed = best_of(Family::classes);
    put("@scaling", name_of(feature_scaling_names(), *(placed ? placed->options : base).preprocessing.feature_scaling));
    put("@steps", steps_around(*base.refinement.steps));
    put("@more", fmt::format("{},{}", kMostSteps * 3 / 2, kMostSteps * 2));
    std::string weights;
    if (const std::size_t tables = data_.semantics.tables.size(); tables > 1)
      for (const auto& w : weights_around(
               base.preprocessing.semantic_weights.value_or(TableWeights(tables, 1.0 / static_cast<double>(tables)))))
        weights += (weights.empty() ? "" : ",") + weights_text(w);
    put("@weights", weights);
    return grid;
  }

  std::vector<GridAxis> axes_of(const std::string& grid, const TrainOptions& base) {
    std::vector<GridAxis> axes;
    for (auto& axis : parse_grid(with_values(grid, base), base)) {
      if (given_.is_set(axis.option)) continue;
      const auto at_most = [&](int most) { axis.values = {std::to_string(std::min(std::stoi(axis.values[0]), most))}; };
      if (axis.option == "networks") at_most(most_networks(data_));
      if (axis.option == "encoding") at_most(most_encoding(data_));
      axes.push_back(std::move(axis));
    }
    return axes;
  }

  void look(const Round& round) {
    const TrainOptions base = start_of(round);
    if (std::string_view(round.grid).find("@more") != std::string_view::npos && *base.refinement.steps < kMostSteps)
      return;
    std::vector<Candidate> candidates;
    for (const auto& grid : split_list(round.grid, '|'))
      std::ranges::move(combinations(base, axes_of(grid, base)), std::back_inserter(candidates));
    if (candidates.empty()) candidates = combinations(base, {});
    std::erase_if(candidates, [&](Candidate& c) {
      if (!given_.is_set("open")) c.options.gates.open = std::min(*c.options.gates.open, *c.options.gates.networks);
      try {
        validate(c.options);
        return !evaluator_.can_fit(c.options);
      } catch (const Error& error) {
        problem_ = error.message();  // what was given does not go with it
        return true;
      }
    });
    if (candidates.empty()) return;
    report_message(progress_,
                   fmt::format("auto: {} ({} candidates, {:.0f} s so far)", round.name, candidates.size(), seconds()));
    const std::size_t wanted = candidates.size();
    evaluator_.evaluate(candidates, {}, [this] { return out_of_time(); });
    if (candidates.size() < wanted)
      selected_.left_out.push_back(
          fmt::format("{}: {} of {} candidates", round.name, wanted - candidates.size(), wanted));
    for (auto& candidate : candidates) {
      candidate.result.choice = fmt::format("{}: {}", round.name, candidate.result.choice);
      selected_.trace.push_back(candidate.result);
    }
    const auto best = std::ranges::max_element(candidates, {}, [](const Candidate& c) { return c.result.merit(); });
    if (best->result.merit() > merit_of(best_of(round.family)) + round.margin) best_of(round.family) = *best;
  }

  Candidates& evaluator_;
  const Dataset& data_;
  const TrainOptions& options_;
  TrainOptions fixed_;
  const OptionTable given_;
  ProgressObserver* progress_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Selected selected_;
  std::array<std::optional<Candidate>, kFamilies> best_;
  std::string problem_;
};

}  // namespace

Selected search_automatically(Candidates& evaluator, const Dataset& data, const TrainOptions& options,
                              ProgressObserver* progress) {
  return Search(evaluator, data, options, progress).run();
}

}  // namespace parsnets
