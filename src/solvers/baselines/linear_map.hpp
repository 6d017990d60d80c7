#pragma once
// Baselines: each turns training samples into one linear map. They know samples by their sums: targets are the same for
// all samples of a class, so that every product with them comes from sums over classes. Classes without a sample take
// no part. All solvers throw Error(usage) for a parameter that is not a positive number and Error(bad_input) for
// semantics that lack a class.

#include <cstdint>
#include <span>
#include <vector>

#include "features/statistics.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// f(x) = weightsᵀ x + bias.
struct LinearMap {
  Matrix<float> weights;    ///< d x m (forward) or m x d (reverse: from semantics to features)
  std::vector<float> bias;  ///< m (forward) or d (reverse)
};

/// Samples known by their sums. Their mean is zero up to rounding, which the products are freed of. Nothing is owned.
struct SummedSamples {
  const Statistics& statistics;       ///< of preprocessed samples; its classes are rows of `semantics`
  MatrixView<const float> semantics;  ///< C x m, preprocessed
};

/// ridge: min_W,b ½Σ‖a_y − Wᵀx − b‖² + ½λ‖W‖²; the bias is not regularised.
LinearMap solve_ridge(const SummedSamples& samples, double lambda, ThreadPool& pool);

/// reverse-ridge: min_R,r ½Σ‖x − Rᵀa_y − r‖² + ½λ‖R‖²: prototypes of classes in feature space.
LinearMap solve_reverse_ridge(const SummedSamples& samples, double lambda, ThreadPool& pool);

/// ESZSL (Romera-Paredes & Torr 2015): V = (XᵀX + γI)⁻¹ Xᵀ Y S (SᵀS + λI)⁻¹ with Y ∈ {−1, 1}; score = xᵀ V a (dot).
/// S are the semantics of the classes that have samples; the bias is zero.
LinearMap solve_eszsl(const SummedSamples& samples, double gamma, double lambda, ThreadPool& pool);

/// SAE (Kodirov et al. 2017): min_W ‖X − S W‖² + λ‖X Wᵀ − S‖², W m x d, by the Sylvester equation
/// SᵀS W + λ W XᵀX = (1+λ) SᵀX with S less its mean, which becomes the biases of `forward`, xWᵀ, and of `reverse`, aW.
/// X is centred. At `lambda` 1 both terms of the objective weigh the same relative to their data.
struct SaeMaps {
  LinearMap forward, reverse;
};
SaeMaps solve_sae(const SummedSamples& samples, double lambda, ThreadPool& pool);

/// DAP (Lampert et al. 2014) with logistic attribute classifiers: semantics are 0/1 here (Error(bad_input) otherwise).
/// min_w,b Σ log(1 + exp(wᵀx + b)) − a_y(wᵀx + b) + ½λ‖w‖² per attribute. Returns the map whose dot product with a 0/1
/// class vector is log Π p(a_m|x)/p(a_m) up to a term that is equal for all classes: its bias is b − logit(π) with
/// π = the mean of the attribute over the classes present, clipped to [0.01, 0.99]. An attribute that all of these
/// classes share, or all lack, says nothing and gets a zero map.
struct DapResult {
  LinearMap map;
  int iterations = 0;            ///< of the slowest attribute
  double relative_gradient = 0;  ///< of the worst attribute: gradient's norm over its norm at w = 0, b = logit(mean)
                                 ///< (d > n: the gradient of the dual coefficients)
};
/// x (n x d) and labels (n, rows of the semantics) are the samples that were summed. Stops each attribute when its
/// relative gradient is below 1e-4, and all of them after 1000 iterations.
DapResult solve_dap(const SummedSamples& samples, MatrixView<const float> x, std::span<const std::int32_t> labels,
                    double lambda, ThreadPool& pool, ProgressObserver* progress = nullptr);

}  // namespace parsnets
