#pragma once
// Fits the encoder: the rows of W span the top-h principal subspace of X's second moment, then a rotation is applied.

#include <cstdint>

#include "parsnets/model_parts.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

enum class EncoderMethod { automatic, exact, randomized };

struct EncoderOptions {
  int dimensions = 400;  ///< h; at most d
  bool random_rotation = true;
  EncoderMethod method = EncoderMethod::automatic;  ///< automatic: exact, unless that costs twice the flops
  std::uint64_t seed = 1;
};

/// From XᵀX (d x d) of `samples` samples. Exact: its symmetric eigen-solve. Randomized: range finder with power
/// iterations. Throws usage when h > min(N, d). The error is that of the products, down to about 1e-3.
Encoder fit_encoder(const EncoderOptions& options, std::size_t samples, MatrixView<const float> products,
                    ThreadPool& pool);

/// E = X Wᵀ, N x h (a copy of X for the identity encoder).
Matrix<float> encoded(const Encoder& encoder, MatrixView<const float> x, ThreadPool& pool);

}  // namespace parsnets
