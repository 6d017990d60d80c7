#pragma once
// Class space: the space in which class means are told apart best, in closed form. For samples x with class means m_c,
// c = 1 … P, their mean μ and the covariance within classes S_w = (1/N) Σ (x − m_y)(x − m_y)ᵀ:
//   C = S_w + ρ·(tr S_w/d)·I,   M = rows m_c − μ,   M C⁻¹ Mᵀ = QΛQᵀ,   V = C⁻¹ Mᵀ Q Λ^(−1/2)   (d x r, r ≤ P − 1)
//   F(x) = Vᵀ(x − μ): VᵀCV = I, and the means lie at F(m) = QΛ^(1/2).
// Costs d³/3 + 2d²P flops in double beyond the statistics.

#include <cstdint>
#include <span>
#include <vector>

#include "base/linalg.hpp"
#include "features/statistics.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

struct ClassMap {
  Matrix<float> weights;  ///< V, d x r
  Matrix<double> means;   ///< P x r: F of the class means, in the order of ClassSpace::classes()
};

class ClassSpace {
 public:
  /// Reads class means and S_w. Throws bad_input unless at least two classes have samples. With `factor` (d values) the
  /// samples count as x·factor, feature by feature.
  ClassSpace(const Statistics& statistics, ThreadPool& pool, std::span<const float> factor = {});

  /// V for ρ > 0 (throws usage otherwise). Axes whose Λ is below 1e-9 of the first are dropped.
  ClassMap solve(double rho, ThreadPool& pool) const;
  /// XᵀX, X the samples minus μ: d x d.
  Matrix<float> products(ThreadPool& pool) const;
  /// Solves for XᵀX + N·C, X the samples minus μ: the preconditioner of descent in whitened coordinates.
  Cholesky<float> preconditioner(double rho, ThreadPool& pool) const;

  const std::vector<std::int32_t>& classes() const { return classes_; }  ///< P, those that have samples
  const std::vector<double>& weights() const { return weights_; }        ///< P, n_c
  const std::vector<double>& mean() const { return mean_; }              ///< d, μ

 private:
  double ridge(double rho) const;  ///< ρ·tr S_w/d
  /// The lower triangle of within·S_w + Σ n_c·(m_c − μ)(m_c − μ)ᵀ.
  Matrix<float> around_mean(double within, ThreadPool& pool) const;

  std::vector<std::int32_t> classes_;
  std::vector<double> weights_, mean_;
  double total_ = 0;        ///< N
  Matrix<double> centred_;  ///< M, P x d
  Matrix<double> within_;   ///< S_w, d x d; its lower triangle
};

}  // namespace parsnets
