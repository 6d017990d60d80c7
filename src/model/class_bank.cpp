// The classes of a model: their vectors, and how they come and go.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/linalg.hpp"
#include "base/row_products.hpp"
#include "base/text.hpp"
#include "data/sample_set.hpp"
#include "features/preprocess.hpp"
#include "model/prediction.hpp"
#include "model/scoring.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// Where a class of the bank lies in class space, and for the semantic head its semantics themselves, corrected.
void place(const Model& model, std::size_t c, std::span<const float> semantics, std::span<float> out) {
  const std::size_t placed = model.class_outputs();
  std::vector<double> predicted(out.size(), 0.0);
  if (is_described(model.classes, c)) {
    if (const double length = std::sqrt(dot(semantics, semantics)); length > 0)
      for (std::size_t j = placed; j < out.size(); ++j) predicted[j] = semantics[j - placed] / length;
    model.prototypes.add(semantics, predicted);
  }
  const PlaceParts parts = place_parts(model, c, std::span(predicted).first(placed));
  for (std::size_t j = 0; j < out.size(); ++j)
    out[j] = static_cast<float>(j < placed ? parts.own[j] + parts.predicted * predicted[j] : predicted[j]);
}

/// Rows are prepared semantics of the classes of the bank from `first` on.
Matrix<float> placed_classes(const Model& model, std::size_t first, MatrixView<const float> semantics) {
  Matrix<float> places(semantics.rows(), model.outputs());
  for (std::size_t c = 0; c < places.rows(); ++c) place(model, first + c, semantics.row(c), places.row(c));
  return places;
}

/// Class vectors of some classes with targets semantics, from their prepared semantics.
void correct(const Model& model, MatrixView<float> bank) {
  centre_rows(model, bank);
  std::vector<double> sum(bank.cols());
  for (std::size_t c = 0; c < bank.rows() && !model.prototypes.support.empty(); ++c) {
    const double length = std::sqrt(dot(bank.row(c), bank.row(c)));
    if (length == 0) continue;
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] = bank(c, j) / length;
    model.prototypes.add(bank.row(c), sum);
    for (std::size_t j = 0; j < sum.size(); ++j) bank(c, j) = static_cast<float>(sum[j]);
  }
}

/// Prototypes of classes in feature space: A R + r.
Matrix<float> feature_prototypes(const Model& model, MatrixView<const float> semantics) {
  const std::size_t m = semantics.cols(), h = model.reverse.cols();
  Matrix<float> out(semantics.rows(), h);
  std::vector<const float*> from(out.rows());
  std::vector<float*> to(out.rows());
  for (std::size_t c = 0; c < out.rows(); ++c) {
    from[c] = semantics.row(c).data();
    to[c] = out.row(c).data();
  }
  multiply_rows(from, m, model.reverse.data(), h, model.reverse.row(m).data(), Into::set, to);
  return out;
}

/// What samples are compared with, of the classes of the bank from `first` on: class vectors, or for reverse models
/// prototypes in feature space. Some classes at a time, so that nothing but the result grows with their number.
PreparedClasses prepared_from(const Model& model, std::size_t first, ThreadPool& pool) {
  constexpr std::size_t kClasses = 256;
  const std::size_t count = model.classes.names.size() - first, m = model.attributes();
  const bool forward = model.direction == Direction::forward, placed = model.targets == Targets::classes;
  PreparedClasses out{Matrix<float>(count, forward ? model.outputs() : model.reverse.cols()), std::vector<float>(count),
                      std::vector<float>(placed ? count : 0)};
  pool.parallel_for(count, kClasses, [&](std::size_t begin, std::size_t end, std::size_t) {
    const MatrixView<const float> given(model.classes.semantics.data() + (first + begin) * m, end - begin, m);
    Matrix<float> bank = preprocessed_semantics(model.semantic_preprocess, given);
    if (!forward) {
      bank = feature_prototypes(model, bank.view());
    } else if (placed) {
      bank = placed_classes(model, first + begin, bank.view());
      for (std::size_t c = begin; c < end; ++c) {
        const auto place = bank.row(c - begin).first(model.class_outputs());
        out.lengths[c] = static_cast<float>(std::sqrt(dot(place, place)));
      }
      scale_heads(model, bank.view());
    } else {
      correct(model, bank.view());
    }
    std::ranges::copy(bank.values(), out.vectors.row(begin).data());
  });
  out.squares = squared_lengths(out.vectors.view());
  return out;
}

/// Room for more classes, of which nothing is known.
Experience with_room(const Experience& known, std::size_t classes) {
  Experience more;
  if (known.samples.empty()) return more;
  more.samples = known.samples;
  more.samples.resize(classes, 0.0f);
  more.sums = Matrix<float>(classes, known.sums.cols(), 0.0f);
  std::ranges::copy(known.sums.values(), more.sums.data());
  return more;
}

