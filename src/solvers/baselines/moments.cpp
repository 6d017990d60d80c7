#include "solvers/baselines/moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kRowGrain = 64;
constexpr std::size_t kColumnGrain = 256;

[[noreturn]] void bad_samples(const char* field, std::string expected, std::string found) {
  throw Error(
      BadInput{"training samples", field, std::move(expected), std::move(found), "check the labels and the semantics"});
}

/// Sum over blocks of BᵀB, in double; fill(buffer, begin) writes the block that starts at `begin`.
template <class Fill>
Matrix<double> gram_in_blocks(ThreadPool& pool, std::size_t length, std::size_t size, const Fill& fill) {
  constexpr std::size_t kBlock = 4096;
  Matrix<double> gram(size, size, 0.0);
  for (std::size_t begin = 0; begin < length; begin += kBlock) {
    Matrix<float> buffer(std::min(kBlock, length - begin), size);
    fill(buffer, begin);
    const Matrix<float> part = gram_of_columns(pool, buffer.view());
    pool.parallel_for(size, kRowGrain, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = first * size; i < last * size; ++i) gram.data()[i] += static_cast<double>(part.data()[i]);
    });
  }
  return gram;
}

std::vector<double> mean_of_statistics(const Statistics& statistics) {
  std::vector<double> mean(statistics.dimensions(), 0.0);
  for (std::size_t c = 0; c < statistics.class_sums().rows(); ++c)
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += statistics.class_sums()(c, j);
  for (double& v : mean) v /= statistics.weight();
  return mean;
}

}  // namespace

void check_positive(double value, const char* name) {
  if (!(value > 0) || !std::isfinite(value))
    throw Error(ErrorCode::usage, fmt::format("{} must be a positive number, found {}", name, value));
}

ClassMoments::ClassMoments(const TrainingSamples& samples, ThreadPool& pool) {
  const std::size_t n = samples.x.rows(), d = samples.x.cols(), count = samples.semantics.rows();
  if (samples.x.empty() || samples.semantics.empty())
    bad_samples("x and semantics", "at least one sample, feature, class and attribute",
                fmt::format("{} x {} and {} x {}", n, d, count, samples.semantics.cols()));
  if (samples.labels.size() != n)
    bad_samples("labels", fmt::format("{} labels, one per sample", n), fmt::format("{}", samples.labels.size()));
  for (const auto label : samples.labels)
    if (label < 0 || static_cast<std::size_t>(label) >= count)
      bad_samples("labels", fmt::format("rows of the semantics, 0 to {}", count - 1), fmt::format("{}", label));

  std::vector<double> per_row(count, 0.0);
  for (const auto label : samples.labels) ++per_row[static_cast<std::size_t>(label)];
  std::vector<std::size_t> place(count, 0);
  for (std::size_t c = 0; c < count; ++c)
    if (per_row[c] > 0) {
      place[c] = rows.size();
      rows.push_back(c);
      counts.push_back(per_row[c]);
    }
  for (const auto label : samples.labels) slots.push_back(place[static_cast<std::size_t>(label)]);

  total = static_cast<double>(n);
  mean.assign(d, 0.0);
  sums = Matrix<double>(classes(), d, 0.0);
  centred_sums = Matrix<double>(classes(), d);
  pool.parallel_for(d, kColumnGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t l = 0; l < n; ++l)
      for (std::size_t j = begin; j < end; ++j) sums(slots[l], j) += static_cast<double>(samples.x(l, j));
    for (std::size_t c = 0; c < classes(); ++c)
      for (std::size_t j = begin; j < end; ++j) mean[j] += sums(c, j);
    for (std::size_t j = begin; j < end; ++j) mean[j] /= static_cast<double>(n);
    for (std::size_t c = 0; c < classes(); ++c)
      for (std::size_t j = begin; j < end; ++j) centred_sums(c, j) = sums(c, j) - counts[c] * mean[j];
  });
}

ClassMoments::ClassMoments(const Statistics& statistics, std::span<const float> factor)
    : total(statistics.weight()), mean(statistics.dimensions(), 0.0) {
  const std::size_t d = statistics.dimensions();
  const auto raw_mean = mean_of_statistics(statistics);
  for (std::size_t c = 0; c < statistics.class_names().size(); ++c)
    if (statistics.class_weights()[c] > 0) {
      rows.push_back(c);
      counts.push_back(statistics.class_weights()[c]);
    }
  sums = Matrix<double>(classes(), d);
  centred_sums = Matrix<double>(classes(), d);
  for (std::size_t p = 0; p < classes(); ++p)
    for (std::size_t j = 0; j < d; ++j)
      sums(p, j) = centred_sums(p, j) = (statistics.class_sums()(rows[p], j) - counts[p] * raw_mean[j]) *
                                        (factor.empty() ? 1.0 : static_cast<double>(factor[j]));
}

Matrix<double> gram_of_statistics(const Statistics& statistics, std::span<const float> factor) {
  Matrix<double> gram = statistics.products();
  const auto mean = mean_of_statistics(statistics);
  const auto scale = [&](std::size_t j) { return factor.empty() ? 1.0 : static_cast<double>(factor[j]); };
  for (std::size_t i = 0; i < gram.rows(); ++i)
    for (std::size_t j = 0; j < gram.cols(); ++j)
      gram(i, j) = (gram(i, j) - statistics.weight() * mean[i] * mean[j]) * scale(i) * scale(j);
  return gram;
}

