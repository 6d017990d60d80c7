// Cost of mmg_of_networks in flops, n_i samples in network i: 2·n_i·h·m for Y_i (float), about as much again for the
// gradient; 2·n_i·m·min(n_i, m) for the Gram matrix (double), twice that with the gradient, and O(min(n_i, m)³) for its
// eigenvalues; the classes cost less than the whole.

#include "solvers/mmg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/finite.hpp"
#include "base/linalg.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr double kMmgThreshold = 1e-5;  // part of σ_max up to which singular values are taken as zero
constexpr double kDependent = 1e-5;  // σ_min/σ_max of the networks' directions, below which a polar factor is noise

[[noreturn]] void bad_mmg_array(std::string field, std::string expected, std::string found) {
  throw Error(BadInput{"MMG input", std::move(field), std::move(expected), std::move(found),
                       "check the shapes of the outputs, labels and networks"});
}

void check_finite(MatrixView<const float> a, const char* field) {
  if (!all_finite(a.values())) bad_mmg_array(field, "finite values", "inf or nan");
}

// Eigenvalues, ascending; with `vectors` row i of `a` becomes the eigenvector of value i.
std::vector<double> eigen_in_place(Matrix<double>& a, bool vectors) {
  if (!vectors) return eigenvalues(a.view());
  EigenPairs pairs = largest_eigenpairs(a.view());
  for (std::size_t i = 0; i < a.rows(); ++i) std::ranges::copy(pairs.vectors.row(a.rows() - 1 - i), a.row(i).begin());
  std::ranges::reverse(pairs.values);
  return pairs.values;
}

// Σ v vᵀ f(value) over the pairs from `first` on, in the layout of eigen_in_place.
template <class F>
Matrix<double> function_of(ThreadPool& pool, const Matrix<double>& vectors, const std::vector<double>& values,
                           std::size_t first, F f) {
  const std::size_t n = vectors.rows(), kept = n - first;
  Matrix<double> scaled(kept, n);
  for (std::size_t i = 0; i < kept; ++i)
    for (std::size_t j = 0; j < n; ++j) scaled(i, j) = f(values[first + i]) * vectors(first + i, j);
  return product(pool, Trans::yes, MatrixView<const double>(vectors.data() + first * n, kept, n), Trans::no, scaled);
}

// Fills `subgradient` (n x m) unless it is empty.
double nuclear(MatrixView<const double> y, MatrixView<double> subgradient, ThreadPool& pool) {
  if (y.empty()) return 0;
  const bool tall = y.rows() >= y.cols();
  const std::size_t size = std::min(y.rows(), y.cols());
  Matrix<double> gram = product(pool, tall ? Trans::yes : Trans::no, y, tall ? Trans::no : Trans::yes, y);
  const std::vector<double> values = eigen_in_place(gram, !subgradient.empty());
  const double zero = std::max(kMmgThreshold * kMmgThreshold * values.back(), 0.0);
  const auto first = static_cast<std::size_t>(std::upper_bound(values.begin(), values.end(), zero) - values.begin());
  double norm = 0;
  for (std::size_t i = first; i < size; ++i) norm += std::sqrt(values[i]);
  if (subgradient.empty()) return norm;
  if (first == size) {
    std::fill(subgradient.values().begin(), subgradient.values().end(), 0.0);
    return norm;
  }
  const Matrix<double> root = function_of(pool, gram, values, first, [](double v) { return 1 / std::sqrt(v); });
  if (tall)
    multiply(pool, Trans::no, y, Trans::no, root.view(), subgradient);
  else
    multiply(pool, Trans::no, root.view(), Trans::no, y, subgradient);
  return norm;
}

// Samples by label, then by position, so that every class is a run of rows.
std::vector<std::size_t> order_by_class(std::span<const std::int32_t> labels) {
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t l) { return labels[l]; });
  return order;
}

