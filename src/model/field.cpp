#include "parsnets/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/linalg.hpp"
#include "base/row_blocks.hpp"
#include "base/text.hpp"
#include "data/sample_set.hpp"
#include "model/field_search.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets {

namespace {

/// Angle between two places; 90 where one of them is zero.
double degrees_between(std::span<const float> a, std::span<const float> b) {
  const double cosine = dot(a, b) / std::sqrt(std::max(dot(a, a) * dot(b, b), 1e-300));
  return std::acos(std::clamp(cosine, -1.0, 1.0)) * 180 / std::numbers::pi;
}

constexpr std::size_t kAdaptationsTold = 100;  ///< the latest ones that a record keeps

/// A copy to write to: what is in the model may belong to a file or to other models, too.
Experience writable(const Experience& experience, const Model& model) {
  const std::size_t classes = model.classes.names.size();
  if (experience.samples.empty())
    return {std::vector<float>(classes, 0.0f), Matrix<float>(classes, model.outputs(), 0.0f)};
  return {experience.samples, Matrix<float>::copy_of(experience.sums.view())};
}

/// Predictions (n x o) as scores compare them, at unit length.
Matrix<float> unit_predictions(const Model& model, Matrix<float> f) {
  centre_rows(model, f.view());
  unit_rows(f.view());
  return f;
}

/// The same without those that are too short to be of any class.
Matrix<float> long_enough(const Model& model, Matrix<float> f) {
  centre_rows(model, f.view());
  const double least = model.field.least_length * std::sqrt(static_cast<double>(f.cols()));
  std::vector<std::int32_t> stay;
  for (std::size_t i = 0; i < f.rows(); ++i)
    if (dot(f.row(i), f.row(i)) >= least * least) stay.push_back(static_cast<std::int32_t>(i));
  if (stay.size() < f.rows()) f = gather_rows(f.view(), stay);
  unit_rows(f.view());
  return f;
}

Matrix<float> unit_vectors(const Model& model) {
  Matrix<float> vectors = model.class_vectors();
  unit_rows(vectors.view());
  return vectors;
}

/// Unit class vectors as they were before any unlabelled sample.
Matrix<float> vectors_before(Model& model) {
  Experience adapted = std::move(model.classes.adapted);
  model.classes.adapted = {};
  Matrix<float> vectors = unit_vectors(model);
  model.classes.adapted = std::move(adapted);
  return vectors;
}

bool has_place(std::span<const float> vector) {
  return std::ranges::any_of(vector, [](float v) { return v != 0; });
}

constexpr double kNewSamples = 0.5;  ///< of the shift of gamma that the folds measured on samples that they adapted to

/// Mean over the unseen classes of n/(n + β): how far they follow the n unlabelled samples that they remember.
double follow_samples(const Model& model) {
  const ClassBank& classes = model.classes;
  double unseen = 0, follow = 0;
  for (std::size_t c = 0; c < classes.names.size(); ++c)
    if (!classes.seen[c]) {
      ++unseen;
      const double n = classes.adapted.samples.empty() ? 0 : classes.adapted.samples[c];
      follow += n / (n + model.field.strength);
    }
  return unseen > 0 ? follow / unseen : 0;
}

/// Unseen classes that have adapted score higher: seen ones need a smaller gamma against them.
void shift_gamma(Model& model) {
  if (!model.classes.gamma_before) model.classes.gamma_before = model.gamma;
  model.gamma = *model.classes.gamma_before + kNewSamples * model.field.gamma_shift * follow_samples(model);
}

/// The strong form, of classes that are described.
std::optional<Found> find_places(const Model& model, const Pile& pile, const Matrix<float>& now,
                                 std::span<const std::int32_t> moving, std::string& because, ThreadPool& pool) {
  const FieldSettings& settings = model.field;
  if (!settings.strong) {
    because = "the strong form did not pay on validation classes";
    return std::nullopt;
  }
  const PlaceMap map = place_map(model, moving);
  if (!map.can_be_searched() || pile.samples.rows() < moving.size()) {
    because = map.can_be_searched() ? "there are fewer samples than classes that may move"
                                    : "the strong form needs from 2 unseen to 1,000 classes";
    return std::nullopt;
  }
  Staying staying;
  std::vector<std::int32_t> others;
  for (std::size_t c = 0; c < now.rows(); ++c)
    if (!std::ranges::binary_search(moving, static_cast<std::int32_t>(c))) {
      others.push_back(static_cast<std::int32_t>(c));
      staying.seen.push_back(model.classes.seen[c]);
    }
  staying.vectors = gather_rows(now.view(), others);
  Experience taught;
  if (!model.classes.taught.samples.empty()) {
    taught.sums = gather_rows(model.classes.taught.sums.view(), moving);
    for (const auto c : moving) taught.samples.push_back(model.classes.taught.samples[static_cast<std::size_t>(c)]);
  }
  Found found = FieldSearch(pile.samples, map, taught, staying, settings.sharpness, pool).end(*settings.strong, pool);
  const FieldEvidence& evidence = found.evidence;
  if (evidence.spread < FieldEvidence::kLeastSpread)
    because = fmt::format("the samples are of too few classes: their spread is {:.2f} of an even one, less than {}",
                          evidence.spread, FieldEvidence::kLeastSpread);
  else if (!evidence.is_enough())
    because = fmt::format("too few samples are of unseen classes: {:.1f} a class, where seen classes have {:.1f}",
                          evidence.upper, evidence.staying);
  else
    because = fmt::format(
        "the samples are of enough unseen classes: their spread is {:.2f} of an even one, with {:.1f} "
        "samples a class, where seen classes have {:.1f}",
        evidence.spread, evidence.upper, evidence.staying);
  if (!evidence.is_enough()) return std::nullopt;
  return found;
}

/// Fills in what the moves say together.
void add_up(Adaptation& told) {
  told.classes = told.moves.size();
  for (const ClassMove& move : told.moves) told.mean_degrees += move.degrees / static_cast<double>(told.moves.size());
}

/// adapt() to one batch, of which Model::predict() gave `f`.
Adaptation adapt_predicted(Model& model, Matrix<float> f, const AdaptOptions& options, ThreadPool& pool) {
  const std::size_t classes = model.classes.names.size();
  std::vector<std::uint8_t> may_move(classes, 0);
  for (std::size_t c = 0; c < classes; ++c) may_move[c] = options.classes.empty() && !model.classes.seen[c];
  for (const auto& name : options.classes) may_move[index_of_class(model, name)] = 1;
  Adaptation result;
  result.samples = f.rows();
  result.form = "nothing";
  Pile pile{long_enough(model, std::move(f)), {}, {}};
  result.left_out = result.samples - pile.samples.rows();
  if (pile.samples.rows() == 0) {
    result.because = "no sample is long enough in class space to be of any class";
    return result;
  }
  pile.scale = scales(pile.samples);
  const Matrix<float> now = unit_vectors(model), before = vectors_before(model);
  Experience adapted = writable(model.classes.adapted, model);
  const auto moved_to = [&](std::int32_t c, double samples, std::span<const double> sums, double support,
                            std::span<const float> vector) {
    const auto place = static_cast<std::size_t>(c);
    adapted.samples[place] = static_cast<float>(samples);
    std::ranges::transform(sums, adapted.sums.row(place).begin(), [](double v) { return static_cast<float>(v); });
    result.moves.push_back({c, support, degrees_between(now.row(place), vector)});
  };
  std::vector<std::int32_t> moving, staying, described;
  std::vector<double> stay_penalty;
  Movable movable;
  for (std::size_t c = 0; c < classes; ++c) {
    const double penalty = model.classes.seen[c] ? model.classes.gamma_before.value_or(model.gamma) : 0;
    const bool moves = may_move[c] && has_place(before.row(c));
    (moves ? moving : staying).push_back(static_cast<std::int32_t>(c));
    (moves ? movable.penalty : stay_penalty).push_back(penalty);
    if (moves && is_described(model.classes, c)) described.push_back(static_cast<std::int32_t>(c));
  }
  std::optional<Found> found;
  if (options.classes.empty())
    found = find_places(model, pile, now, described, result.because, pool);
  else
    result.because = "the classes that may move were named";
  if (found) {
    result.form = "strong";
    result.rounds = found->rounds;
    result.likelihood_gain = found->likelihood_gain;
    const double strength = model.field.strength;
    std::vector<double> sums(before.cols());
    double support = 0;
    for (std::size_t k = 0; k < described.size(); ++k) {  // sums that lead to the place that was found
      const double samples = std::clamp(found->support[k], 1.0, kMemory * strength);
      const auto from = before.row(static_cast<std::size_t>(described[k]));
      for (std::size_t j = 0; j < sums.size(); ++j)
        sums[j] = (strength + samples) * found->vectors(k, j) - strength * from[j];
      moved_to(described[k], samples, sums, found->support[k], found->vectors.row(k));
      support += found->support[k];
    }
    result.convincing = static_cast<std::size_t>(support);
  } else {
    pile.rest = rest_of(pile.samples, gather_rows(now.view(), staying), stay_penalty, model.field.sharpness, pool);
    movable.vectors = gather_rows(before.view(), moving);
    movable.sums = Matrix<double>(moving.size(), before.cols());
    for (std::size_t k = 0; k < moving.size(); ++k) {
      const auto c = static_cast<std::size_t>(moving[k]);
      movable.samples.push_back(adapted.samples[c]);
      std::ranges::copy(adapted.sums.row(c), movable.sums.row(k).begin());
    }
    const Moved moved = move_places(pile, movable, model.field, options.rounds, pool);
    result.convincing = moved.convincing;
    result.rounds = moved.rounds;
    result.likelihood_gain = moved.likelihood_gain;
    for (std::size_t k = 0; k < moving.size(); ++k)
      if (moved.support[k] >= kLeastSupport)
        moved_to(moving[k], moved.samples[k], moved.sums.row(k), moved.support[k], moved.vectors.row(k));
    if (!result.moves.empty()) result.form = "careful";
  }
  if (result.moves.empty()) return result;
  add_up(result);
  auto& record = model.record.adaptations;
  record.push_back(result);
  record.back().rounds = 0;
  record.back().moves.clear();
  if (record.size() > kAdaptationsTold) record.erase(record.begin());
  model.classes.adapted = std::move(adapted);
  shift_gamma(model);
  if (found) model.gamma = *model.classes.gamma_before + model.field.strong_gamma_shift * found->share;
  return result;
}

}  // namespace

