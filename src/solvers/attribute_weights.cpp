#include "solvers/attribute_weights.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/linalg.hpp"

namespace parsnets {

namespace {

constexpr double kWhiteningFloor = 1e-3;  ///< as in the whitening of semantics

Matrix<double> product(Trans ta, const Matrix<double>& a, Trans tb, const Matrix<double>& b) {
  ThreadPool caller(1);
  return parsnets::product(caller, ta, a, tb, b);
}

/// Each row divided by its length; returns the lengths.
std::vector<double> to_unit_rows(Matrix<double>& rows) {
  std::vector<double> lengths;
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    double squares = 0;
    for (const double v : rows.row(r)) squares += v * v;
    lengths.push_back(std::sqrt(std::max(squares, 1e-300)));
    for (double& v : rows.row(r)) v /= lengths.back();
  }
  return lengths;
}

/// The derivative through v ↦ v/‖v‖, row by row, in place.
void through_unit_rows(Matrix<double>& slope, const Matrix<double>& unit, std::span<const double> lengths) {
  for (std::size_t r = 0; r < slope.rows(); ++r) {
    double along = 0;
    for (std::size_t j = 0; j < slope.cols(); ++j) along += slope(r, j) * unit(r, j);
    for (std::size_t j = 0; j < slope.cols(); ++j) slope(r, j) = (slope(r, j) - along * unit(r, j)) / lengths[r];
  }
}

void centre_columns(Matrix<double>& rows) {
  std::vector<double> mean(rows.cols(), 0.0);
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += rows(r, j) / static_cast<double>(rows.rows());
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t j = 0; j < mean.size(); ++j) rows(r, j) -= mean[j];
}

/// φ(λ) = λ(λ + floor)^(−a) of a symmetric matrix, and the derivative through it.
class PartialWhitening {
 public:
  PartialWhitening(const Matrix<double>& gram, double a) : a_(a), pairs_(largest_eigenpairs(gram.view())) {
    for (double& value : pairs_.values) value = std::max(value, 0.0);
    floor_ = kWhiteningFloor * std::max(pairs_.values[0], 1e-300);
    for (const double value : pairs_.values) phi_.push_back(value * std::pow(value + floor_, -a_));
  }

  Matrix<double> value() const {
    Matrix<double> scaled = Matrix<double>::copy_of(pairs_.vectors.view());
    for (std::size_t i = 0; i < scaled.rows(); ++i)
      for (double& v : scaled.row(i)) v *= phi_[i];
    return product(Trans::yes, pairs_.vectors, Trans::no, scaled);
  }

  /// Daleckii and Krein: Q(Γ ∘ QᵀDQ)Qᵀ, Γ the divided differences of φ; the floor moves with the first eigenvalue.
  Matrix<double> slope(const Matrix<double>& of_value) const {
    const std::size_t n = pairs_.values.size();
    Matrix<double> inner =
        product(Trans::no, product(Trans::no, pairs_.vectors, Trans::no, of_value), Trans::yes, pairs_.vectors);
    double of_floor = 0;
    for (std::size_t i = 0; i < n; ++i)
      of_floor -= inner(i, i) * a_ * pairs_.values[i] * std::pow(pairs_.values[i] + floor_, -a_ - 1);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) inner(i, j) *= divided_difference(i, j);
    inner(0, 0) += kWhiteningFloor * of_floor;
    return product(Trans::yes, pairs_.vectors, Trans::no, product(Trans::no, inner, Trans::no, pairs_.vectors));
  }

 private:
  double divided_difference(std::size_t i, std::size_t j) const {
    const double x = pairs_.values[i], y = pairs_.values[j];
    if (std::abs(x - y) > 1e-6 * floor_) return (phi_[i] - phi_[j]) / (x - y);
    const double middle = (x + y) / 2, power = std::pow(middle + floor_, -a_);
    return power - a_ * middle * power / (middle + floor_);
  }

  double a_, floor_ = 0;
  EigenPairs pairs_;
  std::vector<double> phi_;  ///< φ of the eigenvalues
};