// Where the runs of equal class begin among `rows` (ordered by class), and their end.
std::vector<std::size_t> runs(std::span<const std::int32_t> labels, std::span<const std::size_t> rows) {
  std::vector<std::size_t> begin;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (r == 0 || labels[rows[r]] != labels[rows[r - 1]]) begin.push_back(r);
  begin.push_back(rows.size());
  return begin;
}

// g of outputs in runs of classes; fills `gradient` (n x m) unless it is empty.
MmgValue mmg_of_runs(MatrixView<const double> y, const std::vector<std::size_t>& begin, MatrixView<double> gradient,
                     ThreadPool& pool) {
  const double whole = nuclear(y, gradient, pool);
  const std::size_t m = y.cols(), count = begin.size() - 1;
  std::vector<double> norms(count);
  pool.parallel_for(count, 1, [&](std::size_t v, std::size_t, std::size_t) {
    const std::size_t first = begin[v], rows = begin[v + 1] - first;
    Matrix<double> own(gradient.empty() ? 0 : rows, m);
    norms[v] = nuclear({y.data() + first * m, rows, m}, own.view(), pool);
    for (std::size_t i = 0; i < own.size(); ++i) {
      double& d = gradient.data()[first * m + i];
      d = own.data()[i] - d;
    }
  });
  MmgValue result;
  for (const double norm : norms) result.classes += norm;
  result.value = result.classes - whole;
  return result;
}

void check_labels(std::span<const std::int32_t> labels, std::size_t samples) {
  if (labels.size() != samples)
    bad_mmg_array("labels", fmt::format("{}, one per sample", samples), fmt::format("{}", labels.size()));
}

// vec(Θ_i) of `count` networks as rows of a matrix, K x (h·m), biases skipped.
struct Weights {
  MatrixView<const float> networks;
  std::size_t count, stride, size;
  const float* row(std::size_t i) const { return networks.data() + (i + 1) * stride - size; }
};

Weights weights_of(MatrixView<const float> networks, std::size_t count) {
  if (count == 0 || networks.rows() % count != 0 || networks.rows() / count < 2 || networks.cols() == 0)
    bad_mmg_array("networks", fmt::format("{} equally large blocks of a bias row and weights", count),
                  fmt::format("{} x {}", networks.rows(), networks.cols()));
  check_finite(networks, "networks");
  const std::size_t rows = networks.rows() / count, m = networks.cols();
  return {networks, count, rows * m, (rows - 1) * m};
}

constexpr std::size_t kPanel = 1024;  // columns of K x (h·m) that are turned into doubles at a time

Matrix<double> panel_of(const Weights& w, std::size_t first, std::size_t columns) {
  Matrix<double> panel(w.count, columns);
  for (std::size_t i = 0; i < w.count; ++i) std::copy_n(w.row(i) + first, columns, panel.row(i).begin());
  return panel;
}

Matrix<double> gram_of_networks(const Weights& w, ThreadPool& pool) {
  const std::size_t panels = ThreadPool::chunk_count(w.size, kPanel),
                    piece = std::max<std::size_t>(4, (panels + 15) / 16);  // at most 16 partial sums of K x K
  std::vector<Matrix<double>> parts(ThreadPool::chunk_count(panels, piece));
  pool.parallel_for(panels, piece, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    parts[chunk] = Matrix<double>(w.count, w.count, 0.0);
    for (std::size_t p = begin; p < end; ++p) {
      const Matrix<double> panel = panel_of(w, p * kPanel, std::min(kPanel, w.size - p * kPanel));
      multiply(pool, Trans::no, panel.view(), Trans::yes, panel.view(), parts[chunk].view(), 1, 1);
    }
  });
  for (std::size_t chunk = 1; chunk < parts.size(); ++chunk)
    for (std::size_t i = 0; i < parts[0].size(); ++i) parts[0].data()[i] += parts[chunk].data()[i];
  return std::move(parts[0]);
}

