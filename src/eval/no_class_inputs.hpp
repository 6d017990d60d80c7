#pragma once
// Inputs that are of no class by construction.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "parsnets/matrix.hpp"

namespace parsnets {

/// Takes n x d inputs of one kind.
using NoClassVisitor =
    std::function<void(std::string_view name, std::string_view features, MatrixView<const float> inputs)>;

/// Makes the inputs of parsnets/open_set_evaluation.hpp, kind by kind, `count` of each that is drawn by `seed`, from
/// the given rows (at least one) of `features`. At most two times `count` x d values are in memory.
void visit_no_class_inputs(const Matrix<float>& features, std::span<const std::int32_t> rows, std::size_t count,
                           std::uint64_t seed, const NoClassVisitor& visit);

}  // namespace parsnets