/// The part of T that a table of attributes makes, and the derivative through it.
class WhitenedTable {
 public:
  WhitenedTable(const AttributeProblem& problem, std::span<const double> t, std::size_t first,
                const AttributeTable& table)
      : first_(first), unit_length_(problem.unit_length), weighted_(problem.attributes.rows(), table.columns) {
    const std::size_t count = weighted_.rows();
    std::vector<double> weights(table.columns);
    for (std::size_t j = 0; j < table.columns; ++j) weights[j] = std::exp(t[first + j]);
    for (std::size_t c = 0; c < count; ++c)
      for (std::size_t j = 0; j < table.columns; ++j) weighted_(c, j) = weights[j] * problem.attributes(c, first + j);
    unit_ = Matrix<double>::copy_of(weighted_.view());
    if (unit_length_) lengths_ = to_unit_rows(unit_);
    centred_ = Matrix<double>::copy_of(unit_.view());
    centre_columns(centred_);
    whitening_.emplace(product(Trans::no, centred_, Trans::yes, centred_), problem.whitening);
    value_ = whitening_->value();
    for (std::size_t c = 0; c < count; ++c) trace_ += value_(c, c);
    trace_ = std::max(trace_, 1e-300);
    scale_ = table.weight * static_cast<double>(count) / trace_;
  }

  void add_to(Matrix<double>& sum) const {
    for (std::size_t i = 0; i < value_.size(); ++i) sum.data()[i] += scale_ * value_.data()[i];
  }

  /// Sets the derivatives of the table's columns.
  void slope(const Matrix<double>& of_sum, std::span<double> of_t) const {
    Matrix<double> of_value = Matrix<double>::copy_of(of_sum.view());
    double along = 0;
    for (std::size_t i = 0; i < value_.size(); ++i) along += of_sum.data()[i] * value_.data()[i] / trace_;
    for (std::size_t c = 0; c < of_value.rows(); ++c) of_value(c, c) -= along;
    for (double& v : of_value.values()) v *= scale_;
    Matrix<double> of_unit = product(Trans::no, whitening_->slope(of_value), Trans::no, centred_);
    for (double& v : of_unit.values()) v *= 2;
    centre_columns(of_unit);
    if (unit_length_) through_unit_rows(of_unit, unit_, lengths_);
    std::fill_n(of_t.begin() + static_cast<std::ptrdiff_t>(first_), weighted_.cols(), 0.0);
    for (std::size_t c = 0; c < weighted_.rows(); ++c)
      for (std::size_t j = 0; j < weighted_.cols(); ++j) of_t[first_ + j] += of_unit(c, j) * weighted_(c, j);
  }

 private:
  std::size_t first_;
  bool unit_length_;
  Matrix<double> weighted_, unit_, centred_, value_;
  std::vector<double> lengths_;
  std::optional<PartialWhitening> whitening_;
  double trace_ = 0, scale_ = 1;
};

}  // namespace

