#pragma once
// What the processes of a group find out together for the SVR, output by output: sums, the shift that makes Σβ = 0,
// the bias that is optimal for the residuals of all. Deterministic: equal bits on all processes.

#include <functional>
#include <span>
#include <vector>

#include "base/together.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/processes.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// Per column, the smallest finite float for which `holds` is true; it must be so from some float on. Calls
/// holds(points, result) 32 times, on all processes alike.
std::vector<float> smallest_float(std::size_t columns,
                                  const std::function<void(std::span<const float>, std::span<std::uint8_t>)>& holds);

/// Sums over the rows of all processes of `term`(row, sums): sums has `columns` values, to which the row's are added.
std::vector<double> group_sums(Processes& processes, ThreadPool& pool, std::size_t rows, std::size_t columns,
                               const std::function<void(std::size_t row, double* sums)>& term);

/// Per column, β ← box_shrink(β − shift·weight, ε·weight, C) with the shift that makes Σβ = 0 over all processes, then
/// gives what floats leave to those with room, twice. beta n x m, weight n. 296·m bytes.
void shrink_group_to_zero_sum(Processes& processes, ThreadPool& pool, std::span<const float> weight, float epsilon,
                              float c, MatrixView<float> beta);

/// tube_bias (svr_certificate.hpp) of the residuals of all processes, `total` in number, per column of r, n x m.
/// 512·m bytes.
std::vector<float> group_tube_bias(Processes& processes, ThreadPool& pool, MatrixView<const float> r, float epsilon,
                                   std::uint64_t total);

}  // namespace parsnets
