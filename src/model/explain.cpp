// Explains a decision by attribute. For cosine models the difference of two scores is integrated along the straight
// line between the prepared semantics of the two classes (Aumann-Shapley): with s(t) the score of a class that lies at
//   a(t) = a₂ + t·(a₁ − a₂),   contribution of attribute j = ∫₀¹ ∂s/∂a_j dt · (a₁ − a₂)_j,
// and what the classes' own samples give is the same integral over their part of the class vector
//   p(t) = E(t) + β(t)·k(a(t)),   E(t) = (1 − t)·own₂ + t·own₁,   β(t) = (1 − t)·β₂ + t·β₁   (PlaceParts of the
//   classes).
// Together they are s(1) − s(0) exactly; Gauss-Legendre with 16 nodes leaves an error far below 1e-4.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "model/prediction.hpp"
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
  Vector semantics;  ///< m, scaled
  Vector own;        ///< o: PlaceParts::own
  double predicted;  ///< PlaceParts::predicted
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
    if (model.targets == Targets::semantics) {
      vector_ = b_;
      return;
    }
    const auto& support = model.prototypes.support;
    const double width = model.prototypes.width;
    vector_.assign(model.outputs(), 0.0);
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
    Vector h = model_.targets == Targets::semantics ? g : Vector(b_.size(), 0.0);
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
  const Model& model_;
  Vector b_, vector_, slopes_;  ///< unit b, k(a), slope of the kernel per support row
  double length_ = 0;           ///< of b before
};

End end_of(const Model& model, std::size_t c) {
  std::vector<float> a(model.classes.semantics.row(c).begin(), model.classes.semantics.row(c).end());
  model.semantic_preprocess.apply(a);
  End end{Vector(a.begin(), a.end()), Vector(model.outputs(), 0.0), 1};
  if (model.targets != Targets::classes) return end;
  PlaceParts parts = place_parts(
      model, c,
      is_described(model.classes, c) ? ClassPlace(model, end.semantics).vector() : Vector(end.own.size(), 0.0));
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
  add(place, other.predicted, ClassPlace(model, other.semantics).vector());
  const double own = std::sqrt(inner_product(end.own, end.own)), length = std::sqrt(inner_product(place, place));
  if (own == 0 || length == 0) return;
  for (double& v : end.own) v *= length / own;
}

struct Terms {
  Vector attributes;    ///< m
  double examples = 0;  ///< what the classes' own samples gave
};

/// p becomes the derivative of cos(f, p) by p, 0 where there is none.
void derive_cosine(const Vector& f, Vector& p) {
  const double f_length = std::sqrt(inner_product(f, f)), length = std::sqrt(inner_product(p, p));
  if (f_length == 0 || length == 0) return p.assign(p.size(), 0.0);
  const double score = inner_product(f, p) / (f_length * length);
  for (std::size_t j = 0; j < p.size(); ++j) p[j] = (f[j] / f_length - score * p[j] / length) / length;
}

/// f is centred.
Terms integrate(const Model& model, std::span<const float> f, std::size_t winner, std::size_t other) {
  static const auto nodes = legendre_nodes<16>();
  End from = end_of(model, other), to = end_of(model, winner);
  level(model, other, from, to);
  level(model, winner, to, from);
  Terms terms{Vector(model.attributes(), 0.0), 0};
  const Vector given(f.begin(), f.end());
  for (const auto& [t, weight] : nodes) {
    Vector a = from.semantics;
    for (std::size_t j = 0; j < a.size(); ++j) a[j] += t * (to.semantics[j] - from.semantics[j]);
    const ClassPlace place(model, a);
    const double predicted = from.predicted + t * (to.predicted - from.predicted);
    Vector g = place.vector();
    for (std::size_t j = 0; j < g.size(); ++j) g[j] = predicted * g[j] + from.own[j] + t * (to.own[j] - from.own[j]);
    derive_cosine(given, g);
    for (std::size_t j = 0; j < g.size(); ++j)
      terms.examples += weight * g[j] * (to.own[j] - from.own[j] + (to.predicted - from.predicted) * place.vector()[j]);
    for (double& v : g) v *= predicted;
    const Vector slope = place.pull_back(g);
    for (std::size_t j = 0; j < slope.size(); ++j)
      terms.attributes[j] += weight * slope[j] * (to.semantics[j] - from.semantics[j]);
  }
  return terms;
}

/// Dot products and distances are sums over attributes already.
Terms subtract(const Model& model, std::span<const float> f, MatrixView<const float> bank, std::size_t winner,
               std::size_t other) {
  const auto in_attributes = [&](std::span<const float> vector) {
    std::vector<float> expanded(model.attributes());
    model.semantic_preprocess.expand(vector, expanded);
    return expanded;
  };
  const auto term = [&](double a, double b) {
    return model.similarity == Similarity::dot ? a * b : -(a - b) * (a - b);
  };
  const auto given = in_attributes(f), won = in_attributes(bank.row(winner)), lost = in_attributes(bank.row(other));
  Terms terms;
  for (std::size_t j = 0; j < given.size(); ++j)
    terms.attributes.push_back(term(given[j], won[j]) - term(given[j], lost[j]));
  return terms;
}

}  // namespace

Explanation explain(const Model& model, std::span<const float> x, ThreadPool& pool) {
  return explain(model, x, model.prepare_classes(pool), pool);
}

Explanation explain(const Model& model, std::span<const float> x, const PreparedClasses& prepared, ThreadPool& pool) {
  if (model.direction != Direction::forward)
    throw Error(ErrorCode::usage, "only models that predict semantics can be explained by attribute");
  Matrix<float> f(1, model.outputs());
  Matrix<std::uint16_t> open(1, model.gates.open);
  Predictor(model, nullptr).predict({x.data(), 1, x.size()}, pool, f.view(), open.view());
  Explanation result;
  const Matrix<float> predicted = as_attributes(model, Matrix<float>::copy_of(f.view()), pool);
  result.predicted.assign(predicted.values().begin(), predicted.values().end());
  result.open_networks.assign(open.row(0).begin(), open.row(0).end());
  RankedClass best[2];
  std::size_t ranked = 0;
  predictor_of(model, prepared).compare(f.view(), pool, [&](std::size_t, MatrixView<const float> scores) {
    ranked = Ranking(model).best(scores.row(0), best);
  });
  centre_rows(model, f.view());
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
