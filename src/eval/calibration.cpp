// The temperature of the softmax. With β = 1/t and z_ic the scores over the candidates, the objective
//   L(β) = (1/n) Σ_i [ log Σ_c exp(β z_ic) − β z_i,label ]
// is convex in β:  L'(β) = mean of (E_β[z_i] − z_i,label),  L''(β) = mean of Var_β[z_i] >= 0. So the minimum is the one
// zero of L', found by Newton's steps, or by halving the bracket (in log β) where a step leaves it or is slow.

#include <algorithm>
#include <cmath>

#include "eval/scores.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

namespace {

constexpr double kRange = 1e4;  ///< t stays within the largest spread of a row's scores, divided and multiplied by this

struct Slopes {
  double first = 0, second = 0;
};

Slopes slopes(MatrixView<const float> scores, std::span<const std::int32_t> labels,
              std::span<const std::int32_t> candidates, double beta) {
  Slopes sum;
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const auto row = scores.row(i);
    const double top = row[static_cast<std::size_t>(candidates[best_place(row, candidates)])];
    double weight = 0, mean = 0, square = 0;
    for (const std::int32_t c : candidates) {
      const double z = row[static_cast<std::size_t>(c)] - top;
      const double w = std::exp(beta * z);
      weight += w;
      mean += w * z;
      square += w * z * z;
    }
    mean /= weight;
    sum.first += mean - (row[static_cast<std::size_t>(labels[i])] - top);
    sum.second += std::max(0.0, square / weight - mean * mean);
  }
  const auto n = static_cast<double>(scores.rows());
  return {sum.first / n, sum.second / n};
}

}  // namespace

double fit_temperature(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                       std::span<const std::int32_t> candidates) {
  const auto places = places_of(candidates, scores.cols(), "candidate classes");
  check_scores(scores, labels, candidates, "scores");
  places_of_labels(labels, places, "scores");

  double spread = 0;
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const auto row = scores.row(i);
    double low = row[static_cast<std::size_t>(candidates[0])], high = low;
    for (const std::int32_t c : candidates) {
      low = std::min<double>(low, row[static_cast<std::size_t>(c)]);
      high = std::max<double>(high, row[static_cast<std::size_t>(c)]);
    }
    spread = std::max(spread, high - low);
  }
  if (spread == 0) return 1;  // every temperature gives the uniform distribution

  double low = 1 / (spread * kRange), high = kRange / spread;
  if (slopes(scores, labels, candidates, low).first >= 0) return 1 / low;
  if (slopes(scores, labels, candidates, high).first <= 0) return 1 / high;
  double beta = std::sqrt(low * high), change = high - low;
  for (int step = 0; step < 200 && change > 1e-12 * beta; ++step) {  // halving alone would need 45
    const Slopes at = slopes(scores, labels, candidates, beta);
    if (at.first == 0) break;
    (at.first < 0 ? low : high) = beta;
    const double newton = beta - at.first / at.second;
    const bool quick = newton > low && newton < high && std::abs(newton - beta) <= change / 2;
    const double next = quick ? newton : std::sqrt(low * high);
    change = std::abs(next - beta);
    beta = next;
  }
  return 1 / beta;
}

double fit_temperature(MatrixView<const float> unseen_scores, std::span<const std::int32_t> unseen_labels,
                       MatrixView<const float> seen_scores, std::span<const std::int32_t> seen_labels,
                       std::span<const std::int32_t> unseen, std::span<const std::int32_t> seen, double gamma) {
  Matrix<float> both(unseen_scores.rows() + seen_scores.rows(), unseen_scores.cols());
  std::ranges::copy(unseen_scores.values(), both.data());
  std::ranges::copy(seen_scores.values(), both.data() + unseen_scores.size());
  for (std::size_t r = 0; r < both.rows(); ++r)
    for (const auto c : seen) both(r, static_cast<std::size_t>(c)) -= static_cast<float>(gamma);
  std::vector<std::int32_t> labels(unseen_labels.begin(), unseen_labels.end()), candidates(seen.begin(), seen.end());
  labels.insert(labels.end(), seen_labels.begin(), seen_labels.end());
  candidates.insert(candidates.end(), unseen.begin(), unseen.end());
  return fit_temperature(both.view(), labels, candidates);
}

}  // namespace parsnets
