#pragma once
// Makes gates for training embeddings and reports how evenly they are used.

#include <cstdint>
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

/// The open networks of every row of E: N x k.
Matrix<std::uint16_t> open_networks(const Gates& gates, MatrixView<const float> e, ThreadPool& pool);

GateUsage gate_usage(MatrixView<const std::uint16_t> open, std::size_t networks);

}  // namespace parsnets
