#include "parsnets/rejection.hpp"

#include <limits>

namespace parsnets {

float Rejection::known_score(const Evidence& evidence, bool best_is_seen) const {
  const auto values = evidence.values();
  const auto& weight = weights[best_is_seen ? 1 : 0];
  float sum = weight[Evidence::kCount];
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= range[0][i] && values[i] <= range[1][i])) return std::numeric_limits<float>::lowest();
    sum += weight[i] * values[i];
  }
  return sum;
}

}  // namespace parsnets
