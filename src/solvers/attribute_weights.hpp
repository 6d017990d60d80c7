#pragma once
// Weights of attributes that place classes better. With s_c the attributes of seen class c, c = 1 … P, and u its
// centred mean in class space at unit length, log weights t minimise the distance of each mean from the place that the
// other classes predict for it:
//   b_c = unit(e^t ∘ s_c) − mean,   G = bbᵀ = QΛQᵀ,   T = Q·diag(λ(λ + 1e-3·λ_1)^(−a))·Qᵀ        (partial whitening)
//   (several tables of attributes: T = Σ_i ω_i·T_i/(tr T_i/P), each T_i of the columns of its table)
//   k_cs = exp((T_cs/√(T_cc T_ss) − 1)/w²), or the cosine itself where w is 0;   R = (K + λ_K·I)⁻¹
//   p_c = m_c − (Rm)_c/R_cc    (kernel ridge regression without class c)
//   L(t) = −(1/P) Σ_c u_cᵀ unit(p_c)
// Adam from t = 0, stopped early: few classes say little of many attributes.

#include <span>
#include <vector>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// Columns of a table of attributes.
struct AttributeTable {
  std::size_t columns = 0;
  double weight = 1;  ///< ω
};

struct AttributeProblem {
  Matrix<double> attributes;                ///< s, P x m
  bool unit_length = true;                  ///< false: b_c = e^t ∘ s_c − mean
  Matrix<double> means;                     ///< m_c, P x r, centred
  double whitening = 0;                     ///< a
  double lambda = 0.3;                      ///< λ_K
  double width = 1;                         ///< w
  std::vector<AttributeTable> tables = {};  ///< m columns in all; empty: one table
};

/// L at the log weights t (m values) and, where `slope` is not empty, its m derivatives. Takes O(P³ + P²m) flops.
double leave_one_out_loss(const AttributeProblem& problem, std::span<const double> t, std::span<double> slope = {});

/// e^t after `steps` steps: m values, 1 for no steps. Deterministic.
std::vector<double> learn_attribute_weights(const AttributeProblem& problem, int steps);

}  // namespace parsnets
