#pragma once
// The published table: what others report on the Proposed Splits.

#include <array>
#include <string>
#include <vector>

namespace parsnets {

struct ReferenceAccuracy {
  double zsl = -1, u = -1, s = -1, h = -1;  ///< percent; -1: not published
};

struct ReferenceRow {
  std::string method, features, semantics, source;
  std::array<ReferenceAccuracy, 4> sets;  ///< SUN, CUB, AWA2, aPY
};

inline constexpr std::array<const char*, 4> kReferenceSets{"SUN", "CUB", "AWA2", "APY"};

const std::vector<ReferenceRow>& reference_rows();

/// Results of methods that were fitted to the test samples without their labels; never to be shown among the others.
/// Empty: no published figure could be checked against its source.
const std::vector<ReferenceRow>& transductive_reference_rows();

}  // namespace parsnets
