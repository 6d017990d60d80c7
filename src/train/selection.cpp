#include "train/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "features/preprocess.hpp"
#include "parsnets/error.hpp"
#include "train/fit_checkpoint.hpp"
#include "train/place_classes.hpp"
#include "train/place_samples.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

constexpr double kSelectionTolerance = 5e-3;
constexpr double kMatrices = 32, kMostKept = 1.5e9;  // bytes of a fold's d x d matrices per value; of all kept folds

/// Each process has added the folds that it fitted.
void sum_results(std::vector<Candidate>& candidates, Processes& group) {
  std::vector<double> sums;
  for (const Candidate& c : candidates) {
    sums.insert(sums.end(), {c.result.zsl, c.result.h, c.gamma, c.temperature});
    sums.insert(sums.end(), c.merits.begin(), c.merits.end());
  }
  group.sum(std::span<double>(sums));
  auto next = sums.begin();
  for (Candidate& c : candidates) {
    for (double* value : {&c.result.zsl, &c.result.h, &c.gamma, &c.temperature}) *value = *next++;
    for (double& merit : c.merits) merit = *next++;
  }
}

}  // namespace

std::vector<std::string> split_list(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

std::vector<GridAxis> parse_grid(const std::string& text, const TrainOptions& options, std::string_view option) {
  const std::string given_to = option_name(option);
  std::vector<GridAxis> axes;
  for (const auto& part : split_list(text, ';')) {
    const auto equals = part.find('=');
    if (equals == std::string::npos)
      throw Error(ErrorCode::usage, fmt::format("{}: expected name=v1,v2, found '{}'", given_to, part));
    axes.push_back({part.substr(0, equals), split_list(part.substr(equals + 1), ',')});
  }
  TrainOptions probe = options;
  const OptionTable table = train_option_table(probe);
  for (const auto& axis : axes) {
    const Option* row = table.find(axis.option);
    if (row == nullptr)
      throw Error(ErrorCode::usage, fmt::format("{}: unknown training option '{}'{}", given_to, axis.option,
                                                table.suggestion(axis.option)));
    if (axis.values.empty())
      throw Error(ErrorCode::usage, fmt::format("{}: {}: expected values, found none", given_to, axis.option));
    for (const auto& value : axis.values)
      if (const auto expected = row->assign(value))
        throw Error(ErrorCode::usage, fmt::format("{}: {}: expected {}, found '{}'{}", given_to, axis.option, *expected,
                                                  value, did_you_mean(value, row->choices)));
  }
  return axes;
}

std::vector<GridAxis> search_grid(const TrainOptions& options, const Dataset& data) {
  if (!options.search.grid.empty()) return parse_grid(options.search.grid, options);
  TrainOptions resolved = resolve_options(options, data);
  const auto fixed = changed_options(options);
  std::vector<GridAxis> axes;
  const OptionTable table = train_option_table(resolved);
  for (const Option& option : table.options()) {
    if (option.tries.empty() || fixed.contains(option.name)) continue;
    GridAxis axis{option.name, option.tries};
    if (option.name == "active")  // networks that a small data set does not have cannot be active
      std::erase_if(axis.values,
                    [&](const std::string& k) { return std::stoi(k) > table.find("networks")->value().get<int>(); });
    if (!axis.values.empty()) axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<Candidate> combinations(const TrainOptions& options, const std::vector<GridAxis>& axes) {
  std::size_t count = 1;
  for (const auto& axis : axes) count *= axis.values.size();
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < count; ++i) {
    Candidate candidate{options, {}, 0, 1};
    OptionTable table = train_option_table(candidate.options);
    std::size_t rest = i, block = count;
    for (const auto& axis : axes) {
      block /= axis.values.size();
      const std::string& value = axis.values[rest / block];
      rest %= block;
      table.find(axis.option)->assign(value);
      candidate.result.choice += (candidate.result.choice.empty() ? "" : " ") + axis.option + "=" + value;
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

Candidates::Candidates(const Dataset& data, const std::vector<Fold>& folds, ThreadPool& pool,
                       ProgressObserver* progress, SamplePlace place, bool keeps_folds)
    : data_(data),
      folds_(folds),
      pool_(pool),
      progress_(progress),
      place_(place),
      fitters_(folds.size()),
      keeps_folds_(keeps_folds) {}

bool Candidates::any_process(bool says) const {
  std::uint64_t count = says ? 1 : 0;
  if (place_.group != nullptr) place_.group->sum(std::span<std::uint64_t>(&count, 1));
  return count > 0;
}

bool Candidates::shares_fits() const { return place_.size() > 1 && place_.kept && field_folds_ == nullptr; }

Fitter& Candidates::fitter(std::size_t fold) {
  FoldFitter& mine = fitters_[fold];
  if (!mine.fitter || mine.alone != alone_) {
    for (FoldFitter& other : fitters_)
      if (!keeps_folds_ || &other == &mine) other.fitter.reset();
    mine = {std::make_unique<Fitter>(data_, folds_[fold].fit, pool_, progress_, alone_ ? SamplePlace{} : place_),
            alone_};
  }
  return *mine.fitter;
}

/// The results of the candidates, in their order.
std::vector<FoldResult> Candidates::evaluate_path(std::span<const Candidate* const> path, std::size_t fold, bool quick,
                                                  const std::filesystem::path& checkpoint) {
  const Fold& split = folds_[fold];
  std::vector<FoldResult> results(path.size());
  alone_ = place_.size() > 1 && place_.kept && (shares_fits() || needs_all_samples(path[0]->options.method));
  const auto tell = [&](std::size_t i, const FoldResult& result) {
    results[i] = result;
    if (quick)
      report_message(progress_, fmt::format("fold {}/{}  {:>5.2f} ZSL  {:>5.2f} H  {}", fold + 1, folds_.size(),
                                            result.zsl, result.h, path[i]->result.choice));
  };
  TrainOptions longest = path[0]->options;
  auto* class_space = std::get_if<ParsNetsOptions>(&longest.method);
  if (class_space == nullptr) {
    // Candidates are told apart well before the final certificate's precision.
    if (auto* paper = std::get_if<PaperOptions>(&longest.method); paper != nullptr && quick)
      paper->tolerance = std::max(paper->tolerance, kSelectionTolerance);
    const Model model = fitter(fold).fit(longest, checkpoint);
    for (std::size_t i = 0; i < path.size(); ++i) tell(i, evaluate_fold(model, data_, split, pool_));
    return results;
  }
  const auto options_of = [&](std::size_t i) -> const ParsNetsOptions& {
    return std::get<ParsNetsOptions>(path[i]->options.method);
  };
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < path.size(); ++i) {
    class_space->refine_steps = std::max(class_space->refine_steps, options_of(i).refine_steps);
    waiting.push_back(i);
  }
  const auto evaluate_at = [&](int steps, Model& model, const ClassMeans& means, bool last) {
    const auto due = [&](std::size_t i) { return options_of(i).refine_steps == steps || last; };
    if (std::ranges::none_of(waiting, due)) return;
    const Matrix<float> unseen = predict_rows(model, data_, split.unseen, pool_),
                        seen = split.seen.empty() ? Matrix<float>() : predict_rows(model, data_, split.seen, pool_);
    for (const std::size_t i : waiting) {
      if (!due(i)) continue;
      if (steps == 0) {  // the closed form is the same for all prototypes
        model.semantic_preprocess = fit_place_semantics(options_of(i), data_.semantics, means);
        place_classes(model, means, options_of(i));
      }
      const Predictor predictor(model, pool_);
      const auto scores_of = [&](const Matrix<float>& f) {
        return [&](const ScoreVisitor& visit) { predictor.compare(f.view(), pool_, visit); };
      };
      tell(i, evaluate_fold(scores_of(unseen), scores_of(seen), data_, split, quick ? nullptr : &pool_));
      if (field_folds_ != nullptr)
        field_folds_->push_back(field_fold({model, predictor.classes(), unseen, seen}, data_, split, results[i].gamma,
                                           path[i]->options.run.seed));
    }
    std::erase_if(waiting, due);
  };
  int reached = 0;
  ClassMeans last_means;
  Model model =
      fitter(fold).fit(longest, checkpoint, nullptr, [&](int steps, Model& moved, const DescentOutputs& outputs) {
        reached = steps;
        evaluate_at(steps, moved, outputs.means, false);
        last_means = {outputs.means.classes, outputs.means.samples,
                      Matrix<double>::copy_of(outputs.means.means.view())};
        return !waiting.empty();
      });
  evaluate_at(reached, model, last_means, true);  // descent may end before the steps do
  return results;
}

void Candidates::evaluate(std::vector<Candidate>& candidates, const std::filesystem::path& checkpoint,
                          const std::function<bool()>& stop) {
  std::map<std::string, std::vector<Candidate*>> paths;
  std::vector<std::string> order;
  for (auto& candidate : candidates) {
    validate(candidate.options);
    TrainOptions key = candidate.options;
    if (auto* o = std::get_if<ParsNetsOptions>(&key.method)) {
      if (o->refine_steps == 0) {  // prototypes follow from the same closed form
        const ParsNetsOptions usual;
        std::tie(o->semantics, o->prototype_width, o->prototype_lambda, o->attribute_steps, o->prior_samples) =
            std::tie(usual.semantics, usual.prototype_width, usual.prototype_lambda, usual.attribute_steps,
                     usual.prior_samples);
      }
      o->refine_steps = std::min(o->refine_steps, 1);
    }
    const std::string text = options_text(key);
    if (paths[text].empty()) order.push_back(text);
    paths[text].push_back(&candidate);
    candidate.result.zsl = candidate.result.h = candidate.gamma = candidate.temperature = 0;
    candidate.merits.assign(folds_.size(), 0);
  }
  const bool shares = shares_fits();
  const double share = 1.0 / static_cast<double>(folds_.size());
  std::vector<std::uint64_t> cut(order.size(), 0);  // paths that were not begun on the first fold
  for (std::size_t f = 0; f < folds_.size(); ++f) {
    for (std::size_t p = 0; p < order.size(); ++p) {
      auto& path = paths[order[p]];
      const std::size_t fit = f * order.size() + p;
      // Neighbouring fits have stages in common: each process has paths of its own on a fold.
      if (shares && p * place_.size() / order.size() != (place_.group->rank() + f) % place_.size()) continue;
      if (f == 0 && p > 0 && stop) cut[p] = shares ? stop() : any_process(stop());
      if (cut[p] > 0) continue;
      report(progress_, {candidates.size() > 1 ? "select" : "calibrate", fit, folds_.size() * order.size(), "fits"});
      const auto results =
          candidates.size() > 1 || checkpoint.empty()
              ? evaluate_path(path, f, candidates.size() > 1, {})
              : std::vector{evaluate_one(*path[0], f, checkpoint.string() + ".fold" + std::to_string(f))};
      for (std::size_t i = 0; i < path.size(); ++i) {
        path[i]->merits[f] = (results[i].zsl + results[i].h) / 2;
        path[i]->result.zsl += share * results[i].zsl;
        path[i]->result.h += share * results[i].h;
        path[i]->gamma += share * results[i].gamma;
        path[i]->temperature += share * results[i].temperature;
      }
    }
    if (f == 0 && shares) place_.group->sum(std::span<std::uint64_t>(cut));
  }
  if (shares) sum_results(candidates, *place_.group);
  std::set<const Candidate*> left_out;
  for (std::size_t p = 0; p < order.size(); ++p)
    if (cut[p] > 0) left_out.insert(paths[order[p]].begin(), paths[order[p]].end());
  std::erase_if(candidates, [&](const Candidate& candidate) { return left_out.contains(&candidate); });
}

/// A fold that is done is not fitted again.
FoldResult Candidates::evaluate_one(const Candidate& candidate, std::size_t fold,
                                    const std::filesystem::path& checkpoint) {
  const std::filesystem::path done = checkpoint.string() + ".done";
  std::vector<std::int32_t> judged = folds_[fold].unseen;
  judged.insert(judged.end(), folds_[fold].seen.begin(), folds_[fold].seen.end());
  const std::string fingerprint = fit_fingerprint(data_, folds_[fold].fit, candidate.options, judged);
  if (candidate.options.run.resume && first_process_has(done, place_.group)) {
    FoldState state = load_fold(done, fingerprint);
    if (state.field && field_folds_ != nullptr) field_folds_->push_back(std::move(*state.field));
    return state.result;
  }
  const std::size_t fields = field_folds_ == nullptr ? 0 : field_folds_->size();
  const Candidate* path[] = {&candidate};
  FoldState state;
  state.result = evaluate_path(path, fold, false, checkpoint)[0];
  if (place_.group != nullptr && place_.group->rank() > 0) return state.result;
  if (field_folds_ != nullptr && field_folds_->size() > fields) state.field = std::move(field_folds_->back());
  save_fold(done, fingerprint, state);
  if (state.field) field_folds_->back() = std::move(*state.field);
  return state.result;
}

std::optional<FieldChoice> Candidates::evaluate_winner(Candidate& winner, const std::filesystem::path& checkpoint) {
  std::vector<FieldFold> field_folds;
  field_folds_ = &field_folds;
  std::vector<Candidate> one{std::move(winner)};
  evaluate(one, checkpoint);
  field_folds_ = nullptr;
  winner = std::move(one[0]);
  return choose_field(field_folds, winner.options.run.seed, pool_);
}

Selected select_options(const Dataset& data, const TrainOptions& options, const std::vector<Fold>& folds,
                        ThreadPool& pool, ProgressObserver* progress, SamplePlace place) {
  const double n = static_cast<double>(data.split.trainval.size()), d = static_cast<double>(data.features.cols());
  const bool fits = static_cast<double>(folds.size()) * (4 * n * d + kMatrices * d * d) < kMostKept;
  Candidates evaluator(data, folds, pool, progress, place,
                       fits && place.kept && options.search.kind != Search::none && options.run.memory_limit == 0);
  if (options.search.kind == Search::automatic) return search_automatically(evaluator, data, options, progress);
  const bool searches = options.search.kind == Search::grid;
  auto candidates =
      combinations(resolve_options(options, data), searches ? search_grid(options, data) : std::vector<GridAxis>{});
  Selected selected;
  if (candidates.size() > 1) evaluator.evaluate(candidates);
  for (const auto& candidate : candidates) selected.trace.push_back(candidate.result);
  selected.winner = *std::ranges::max_element(candidates, {}, [](const Candidate& c) { return c.result.merit(); });
  // At full precision.
  selected.field = evaluator.evaluate_winner(selected.winner, searches ? "" : options.run.checkpoint);
  if (candidates.size() == 1) selected.trace = {selected.winner.result};
  return selected;
}

}  // namespace parsnets
