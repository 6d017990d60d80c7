#pragma once
// The composite predictor on prepared inputs: f(x) = Σ_{i ∈ S(x)} σ(Θ_iᵀz + b_i) + b, σ the identity or max(0, ·),
// samples grouped by network into GEMMs.

#include <cstdint>
#include <span>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// z is n x h, open n x k (ascending), networks (K·(h+1)) x m with row i·(h+1) the bias of network i. Returns n x m.
Matrix<float> compose(MatrixView<const float> z, MatrixView<const std::uint16_t> open, std::size_t networks_count,
                      MatrixView<const float> networks, std::span<const float> bias, bool relu, ThreadPool& pool);

}  // namespace parsnets
