// Explains a decision by attribute. For cosine models the difference of two scores is integrated along the straight
// line between the prepared semantics of the two classes (Aumann-Shapley): with s(t) the score of a class that lies at
//   a(t) = a₂ + t·(a₁ − a₂),   contribution of attribute j = ∫₀¹ ∂s/∂a_j dt · (a₁ − a₂)_j,
// and what the classes' own samples give is the same integral over their part of the class vector
//   p(t) = E(t) + β(t)·k(a(t)),   E(t) = (1 − t)·own₂ + t·own₁,   β(t) = (1 − t)·β₂ + t·β₁   (PlaceParts of the
//   classes).
// Together they are s(1) − s(0) exactly; Gauss-Legendre with 16 nodes leaves an error far below 1e-4. With two heads s
// is the mean of two such cosines; in the second E is 0 and β is 1. A class without a description has no second cosine:
// the weights of the two change along the line as E does.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/linalg.hpp"
#include "model/prediction.hpp"
#include "model/scoring.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"

namespace parsnets {

namespace {

using Vector = std::vector<double>;

struct Node {
  double at, weight;
};

/// Gauss-Legendre on [0, 1]: the roots of the Legendre polynomial by Newton's method.
template <std::size_t Count>
std::array<Node, Count> legendre_nodes() {
  std::array<Node, Count> nodes;
  for (std::size_t i = 0; i < Count; ++i) {
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (Count + 0.5)), slope = 1;
    for (int iteration = 0; iteration < 50; ++iteration) {
      double p = 1, before = 0;
      for (std::size_t k = 0; k < Count; ++k) {
        const auto n = static_cast<double>(k);
        const double next = ((2 * n + 1) * x * p - n * before) / (n + 1);
        before = p;
        p = next;
      }
      slope = Count * (x * p - before) / (x * x - 1);
      x -= p / slope;
    }
    nodes[i] = {(1 - x) / 2, 1 / ((1 - x * x) * slope * slope)};
  }
  return nodes;
}

double inner_product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add(Vector& to, double factor, std::span<const double> what) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * what[i];
}

/// One end of the line: a class of the bank.
struct End {
  Vector semantics;     ///< m, scaled
  Vector own;           ///< r: PlaceParts::own
  double predicted;     ///< PlaceParts::predicted
  double in_place;      ///< weight of the cosine in class space
  double in_semantics;  ///< weight of the cosine in semantics
};

/// The map from scaled semantics to k(a), and its transposed derivative.
class ClassPlace {
 public:
  ClassPlace(const Model& model, const Vector& a) : model_(model), b_(model.semantic_outputs(), 0.0) {
    const auto &centre = model.semantic_preprocess.whitening_centre, &axes = model.semantic_preprocess.whitening;
    const bool whitened = !axes.empty();
    for (std::size_t i = 0; i < b_.size(); ++i) {
      for (std::size_t j = 0; whitened && j < a.size(); ++j) b_[i] += axes[i * a.size() + j] * (a[j] - centre[j]);
      if (!whitened) b_[i] = a[i];
      if (model.targets == Targets::semantics && !model.semantic_centre.empty()) b_[i] -= model.semantic_centre[i];
    }
    length_ = std::sqrt(inner_product(b_, b_));
    if (length_ > 0)
      for (double& v : b_) v /= length_;
    const auto& support = model.prototypes.support;
    const double width = model.prototypes.width;
    vector_.assign(model.outputs(), 0.0);
    if (compares_semantics()) std::ranges::copy(b_, vector_.begin() + semantics_at());
    for (std::size_t s = 0; s < support.rows() && length_ > 0; ++s) {
      double cosine = 0;
      for (std::size_t i = 0; i < b_.size(); ++i) cosine += b_[i] * support(s, i);
      const double likeness = width == 0 ? cosine : std::exp((cosine - 1) / (width * width));
      slopes_.push_back(width == 0 ? 1 : likeness / (width * width));
      for (std::size_t j = 0; j < vector_.size(); ++j) vector_[j] += likeness * model.prototypes.weights(s, j);
    }
  }

  const Vector& vector() const { return vector_; }

