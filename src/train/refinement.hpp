#pragma once
// What moves networks after they were fitted: the squared loss joined with MMG, discriminative refinement, prototypes.

#include "solvers/descent.hpp"
#include "train/stages.hpp"

namespace parsnets {

/// options.joint_steps steps on fit + mmg·MMG with the squared loss, the geometry that of the whole output; with the
/// SVR's, see joint.hpp. Throws usage when the memory limit is too low, as does refine().
void join_fit_and_mmg(Stages& stages, const TrainOptions& o, Model& model);

/// Refinement and prototypes of forward models; `observer` sees the model at 0, or where it goes on, and after each
/// step. A `checkpoint` that is not empty is written after each step; options.run.resume goes on from it if it exists.
void refine(Stages& stages, const TrainOptions& o, Model& model, const DescentObserver& observer,
            const std::filesystem::path& checkpoint = {});

}  // namespace parsnets
