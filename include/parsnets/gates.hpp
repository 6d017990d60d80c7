#pragma once
// Gates: which k of the K networks are open for a sample.

#include <cstddef>
#include <cstdint>
#include <span>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// The rule that opens networks.
enum class GateKind {
  always,  ///< one network, always open: a plain linear map
  energy,  ///< the paper's: K parts of e, v_i = mean((e_part_i − mean(e))²), the k largest
  anchor   ///< K anchors in the space of e, the k nearest by cosine
};

/// Where the anchors come from.
enum class AnchorChoice {
  samples,  ///< K training samples, drawn without replacement
  kmeans    ///< spherical k-means from such a start
};

/// Samples in each network's MMG term.
enum class MmgSamples {
  active,  ///< those the network is open for
  all
};

/// Chooses k of K networks by the embedding of a sample.
struct Gates {
  GateKind kind = GateKind::always;  ///< the rule
  std::size_t networks = 1;          ///< K
  std::size_t open = 1;              ///< k, 1 <= k <= K
  Matrix<float> anchors;             ///< K x h, unit rows; empty unless kind is anchor

  /// Writes the k open networks of one embedding e (h values), ascending; ties go to the lower index.
  void select(std::span<const float> e, std::span<std::uint16_t> chosen) const;
};

}  // namespace parsnets
