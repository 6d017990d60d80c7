// SAE: SᵀS W + λ W XᵀX = (1+λ) SᵀX for centred X and S; their means are the offsets of the maps. With the eigenpairs
// SᵀS = UᵀΣU and XᵀX = VᵀΛV (rows are eigenvectors) the unknown in both bases is diagonal: W = Uᵀ [ (1+λ)·(U SᵀX Vᵀ)_ij
// / (Σ_i + λΛ_j) ] V. Rows with Σ_i = 0 have a right-hand side of zero and are left out.

#include <algorithm>
#include <numeric>

#include "base/linalg.hpp"
#include "solvers/baselines/moments.hpp"

namespace parsnets {

SaeMaps solve_sae(const SummedSamples& samples, double lambda, ThreadPool& pool) {
  constexpr double kRankTolerance = 1e-10;  // of SᵀS, relative to its largest eigenvalue
  check_positive(lambda, "lambda");
  ClassMoments moments(samples);
  Matrix<double>& semantics = moments.semantics;
  const std::vector<double>& mean = moments.mean_class;
  const std::size_t classes = semantics.rows(), m = semantics.cols();
  Matrix<double> weighted(classes, m);
  for (std::size_t c = 0; c < classes; ++c)
    for (std::size_t j = 0; j < m; ++j) weighted(c, j) = moments.counts[c] * (semantics(c, j) -= mean[j]);
  EigenPairs inner =
      largest_eigenpairs(product(pool, Trans::yes, semantics, Trans::no, weighted).view(), std::min(m, classes));
  const double floor = kRankTolerance * inner.values[0];
  while (!inner.values.empty() && !(inner.values.back() > floor)) inner.values.pop_back();
  const MatrixView<const double> left(inner.vectors.data(), inner.values.size(), m);  // U, r x m
  const EigenPairs outer = largest_eigenpairs(centred_products(samples, moments).view());
  const auto squares = [](const EigenPairs& of) { return std::accumulate(of.values.begin(), of.values.end(), 0.0); };
  lambda *= squares(outer) / std::max(1e-12, squares(inner));
  const Matrix<double> by_class = product(pool, Trans::no, left, Trans::yes, semantics);  // U aᵀ, r x P
  const Matrix<double> moved = product(pool, Trans::no, by_class, Trans::no, moments.sums);
  Matrix<double> scaled = product(pool, Trans::no, moved, Trans::yes, outer.vectors);  // U SᵀX Vᵀ, r x d
  for (std::size_t i = 0; i < scaled.rows(); ++i)
    for (std::size_t j = 0; j < scaled.cols(); ++j)
      scaled(i, j) = (1 + lambda) * scaled(i, j) / (inner.values[i] + lambda * std::max(outer.values[j], 0.0));
  const Matrix<double> back = product(pool, Trans::no, scaled, Trans::no, outer.vectors);
  SaeMaps maps;
  std::vector<double> bias = moments.mean;
  const Matrix<double> weights = product(pool, Trans::yes, left, Trans::no, back);
  for (std::size_t j = 0; j < m; ++j)
    for (std::size_t i = 0; i < bias.size(); ++i) bias[i] -= weights(j, i) * mean[j];
  maps.reverse = {to_float(weights.view()), {bias.begin(), bias.end()}};
  maps.forward = {transposed(maps.reverse.weights), {mean.begin(), mean.end()}};
  return maps;
}

}  // namespace parsnets
