#pragma once
// Low rank over networks: K networks as mixtures of r stored ones.

#include "parsnets/model.hpp"

namespace parsnets {

struct NetworkMixture {
  Matrix<float> stored;  ///< r·(z+1) x o, laid out as Model::networks
  Matrix<float> mixing;  ///< K x r; empty when the networks are stored as they are
};

/// The best mixtures of `rank` networks (see the .cpp for the objective); rank 0 or K: the networks themselves.
NetworkMixture mix_networks(const Model& model, std::size_t rank, ThreadPool& pool);

}  // namespace parsnets
