// Minimises over stored networks B_b and coefficients C (K x r)
//     Σ_i Σ_a ‖(Θ_i − Σ_b C_ib B_b)ᵀ (1, z_a)‖²,
// the error of the networks' outputs on typical inputs z_a. Anchors are training samples, so they serve as z_a; without
// anchors in the space of z the error is taken of the weights themselves. With y_i the outputs of network i on all z_a
// in one row, the optimum is the projection of the rows y_i on the r leading eigenvectors V of Y Yᵀ: C = V, B = Vᵀ Θ.

#include "device/mix_networks.hpp"

#include <algorithm>

#include "base/linalg.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kMostInputs = 256;

/// Typical network inputs with a leading 1, one per row; empty when none are known.
Matrix<float> typical_inputs(const Model& model) {
  const auto& anchors = model.gates.anchors;
  const std::size_t z = model.z_dimensions();
  if (anchors.cols() != z) return {};
  const std::size_t count = std::min(anchors.rows(), kMostInputs);
  Matrix<float> inputs(count, z + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto anchor = anchors.row(i * anchors.rows() / count);
    inputs(i, 0) = 1;
    std::copy(anchor.begin(), anchor.end(), inputs.row(i).begin() + 1);
  }
  return inputs;
}

/// Y Yᵀ, K x K.
Matrix<double> output_gram(const Model& model, ThreadPool& pool) {
  const std::size_t networks = model.gates.networks, height = model.z_dimensions() + 1, q = model.outputs();
  const Matrix<float> inputs = typical_inputs(model);
  Matrix<float> outputs(networks, inputs.rows() * q);
  pool.parallel_for(inputs.empty() ? 0 : networks, 1, [&](std::size_t i, std::size_t, std::size_t) {
    multiply<float>(pool, Trans::no, inputs.view(), Trans::no, {model.networks.row(i * height).data(), height, q},
                    {outputs.row(i).data(), inputs.rows(), q});
  });
  const MatrixView<const float> rows =
      inputs.empty() ? MatrixView<const float>(model.networks.data(), networks, height * q) : outputs.view();
  const Matrix<float> gram = product(pool, Trans::no, rows, Trans::yes, rows);
  Matrix<double> symmetric(networks, networks);
  for (std::size_t i = 0; i < networks; ++i)
    for (std::size_t j = 0; j < networks; ++j)
      symmetric(i, j) = (static_cast<double>(gram(i, j)) + static_cast<double>(gram(j, i))) / 2;
  return symmetric;
}

}  // namespace

NetworkMixture mix_networks(const Model& model, std::size_t rank, ThreadPool& pool) {
  NetworkMixture result;
  const std::size_t networks = model.gates.networks;
  if (rank == 0 || rank == networks) {
    result.stored = Matrix<float>::copy_of(model.networks.view());
    return result;
  }
  const Matrix<double> gram = output_gram(model, pool);
  const Matrix<float> leading = to_float(largest_eigenpairs(gram.view(), rank).vectors.view());  // r x K
  const std::size_t size = model.networks.size() / networks;
  result.stored = Matrix<float>(rank * (model.z_dimensions() + 1), model.outputs());
  multiply<float>(pool, Trans::no, leading.view(), Trans::no, {model.networks.data(), networks, size},
                  {result.stored.data(), rank, size});
  result.mixing = transposed(leading);
  return result;
}

}  // namespace parsnets
