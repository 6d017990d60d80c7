#pragma once
// The composite predictor on prepared inputs: f(x) = Σ_{i ∈ S(x)} σ(Θ_iᵀz + b_i) + b, σ the identity or max(0, ·),
// samples grouped by network.

#include <cstdint>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// K networks of h inputs and m outputs: (K·(h+1)) x m, row i·(h+1) is the bias of network i.
struct NetworkWeights {
  MatrixView<const float> values;
  std::size_t count = 0;
  bool relu = false;
};

/// Memory of one thread in which rows are grouped by network; grows to what it needs and is kept.
struct GroupRoom {
  std::vector<std::size_t> first, next;  ///< K + 1
  std::vector<const float*> inputs;      ///< rows·k, by network
  std::vector<float*> outputs;           ///< the same
};

/// f_r += Σ_{i open} σ(Θ_iᵀz_r + b_i), in the order of i. z and f: pointers to rows of h and m values; open: rows x k,
/// ascending.
void add_networks(const NetworkWeights& networks, std::span<const float* const> z, MatrixView<const std::uint16_t> open,
                  GroupRoom& room, std::span<float* const> f);

/// z is n x h, open n x k (ascending), networks (K·(h+1)) x m with row i·(h+1) the bias of network i. Returns n x m.
Matrix<float> compose(MatrixView<const float> z, MatrixView<const std::uint16_t> open, std::size_t networks_count,
                      MatrixView<const float> networks, std::span<const float> bias, bool relu, ThreadPool& pool);

}  // namespace parsnets
