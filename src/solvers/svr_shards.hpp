#pragma once
// The SVR of svr.hpp over a group of processes, each with its own samples: the same problem over the union of them.
//
// Round: every process improves its own β by sweeps over blocks (svr_block.hpp) as if the others stood still, with the
//   kernel scaled by σ′ = (P + 1)/2 for what the others do at the same time (the kernel's constant part, which couples
//   all samples, by P). Θ = Φᵀβ is then summed over the processes, from nothing each time, and every output goes as far
//   along the common step as raises its dual value most: the dual value never falls. Between rounds outputs are
//   extrapolated as in svr_engine.hpp. Σβ = 0 and the optimal bias are found by bisection on sums over the processes.
//   Primal, dual and gap are those of svr_certificate.hpp over all samples.
// Local sweeps use the kernel of the own samples or, where that is cheaper or memory is short, its features.
//
// Bytes that a process puts into collective calls, for R rounds from β = 0, P > 1 processes, K networks, m outputs:
//   64·P + 4·K·(h+1) + 32·m + R·(4·K·(h+1)·m + 48·m + 16)       without a global bias
//   64·P + 4·K·(h+1) + 544·m + R·(4·K·(h+1)·m + 864·m + 16)     with one
// and 8·P + 4·n·m for each checkpoint (n own samples), 8 once if checkpoints are written.

#include "parsnets/matrix.hpp"
#include "parsnets/processes.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"
#include "solvers/svr.hpp"

namespace parsnets {

/// Solves over the samples of all processes, at least one each; the union is in the order of the ranks. Collective:
/// options but threads, form and memory_limit are the same everywhere, and a failure of one is thrown by all. Returns
/// β of the own samples; bias, objectives and passes (rounds) are bitwise equal on all processes. `progress` of process
/// 0 alone is asked and told. Process 0 reads and writes `checkpoint`: β of all samples (it holds 4·N·m bytes for
/// that), with which any number of processes can go on with the same samples in the same order, up to the path taken.
/// Throws as solve_svr of one process does.
SvrResult solve_svr(const GatedSamples& own_samples, MatrixView<const float> own_targets, const SvrOptions& options,
                    Processes& processes, ThreadPool& pool, ProgressObserver* progress = nullptr,
                    MatrixView<const float> own_start = {});

/// Θ of the union as networks_from_dual of one process, bitwise equal on all. Collective; 4·K·(h+1)·m + 8·P
/// bytes.
Matrix<float> networks_from_dual(const GatedSamples& own_samples, MatrixView<const float> own_beta,
                                 Processes& processes, ThreadPool& pool);

}  // namespace parsnets
