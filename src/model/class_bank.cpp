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

/// Where classes of the bank from `first` on lie in class space; rows are their prepared semantics.
Matrix<float> places_of(const Model& model, std::size_t first, MatrixView<const float> semantics) {
  Matrix<float> places(semantics.rows(), model.outputs());
  for (std::size_t c = 0; c < places.rows(); ++c) {
    std::vector<double> predicted(places.cols(), 0.0);
    if (is_described(model.classes, first + c)) model.prototypes.add(semantics.row(c), predicted);
    const PlaceParts parts = place_parts(model, first + c, predicted);
    for (std::size_t j = 0; j < places.cols(); ++j)
      places(c, j) = static_cast<float>(parts.own[j] + parts.predicted * predicted[j]);
  }
  return places;
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
      bank = places_of(model, first + begin, bank.view());
      for (std::size_t c = begin; c < end; ++c)
        out.lengths[c] = static_cast<float>(std::sqrt(dot(bank.row(c - begin), bank.row(c - begin))));
    } else {
      centre_rows(model, bank.view());
    }
    std::ranges::copy(bank.values(), out.vectors.row(begin).data());
  });
  out.squares = squared_lengths(out.vectors.view());
  return out;
}

/// Room for more classes, of which nothing is known; what is empty stays so.
Matrix<float> with_room(const Matrix<float>& known, std::size_t classes) {
  if (known.empty()) return {};
  Matrix<float> more(classes, known.cols(), 0.0f);
  std::ranges::copy(known.values(), more.data());
  return more;
}
template <class T>
std::vector<T> with_room(std::vector<T> known, std::size_t classes, T value) {
  if (!known.empty()) known.resize(classes, value);
  return known;
}

/// What is known of the classes that stay.
Matrix<float> some_of(const Matrix<float>& known, std::span<const std::int32_t> stay) {
  return known.empty() ? Matrix<float>() : gather_rows(known.view(), stay);
}
template <class T>
std::vector<T> some_of(const std::vector<T>& known, std::span<const std::int32_t> stay) {
  std::vector<T> some;
  for (std::size_t i = 0; i < stay.size() && !known.empty(); ++i)
    some.push_back(known[static_cast<std::size_t>(stay[i])]);
  return some;
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
  return static_cast<float>(place_parts(model, c, std::vector<double>(model.outputs(), 0.0)).predicted);
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
  const auto more = [&](const Experience& before_them) {
    return Experience{with_room(before_them.samples, after, 0.0f), with_room(before_them.sums, after)};
  };
  ClassBank grown{classes.names,
                  with_room(classes.seen, after, std::uint8_t{0}),
                  with_room(classes.semantics, after),
                  with_room(classes.samples, after, 0.0f),
                  with_room(classes.means, after),
                  more(classes.taught),
                  more(classes.adapted),
                  with_room(classes.described, after, std::uint8_t{1}),
                  classes.gamma_before};
  grown.names.insert(grown.names.end(), names.begin(), names.end());
  std::ranges::copy(semantics.values(), grown.semantics.row(before).begin());
  classes = std::move(grown);
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
  std::vector<std::int32_t> stay;
  for (std::size_t c = 0; c < goes.size(); ++c)
    if (!goes[c]) stay.push_back(static_cast<std::int32_t>(c));
  const auto left_of = [&](const Experience& known) {
    return Experience{some_of(known.samples, stay), some_of(known.sums, stay)};
  };
  ClassBank left{some_of(classes.names, stay),   some_of(classes.seen, stay),      some_of(classes.semantics, stay),
                 some_of(classes.samples, stay), some_of(classes.means, stay),     left_of(classes.taught),
                 left_of(classes.adapted),       some_of(classes.described, stay), classes.gamma_before};
  sets = without(sets, goes);
  classes = std::move(left);
}

}  // namespace parsnets
