// Choosing the active networks of one sample or of a whole matrix, and fitting anchors. Both ways of choosing
// give the same networks: a product in float ranks the anchors, and only those whose rank its rounding could change are
// scored again as Gates::select does.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/finite.hpp"
#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "base/row_products.hpp"
#include "model/fit_gates.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model_parts.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kRows = 128;
constexpr std::size_t kMostNetworks = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kAnchorStream = 0x67617465;

/// The k-th largest of `scores`, which are reordered.
template <class T>
T kth_largest(std::span<T> scores, std::size_t k) {
  std::nth_element(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(k - 1), scores.end(), std::greater<>());
  return scores[k - 1];
}

/// The indices of the largest scores, ascending; ties go to the lower index. `sorted` is room for as many scores.
void choose_largest(std::span<const double> scores, std::span<double> sorted, std::span<std::uint16_t> chosen) {
  std::ranges::copy(scores, sorted.begin());
  const double threshold = kth_largest(sorted, chosen.size());
  auto ties = chosen.size() - static_cast<std::size_t>(
                                  std::count_if(scores.begin(), scores.end(), [&](double s) { return s > threshold; }));
  auto out = chosen.begin();
  for (std::size_t i = 0; i < scores.size() && out != chosen.end(); ++i)
    if (scores[i] > threshold || (scores[i] == threshold && ties > 0)) {
      if (scores[i] == threshold) --ties;
      *out++ = static_cast<std::uint16_t>(i);
    }
}

/// A value that cannot be ranked loses.
double rankable(double score) { return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score; }

void check_embedding(const Gates& gates, std::size_t h) {
  const bool sizes = gates.open >= 1 && gates.open <= gates.networks && gates.networks <= kMostNetworks;
  const bool fits =
      sizes &&
      (gates.kind == GateKind::always || (gates.kind == GateKind::energy && h > 0 && h % gates.networks == 0) ||
       (gates.kind == GateKind::anchor && gates.anchors.rows() == gates.networks && gates.anchors.cols() == h));
  if (!fits)
    throw Error(ErrorCode::usage,
                fmt::format("cannot select {} of {} networks by an encoding of {} values (anchors: {} x {})",
                            gates.open, gates.networks, h, gates.anchors.rows(), gates.anchors.cols()));
}

/// Mean squared deviation of each part from the mean of the whole embedding.
void part_energies(std::span<const float> e, std::span<double> energy) {
  double mean = 0;
  for (const float v : e) mean += v;
  mean /= static_cast<double>(e.size());
  const std::size_t part = e.size() / energy.size();
  for (std::size_t i = 0; i < energy.size(); ++i) {
    double sum = 0;
    for (const float v : e.subspan(i * part, part)) sum += (v - mean) * (v - mean);
    energy[i] = rankable(sum / static_cast<double>(part));
  }
}

/// The definition: `exact` and `sorted` are room for K values each.
void select_exactly(const Gates& gates, std::span<const float> e, std::span<double> exact, std::span<double> sorted,
                    std::span<std::uint16_t> chosen) {
  std::ranges::fill(exact, 0.0);
  if (gates.kind == GateKind::energy) part_energies(e, exact);
  if (gates.kind == GateKind::anchor)  // the length of e does not change the order of the cosines
    for (std::size_t i = 0; i < gates.networks; ++i) exact[i] = rankable(dot(gates.anchors.row(i), e));
  choose_largest(exact, sorted, chosen);
}

/// From approximate scores (K values), each within margin/2 of the true one.
void select_by_scores(const Gates& gates, std::span<const float> e, std::span<const float> scores, double margin,
                      GateRoom& room, std::span<std::uint16_t> chosen) {
  if (!std::isfinite(margin) || !all_finite(scores)) return select_exactly(gates, e, room.exact, room.sorted, chosen);
  std::ranges::copy(scores, room.ranked.begin());
  const double threshold = kth_largest(std::span(room.ranked), gates.open);
  std::size_t unsure = 0, sure = 0;
  for (const float score : scores) {
    unsure += std::abs(score - threshold) <= margin;
    sure += score - threshold > margin;
  }
  if (sure + unsure == gates.open) {  // nothing that the rounding could change
    auto out = chosen.begin();
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (scores[i] - threshold >= -margin) *out++ = static_cast<std::uint16_t>(i);
    return;
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double distance = scores[i] - threshold;
    room.exact[i] = std::abs(distance) <= margin ? rankable(dot(gates.anchors.row(i), e))
                    : distance > 0               ? std::numeric_limits<double>::infinity()
                                                 : -std::numeric_limits<double>::infinity();
  }
  choose_largest(room.exact, room.sorted, chosen);
}

