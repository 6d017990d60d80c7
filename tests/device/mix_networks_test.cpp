#include "device/mix_networks.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "eigen_reference.hpp"
#include "pool_test.hpp"

namespace parsnets {
namespace {

using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MixNetworks = test::PoolTest;

Model random_model(std::size_t networks, std::size_t z, std::size_t q, bool anchors) {
  Model model;
  Rng rng(5);
  const auto fill = [&](std::size_t rows, std::size_t cols) {
    Matrix<float> m(rows, cols);
    for (float& v : m.values()) v = static_cast<float>(rng.normal());
    return m;
  };
  model.dimensions = z;
  model.classes.semantics = fill(2, q);
  model.gates.networks = networks;
  model.networks = fill(networks * (z + 1), q);
  if (anchors) model.gates.anchors = fill(networks, z);
  return model;
}

/// Σ_i Σ_a ‖(Θ_i − mixture)ᵀ(1, z_a)‖² by the plain formula; inputs are the unit vectors when there are no anchors.
double output_error(const Model& model, const NetworkMixture& mixture, std::size_t rank) {
  const std::size_t networks = model.gates.networks, z = model.dimensions, q = model.outputs();
  double error = 0;
  for (std::size_t i = 0; i < networks; ++i) {
    Dense difference(z + 1, q);
    for (std::size_t a = 0; a <= z; ++a)
      for (std::size_t j = 0; j < q; ++j) {
        double mixed = 0;
        for (std::size_t b = 0; b < rank; ++b)
          mixed += static_cast<double>(mixture.mixing(i, b)) * mixture.stored(b * (z + 1) + a, j);
        difference(static_cast<long>(a), static_cast<long>(j)) = model.networks(i * (z + 1) + a, j) - mixed;
      }
    if (model.gates.anchors.empty()) {
      error += difference.squaredNorm();
      continue;
    }
    for (std::size_t n = 0; n < networks; ++n) {
      Eigen::VectorXd input(static_cast<long>(z + 1));
      input[0] = 1;
      for (std::size_t a = 0; a < z; ++a) input[static_cast<long>(a + 1)] = model.gates.anchors(n, a);
      error += (difference.transpose() * input).squaredNorm();
    }
  }
  return error;
}

/// What no mixture of that rank can beat: the squared singular values beyond it.
double least_error(const Model& model, std::size_t rank) {
  const std::size_t networks = model.gates.networks, z = model.dimensions, q = model.outputs();
  const bool anchors = !model.gates.anchors.empty();
  const std::size_t inputs = anchors ? networks : z + 1;
  Dense y(networks, inputs * q);
  for (std::size_t i = 0; i < networks; ++i)
    for (std::size_t n = 0; n < inputs; ++n)
      for (std::size_t j = 0; j < q; ++j) {
        double out = anchors ? model.networks(i * (z + 1), j) : model.networks(i * (z + 1) + n, j);
        for (std::size_t a = 0; anchors && a < z; ++a)
          out += static_cast<double>(model.gates.anchors(n, a)) * model.networks(i * (z + 1) + 1 + a, j);
        y(static_cast<long>(i), static_cast<long>(n * q + j)) = out;
      }
  const Eigen::VectorXd singular = test::singular_values(y);
  return singular.tail(singular.size() - static_cast<long>(rank)).squaredNorm();
}

TEST_F(MixNetworks, ReachesTheLeastErrorOfItsRank) {
  for (const bool anchors : {false, true}) {
    const Model model = random_model(9, 5, 4, anchors);
    for (const std::size_t rank : {1u, 3u, 6u}) {
      const NetworkMixture mixture = mix_networks(model, rank, pool);
      ASSERT_EQ(mixture.stored.rows(), rank * 6);
      const double least = least_error(model, rank);
      EXPECT_NEAR(output_error(model, mixture, rank), least, 1e-4 * least)
          << "rank " << rank << ", anchors " << anchors;
    }
  }
}

TEST_F(MixNetworks, FullRankStoresTheNetworksAsTheyAre) {
  const Model model = random_model(4, 3, 2, true);
  for (const std::size_t rank : {0u, 4u}) {
    const NetworkMixture mixture = mix_networks(model, rank, pool);
    EXPECT_TRUE(mixture.mixing.empty());
    EXPECT_TRUE(std::equal(mixture.stored.values().begin(), mixture.stored.values().end(), model.networks.data()));
  }
}

}  // namespace
}  // namespace parsnets
