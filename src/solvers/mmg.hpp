#pragma once
// Maximal margin geometry. Rows of Y are the outputs of samples, Y_v those of class v:
//   g(Y) = Σ_v ‖Y_v‖_* − ‖Y‖_* ≥ 0,   = 0 exactly when the row spaces of the classes are orthogonal
//   ∂g/∂Y = Σ_v Y_v(Y_vᵀY_v)^-½ − Y(YᵀY)^-½
// Everything goes through the Gram matrix of the smaller side in double, never an SVD of Y. A Gram matrix loses half
// the digits: singular values below about 1e-7·σ_max are noise, and so are those that float outputs of low rank bring
// along.
//
// All functions take row-major matrices, own what they return, are bitwise equal for any number of threads and may be
// called at the same time with different pools. They throw Error(bad_input) for shapes that do not fit together or
// values that are not finite.

#include <cstdint>
#include <optional>
#include <span>

#include "parsnets/matrix.hpp"
#include "parsnets/model_parts.hpp"
#include "parsnets/threads.hpp"
#include "solvers/svr.hpp"

namespace parsnets {

struct MmgValue {
  double value = 0;
  double classes = 0;      ///< the Σ_v part of it: value / classes is free of scale, 0 (best) to 1
  Matrix<float> gradient;  ///< n x m, empty when not asked for
};
/// g / n of the rows of f (n x m) scaled to length one, with the gradient for f itself. Rows of zeros take no part.
/// Labels may be any numbers. Singular values up to 1e-5·σ_max are taken as zero. Parallel over classes.
MmgValue mmg_of_unit_rows(MatrixView<const float> f, std::span<const std::int32_t> labels, bool with_gradient,
                          ThreadPool& pool);

/// Its gradient is (K·(h+1)) x m, zero in the rows of the biases.
struct NetworkMmg : MmgValue {
  double flops = 0;  ///< of the products, counted
};
/// (1/P) Σ_i g(Y_i), Y_i = Z_i Θ_i/‖Θ_i‖_F without biases, Z_i the samples that network i is active for, P = n·k pairs.
/// The gradient is the one for Θ_i: tangent to it, since its scale does not count. A network that is zero or has no
/// samples adds nothing. `networks` as networks_from_dual returns them, `labels` one per sample. Parallel over
/// networks.
NetworkMmg mmg_of_networks(const GatedSamples& samples, std::span<const std::int32_t> labels,
                           MatrixView<const float> networks, bool with_gradient, ThreadPool& pool);

/// max_{i≠j} |cos(Θ_i, Θ_j)| of `count` networks, (count·(h+1)) x m, biases left out; zero networks take no part.
double network_orthogonality(MatrixView<const float> networks, std::size_t count, ThreadPool& pool);

/// The orthogonal networks whose directions are nearest to those given: with rows q_i = vec(Θ_i)/‖Θ_i‖_F of Q, the
/// polar factor (QQᵀ)^-½Q, each row scaled to its former ‖Θ_i‖_F. Biases and zero networks stay as they are. No value
/// for more networks than weights in one, and where the networks are linearly dependent.
std::optional<Matrix<float>> orthonormal_networks(MatrixView<const float> networks, std::size_t count,
                                                  ThreadPool& pool);

}  // namespace parsnets
