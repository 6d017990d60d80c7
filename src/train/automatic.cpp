#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "train/selection.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

/// The options that a round's grid is set on top of: those of the best candidate so far, or the defaults.
enum class Start { best, defaults };

struct Round {
  const char* name;
  Start start;
  const char* grid;
  bool needed = false;  ///< whatever time it takes
};

/// From cheap and decisive to costly and subtle. A grid may be several, separated by "|". "@shrinkage" stands for
/// values around the default, "@more" for more steps than the best so far if it took the most that were tried,
/// "@weights" for weights of several tables of semantics, "@networks" and "@encoding" for what the data can feed. The
/// closed form of class space is fitted once for all class prototypes.
constexpr int kMostSteps = 8;
constexpr Round kRounds[] = {
    {"class space", Start::defaults,
     "networks=0;refine-steps=0;attribute-steps=0;feature-scaling=sqrt-l2,l2,standardize|"
     "networks=0;refine-steps=0;attribute-steps=0;shrinkage=@shrinkage"},
    {"tables of semantics", Start::best, "semantic-weights=@weights"},
    {"class prototypes", Start::best,
     "semantic-whitening=0,0.2,0.35,0.5,0.7;prototype-lambda=0.1,0.3,1;prototype-width=0,0.8,1.2,1.6|"
     "prototype-lambda=0.03,3;prototype-width=0,1.2"},
    {"tables and prototypes", Start::best, "semantic-weights=@weights"},
    {"attribute weights", Start::best, "attribute-steps=2,5,8,12|prior-samples=10,100,1000"},
    {"defaults", Start::defaults, "", true},
    {"refinement and gates", Start::best,
     "networks=0;refine-steps=1,2,3,4,6,8|"
     "networks=@networks;active=@active;encoding=@encoding;gate-weight=1,3;refine-steps=2,3,4,6,8"},
    {"more steps", Start::best, "refine-steps=@more"},
};

class StagedSearch {
 public:
  StagedSearch(Candidates& evaluator, const Dataset& data, const TrainOptions& options, ProgressObserver* progress)
      : evaluator_(evaluator),
        data_(data),
        options_(options),
        fixed_(changed_options(options)),
        defaults_(resolve_options(options, data)),
        progress_(progress) {}

  Selected run() {
    for (const Round& round : kRounds) {
      if (best_ && !round.needed && evaluator_.any_process(out_of_time()))
        selected_.left_out.push_back(round.name);
      else if (has_tables_for(round))
        look(round);
    }
    selected_.winner = better_than_defaults() ? *best_ : *usual_;
    selected_.field = evaluator_.evaluate_winner(selected_.winner);
    return std::move(selected_);
  }

 private:
  /// What the search gains on a fold by what it would choose on the others: of many candidates the best is better on
  /// its own folds by chance. By more than one standard error.
  bool better_than_defaults() {
    const std::size_t folds = usual_->merits.size();
    std::vector<double> gains(folds);
    for (std::size_t f = 0; f < folds; ++f) {
      const auto on_others = [&](const std::vector<double>& merits) {
        return std::accumulate(merits.begin(), merits.end(), 0.0) - (folds > 1 ? merits[f] : 0);
      };
      gains[f] = (*std::ranges::max_element(merits_, {}, on_others))[f] - usual_->merits[f];
    }
    const double count = static_cast<double>(folds), mean = std::accumulate(gains.begin(), gains.end(), 0.0) / count;
    double squares = 0;
    for (const double gain : gains) squares += (gain - mean) * (gain - mean);
    ValidationRecord& told = selected_.validation;
    told.default_zsl = usual_->result.zsl;
    told.default_h = usual_->result.h;
    told.gain = mean;
    told.gain_error = folds > 1 ? std::sqrt(squares / (count - 1) / count) : 0;
    return told.gain > told.gain_error;
  }

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  bool out_of_time() const { return options_.search.time_budget > 0 && seconds() > options_.search.time_budget; }

  bool has_tables_for(const Round& round) const {
    const bool weighs = std::string_view(round.grid).find("@weights") != std::string_view::npos;
    return !weighs || (!data_.semantics.tables.empty() && !fixed_.contains("semantic-weights"));
  }

  TrainOptions start_of(const Round& round) const {
    if (round.start == Start::best) return best_->options;
    TrainOptions o = defaults_;
    if (best_ && !fixed_.contains("semantic-weights"))
      semantics_of(o.method).weights = semantics_of(best_->options.method).weights;
    return o;
  }

  std::string with_values(std::string grid, const TrainOptions& base) const {
    const auto put = [&](const std::string& token, const std::string& values) {
      for (auto place = grid.find(token); place != std::string::npos; place = grid.find(token))
        grid.replace(place, token.size(), values);
    };
    const std::size_t n = data_.split.trainval.size();
    const double usual = std::get<ParsNetsOptions>(defaults_.method).shrinkage;
    const int networks = std::min(100, most_networks(n));
    put("@shrinkage", fmt::format("{},{},{}", usual / 5, usual / 2, usual * 2.5));
    put("@more", fmt::format("{},{}", kMostSteps * 3 / 2, kMostSteps * 2));
    put("@networks", std::to_string(networks));
    put("@active", std::to_string(std::min(10, networks)));
    put("@encoding", std::to_string(std::min(64, most_encoding(data_.features.cols(), n))));
    std::string weights;
    if (const std::size_t tables = data_.semantics.tables.size(); tables > 1) {
      const auto& given = semantics_of(base.method).weights;
      for (const auto& w : weights_around(given.empty() ? equal_weights(tables) : given))
        weights += (weights.empty() ? "" : ",") + weights_text(w);
    }
    put("@weights", weights);
    return grid;
  }

  std::vector<GridAxis> axes_of(const std::string& grid, const TrainOptions& base) const {
    std::vector<GridAxis> axes = parse_grid(with_values(grid, base), base);
    std::erase_if(axes, [&](const GridAxis& axis) { return fixed_.contains(axis.option); });
    return axes;
  }

  void look(const Round& round) {
    const TrainOptions base = start_of(round);
    if (std::string_view(round.grid).find("@more") != std::string_view::npos &&
        std::get<ParsNetsOptions>(base.method).refine_steps < kMostSteps)
      return;
    std::vector<Candidate> candidates;
    for (const auto& grid : split_list(round.grid, '|'))
      std::ranges::move(combinations(base, axes_of(grid, base)), std::back_inserter(candidates));
    if (candidates.empty()) candidates = combinations(base, {});
    for (Candidate& c : candidates) {
      auto& o = std::get<ParsNetsOptions>(c.options.method);
      if (!fixed_.contains("active")) o.active = std::clamp(o.active, 1, std::max(1, o.networks));
    }
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
      merits_.push_back(candidate.merits);
    }
    const auto best = std::ranges::max_element(candidates, {}, [](const Candidate& c) { return c.result.merit(); });
    if (round.needed) usual_ = *best;
    if (!best_ || best->result.merit() > best_->result.merit()) best_ = *best;
  }

  Candidates& evaluator_;
  const Dataset& data_;
  const TrainOptions& options_;
  const std::map<std::string, std::string> fixed_;
  const TrainOptions defaults_;
  ProgressObserver* progress_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Selected selected_;
  std::optional<Candidate> best_, usual_;    ///< usual: the default options
  std::vector<std::vector<double>> merits_;  ///< of every candidate, by fold
};

}  // namespace

Selected search_automatically(Candidates& evaluator, const Dataset& data, const TrainOptions& options,
                              ProgressObserver* progress) {
  return StagedSearch(evaluator, data, options, progress).run();
}

}  // namespace parsnets
