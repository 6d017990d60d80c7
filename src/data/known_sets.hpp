#pragma once
// The public data sets of the Proposed Splits, told by sizes and by the checksums of their lists, whatever the folder
// is called and in whatever format it is.

#include <cstdint>
#include <string_view>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// A public data set and the published version of its att_splits.mat.
struct KnownSet {
  const char* name;
  std::size_t samples, classes;
  std::uint32_t trainval, test_seen, test_unseen;  ///< checksums of version 1; all 0: not known
  std::uint64_t splits_bytes;                      ///< of att_splits.mat; 0: not known
  const char* splits_sha256;                       ///< of att_splits.mat; empty: not known
  const char* source;                              ///< where its files are usually obtained from

  bool has_checksums() const { return test_unseen != 0; }
};

/// Null for another name.
const KnownSet* known_set(std::string_view name);

/// Sets known_as, split.proposed_of and, for the lists of version 1, split.version. FLO is told by its sizes alone: the
/// checksums of its lists are not known, so its split is never taken for the proposed one.
void recognise(Dataset& data);

}  // namespace parsnets
