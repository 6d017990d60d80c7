#pragma once
// Fit and maximal margin geometry together:
//   J(Θ,b) = F(Θ,b) + w·g(Θ),   F = ½‖Θ‖² + C Σ_l Σ_j max(0, |a_lj − f_j(x_l)| − ε),   f = ΘᵀΦ(x) + b   (svr.hpp)
// g as in mmg_of_networks. Its weight w = λ·F(Θ⁰)/g(Θ⁰), Θ⁰ = the plain SVR solution: with λ = 1 both parts are equally
// large at the start, whatever the data's scale and size. Where g(Θ⁰) is zero up to rounding there is nothing to gain.
//
// Each outer step, from the current Θ with the subgradient ∇ of g there (that of its concave part −‖Y_i‖_* included):
//   U = Θ − η·w·∇,   Θ̂ = U + τ·(orthonormal_networks(U) − U)
//   Θ⁺, b⁺ = argmin ½‖Θ‖² + (1/2η)‖Θ − Θ̂‖² + C Σ loss
// taken if J(Θ⁺,b⁺) ≤ J(Θ,b); else η is halved and τ quartered: with τ = 0 this is the proximal gradient step, which
// descends for small η, while the projection alone may raise J; at τ ~ η² it can no longer spoil the descent. η starts
// at min(1, ‖Θ‖/‖w·∇‖), τ at 1 (0 where the networks are linearly dependent and have no nearest orthogonal set).

#include <cstdint>
#include <span>
#include <vector>

#include "solvers/mmg.hpp"
#include "solvers/svr.hpp"

namespace parsnets {

struct JointOptions {
  SvrOptions svr;
  double mmg = 0.1;     ///< λ >= 0
  int outer_steps = 3;  ///< >= 0
};

struct JointStep {                         ///< one attempt
  double objective = 0, fit = 0, mmg = 0;  ///< J, F and g of the attempt
  double step = 0;                         ///< η
  double projection = 0;                   ///< τ
  bool accepted = false;
};

struct JointResult {
  Matrix<float> networks;   ///< (K·(h+1)) x m, as networks_from_dual
  std::vector<float> bias;  ///< m
  std::vector<JointStep> steps;
  double start_objective = 0, objective = 0;  ///< J of the plain SVR solution and of the result
  double start_mmg = 0, mmg = 0;              ///< g of both; not computed (0) for λ = 0
  double weight = 0;                          ///< w
  double relative_gap = 0;                    ///< of the fit the result comes from
  bool converged = false;                     ///< that fit reached its tolerance
  double orthogonality = 0;                   ///< max_{i≠j} |cos(Θ_i, Θ_j)|
  Matrix<float> start_beta;                   ///< N x m, the plain SVR solution: a start for similar problems
  double flops = 0, bytes = 0;                ///< of the hot loops, counted
};

/// Targets n x m, labels n (any numbers), start_beta n x m or empty: a warm start of the plain SVR. J, evaluated in
/// double from Θ and b, never rises from step to step; λ = 0 gives the SVR solution. Bitwise equal for any number of
/// threads. Throws as solve_svr and mmg_of_networks do; cancelled by `progress`.
JointResult solve_joint(const GatedSamples& samples, std::span<const std::int32_t> labels,
                        MatrixView<const float> targets, const JointOptions& options, ThreadPool& pool,
                        ProgressObserver* progress = nullptr, MatrixView<const float> start_beta = {});

struct ProximalFit {
  Matrix<float> networks;   ///< (K·(h+1)) x m
  std::vector<float> bias;  ///< m
  Matrix<float> beta;       ///< n x m, in the box of C: Θ = (Θ̂ + η·Φᵀβ)/(1 + η)
  double relative_gap = 0;
  bool converged = false;
  double flops = 0, bytes = 0;
};

/// min ½‖Θ‖² + (1/2η)‖Θ − Θ̂‖² + C Σ loss for the centre Θ̂, (K·(h+1)) x m, and η > 0. With s = η/(1+η) it is s⁻¹ times
/// the SVR of box bound sC in Δ = Θ − Θ̂/(1+η) for targets a − Θ̂ᵀΦ/(1+η). `start` (n x m or empty) warm-starts β.
/// Throws as solve_svr does.
ProximalFit solve_proximal_fit(const GatedSamples& samples, MatrixView<const float> targets,
                               MatrixView<const float> centre, double eta, const SvrOptions& options, ThreadPool& pool,
                               ProgressObserver* progress = nullptr, MatrixView<const float> start = {});

}  // namespace parsnets