Matrix<double> ClassMoments::rows_of(MatrixView<const float> semantics) const {
  if (semantics.rows() <= rows.back() || semantics.cols() == 0)
    bad_samples("semantics", fmt::format("at least {} rows and one column", rows.back() + 1),
                fmt::format("{} x {}", semantics.rows(), semantics.cols()));
  Matrix<double> present(classes(), semantics.cols());
  for (std::size_t c = 0; c < classes(); ++c) std::ranges::copy(semantics.row(rows[c]), present.row(c).begin());
  return present;
}

std::vector<double> ClassMoments::mean_of(const Matrix<double>& present) const {
  std::vector<double> result(present.cols(), 0.0);
  for (std::size_t c = 0; c < classes(); ++c)
    for (std::size_t j = 0; j < result.size(); ++j) result[j] += counts[c] * present(c, j);
  for (auto& v : result) v /= total;
  return result;
}

Matrix<double> gram_of_features(ThreadPool& pool, MatrixView<const float> x, std::span<const double> centre) {
  return gram_in_blocks(pool, x.rows(), x.cols(), [&](Matrix<float>& buffer, std::size_t start) {
    pool.parallel_for(buffer.rows(), kRowGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t r = begin; r < end; ++r)
        for (std::size_t j = 0; j < x.cols(); ++j)
          buffer(r, j) = static_cast<float>(static_cast<double>(x(start + r, j)) - centre[j]);
    });
  });
}

Matrix<double> gram_of_samples(ThreadPool& pool, MatrixView<const float> x, std::span<const double> centre) {
  return gram_in_blocks(pool, x.cols(), x.rows(), [&](Matrix<float>& buffer, std::size_t start) {
    pool.parallel_for(buffer.rows(), kRowGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t l = 0; l < x.rows(); ++l)
        for (std::size_t r = begin; r < end; ++r)
          buffer(r, l) = static_cast<float>(static_cast<double>(x(l, start + r)) - centre[start + r]);
    });
  });
}

Matrix<double> combine_samples(ThreadPool& pool, MatrixView<const float> x, std::span<const double> centre,
                               MatrixView<const double> b) {
  Matrix<double> result(x.cols(), b.cols());
  pool.parallel_for(x.cols(), kColumnGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
    Matrix<double> block(x.rows(), end - begin);
    for (std::size_t l = 0; l < x.rows(); ++l)
      for (std::size_t j = begin; j < end; ++j) block(l, j - begin) = static_cast<double>(x(l, j)) - centre[j];
    multiply(pool, Trans::yes, block.view(), Trans::no, b,
             MatrixView<double>(result.row(begin).data(), end - begin, b.cols()));
  });
  return result;
}

ClassRidge::ClassRidge(const TrainingSamples& samples, bool centred, ThreadPool& pool)
    : x_(samples.x),
      centred_(centred),
      pool_(pool),
      moments_(samples, pool),
      centre_(centred ? moments_.mean : std::vector<double>(x_.cols(), 0.0)),
      primal_(x_.cols() <= x_.rows()),
      gram_(primal_ ? gram_of_features(pool, x_, centre_) : gram_of_samples(pool, x_, centre_)) {}

ClassRidge::ClassRidge(const Statistics& statistics, std::span<const float> factor, ThreadPool& pool)
    : x_(nullptr, 0, statistics.dimensions()),
      centred_(true),
      pool_(pool),
      moments_(statistics, factor),
      primal_(true),
      gram_(gram_of_statistics(statistics, factor)) {}

Matrix<double> ClassRidge::solve_all(MatrixView<const double> targets) const {
  if (primal_) {
    Matrix<double> result(x_.cols(), targets.cols());
    multiply(pool_, Trans::yes, (centred_ ? moments_.centred_sums : moments_.sums).view(), Trans::no, targets,
             result.view());
    factor_->solve(pool_, result.view());
    return result;
  }
  // Centred columns keep the constant vector, whose eigenvalue is lambda alone, out of the solution.
  std::vector<double> mean(targets.cols(), 0.0);
  if (centred_) mean = moments_.mean_of(Matrix<double>::copy_of(targets));
  Matrix<double> dual(x_.rows(), targets.cols());
  for (std::size_t l = 0; l < x_.rows(); ++l)
    for (std::size_t j = 0; j < targets.cols(); ++j) dual(l, j) = targets(moments_.slots[l], j) - mean[j];
  factor_->solve(pool_, dual.view());
  return combine_samples(pool_, x_, centre_, dual.view());
}

Matrix<double> ClassRidge::solve(double lambda, MatrixView<const double> targets) {
  check_positive(lambda, "lambda");
  if (lambda != lambda_) {
    factor_.reset();
    lambda_ = 0;
    per_class_ = {};
    factor_.emplace(pool_, Matrix<double>::copy_of(gram_.view()), lambda);
    lambda_ = lambda;
  }
  const std::size_t classes = moments_.classes();
  if (targets.cols() < classes) return solve_all(targets);
  if (per_class_.empty()) {
    Matrix<double> identity(classes, classes, 0.0);
    for (std::size_t c = 0; c < classes; ++c) identity(c, c) = 1;
    per_class_ = solve_all(identity.view());
  }
  Matrix<double> result(x_.cols(), targets.cols());
  multiply(pool_, Trans::no, per_class_.view(), Trans::no, targets, result.view());
  return result;
}

}  // namespace parsnets
