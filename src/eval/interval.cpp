// The confidence interval of a mean by Student's t. The quantile is computed here because the standard library has no
// Student distribution; for whole degrees of freedom ν its distribution is a finite sum (Abramowitz & Stegun 26.7.3-4),
// with θ = atan(t / √ν):
//   P(|T| <= t) = 2/π (θ + sin θ (cos θ + 2/3 cos³θ + ... + 2·4···(ν−3) / (3·5···(ν−2)) cos^(ν−2) θ))   for odd ν,
//   P(|T| <= t) = sin θ (1 + 1/2 cos²θ + ... + 1·3···(ν−3) / (2·4···(ν−2)) cos^(ν−2) θ)                 for even ν.

#include <cmath>
#include <limits>
#include <numbers>

#include "parsnets/error.hpp"
#include "parsnets/metrics.hpp"

namespace parsnets {

namespace {

double two_sided_probability(double t, std::size_t freedom) {
  const auto nu = static_cast<double>(freedom);
  const double square = nu / (nu + t * t), sine = t / std::sqrt(nu + t * t);
  const bool odd = freedom % 2 == 1;
  double term = odd ? std::sqrt(square) : 1, sum = 0;
  for (std::size_t power = odd ? 1 : 0; power + 2 <= freedom; power += 2) {
    sum += term;
    term *= square * static_cast<double>(power + 1) / static_cast<double>(power + 2);
  }
  return odd ? 2 / std::numbers::pi * (std::atan(t / std::sqrt(nu)) + sine * sum) : sine * sum;
}

double two_sided_quantile(double probability, std::size_t freedom) {
  double low = 0, high = 1;
  while (two_sided_probability(high, freedom) < probability) high *= 2;
  for (;;) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (two_sided_probability(middle, freedom) < probability ? low : high) = middle;
  }
}

}  // namespace

Interval confidence_interval(std::span<const double> values) {
  if (values.empty())
    throw Error(BadInput{"values", "", "at least one", "none", "an interval needs the results of two or more runs"});
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]))
      throw Error(BadInput{"values", "entry " + std::to_string(i), "a finite number", std::to_string(values[i]),
                           "leave out the runs that failed"});
    sum += values[i];
  }
  Interval result;
  result.mean = sum / n;
  double rest = 0;
  for (const double v : values) rest += v - result.mean;
  result.mean += rest / n;  // takes back the rounding of the sum: equal values have exactly no spread
  if (values.size() == 1) {
    result.sd = result.low = result.high = std::numeric_limits<double>::quiet_NaN();
    return result;
  }
  double squares = 0;
  for (const double v : values) squares += (v - result.mean) * (v - result.mean);
  result.sd = std::sqrt(squares / (n - 1));
  const double half = two_sided_quantile(0.95, values.size() - 1) * result.sd / std::sqrt(n);
  result.low = result.mean - half;
  result.high = result.mean + half;
  return result;
}

}  // namespace parsnets
