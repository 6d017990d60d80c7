#pragma once
// Baselines: each turns training samples into one linear map. X is n x d (preprocessed rows), `labels` holds the row of
// `semantics` (C x m, preprocessed) that describes each sample. Classes without a sample take no part.
// All solvers throw Error(usage) for a parameter that is not a positive number and Error(bad_input) for samples whose
// shapes or labels do not fit together. Those that are classes keep views of the samples and a reference to the pool:
// both must outlive them. They remember work between calls: one call at a time.

#include <cstdint>
#include <memory>
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

/// Samples known by their sums alone: x are (raw − mean)·factor.
struct SummedSamples {
  const Statistics& statistics;       ///< of the raw samples; its classes are rows of `semantics`
  std::span<const float> factor;      ///< d; empty: 1
  MatrixView<const float> semantics;  ///< C x m
};

struct TrainingSamples {
  MatrixView<const float> x;             ///< n x d
  std::span<const std::int32_t> labels;  ///< n
  MatrixView<const float> semantics;     ///< C x m
};

/// ridge: min_W,b ½Σ‖a_y − Wᵀx − b‖² + ½λ‖W‖²; the bias is not regularised. Uses XᵀX (d <= n) or XXᵀ (else).
class Ridge {
 public:
  Ridge(const TrainingSamples& samples, ThreadPool& pool);
  Ridge(const SummedSamples& samples, ThreadPool& pool);  ///< the same from sums; keeps no view of them
  ~Ridge();
  /// Forward map for one lambda > 0.
  LinearMap solve(double lambda);
  /// The same with other targets: `semantics` C' x m' for the same labels (selection over semantic scalings). Cheap as
  /// long as lambda stays the same: the factor of the last lambda is kept, and with m' >= C also its solutions.
  LinearMap solve(double lambda, MatrixView<const float> semantics);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// reverse-ridge: min_R,r ½Σ‖x − Rᵀa_y − r‖² + ½λ‖R‖²: prototypes of classes in feature space.
LinearMap solve_reverse_ridge(const TrainingSamples& samples, double lambda, ThreadPool& pool);

/// ESZSL (Romera-Paredes & Torr 2015): V = (XᵀX + γI)⁻¹ Xᵀ Y S (SᵀS + λI)⁻¹ with Y ∈ {−1, 1}; score = xᵀ V a (dot).
/// S are the semantics of the classes that occur in `labels`; the bias is zero.
class Eszsl {
 public:
  Eszsl(const TrainingSamples& samples, ThreadPool& pool);
  Eszsl(const SummedSamples& samples, ThreadPool& pool);  ///< the same from sums; keeps no view of them
  ~Eszsl();
  /// Both > 0. Another lambda for the gamma of the last call is cheap.
  LinearMap solve(double gamma, double lambda);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// SAE (Kodirov et al. 2017): min_W ‖X − S W‖² + λ‖X Wᵀ − S‖², W m x d, by the Sylvester equation
/// SᵀS W + λ W XᵀX = (1+λ) SᵀX. `forward` is xWᵀ, `reverse` is aW; their biases are zero.
struct SaeMaps {
  LinearMap forward, reverse;
};
class Sae {
 public:
  /// Finds all eigenpairs of XᵀX (d <= n) or XXᵀ (else); a lambda costs two products after that.
  Sae(const TrainingSamples& samples, ThreadPool& pool);
  Sae(const SummedSamples& samples, ThreadPool& pool);  ///< the same from sums; keeps no view of them
  ~Sae();
  /// For one lambda > 0.
  SaeMaps solve(double lambda) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

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
/// Stops each attribute when its relative gradient is below 1e-4, and all of them after 1000 iterations.
DapResult solve_dap(const TrainingSamples& samples, double lambda, ThreadPool& pool,
                    ProgressObserver* progress = nullptr);

}  // namespace parsnets