Matrix<float> gather(MatrixView<const float> z, std::span<const std::size_t> rows) {
  Matrix<float> out(rows.size(), z.cols());
  for (std::size_t r = 0; r < rows.size(); ++r) std::copy_n(z.row(rows[r]).begin(), z.cols(), out.row(r).begin());
  return out;
}

}  // namespace

MmgValue mmg_of_unit_rows(MatrixView<const float> f, std::span<const std::int32_t> labels, bool with_gradient,
                          ThreadPool& pool) {
  check_labels(labels, f.rows());
  check_finite(f, "outputs");
  if (f.empty()) return {};
  const std::vector<std::size_t> order = order_by_class(labels);
  const std::size_t n = f.rows(), m = f.cols();
  Matrix<double> sorted(n, m), gradient(with_gradient ? n : 0, m);
  std::vector<double> length(n);
  for (std::size_t r = 0; r < n; ++r) {
    const auto u = sorted.row(r);
    std::ranges::copy(f.row(order[r]), u.begin());
    length[r] = std::sqrt(std::inner_product(u.begin(), u.end(), u.begin(), 0.0));
    if (length[r] > 0)
      for (double& v : u) v /= length[r];
  }
  MmgValue result = mmg_of_runs(sorted.view(), runs(labels, order), gradient.view(), pool);
  const double scale = 1 / static_cast<double>(n);
  result.value *= scale;
  result.classes *= scale;
  if (!with_gradient) return result;
  result.gradient = Matrix<float>(n, m);
  for (std::size_t r = 0; r < n; ++r) {
    const auto u = sorted.row(r), d = gradient.row(r);
    const double radial = std::inner_product(u.begin(), u.end(), d.begin(), 0.0);
    const double factor = length[r] > 0 ? scale / length[r] : 0.0;
    const auto out = result.gradient.row(order[r]);
    for (std::size_t j = 0; j < m; ++j) out[j] = static_cast<float>(factor * (d[j] - radial * u[j]));
  }
  return result;
}

NetworkMmg mmg_of_networks(const GatedSamples& samples, std::span<const std::int32_t> labels,
                           MatrixView<const float> networks, bool with_gradient, ThreadPool& pool) {
  const Weights weights = weights_of(networks, samples.networks);
  check_samples(samples);
  check_labels(labels, samples.z.rows());
  if (networks.rows() != samples.networks * (samples.z.cols() + 1))
    bad_mmg_array("networks", fmt::format("{} rows", samples.networks * (samples.z.cols() + 1)),
                  fmt::format("{}", networks.rows()));
  const std::size_t n = samples.z.rows(), h = samples.z.cols(), m = networks.cols(), count = samples.networks;
  const Matrix<double> gram = gram_of_networks(weights, pool);
  std::vector<std::vector<std::size_t>> active(count);
  for (const std::size_t l : order_by_class(labels))
    for (const std::uint16_t i : samples.open.row(l)) active[i].push_back(l);
  const double pairs = static_cast<double>(n) * static_cast<double>(samples.open.cols());

  NetworkMmg result;
  if (with_gradient) result.gradient = Matrix<float>(networks.rows(), m, 0.0f);
  std::vector<MmgValue> values(count);
  std::vector<double> flops(count, 0.0);
  pool.parallel_for(count, 1, [&](std::size_t i, std::size_t, std::size_t) {
    const std::vector<std::size_t>& rows = active[i];
    const double norm = std::sqrt(gram(i, i));
    if (rows.empty() || norm == 0) return;
    const Matrix<float> z = gather(samples.z, rows);
    const MatrixView<const float> theta(weights.row(i), h, m);
    Matrix<double> y = to_double(product(pool, Trans::no, z, Trans::no, theta).view());
    for (double& v : y.values()) v /= norm;
    Matrix<double> d(with_gradient ? rows.size() : 0, m);
    values[i] = mmg_of_runs(y.view(), runs(labels, rows), d.view(), pool);
    const double per_product = 2.0 * static_cast<double>(rows.size()) * static_cast<double>(m),
                 side = static_cast<double>(std::min(rows.size(), m)), width = static_cast<double>(h);
    flops[i] = per_product * (with_gradient ? 2 * (width + side) : width + side);
    if (!with_gradient) return;
    const Matrix<float> slope = product(pool, Trans::yes, z, Trans::no, to_float(d.view()));  // ∂g/∂Q at Q = Θ_i/‖Θ_i‖
    const double radial = dot(slope.values(), theta.values()) / norm;
    float* out = result.gradient.data() + (i * (h + 1) + 1) * m;
    for (std::size_t e = 0; e < h * m; ++e)
      out[e] = static_cast<float>((slope.data()[e] - radial * theta.data()[e] / norm) / norm / pairs);
  });
  for (std::size_t i = 0; i < count; ++i) {
    result.value += values[i].value;
    result.classes += values[i].classes;
    result.flops += flops[i];
  }
  if (pairs > 0) {
    result.value /= pairs;
    result.classes /= pairs;
  }
  const double k = static_cast<double>(count);
  result.flops += 2 * k * k * static_cast<double>(weights.size);
  return result;
}

