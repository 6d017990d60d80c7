#pragma once
// What the SVR solvers refuse before they start.

#include <cstddef>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"
#include "solvers/svr.hpp"

namespace parsnets {

constexpr std::size_t kSmallestSvrBlock = 16;

/// Throws usage for impossible options.
void check_svr_options(const SvrOptions& options);
/// Throws bad_input for mismatched shapes, gates that are not ascending network numbers, or non-finite values.
void check_svr_samples(const GatedSamples& samples, ThreadPool& pool);
/// The same for targets N x m and a start that is empty or N x m.
void check_svr_targets(const GatedSamples& samples, MatrixView<const float> targets, MatrixView<const float> start,
                       ThreadPool& pool);
/// Throws bad_input unless beta is N x m with m > 0.
void check_svr_beta(const GatedSamples& samples, MatrixView<const float> beta);

}  // namespace parsnets