/// Calibration of the classes that stay.
PredictionSets without(const PredictionSets& sets, std::span<const std::uint8_t> goes) {
  std::vector<std::uint32_t> place(goes.size(), 0);
  for (std::size_t c = 1; c < goes.size(); ++c) place[c] = place[c - 1] + (goes[c - 1] ? 0 : 1);
  PredictionSets left{{}, {}, sets.unseen};
  for (std::size_t i = 0; i < sets.seen.size(); ++i) {
    if (goes[sets.seen_classes[i]]) continue;
    left.seen.push_back(sets.seen[i]);
    left.seen_classes.push_back(place[sets.seen_classes[i]]);
  }
  return left;
}

Experience without(const Experience& known, std::span<const std::uint8_t> goes) {
  Experience left;
  if (known.samples.empty()) return left;
  std::vector<std::int32_t> kept;
  for (std::size_t c = 0; c < goes.size(); ++c) {
    if (goes[c]) continue;
    left.samples.push_back(known.samples[c]);
    kept.push_back(static_cast<std::int32_t>(c));
  }
  left.sums = gather_rows(known.sums.view(), kept);
  return left;
}

}  // namespace

bool is_described(const ClassBank& classes, std::size_t c) {
  return classes.described.empty() || classes.described[c] != 0;
}

PlaceParts place_parts(const Model& model, std::size_t c, std::span<const double> predicted) {
  const ClassBank& classes = model.classes;
  const std::size_t placed = predicted.size();
  PlaceParts parts{1, std::vector<double>(placed, 0.0)};
  const double n = classes.samples.empty() ? 0 : classes.samples[c];
  if (n > 0) {
    parts.predicted = 1 - n / (n + model.prior_samples);
    for (std::size_t j = 0; j < placed; ++j) parts.own[j] = n / (n + model.prior_samples) * classes.means(c, j);
  }
  // unit(weight·place + sums) lies in the direction of m·place + q·sums, m the share of the place before.
  const auto join = [&](const Experience& experience, double weight, bool has_place) {
    if (experience.samples.empty() || experience.samples[c] <= 0) return;
    const auto sums = experience.sums.row(c);
    double place_square = 0;
    for (std::size_t j = 0; j < placed; ++j) {
      const double v = parts.own[j] + parts.predicted * predicted[j];
      place_square += v * v;
    }
    const double length = std::sqrt(place_square), share = has_place ? weight / (weight + experience.samples[c]) : 0,
                 factor = has_place && length > 0 ? share * length / weight : 1;
    parts.predicted *= share;
    for (std::size_t j = 0; j < placed; ++j) parts.own[j] = share * parts.own[j] + factor * sums[j];
  };
  join(classes.taught, model.field.example_prior, is_described(classes, c));
  join(classes.adapted, model.field.strength, true);
  return parts;
}

float predicted_share(const Model& model, std::size_t c) {
  if (!is_described(model.classes, c)) return 0;
  return static_cast<float>(place_parts(model, c, std::vector<double>(model.class_outputs(), 0.0)).predicted);
}

void Prototypes::add(std::span<const float> a, std::span<double> out) const {
  const double length = std::sqrt(dot(a, a));
  if (length == 0) return;
  for (std::size_t s = 0; s < support.rows(); ++s) {
    const double cosine = dot(a, support.row(s)) / length,
                 likeness = width == 0 ? cosine : std::exp((cosine - 1) / (width * width));
    for (std::size_t j = 0; j < out.size(); ++j) out[j] += likeness * weights(s, j);
  }
}

Matrix<float> Model::class_vectors() const {
  if (direction != Direction::forward) return preprocessed_semantics(semantic_preprocess, classes.semantics.view());
  ThreadPool caller(1);
  return std::move(prepared_from(*this, 0, caller).vectors);
}

Matrix<float> class_places(const Model& model) {
  const auto semantics = preprocessed_semantics(model.semantic_preprocess, model.classes.semantics.view());
  return placed_classes(model, 0, semantics.view());
}

PreparedClasses Model::prepare_classes(ThreadPool& pool) const { return prepared_from(*this, 0, pool); }

PreparedClasses Model::prepare_added_classes(const PreparedClasses& before, ThreadPool& pool) const {
  const std::size_t known = before.vectors.rows(), all = classes.names.size();
  if (known > all) return prepare_classes(pool);
  const PreparedClasses added = prepared_from(*this, known, pool);
  PreparedClasses prepared{Matrix<float>(all, added.vectors.cols()), before.squares, before.lengths};
  std::ranges::copy(before.vectors.values(), prepared.vectors.data());
  std::ranges::copy(added.vectors.values(), prepared.vectors.data() + before.vectors.size());
  prepared.squares.insert(prepared.squares.end(), added.squares.begin(), added.squares.end());
  prepared.lengths.insert(prepared.lengths.end(), added.lengths.begin(), added.lengths.end());
  return prepared;
}

