#include "train/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/did_you_mean.hpp"
#include "data/rows.hpp"
#include "features/preprocess.hpp"
#include "parsnets/error.hpp"
#include "train/automatic.hpp"
#include "train/fit_checkpoint.hpp"
#include "train/fit_prototypes.hpp"
#include "train/join_heads.hpp"
#include "train/place_classes.hpp"
#include "train/place_samples.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

constexpr double kSelectionTolerance = 5e-3;

/// Mean of the scores of class space and of the semantic head, whose outputs are `f` and which has this weight. Refers
/// to the head.
ScoreSource mixed(ScoreSource source, const Model& head, const PreparedClasses& prepared, MatrixView<const float> f,
                  double weight, ThreadPool& pool) {
  return {source.rows, source.classes, [=, &head, &prepared, &pool](const ScoreVisitor& visit) {
            source.visit([&](std::size_t first, MatrixView<const float> scores) {
              Matrix<float> sum = Matrix<float>::copy_of(scores);
              const MatrixView<const float> rows(f.row(first).data(), scores.rows(), f.cols());
              head.visit_prediction_scores(rows, prepared, pool, [&](std::size_t row, MatrixView<const float> others) {
                float* to = sum.row(row).data();
                for (std::size_t i = 0; i < others.size(); ++i)
                  to[i] = static_cast<float>((to[i] + weight * others.data()[i]) / (1 + weight));
              });
              visit(first, sum.view());
            });
          }};
}

/// Axes from the slowest to the fastest: what is expensive to change comes first, C (warm-started) last.
std::vector<GridAxis> default_grid(const TrainOptions& options) {
  const GridAxis features{"feature-scaling", {"sqrt-l2", "l2", "standardize"}},
      semantics{"semantic-scaling", {"l2", "centre-l2"}};
  const GridAxis lambda{"lambda", {"0.03", "0.1", "0.3", "1", "3", "10", "30", "100"}};
  const auto share = [&](int part) { return std::to_string(std::max(1, *options.gates.networks / part)); };
  switch (options.method) {
    case Method::scln:
      return {{"gates", {"energy", "anchor"}}, {"open", {share(5), share(2)}}, {"c", {"0.03", "0.1", "0.3", "1"}}};
    case Method::eszsl:
      return {
          features, semantics, {"lambda", {"0.1", "1", "10", "100"}}, {"semantic-lambda", {"0.01", "0.1", "1", "10"}}};
    case Method::dap: return {{"feature-scaling", {"sqrt-l2", "standardize"}}, {"lambda", {"0.1", "1", "10", "100"}}};
    case Method::sae:
    case Method::sae_reverse:
      return {
          {"feature-scaling", {"sqrt-l2", "l2"}}, semantics, {"lambda", {"0.001", "0.01", "0.1", "1", "10", "100"}}};
    case Method::parsnets:
    case Method::mmg:
      return {{"feature-scaling", {"sqrt-l2", "l2"}},
              {"lambda", {"5", "20"}},
              {"semantic-whitening", {"0.15", "0.25", "0.35"}},
              {"refine-steps", {"0", "5", "10", "12", "15", "18", "21", "25"}},
              {"prototype-width", {"0", "1.4"}}};
    case Method::ridge:
    case Method::reverse_ridge: break;
  }
  return {features, semantics, lambda};
}

/// Each process has added the folds that it fitted.
void sum_results(std::vector<Candidate>& candidates, Processes& group) {
  std::vector<double> sums;
  for (const Candidate& c : candidates) sums.insert(sums.end(), {c.result.zsl, c.result.h, c.gamma, c.temperature});
  group.sum(std::span<double>(sums));
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].result.zsl = sums[4 * i];
    candidates[i].result.h = sums[4 * i + 1];
    candidates[i].gamma = sums[4 * i + 2];
    candidates[i].temperature = sums[4 * i + 3];
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
  TrainOptions fixed = prescribed_options(options, data);
  const OptionTable table = train_option_table(fixed);
  std::vector<GridAxis> axes = default_grid(resolve_options(options, data));
  std::erase_if(axes, [&](const GridAxis& axis) { return table.is_set(axis.option); });
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
                       ProgressObserver* progress, SamplePlace place)
    : data_(data), folds_(folds), pool_(pool), progress_(progress), place_(place) {}

