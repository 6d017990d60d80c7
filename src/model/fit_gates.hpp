#pragma once
// Makes gates for training embeddings and reports how evenly they are used.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "parsnets/model_parts.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/train_record.hpp"

namespace parsnets {

struct GateOptions {
  GateKind kind = GateKind::energy;
  int networks = 200;
  int open = 40;
  std::uint64_t seed = 1;
  bool operator==(const GateOptions&) const = default;
};

/// Encodings of some samples by their numbers: a row each.
using EncodingsOf = std::function<Matrix<float>(std::span<const std::size_t> samples)>;
/// For `samples` encodings of h values, of which those of anchors are asked for. Throws usage when k > K, when energy
/// gates do not divide h into K parts, or when there are fewer samples that are not zero than anchors.
Gates fit_gates(const GateOptions& options, std::size_t samples, std::size_t h, const EncodingsOf& encodings,
                ThreadPool& pool);

/// Memory of one thread in which gates choose; grows to what it needs and is kept.
struct GateRoom {
  Matrix<float> scores, product;  ///< `product`: what multiply_transposed() works in
  std::vector<float> ranked;
  std::vector<float*> rows;
  std::vector<double> exact, sorted;
};

/// Chooses networks for many embeddings. Refers to the gates, which must not change.
class GateChooser {
 public:
  explicit GateChooser(const Gates& gates);
  /// The active networks of embeddings of h values each, as Gates::select() chooses them: rows x k.
  void choose(std::span<const float* const> e, std::size_t h, GateRoom& room, MatrixView<std::uint16_t> chosen) const;

 private:
  const Gates& gates_;
  double longest_ = 0;  ///< length of the longest anchor
};

/// The active networks of every row of E: N x k.
Matrix<std::uint16_t> open_networks(const Gates& gates, MatrixView<const float> e, ThreadPool& pool);

GateUsage gate_usage(MatrixView<const std::uint16_t> open, std::size_t networks);
/// The same from the number of samples of each network, k each of `samples` in all.
GateUsage gate_usage(std::vector<std::size_t> per_network, std::size_t samples);

}  // namespace parsnets
