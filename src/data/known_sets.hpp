#pragma once
// The public data sets of the Proposed Splits, told by sizes and by the checksums of their lists, whatever the folder
// is called and in whatever format it is.

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Sets known_as, split.proposed_of and, for the lists of version 1, split.version.
void recognise(Dataset& data);

}  // namespace parsnets
