#pragma once
// A solve in progress on disk: everything SvrEngine needs to go on to the same result, bit for bit, on this machine.
// One file: magic, fingerprint of the problem, sizes, the state, checksum of all that.

#include <cstdint>
#include <filesystem>

#include "solvers/svr_engine.hpp"

namespace parsnets {

/// Identifies samples, targets, start and the options that steer the path (not max_passes or the checkpoint's own).
std::uint64_t svr_fingerprint(const GatedSamples& samples, MatrixView<const float> targets,
                              MatrixView<const float> start, const SvrOptions& resolved);

/// Written atomically. Throws Error(failure) when it cannot be.
void write_svr_checkpoint(const std::filesystem::path& path, const SvrState& state, std::uint64_t fingerprint,
                          std::size_t state_rows);

/// Throws bad_input when the file is damaged or belongs to another problem. `state` has its full-size matrices.
void read_svr_checkpoint(const std::filesystem::path& path, SvrState& state, std::uint64_t fingerprint,
                         std::size_t state_rows);

}  // namespace parsnets
