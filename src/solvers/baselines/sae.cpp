// SAE: SᵀS W + λ W XᵀX = (1+λ) SᵀX. With the eigenpairs SᵀS = UᵀΣU and XᵀX = VᵀΛV (rows are eigenvectors) the unknown
// in both bases is diagonal: W = Uᵀ [ (1+λ)·(U SᵀX Vᵀ)_ij / (Σ_i + λΛ_j) ] V. Rows with Σ_i = 0 have a right-hand side
// of zero and are left out. With XXᵀ = QᵀΛQ (d > n) V = Λ^-½QX, and the roots cancel:
// W = Uᵀ [ (1+λ)·(U SᵀQᵀ)_ij / (Σ_i + λΛ_j) ] QX.

#include <algorithm>

#include "base/linalg.hpp"
#include "solvers/baselines/moments.hpp"

namespace parsnets {

namespace {

constexpr double kRankTolerance = 1e-10;  ///< of SᵀS, relative to its largest eigenvalue

Matrix<double> product(ThreadPool& pool, Trans ta, const Matrix<double>& a, Trans tb, const Matrix<double>& b) {
  Matrix<double> c(ta == Trans::no ? a.rows() : a.cols(), tb == Trans::no ? b.cols() : b.rows());
  multiply(pool, ta, a.view(), tb, b.view(), c.view());
  return c;
}

Matrix<float> transposed(const Matrix<float>& a) {
  Matrix<float> t(a.cols(), a.rows());
  for (std::size_t r = 0; r < a.rows(); ++r)
    for (std::size_t c = 0; c < a.cols(); ++c) t(c, r) = a(r, c);
  return t;
}

}  // namespace

struct Sae::State {
  ThreadPool& pool;
  std::vector<double> sigma, lambda;  // r and p eigenvalues; r <= min(m, P), p = min(n, d)
  Matrix<double> left;                // r x m: U
  Matrix<double> middle;              // r x p: U SᵀX Vᵀ or U SᵀQᵀ
  Matrix<double> right;               // p x d: V or QX

  void set_semantics(const ClassMoments& moments, const Matrix<double>& semantics) {
    const std::size_t classes = semantics.rows(), m = semantics.cols();
    Matrix<double> weighted(classes, m);
    for (std::size_t c = 0; c < classes; ++c)
      for (std::size_t j = 0; j < m; ++j) weighted(c, j) = moments.counts[c] * semantics(c, j);
    EigenPairs inner =
        largest_eigenpairs(product(pool, Trans::yes, semantics, Trans::no, weighted).view(), std::min(m, classes));
    const double floor = kRankTolerance * inner.values[0];
    while (!inner.values.empty() && !(inner.values.back() > floor)) inner.values.pop_back();
    left = Matrix<double>::copy_of({inner.vectors.data(), inner.values.size(), m});
    sigma = std::move(inner.values);
  }
  void set_products(const ClassMoments& moments, const Matrix<double>& semantics, const Matrix<double>& gram) {
    EigenPairs pairs = largest_eigenpairs(gram.view());
    for (const double value : pairs.values) lambda.push_back(std::max(value, 0.0));
    const Matrix<double> by_class = product(pool, Trans::no, left, Trans::yes, semantics);  // U aᵀ, r x P
    const Matrix<double> moved = product(pool, Trans::no, by_class, Trans::no, moments.sums);
    middle = product(pool, Trans::no, moved, Trans::yes, pairs.vectors);
    right = std::move(pairs.vectors);
  }
};

Sae::Sae(const SummedSamples& samples, ThreadPool& pool) : state_(new State{pool, {}, {}, {}, {}, {}}) {
  const ClassMoments moments(samples.statistics, samples.factor);
  const Matrix<double> semantics = moments.rows_of(samples.semantics);
  state_->set_semantics(moments, semantics);
  state_->set_products(moments, semantics, gram_of_statistics(samples.statistics, samples.factor));
}

Sae::Sae(const TrainingSamples& samples, ThreadPool& pool) : state_(new State{pool, {}, {}, {}, {}, {}}) {
  State& s = *state_;
  const ClassMoments moments(samples, pool);
  const Matrix<double> semantics = moments.rows_of(samples.semantics);
  const std::size_t classes = semantics.rows(), n = samples.x.rows(), d = samples.x.cols();
  const std::vector<double> zero(d, 0.0);
  s.set_semantics(moments, semantics);
  if (d <= n) {
    s.set_products(moments, semantics, gram_of_features(pool, samples.x, zero));
    return;
  }

  EigenPairs pairs = largest_eigenpairs(gram_of_samples(pool, samples.x, zero).view());
  for (const double value : pairs.values) s.lambda.push_back(std::max(value, 0.0));
  const Matrix<double> by_class = product(pool, Trans::no, s.left, Trans::yes, semantics);  // U aᵀ, r x P
  Matrix<double> sums(n, classes, 0.0);  // of each eigenvector over the samples of a class
  Matrix<double> columns(n, n);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t l = 0; l < n; ++l) {
      sums(j, moments.slots[l]) += pairs.vectors(j, l);
      columns(l, j) = pairs.vectors(j, l);
    }
  s.middle = product(pool, Trans::no, by_class, Trans::yes, sums);
  const Matrix<double> moved = combine_samples(pool, samples.x, zero, columns.view());  // d x n
  s.right = Matrix<double>(n, d);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < n; ++j) s.right(j, i) = moved(i, j);
}
Sae::~Sae() = default;

SaeMaps Sae::solve(double lambda) const {
  check_positive(lambda, "lambda");
  const State& s = *state_;
  Matrix<double> scaled(s.middle.rows(), s.middle.cols());
  for (std::size_t i = 0; i < scaled.rows(); ++i)
    for (std::size_t j = 0; j < scaled.cols(); ++j)
      scaled(i, j) = (1 + lambda) * s.middle(i, j) / (s.sigma[i] + lambda * s.lambda[j]);
  const Matrix<double> moved = product(s.pool, Trans::no, scaled, Trans::no, s.right);
  SaeMaps maps;
  maps.reverse = {to_float(product(s.pool, Trans::yes, s.left, Trans::no, moved).view()),
                  std::vector<float>(s.right.cols(), 0.0f)};
  maps.forward = {transposed(maps.reverse.weights), std::vector<float>(s.left.cols(), 0.0f)};
  return maps;
}

}  // namespace parsnets