double network_orthogonality(MatrixView<const float> networks, std::size_t count, ThreadPool& pool) {
  const Matrix<double> gram = gram_of_networks(weights_of(networks, count), pool);
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (gram(i, i) > 0 && gram(j, j) > 0)
        largest = std::max(largest, std::fabs(gram(i, j)) / std::sqrt(gram(i, i)) / std::sqrt(gram(j, j)));
  return largest;
}

std::optional<Matrix<float>> orthonormal_networks(MatrixView<const float> networks, std::size_t count,
                                                  ThreadPool& pool) {
  const Weights w = weights_of(networks, count);
  const Matrix<double> gram = gram_of_networks(w, pool);
  std::vector<std::size_t> used;
  std::vector<double> norm;
  for (std::size_t i = 0; i < count; ++i)
    if (gram(i, i) > 0) {
      used.push_back(i);
      norm.push_back(std::sqrt(gram(i, i)));
    }
  Matrix<float> out = Matrix<float>::copy_of(networks);
  if (used.empty()) return out;
  if (used.size() > w.size) return std::nullopt;
  Matrix<double> cosines(used.size(), used.size());
  for (std::size_t i = 0; i < used.size(); ++i)
    for (std::size_t j = 0; j < used.size(); ++j) cosines(i, j) = gram(used[i], used[j]) / norm[i] / norm[j];
  const std::vector<double> values = eigen_in_place(cosines, true);
  if (!(values.front() > kDependent * kDependent * values.back())) return std::nullopt;
  const Matrix<double> root = function_of(pool, cosines, values, 0, [](double v) { return 1 / std::sqrt(v); });
  Matrix<double> mix(used.size(), count, 0.0);  // row i: what Θ̂_i is made of
  for (std::size_t i = 0; i < used.size(); ++i)
    for (std::size_t j = 0; j < used.size(); ++j) mix(i, used[j]) = norm[i] * root(i, j) / norm[j];
  pool.parallel_for(ThreadPool::chunk_count(w.size, kPanel), 1, [&](std::size_t p, std::size_t, std::size_t) {
    const std::size_t first = p * kPanel, columns = std::min(kPanel, w.size - first);
    const Matrix<double> panel = panel_of(w, first, columns);
    const Matrix<double> mixed = product(pool, Trans::no, mix, Trans::no, panel);
    for (std::size_t i = 0; i < used.size(); ++i)
      std::transform(mixed.row(i).begin(), mixed.row(i).end(), out.data() + (w.row(used[i]) - networks.data()) + first,
                     [](double v) { return static_cast<float>(v); });
  });
  return out;
}

}  // namespace parsnets
