#pragma once
// Monotone full-batch descent on the networks of a forward model, f(x) = Θ_sᵀx + Σ_{i ∈ S(x)} σ(Θ_iᵀz + b_i) + b:
//   J(Θ) = loss(f) + λ_mmg·g(f − μ) + ½ρ(‖Θ_s‖² + Σ_i‖Θ_i‖²),    g: mmg_of_unit_rows of the samples' outputs
//   softmax  loss = 1/n·Σ_l −log softmax_c(τ·cos(f(x_l) − μ, p_c))[y_l],  c over the seen classes
//   squared  loss = 1/n·Σ_l ‖a_{y_l} − f(x_l)‖² / 2v,  v the mean squared length of a − ā
// Directions are preconditioned by ridge, (XᵀX + λI)⁻¹XᵀG for the shared network and the same per gated network on its
// own samples (times weight/k): a step regresses the functional gradient on the features, so that its length of 1 means
// the same for every data set. Backtracking keeps J from rising. A step costs about 4·n·m·(d + k·h) flops, all BLAS-3.
//
// Samples may be spread over processes, and may come in blocks that are made anew at every visit; outputs are then made
// anew, too. A step has two visits: loss and moments XᵀG, Z_iᵀG_i, then the loss and the class means after the step.
// Between processes it sends 4·m·(d + K·(h+1)) bytes of moments and 8·(P·m + 1) bytes for every length that is tried,
// plus 8: see docs/scaling.md.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/linalg.hpp"
#include "base/processes.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/model.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/train_record.hpp"
#include "solvers/class_means.hpp"

namespace parsnets {

enum class DescentLoss { softmax, squared };

/// How far a descent has come: with its weights, all that is needed to go on.
struct DescentPlace {
  int steps = 0;                     ///< made so far
  double length = 0;                 ///< of the last one
  double natural = 0;                ///< step along the gradient that a length of 1 stands for
  std::vector<ObjectiveStep> trace;  ///< the start and every step
};

struct DescentOptions {
  DescentLoss loss = DescentLoss::softmax;
  int steps = 15;
  double sharpness = 10;        ///< τ
  double step = 1;              ///< length of a full step; backtracking halves it
  double lambda = 20;           ///< of the gated networks' preconditioners, in units of the mean eigenvalue of XᵀX
  double gate_weight = 0.3;     ///< how far the gated networks move beside it; 0: not at all
  double mmg = 0;               ///< λ_mmg
  double decay = 0;             ///< ρ
  bool classes_follow = false;  ///< class vectors and centre are read from the model at the start and after each step
  std::optional<DescentPlace> start = {};  ///< goes on from there; the model has the weights of that place
};

/// What the model's networks see of the training samples. Nothing is owned.
struct DescentSamples {
  SampleBlocks blocks;  ///< with z and active networks where the model has gated ones
  bool kept = true;     ///< there is one block, which stays in memory; false: blocks are made anew at every visit
  std::span<const std::int32_t> labels;   ///< n, rows of `semantics`
  MatrixView<const float> semantics;      ///< C x m prepared class semantics (squared), class vectors p (softmax)
  const Cholesky<float>* preconditioner;  ///< of the shared network (preconditioner.hpp)
  Processes* group = nullptr;             ///< the processes that have the other samples; null: there are none
};

/// Samples that are in memory as one block. Refers to what it is given.
SampleBlocks one_block(MatrixView<const float> x, MatrixView<const float> z, MatrixView<const std::uint16_t> open,
                       std::span<const std::int32_t> labels);

/// The model is one linear map of the features: its network plays the part of the shared one.
bool is_one_linear_map(const Model& model);

/// What the networks give for the training samples.
struct DescentOutputs {
  const ClassMeans& means;  ///< over the samples of all processes
  DescentPlace place = {};  ///< to go on from, after at least one step
};

/// Called at the start (0 steps) and after each step; false stops. May change the model's prototypes and, with
/// classes_follow, its class means and centre; nothing else.
using DescentObserver = std::function<bool(int steps, Model& model, const DescentOutputs& outputs)>;

/// Changes shared, networks (and their biases) of `model`; gates, encoder and the global bias stay. A model with gates
/// `always` is its own shared network. Returns the start and every step, the same in all processes. Throws usage for
/// reverse models and impossible options (margin geometry and ReLU need all samples in one process's memory), bad_input
/// for samples that do not fit, cancelled by `progress`. One call at a time per model.
std::vector<ObjectiveStep> descend(Model& model, const DescentSamples& samples, const DescentOptions& options,
                                   ThreadPool& pool, ProgressObserver* progress = nullptr,
                                   const DescentObserver& observer = {});

}  // namespace parsnets
