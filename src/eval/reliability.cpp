#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "parsnets/error.hpp"
#include "parsnets/metrics.hpp"

namespace parsnets {

Reliability reliability(std::span<const float> confidences, std::span<const std::uint8_t> correct, std::size_t bins) {
  const std::size_t n = confidences.size();
  if (n == 0 || correct.size() != n || bins == 0)
    throw Error(BadInput{"reliability", "", "confidences, as many outcomes, and at least one bin",
                         fmt::format("{}, {} and {}", n, correct.size(), bins), ""});
  Reliability result;
  result.samples = n;
  result.bins.resize(bins);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(confidences[i] >= 0 && confidences[i] <= 1))
      throw Error(BadInput{"reliability", fmt::format("confidence {}", i), "a number from 0 to 1",
                           fmt::format("{}", confidences[i]), ""});
    const double above = std::ceil(static_cast<double>(confidences[i]) * static_cast<double>(bins)) - 1;
    ReliabilityBin& bin = result.bins[static_cast<std::size_t>(std::max(above, 0.0))];
    ++bin.samples;
    bin.confidence += confidences[i];
    bin.accuracy += correct[i] != 0;
  }
  for (ReliabilityBin& bin : result.bins) {
    if (bin.samples == 0) continue;
    result.ece += std::abs(bin.accuracy - bin.confidence) * 100 / static_cast<double>(n);
    bin.confidence *= 100 / static_cast<double>(bin.samples);
    bin.accuracy *= 100 / static_cast<double>(bin.samples);
  }
  return result;
}

}  // namespace parsnets
