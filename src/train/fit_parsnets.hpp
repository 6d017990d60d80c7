#pragma once
// Fits the default method. Features are mapped into class space in closed form (solvers/class_space.hpp); gated
// networks beside that map start at zero; refinement moves all of them,
//   f(x) = Vᵀx + Σ_{i active} Θ_iᵀ[1, e],   min Σ_l −log softmax_c(τ·cos(f(x_l) − g, p_c))[y_l] (solvers/descent.hpp),
// with the class prototypes p_c recomputed from the moved class means after every step (train/place_classes.hpp).

#include "solvers/descent.hpp"
#include "train/stages.hpp"

namespace parsnets {

/// What the gated networks of these resolved options ask for.
GateRequest gate_request(const ParsNetsOptions& options, std::uint64_t seed);

/// Fits `model`, which has its classes already. `observer` sees it at 0 and after each step of refinement, with its
/// prototypes. `checkpoint` (may be empty) keeps the last step; options.run says whether to resume from it. Throws
/// usage where a memory limit is too low, cancelled by the stages' observer.
void fit_parsnets(Stages& stages, const TrainOptions& options, Model& model, const DescentObserver& observer,
                  const std::filesystem::path& checkpoint);

/// Makes a linear map the one network of a model: its bias is the global one.
void set_linear_map(Model& model, LinearMap map);

}  // namespace parsnets