/// The rows of E that have a direction, at unit length.
Matrix<float> unit_rows(MatrixView<const float> e, ThreadPool& pool) {
  std::vector<double> lengths(e.rows());
  pool.parallel_for(e.rows(), kRows, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      lengths[i] = std::sqrt(dot(e.row(i), e.row(i)));
      if (!std::isfinite(lengths[i]))
        throw Error(BadInput{"the embeddings", "", "finite numbers", fmt::format("a non-finite value in row {}", i),
                             "check the features"});
    }
  });
  Matrix<float> out(e.rows() - static_cast<std::size_t>(std::count(lengths.begin(), lengths.end(), 0.0)), e.cols());
  for (std::size_t i = 0, to = 0; i < e.rows(); ++i)
    if (lengths[i] > 0)
      std::ranges::transform(e.row(i), out.row(to++).begin(),
                             [&](float v) { return static_cast<float>(v / lengths[i]); });
  return out;
}

/// Samples in a drawn order, as many as need be.
Matrix<float> fit_anchors(const GateOptions& options, std::size_t samples, std::size_t h, const EncodingsOf& encodings,
                          ThreadPool& pool) {
  const auto networks = static_cast<std::size_t>(options.networks);
  const auto order = Rng(options.seed, kAnchorStream).permutation(samples);
  Matrix<float> anchors(networks, h);
  std::size_t made = 0;
  for (std::size_t at = 0; at < samples && made < networks;) {  // zero encodings are passed over
    const std::size_t count = std::min(networks - made, samples - at);
    const Matrix<float> unit = unit_rows(encodings(std::span(order).subspan(at, count)).view(), pool);
    std::ranges::copy(unit.values(), anchors.row(made).begin());
    made += unit.rows();
    at += count;
  }
  if (made < networks)
    throw Error(
        ErrorCode::usage,
        fmt::format("{} anchors require as many non-zero samples, found {}; use fewer networks", networks, made));
  return anchors;
}

}  // namespace

Gates fit_gates(const GateOptions& options, std::size_t samples, std::size_t h, const EncodingsOf& encodings,
                ThreadPool& pool) {
  Gates gates;
  gates.kind = options.kind;
  if (options.kind == GateKind::always) return gates;
  if (options.networks < 1 || options.networks > static_cast<int>(kMostNetworks))
    throw Error(ErrorCode::usage,
                fmt::format("gates: expected 1 to {} networks, found {}", kMostNetworks, options.networks));
  if (options.open < 1 || options.open > options.networks)
    throw Error(ErrorCode::usage,
                fmt::format("gates: expected 1 to {} active networks, found {}", options.networks, options.open));
  gates.networks = static_cast<std::size_t>(options.networks);
  gates.open = static_cast<std::size_t>(options.open);
  if (options.kind == GateKind::energy && (h == 0 || h % gates.networks != 0))
    throw Error(
        ErrorCode::usage,
        fmt::format(
            "energy gates require an encoding with a multiple of {} dimensions, one part per network, found {}; use {}",
            gates.networks, h, std::max<std::size_t>(1, h / gates.networks) * gates.networks));
  if (options.kind == GateKind::anchor) gates.anchors = fit_anchors(options, samples, h, encodings, pool);
  return gates;
}

void Gates::select(std::span<const float> e, std::span<std::uint16_t> chosen) const {
  check_embedding(*this, e.size());
  if (chosen.size() != open)
    throw Error(ErrorCode::usage, fmt::format("gates: expected {} active networks, found {}", open, chosen.size()));
  std::vector<double> exact(networks), sorted(networks);
  select_exactly(*this, e, exact, sorted, chosen);
}