bool Candidates::can_fit(const TrainOptions& options) const { return !place_.streamed || can_be_streamed(options); }

bool Candidates::any_process(bool says) const {
  std::uint64_t count = says ? 1 : 0;
  if (place_.group != nullptr) place_.group->sum(std::span<std::uint64_t>(&count, 1));
  return count > 0;
}

bool Candidates::shares_fits() const { return place_.size() > 1 && !place_.streamed && field_folds_ == nullptr; }

Fitter& Candidates::fitter(std::size_t fold) {
  if (!fitter_ || fitted_fold_ != fold || fitted_alone_ != alone_) {
    fitter_.reset();  // one fold's data at a time
    heads_.clear();
    fitter_ = std::make_unique<Fitter>(data_, folds_[fold].fit, pool_, progress_, alone_ ? SamplePlace{} : place_);
    fitted_fold_ = fold;
    fitted_alone_ = alone_;
  }
  return *fitter_;
}

/// Null without a semantic head.
const Candidates::Head* Candidates::head(const TrainOptions& options, std::size_t fold) {
  if (*options.class_space.semantic_head == 0) return nullptr;
  Fitter& fitter = this->fitter(fold);
  TrainOptions o = semantic_head_options(options, data_);
  const auto& axes = fitter.semantics(options).whitening;
  const std::string key(reinterpret_cast<const char*>(axes.data()), axes.size() * sizeof(float));
  const auto [place, is_new] = heads_.try_emplace(train_option_table(o).to_json().dump() + key);
  if (is_new) {
    Head& made = place->second;
    made.model = fitter.fit_head(options);
    made.prepared = made.model.prepare_classes(pool_);
    made.unseen = predict_rows(made.model, data_, folds_[fold].unseen, pool_);
    if (!folds_[fold].seen.empty()) made.seen = predict_rows(made.model, data_, folds_[fold].seen, pool_);
  }
  return &place->second;
}