void check_field_samples(const Model& model, std::size_t samples, const char* what) {
  if (model.targets != Targets::classes)
    throw Error(ErrorCode::usage, fmt::format("learning in the field needs a model of class space ({})",
                                              option_name("method", "parsnets")));
  if (samples == 0) throw Error(BadInput{what, "samples", "at least one", "none", ""});
}

std::size_t index_of_class(const Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.classes.names, name);
  if (found == model.classes.names.end())
    throw Error(BadInput{"class '" + name + "'", "name", "a class of the model", "none of that name",
                         "check the names of the model's classes" + did_you_mean(name, model.classes.names)});
  return static_cast<std::size_t>(found - model.classes.names.begin());
}

Adaptation adapt(Model& model, MatrixView<const float> x, const AdaptOptions& options, ThreadPool& pool,
                 ProgressObserver* progress) {
  const auto predict = [&](std::size_t first, std::size_t count) {
    Matrix<float> f(count, model.networks.cols());
    Predictor(model, nullptr).predict({x.data() + first * x.cols(), count, x.cols()}, pool, f.view(), {}, first);
    return f;
  };
  return adapt_in_batches(model, x.rows(), predict, options, pool, progress);
}

Adaptation adapt_in_batches(Model& model, std::size_t samples,
                            const std::function<Matrix<float>(std::size_t first, std::size_t count)>& predict,
                            const AdaptOptions& options, ThreadPool& pool, ProgressObserver* progress) {
  check_field_samples(model, samples, "adaptation");
  if (options.rounds < 1) throw Error(ErrorCode::usage, "adaptation: expected at least one round");
  if (options.batch < 1) throw Error(ErrorCode::usage, "adaptation: expected batches of at least one sample");
  for (const auto& name : options.classes) index_of_class(model, name);  // throws before the work
  const std::size_t batches = std::max<std::size_t>(1, samples / options.batch);
  if (batches == 1) {
    report(progress, {"adapt", 0, samples, "samples"});
    return adapt_predicted(model, predict(0, samples), options, pool);
  }
  Model changed = shared_copy(model);
  std::vector<double> support(model.classes.names.size(), 0.0);
  Adaptation sum;
  for (std::size_t b = 0; b < batches; ++b) {
    report(progress, {"adapt", b * options.batch, samples, "samples"});
    const std::size_t first = b * options.batch, count = (b + 1 == batches ? samples : first + options.batch) - first;
    const Adaptation one = adapt_predicted(changed, predict(first, count), options, pool);
    sum.samples += one.samples;
    sum.convincing += one.convincing;
    sum.left_out += one.left_out;
    if (sum.form.empty() || one.form != "nothing") {
      sum.form = one.form;
      sum.because = one.because;
    }
    sum.rounds = std::max(sum.rounds, one.rounds);
    sum.likelihood_gain += one.likelihood_gain * static_cast<double>(count) / static_cast<double>(samples);
    for (const ClassMove& move : one.moves) support[static_cast<std::size_t>(move.class_index)] += move.support;
  }
  const Matrix<float> before = model.class_vectors(), after = changed.class_vectors();
  for (std::size_t c = 0; c < support.size(); ++c)
    if (support[c] > 0)
      sum.moves.push_back({static_cast<std::int32_t>(c), support[c], degrees_between(before.row(c), after.row(c))});
  add_up(sum);
  model = std::move(changed);
  return sum;
}

