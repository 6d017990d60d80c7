#pragma once
// A solve of svr_shards.hpp in progress, in one file that process 0 reads and writes: magic, fingerprint of the
// problem, sizes, state, β of all samples in the order of the ranks, checksum. Any number of processes can go on.

#include <cstdint>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/processes.hpp"
#include "solvers/svr.hpp"

namespace parsnets {

/// What is kept beside β; equal on all processes.
struct ShardState {
  std::int32_t round = 0;
  float tau = 0;                        ///< constant part taken out of the blocks' kernels
  std::vector<float> multiplier;        ///< of Σβ = 0, per output
  std::vector<std::uint8_t> ascending;  ///< per output: the multiplier follows the method of multipliers
  std::vector<SvrPass> passes;
};

/// Of the options that the processes must share.
std::uint64_t shard_options_key(const SvrOptions& options);

class ShardCheckpoint {
 public:
  /// Collective when options.checkpoint is not empty. `counts` are the samples of each process. Options are kept by
  /// reference.
  ShardCheckpoint(const GatedSamples& own_samples, MatrixView<const float> own_targets, const SvrOptions& options,
                  std::vector<std::uint64_t> counts, Processes& processes);
  /// Collective. Written atomically by process 0; all throw Error(failure) when it cannot be.
  void write(const ShardState& state, const Matrix<float>& own_beta) const;
  /// Collective. Own part of β, and the state; nothing when there is no file. All throw bad_input when it is damaged
  /// or belongs to another problem.
  Matrix<float> read(ShardState& state) const;

 private:
  const SvrOptions& options_;
  std::vector<std::uint64_t> counts_;
  Processes& processes_;
  std::uint64_t fingerprint_ = 0, samples_ = 0, outputs_ = 0;
};

}  // namespace parsnets
