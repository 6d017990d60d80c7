#pragma once
// Makes gates for training embeddings and reports how evenly they are used.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "parsnets/gates.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/train_record.hpp"

namespace parsnets {

struct GateOptions {
  GateKind kind = GateKind::energy;
  int networks = 200;
  int open = 40;
  AnchorChoice anchors = AnchorChoice::samples;
  std::uint64_t seed = 1;
};

/// E is N x h. Throws usage when k > K, when energy gates do not divide h into K parts, or when there are fewer samples
/// than anchors.
Gates fit_gates(const GateOptions& options, MatrixView<const float> e, ThreadPool& pool);

/// Encodings of some samples by their numbers: a row each.
using EncodingsOf = std::function<Matrix<float>(std::span<const std::size_t> samples)>;
/// The same for `samples` encodings of h values that are not in memory: those of anchors are asked for. Throws usage
/// also for anchors by k-means, which need all.
Gates fit_gates(const GateOptions& options, std::size_t samples, std::size_t h, const EncodingsOf& encodings,
                ThreadPool& pool);

/// The open networks of every row of E: N x k.
Matrix<std::uint16_t> open_networks(const Gates& gates, MatrixView<const float> e, ThreadPool& pool);

GateUsage gate_usage(MatrixView<const std::uint16_t> open, std::size_t networks);
/// The same from the number of samples of each network, k each of `samples` in all.
GateUsage gate_usage(std::vector<std::size_t> per_network, std::size_t samples);

}  // namespace parsnets