double leave_one_out_loss(const AttributeProblem& problem, std::span<const double> t, std::span<double> slope) {
  const std::size_t count = problem.attributes.rows(), m = problem.attributes.cols(), r = problem.means.cols();
  const auto classes = static_cast<double>(count);
  std::vector<WhitenedTable> tables;
  Matrix<double> t_matrix(count, count, 0.0);
  std::size_t first = 0;
  for (const AttributeTable& table : problem.tables.empty() ? std::vector<AttributeTable>{{m, 1.0}} : problem.tables) {
    tables.emplace_back(problem, t, first, table);
    tables.back().add_to(t_matrix);
    first += table.columns;
  }
  std::vector<double> root(count);
  for (std::size_t c = 0; c < count; ++c) root[c] = std::sqrt(std::max(t_matrix(c, c), 1e-300));
  Matrix<double> cosine(count, count), kernel(count, count), inverse(count, count, 0.0);
  const double squared_width = problem.width * problem.width;
  for (std::size_t c = 0; c < count; ++c)
    for (std::size_t s = 0; s < count; ++s) {
      cosine(c, s) = t_matrix(c, s) / (root[c] * root[s]);
      kernel(c, s) = squared_width > 0 ? std::exp((cosine(c, s) - 1) / squared_width) : cosine(c, s);
    }
  for (std::size_t c = 0; c < count; ++c) inverse(c, c) = 1;
  ThreadPool caller(1);
  Cholesky(Matrix<double>::copy_of(kernel.view()), problem.lambda).solve(caller, inverse.view());
  const Matrix<double> alpha = product(Trans::no, inverse, Trans::no, problem.means);
  Matrix<double> place(count, r), target = Matrix<double>::copy_of(problem.means.view());
  for (std::size_t c = 0; c < count; ++c)
    for (std::size_t j = 0; j < r; ++j) place(c, j) = problem.means(c, j) - alpha(c, j) / inverse(c, c);
  to_unit_rows(target);
  const std::vector<double> place_lengths = to_unit_rows(place);
  double loss = 0;
  for (std::size_t i = 0; i < place.size(); ++i) loss -= place.data()[i] * target.data()[i] / classes;
  if (slope.empty()) return loss;

  Matrix<double> of_place(count, r);
  for (std::size_t i = 0; i < place.size(); ++i) of_place.data()[i] = -target.data()[i] / classes;
  through_unit_rows(of_place, place, place_lengths);
  std::vector<double> of_diagonal(count, 0.0);
  for (std::size_t c = 0; c < count; ++c)
    for (std::size_t j = 0; j < r; ++j) {
      of_diagonal[c] += of_place(c, j) * alpha(c, j) / (inverse(c, c) * inverse(c, c));
      of_place(c, j) /= -inverse(c, c);  // now of α
    }
  Matrix<double> of_inverse = product(Trans::no, of_place, Trans::yes, problem.means);
  for (std::size_t c = 0; c < count; ++c) of_inverse(c, c) += of_diagonal[c];
  const Matrix<double> of_kernel =
      product(Trans::no, product(Trans::no, inverse, Trans::no, of_inverse), Trans::no, inverse);
  Matrix<double> of_t(count, count);
  for (std::size_t c = 0; c < count; ++c)
    for (std::size_t s = 0; s < count; ++s) {
      const double of_cosine =
          -(of_kernel(c, s) + of_kernel(s, c)) / 2 * (squared_width > 0 ? kernel(c, s) / squared_width : 1);
      of_t(c, s) = of_cosine / (root[c] * root[s]);
    }
  for (std::size_t c = 0; c < count; ++c) {
    double sum = 0;
    for (std::size_t s = 0; s < count; ++s) sum += of_t(c, s) * root[c] * root[s] * cosine(c, s);
    // Its own cosine is 1 whatever T is.
    of_t(c, c) -= sum / t_matrix(c, c);
  }
  for (const WhitenedTable& table : tables) table.slope(of_t, slope);
  return loss;
}

std::vector<double> learn_attribute_weights(const AttributeProblem& problem, int steps) {
  constexpr double kRate = 0.05, kFirst = 0.9, kSecond = 0.999, kTiny = 1e-12;
  const std::size_t m = problem.attributes.cols();
  std::vector<double> t(m, 0.0), slope(m), first(m, 0.0), second(m, 0.0);
  for (int step = 1; step <= steps; ++step) {
    const double loss = leave_one_out_loss(problem, t, slope);
    const auto finite = [](double v) { return std::isfinite(v); };
    if (!finite(loss) || !std::ranges::all_of(slope, finite)) break;  // no weights tell equal directions apart
    for (std::size_t j = 0; j < m; ++j) {
      first[j] = kFirst * first[j] + (1 - kFirst) * slope[j];
      second[j] = kSecond * second[j] + (1 - kSecond) * slope[j] * slope[j];
      t[j] -= kRate * first[j] / (1 - std::pow(kFirst, step)) /
              (std::sqrt(second[j] / (1 - std::pow(kSecond, step))) + kTiny);
    }
  }
  for (double& v : t) v = std::exp(v);
  return t;
}

}  // namespace parsnets