  /// Jᵀg: m values for o.
  Vector pull_back(const Vector& g) const {
    Vector h(b_.size(), 0.0);
    if (compares_semantics()) std::copy_n(g.begin() + semantics_at(), h.size(), h.begin());
    for (std::size_t s = 0; s < slopes_.size(); ++s) {
      double along = 0;
      for (std::size_t j = 0; j < g.size(); ++j) along += g[j] * model_.prototypes.weights(s, j);
      for (std::size_t i = 0; i < h.size(); ++i) h[i] += slopes_[s] * along * model_.prototypes.support(s, i);
    }
    add(h, -inner_product(h, b_), b_);
    for (double& v : h) v = length_ > 0 ? v / length_ : 0;
    const auto& axes = model_.semantic_preprocess.whitening;
    if (axes.empty()) return h;
    Vector out(model_.attributes(), 0.0);
    for (std::size_t i = 0; i < h.size(); ++i)
      for (std::size_t j = 0; j < out.size(); ++j) out[j] += h[i] * axes[i * out.size() + j];
    return out;
  }

 private:
  /// Whether b is part of the class vector, and where it begins.
  bool compares_semantics() const { return model_.targets == Targets::semantics || model_.head_weight > 0; }
  std::ptrdiff_t semantics_at() const { return static_cast<std::ptrdiff_t>(vector_.size() - b_.size()); }

  const Model& model_;
  Vector b_, vector_, slopes_;  ///< unit b, k(a), slope of the kernel per support row
  double length_ = 0;           ///< of b before
};

End end_of(const Model& model, std::size_t c) {
  std::vector<float> a(model.classes.semantics.row(c).begin(), model.classes.semantics.row(c).end());
  model.semantic_preprocess.apply(a);
  const double share = 1 / (1 + model.head_weight);
  End end{Vector(a.begin(), a.end()), Vector(model.class_outputs(), 0.0), 1, share, 1 - share};
  if (model.targets != Targets::classes) return end;
  Vector place(model.class_outputs(), 0.0);
  if (!is_described(model.classes, c)) {  // its vector has no part in semantics
    end.in_place = std::sqrt(share);
    end.in_semantics = 0;
  } else {
    std::copy_n(ClassPlace(model, end.semantics).vector().begin(), place.size(), place.begin());
  }
  PlaceParts parts = place_parts(model, c, place);
  end.own = std::move(parts.own);
  end.predicted = parts.predicted;
  return end;
}

/// A class without a description differs from the other by its samples alone. Their sum may have any length: at that of
/// the other's place the line between them is smooth.
void level(const Model& model, std::size_t c, End& end, const End& other) {
  if (is_described(model.classes, c)) return;
  end.semantics = other.semantics;
  Vector place = other.own;
  add(place, other.predicted, std::span(ClassPlace(model, other.semantics).vector()).first(place.size()));
  const double own = std::sqrt(inner_product(end.own, end.own)), length = std::sqrt(inner_product(place, place));
  if (own == 0 || length == 0) return;
  for (double& v : end.own) v *= length / own;
}

struct Terms {
  Vector attributes;    ///< m
  double examples = 0;  ///< what the classes' own samples gave
};

/// p becomes the derivative of share·cos(f, p) by p, 0 where there is none. Returns the cosine.
double derive_cosine(std::span<const float> f, double share, std::span<double> p) {
  const Vector given(f.begin(), f.end());
  const double f_length = std::sqrt(inner_product(given, given)), length = std::sqrt(inner_product(p, p));
  if (f_length == 0 || length == 0) {
    std::ranges::fill(p, 0.0);
    return 0;
  }
  const double score = inner_product(given, p) / (f_length * length);
  for (std::size_t j = 0; j < p.size(); ++j) p[j] = share * (given[j] / f_length - score * p[j] / length) / length;
  return score;
}