void Candidates::evaluate_path(std::span<Candidate*> path, std::size_t fold, bool quick,
                               const std::filesystem::path& checkpoint) {
  const Fold& split = folds_[fold];
  const double share = 1.0 / static_cast<double>(folds_.size());
  alone_ =
      place_.size() > 1 && !place_.streamed &&
      (shares_fits() || std::ranges::any_of(path, [](const Candidate* c) { return needs_all_samples(c->options); }));
  const auto add = [&](Candidate& candidate, const FoldResult& result) {
    candidate.result.zsl += share * result.zsl;
    candidate.result.h += share * result.h;
    candidate.gamma += share * result.gamma;
    candidate.temperature += share * result.temperature;
    if (quick)
      report_message(progress_, fmt::format("fold {}/{}  {:>5.2f} ZSL  {:>5.2f} H  {}", fold + 1, folds_.size(),
                                            result.zsl, result.h, candidate.result.choice));
  };
  TrainOptions longest = path[0]->options;
  for (const Candidate* c : path)
    longest.refinement.steps = std::max(*longest.refinement.steps, *c->options.refinement.steps);
  // Candidates are told apart well before the final certificate's precision.
  if (quick) longest.fit.tolerance = std::max(longest.fit.tolerance, kSelectionTolerance);
  for (const Candidate* c : path)
    longest.class_space.prototype_width =
        std::max(*longest.class_space.prototype_width, *c->options.class_space.prototype_width);
  longest.class_space.semantic_head = 0;  // heads are fitted before, as both fits use the same stages
  std::map<const Candidate*, const Head*> heads;
  for (const Candidate* c : path) heads[c] = head(c->options, fold);
  std::vector<Candidate*> waiting(path.begin(), path.end());
  const auto evaluate_at = [&](int steps, Model& model, const DescentOutputs& outputs, bool last) {
    const auto due = [&](const Candidate* c) { return *c->options.refinement.steps == steps || last; };
    if (std::none_of(waiting.begin(), waiting.end(), due)) return;
    const bool forward = model.direction == Direction::forward;
    const bool in_class_space = model.targets == Targets::classes;
    if (!in_class_space) model.prototypes = {};  // each candidate has its own
    Matrix<float> fu, fs;
    if (forward) fu = predict_rows(model, data_, split.unseen, pool_);
    if (forward && !split.seen.empty()) fs = predict_rows(model, data_, split.seen, pool_);
    for (Candidate* c : waiting) {
      if (!due(c)) continue;
      if (!forward) {
        add(*c, evaluate_fold(model, data_, split, pool_));
        continue;
      }
      if (in_class_space && steps == 0) {
        model.semantic_preprocess = fit_place_semantics(c->options, data_.semantics, outputs.means);
        place_classes(model, outputs.means, c->options.class_space);
      }
      if (*c->options.class_space.prototype_width > 0 && !in_class_space)
        model.prototypes =
            fit_prototypes(outputs.f, labels_of(data_, split.fit), model.class_vectors().view(), model.semantic_centre,
                           *c->options.class_space.prototype_width, *c->options.class_space.prototype_lambda);
      const PreparedClasses prepared = model.prepare_classes(pool_);
      const Head* other = heads.at(c);
      const auto scores_of = [&](const Matrix<float>& predicted, Matrix<float> Head::*of_head) {
        ScoreSource source{predicted.rows(), data_.classes(), [&](const ScoreVisitor& visit) {
                             model.visit_prediction_scores(predicted.view(), prepared, pool_, visit);
                           }};
        if (other == nullptr) return source;
        return mixed(std::move(source), other->model, other->prepared, (other->*of_head).view(),
                     *c->options.class_space.semantic_head, pool_);
      };
      const FoldResult result =
          evaluate_fold(scores_of(fu, &Head::unseen), scores_of(fs, &Head::seen), data_, split, !quick);
      add(*c, result);
      if (in_class_space && field_folds_ != nullptr) {
        std::optional<FoldOutputs> head_outputs;
        if (other != nullptr)
          head_outputs.emplace(FoldOutputs{other->model, other->prepared, other->unseen, other->seen});
        field_folds_->push_back(field_fold({model, prepared, fu, fs}, head_outputs ? &*head_outputs : nullptr,
                                           *c->options.class_space.semantic_head, data_, split, result.gamma,
                                           c->options.run.seed));
      }
      if (!in_class_space) model.prototypes = {};
    }
    std::erase_if(waiting, due);
  };
  int reached = 0;
  ClassMeans last_means;
  Matrix<float> last_f;
  Model model =
      fitter(fold).fit(longest, checkpoint, nullptr, [&](int steps, Model& moved, const DescentOutputs& outputs) {
        reached = steps;
        evaluate_at(steps, moved, outputs, false);
        last_means = {outputs.means.classes, outputs.means.samples,
                      Matrix<double>::copy_of(outputs.means.means.view())};
        last_f = Matrix<float>::copy_of(outputs.f);
        return !waiting.empty();
      });
  evaluate_at(reached, model, {last_means, last_f.view()}, true);  // descent may end before the steps do
}

void Candidates::evaluate(std::vector<Candidate>& candidates, const std::filesystem::path& checkpoint,
                          const std::function<bool()>& stop) {
  std::map<std::string, std::vector<Candidate*>> paths;
  std::vector<std::string> order;
  for (auto& candidate : candidates) {
    validate(candidate.options);
    if (!can_fit(candidate.options))
      throw Error(
          ErrorCode::usage,
          fmt::format("{} is too low for a candidate that needs all samples in memory: {}; raise it or leave the "
                      "candidate out",
                      option_name("memory-limit"), candidate.result.choice));
    TrainOptions key = candidate.options;
    key.refinement.steps = 0;
    key.class_space.semantic_head = 0;
    if (*key.class_space.targets == Targets::semantics) {
      key.class_space.prototype_width = 0;
    } else if (*candidate.options.refinement.steps == 0) {  // places follow from the same closed form
      key.preprocessing.semantic_scaling.reset();
      key.preprocessing.semantic_whitening.reset();
      key.preprocessing.semantic_weights.reset();
      key.class_space.prototype_width.reset();
      key.class_space.prototype_lambda.reset();
      key.class_space.prior_samples.reset();
      key.class_space.attribute_steps.reset();
    }
    const std::string text = train_option_table(key).to_json().dump();
    if (paths[text].empty()) order.push_back(text);
    paths[text].push_back(&candidate);
    candidate.result.zsl = candidate.result.h = candidate.gamma = candidate.temperature = 0;
  }
  const bool shares = shares_fits();
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
      if (candidates.size() > 1 || checkpoint.empty())
        evaluate_path(path, f, candidates.size() > 1, {});
      else
        evaluate_one(candidates[0], f, checkpoint.string() + ".fold" + std::to_string(f));
    }
    if (f == 0 && shares) place_.group->sum(std::span<std::uint64_t>(cut));
  }
  if (shares) sum_results(candidates, *place_.group);
  std::vector<Candidate> looked_at;
  std::set<const Candidate*> left_out;
  for (std::size_t p = 0; p < order.size(); ++p)
    if (cut[p] > 0) left_out.insert(paths[order[p]].begin(), paths[order[p]].end());
  for (auto& candidate : candidates)
    if (!left_out.contains(&candidate)) looked_at.push_back(std::move(candidate));
  candidates = std::move(looked_at);
}