double remaining_gamma_shift(const Model& model) {
  return kNewSamples * model.field.gamma_shift * (1 - follow_samples(model));
}

void undo_adaptation(Model& model) {
  model.classes.adapted = {};
  if (model.classes.gamma_before) model.gamma = *model.classes.gamma_before;
  model.classes.gamma_before.reset();
  model.record.adaptations.clear();
}

bool is_adapted(const Model& model) {
  return std::ranges::any_of(model.classes.adapted.samples, [](float n) { return n > 0; });
}

bool is_taught(const Model& model) {
  return std::ranges::any_of(model.classes.taught.samples, [](float n) { return n > 0; });
}

void teach(Model& model, const std::string& name, MatrixView<const float> examples, ThreadPool& pool) {
  check_field_samples(model, examples.rows(), "examples");
  const std::size_t c = index_of_class(model, name);
  teach_predicted(model, c, model.predict(examples, pool));
}

void teach_predicted(Model& model, std::size_t c, Matrix<float> f) {
  const Matrix<float> samples = unit_predictions(model, std::move(f));
  const std::vector<double> scale = scales(samples);
  std::vector<double> sum(samples.cols(), 0.0);  // Σ x̂
  for (std::size_t r = 0; r < samples.rows(); ++r)
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += scale[r] * samples(r, j);
  Experience taught = writable(model.classes.taught, model);
  taught.samples[c] += static_cast<float>(samples.rows());
  for (std::size_t j = 0; j < sum.size(); ++j) taught.sums(c, j) = static_cast<float>(taught.sums(c, j) + sum[j]);
  model.classes.taught = std::move(taught);
}

void add_class_by_examples(Model& model, const std::string& name, MatrixView<const float> examples, ThreadPool& pool) {
  check_field_samples(model, examples.rows(), "examples");
  add_class_predicted(model, name, model.predict(examples, pool));  // wrong examples leave the model as it is
}

void add_class_predicted(Model& model, const std::string& name, Matrix<float> f) {
  model.add_class(name, std::vector<float>(model.attributes(), 0.0f));
  if (model.classes.described.empty()) model.classes.described.assign(model.classes.names.size(), 1);
  model.classes.described.back() = 0;
  teach_predicted(model, model.classes.names.size() - 1, std::move(f));
}

}  // namespace parsnets