/// f is centred.
Terms integrate(const Model& model, std::span<const float> f, std::size_t winner, std::size_t other) {
  static const auto nodes = legendre_nodes<16>();
  End from = end_of(model, other), to = end_of(model, winner);
  level(model, other, from, to);
  level(model, winner, to, from);
  Terms terms{Vector(model.attributes(), 0.0), 0};
  const std::size_t placed = model.class_outputs();
  const auto between = [](double a, double b, double t) { return a + t * (b - a); };
  for (const auto& [t, weight] : nodes) {
    Vector a = from.semantics;
    for (std::size_t j = 0; j < a.size(); ++j) a[j] += t * (to.semantics[j] - from.semantics[j]);
    const ClassPlace place(model, a);
    const double predicted = between(from.predicted, to.predicted, t);
    Vector g = place.vector();
    const std::span<double> in_place(g.data(), placed), in_semantics(g.data() + placed, g.size() - placed);
    for (std::size_t j = 0; j < placed; ++j) g[j] = predicted * g[j] + from.own[j] + t * (to.own[j] - from.own[j]);
    const double place_cosine = derive_cosine(f.first(placed), between(from.in_place, to.in_place, t), in_place),
                 semantic_cosine =
                     derive_cosine(f.subspan(placed), between(from.in_semantics, to.in_semantics, t), in_semantics);
    terms.examples += weight * ((to.in_place - from.in_place) * place_cosine +
                                (to.in_semantics - from.in_semantics) * semantic_cosine);
    for (std::size_t j = 0; j < placed; ++j)
      terms.examples += weight * g[j] * (to.own[j] - from.own[j] + (to.predicted - from.predicted) * place.vector()[j]);
    for (double& v : in_place) v *= predicted;
    const Vector slope = place.pull_back(g);
    for (std::size_t j = 0; j < slope.size(); ++j)
      terms.attributes[j] += weight * slope[j] * (to.semantics[j] - from.semantics[j]);
  }
  return terms;
}

/// Dot products and distances are sums over attributes already.
Terms subtract(const Model& model, std::span<const float> f, MatrixView<const float> bank, std::size_t winner,
               std::size_t other) {
  const auto terms_of = [&](std::size_t c) {
    std::vector<float> in_attributes(model.attributes()), vector(model.attributes());
    model.semantic_preprocess.expand(f, in_attributes);
    model.semantic_preprocess.expand(bank.row(c), vector);
    return similarity_terms(model.similarity, in_attributes, vector);
  };
  Terms terms{terms_of(winner), 0};
  add(terms.attributes, -1, terms_of(other));
  return terms;
}

}  // namespace

Explanation explain(const Model& model, std::span<const float> x, ThreadPool& pool) {
  return explain(model, x, model.prepare_classes(pool), pool);
}

Explanation explain(const Model& model, std::span<const float> x, const PreparedClasses& prepared, ThreadPool& pool) {
  check_prepared(model, prepared);
  if (model.direction != Direction::forward)
    throw Error(ErrorCode::usage, "only models that predict semantics can be explained by attribute");
  Matrix<float> f(1, model.outputs());
  Matrix<std::uint16_t> open(1, model.gates.open);
  Predictor(model, nullptr).predict({x.data(), 1, x.size()}, pool, f.view(), open.view());
  Explanation result;
  const Matrix<float> predicted = as_attributes(model, Matrix<float>::copy_of(f.view()), pool);
  result.predicted.assign(predicted.values().begin(), predicted.values().end());
  result.open_networks.assign(open.row(0).begin(), open.row(0).end());
  centre_rows(model, f.view());
  const Matrix<float> scores =
      similarities(model.similarity, f.view(), prepared.vectors.view(), prepared.squares, pool);
  RankedClass best[2];
  const std::size_t ranked = Ranking(model).best(scores.row(0), best);
  const RankedClass& second = best[ranked > 1 ? 1 : 0];
  result.winner = best[0].class_index;
  result.runner_up = second.class_index;
  result.winner_score = best[0].score;
  result.runner_up_score = second.score;
  const auto winner = static_cast<std::size_t>(result.winner), other = static_cast<std::size_t>(result.runner_up);
  const auto penalty = [&](std::size_t c) { return model.classes.seen[c] ? model.gamma : 0.0; };
  result.calibration = penalty(other) - penalty(winner);
  const Terms terms = model.similarity == Similarity::cosine
                          ? integrate(model, f.row(0), winner, other)
                          : subtract(model, f.row(0), prepared.vectors.view(), winner, other);
  result.examples = terms.examples;
  for (std::size_t a = 0; a < terms.attributes.size(); ++a) result.attributes.push_back({a, terms.attributes[a]});
  std::ranges::stable_sort(result.attributes, std::greater{}, [](const Contribution& c) { return std::abs(c.amount); });
  return result;
}

}  // namespace parsnets