GateChooser::GateChooser(const Gates& gates) : gates_(gates) {
  for (std::size_t i = 0; i < gates.anchors.rows(); ++i)
    longest_ = std::max(longest_, std::sqrt(dot(gates.anchors.row(i), gates.anchors.row(i))));
}

void GateChooser::choose(std::span<const float* const> e, std::size_t h, GateRoom& room,
                         MatrixView<std::uint16_t> chosen) const {
  check_embedding(gates_, h);
  const std::size_t networks = gates_.networks;
  room.exact.resize(networks);
  room.sorted.resize(networks);
  if (gates_.kind != GateKind::anchor) {
    for (std::size_t r = 0; r < e.size(); ++r)
      select_exactly(gates_, {e[r], h}, room.exact, room.sorted, chosen.row(r));
    return;
  }
  room.ranked.resize(networks);
  float* scores = at_least(room.scores, e.size() * networks);
  room.rows.resize(e.size());
  for (std::size_t r = 0; r < e.size(); ++r) room.rows[r] = scores + r * networks;
  multiply_transposed(e, h, gates_.anchors.data(), networks, at_least(room.product, kProductScratch), room.rows);
  // |fl(aᵀe) − aᵀe| ≤ h·u/(1 − h·u)·‖a‖·‖e‖ for a sum in any order, u = 2⁻²⁴; 1.1 covers the denominator.
  const double relative = 1.1 * static_cast<double>(h) * 0x1.0p-24 * longest_,
               smallest = static_cast<double>(h) * std::numeric_limits<float>::min();
  for (std::size_t r = 0; r < e.size(); ++r) {
    const std::span<const float> row(e[r], h);
    const double margin = 2 * (relative * std::sqrt(dot(row, row)) + smallest);
    select_by_scores(gates_, row, {room.rows[r], networks}, margin, room, chosen.row(r));
  }
}

Matrix<std::uint16_t> open_networks(const Gates& gates, MatrixView<const float> e, ThreadPool& pool) {
  check_embedding(gates, e.cols());
  const GateChooser chooser(gates);
  Matrix<std::uint16_t> chosen(e.rows(), gates.open);
  pool.parallel_for(e.rows(), kRows, [&](std::size_t begin, std::size_t end, std::size_t) {
    std::vector<const float*> rows(end - begin);
    for (std::size_t r = begin; r < end; ++r) rows[r - begin] = e.row(r).data();
    GateRoom room;
    chooser.choose(rows, e.cols(), room, {chosen.row(begin).data(), end - begin, gates.open});
  });
  return chosen;
}

GateUsage gate_usage(MatrixView<const std::uint16_t> open, std::size_t networks) {
  std::vector<std::size_t> per_network(networks, 0);
  for (const std::uint16_t i : open.values()) {
    if (i >= networks)
      throw Error(ErrorCode::usage, fmt::format("gates: expected network numbers below {1}, found {0}", i, networks));
    ++per_network[i];
  }
  return gate_usage(std::move(per_network), open.rows());
}

GateUsage gate_usage(std::vector<std::size_t> per_network, std::size_t samples) {
  GateUsage usage;
  usage.samples = std::move(per_network);
  if (samples == 0) return usage;
  const std::size_t networks = usage.samples.size();
  std::vector<std::size_t> sorted(usage.samples);
  std::ranges::sort(sorted);
  const std::size_t opened = std::accumulate(sorted.begin(), sorted.end(), std::size_t{0});
  const auto share = [&](std::size_t i) { return static_cast<double>(sorted[i]) / static_cast<double>(samples); };
  usage.minimum = share(0);
  usage.median = (share((networks - 1) / 2) + share(networks / 2)) / 2;
  usage.maximum = share(networks - 1);
  for (const std::size_t count : sorted) {
    const double p = static_cast<double>(count) / static_cast<double>(opened);
    if (count > 0) usage.entropy -= p * std::log(p);
  }
  usage.entropy = networks > 1 ? usage.entropy / std::log(static_cast<double>(networks)) : 1;
  return usage;
}

}  // namespace parsnets
