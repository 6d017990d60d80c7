#pragma once
// Fewer axes of class space and of the encoding, for smaller device files.

#include "parsnets/device.hpp"

namespace parsnets {

/// Whether class space can have fewer axes: there is one, and no rejection, which looks at all of it.
bool can_lose_outputs(const Model& model);
/// Whether the encoding can: there is one, and the gates do not depend on its basis.
bool can_lose_encoding(const Model& model);

/// A copy that keeps these shares of both, as far as they can have fewer: the principal axes of the class vectors at
/// unit length, and those of the anchors.
Model with_fewer_axes(const Model& model, const ExportCandidate& shares, ThreadPool& pool);

}  // namespace parsnets