void Model::add_class(const std::string& name, std::span<const float> semantics) {
  add_classes({&name, 1}, {semantics.data(), 1, semantics.size()});
}

void Model::add_classes(std::span<const std::string> names, MatrixView<const float> semantics) {
  std::unordered_set<std::string_view> known(classes.names.begin(), classes.names.end());
  for (std::size_t c = 0; c < names.size(); ++c) {
    const std::string& name = names[c];
    if (name.empty() || !known.insert(name).second)
      throw Error(BadInput{"class '" + name + "'", "name", "a new, non-empty name",
                           name.empty() ? "none" : "a class of that name",
                           "choose another name or remove the class first"});
    if (name == "unknown")
      throw Error(BadInput{"class 'unknown'", "name", "a name that is not reserved for samples of no class",
                           "'unknown'", "choose another name"});
    if (semantics.cols() != attributes())
      throw Error(BadInput{"class '" + name + "'", "attributes", fmt::format("{} values", attributes()),
                           std::to_string(semantics.cols()), ""});
    for (std::size_t a = 0; a < semantics.cols(); ++a)
      if (!std::isfinite(semantics(c, a)))
        throw Error(BadInput{"class '" + name + "'",
                             a < attribute_names.size() ? attribute_names[a] : fmt::format("attribute {}", a + 1),
                             "a finite number", fmt::format("{}", semantics(c, a)), ""});
  }
  const std::size_t before = classes.names.size(), after = before + names.size();
  Matrix<float> grown(after, attributes());
  std::ranges::copy(classes.semantics.values(), grown.data());
  std::ranges::copy(semantics.values(), grown.data() + classes.semantics.size());
  Matrix<float> means;
  if (!classes.samples.empty()) {
    means = Matrix<float>(after, classes.means.cols(), 0.0f);
    std::ranges::copy(classes.means.values(), means.data());
    classes.samples.reserve(after);
  }
  Experience taught = with_room(classes.taught, after), adapted = with_room(classes.adapted, after);
  classes.described.reserve(classes.described.empty() ? 0 : after);
  std::vector<std::string> all;
  all.reserve(after);
  classes.seen.reserve(after);
  all = classes.names;
  all.insert(all.end(), names.begin(), names.end());  // the last step that can fail
  classes.names = std::move(all);
  classes.seen.resize(after, 0);
  classes.semantics = std::move(grown);
  if (!classes.samples.empty()) {
    classes.samples.resize(after, 0.0f);
    classes.means = std::move(means);
  }
  classes.taught = std::move(taught);
  classes.adapted = std::move(adapted);
  if (!classes.described.empty()) classes.described.resize(after, 1);
}

void Model::remove_class(const std::string& name) { remove_classes({&name, 1}); }

void Model::remove_classes(std::span<const std::string> names) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t c = 0; c < classes.names.size(); ++c) places.emplace(classes.names[c], c);
  std::vector<std::uint8_t> goes(classes.names.size(), 0);
  for (const auto& name : names) {
    const auto found = places.find(name);
    if (found == places.end())
      throw Error(BadInput{"class '" + name + "'", "name", "a class of the model", "none of that name",
                           "check the names of the model's classes" + did_you_mean(name, classes.names)});
    if (places.size() == 1)
      throw Error(BadInput{"class '" + name + "'", "", "a model that keeps at least one class", "its last class", ""});
    goes[found->second] = 1;
    places.erase(found);
  }
  Matrix<float> shrunk(places.size(), attributes()), means(places.size(), classes.means.cols());
  ClassBank left;
  for (std::size_t c = 0; c < goes.size(); ++c) {
    if (goes[c]) continue;
    std::ranges::copy(classes.semantics.row(c), shrunk.row(left.names.size()).begin());
    if (!classes.samples.empty()) {
      std::ranges::copy(classes.means.row(c), means.row(left.names.size()).begin());
      left.samples.push_back(classes.samples[c]);
    }
    left.names.push_back(classes.names[c]);
    left.seen.push_back(classes.seen[c]);
    if (!classes.described.empty()) left.described.push_back(classes.described[c]);
  }
  left.gamma_before = classes.gamma_before;
  left.taught = without(classes.taught, goes);
  left.adapted = without(classes.adapted, goes);
  left.semantics = std::move(shrunk);
  if (!classes.samples.empty()) left.means = std::move(means);
  sets = without(sets, goes);
  classes = std::move(left);
}

}  // namespace parsnets