/// A fold that is done is not fitted again.
void Candidates::evaluate_one(Candidate& candidate, std::size_t fold, const std::filesystem::path& checkpoint) {
  const std::filesystem::path done = checkpoint.string() + ".done";
  std::vector<std::int32_t> judged = folds_[fold].unseen;
  judged.insert(judged.end(), folds_[fold].seen.begin(), folds_[fold].seen.end());
  const std::string fingerprint = fit_fingerprint(data_, folds_[fold].fit, candidate.options, judged);
  const double share = 1.0 / static_cast<double>(folds_.size());
  if (candidate.options.run.resume && first_process_has(done, place_.group)) {
    FoldState state = load_fold(done, fingerprint);
    candidate.result.zsl += share * state.result.zsl;
    candidate.result.h += share * state.result.h;
    candidate.gamma += share * state.result.gamma;
    candidate.temperature += share * state.result.temperature;
    if (state.field && field_folds_ != nullptr) field_folds_->push_back(std::move(*state.field));
    return;
  }
  const Candidate before = candidate;
  const std::size_t fields = field_folds_ == nullptr ? 0 : field_folds_->size();
  Candidate* path[] = {&candidate};
  // Of processes that make the same fit each, none may go on from where another was.
  const bool same_fits = place_.size() > 1 && !place_.streamed && needs_all_samples(candidate.options);
  evaluate_path(path, fold, false, same_fits ? std::filesystem::path() : checkpoint);
  if (place_.group != nullptr && place_.group->rank() > 0) return;
  FoldState state;
  state.result = {(candidate.result.zsl - before.result.zsl) / share, (candidate.result.h - before.result.h) / share,
                  (candidate.gamma - before.gamma) / share, (candidate.temperature - before.temperature) / share};
  if (field_folds_ != nullptr && field_folds_->size() > fields) state.field = std::move(field_folds_->back());
  save_fold(done, fingerprint, state);
  if (state.field) field_folds_->back() = std::move(*state.field);
}

std::optional<FieldChoice> Candidates::evaluate_winner(std::vector<Candidate>& winner,
                                                       const std::filesystem::path& checkpoint) {
  std::vector<FieldFold> field_folds;
  field_folds_ = &field_folds;
  evaluate(winner, checkpoint);
  field_folds_ = nullptr;
  return choose_field(field_folds, winner[0].options.run.seed, pool_);
}

Selected select_options(const Dataset& data, const TrainOptions& options, const std::vector<Fold>& folds,
                        ThreadPool& pool, ProgressObserver* progress, SamplePlace place) {
  Candidates evaluator(data, folds, pool, progress, place);
  if (options.preset == Preset::automatic) return search_automatically(evaluator, data, options, progress);
  auto candidates = combinations(resolve_options(options, data),
                                 options.search.select ? search_grid(options, data) : std::vector<GridAxis>{});
  Selected selected;
  if (candidates.size() == 1) {
    selected.field =
        evaluator.evaluate_winner(candidates, options.search.select ? std::filesystem::path() : options.run.checkpoint);
    selected.trace.push_back(candidates[0].result);
    selected.winner = std::move(candidates[0]);
    return selected;
  }
  evaluator.evaluate(candidates);
  for (const auto& candidate : candidates) selected.trace.push_back(candidate.result);
  std::vector<Candidate> winner{
      *std::max_element(candidates.begin(), candidates.end(),
                        [](const Candidate& a, const Candidate& b) { return a.result.merit() < b.result.merit(); })};
  selected.field = evaluator.evaluate_winner(winner);  // at full precision
  selected.winner = std::move(winner[0]);
  return selected;
}

}  // namespace parsnets
