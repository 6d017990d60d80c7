// The temperature of the softmax. With β = 1/t and z_ic the scores over the candidates, the objective
//   L(β) = (1/n) Σ_i [ log Σ_c exp(β z_ic) − β z_i,label ]
// is convex in β:  L'(β) = mean of (E_β[z_i] − z_i,label),  L''(β) = mean of Var_β[z_i] >= 0. So the minimum is the one
// zero of L', found by Newton's steps, or by halving the bracket (in log β) where a step leaves it or is slow.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/sample_set.hpp"
#include "eval/metrics.hpp"
#include "eval/scoring.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

namespace {

constexpr double kRange = 1e4;  ///< t stays within the largest spread of a row's scores, divided and multiplied by this

constexpr double kNothing = -45;  ///< exp of it is below the rounding error of 1

/// Calls with every row of scores, in their order.
using Rows = std::function<void(const std::function<void(std::size_t i, std::span<const float> row)>&)>;

struct Slopes {
  double first = 0, second = 0;
};

Slopes slopes(const Rows& rows, std::span<const std::int32_t> labels, std::span<const std::int32_t> candidates,
              double beta) {
  Slopes sum;
  rows([&](std::size_t i, std::span<const float> row) {
    const double top = row[static_cast<std::size_t>(candidates[best_place(row, candidates)])];
    double weight = 0, mean = 0, square = 0;
    for (const std::int32_t c : candidates) {
      const double z = row[static_cast<std::size_t>(c)] - top;
      if (beta * z < kNothing) continue;
      const double w = std::exp(beta * z);
      weight += w;
      mean += w * z;
      square += w * z * z;
    }
    mean /= weight;
    sum.first += mean - (row[static_cast<std::size_t>(labels[i])] - top);
    sum.second += std::max(0.0, square / weight - mean * mean);
  });
  const auto n = static_cast<double>(labels.size());
  return {sum.first / n, sum.second / n};
}

double fit(const Rows& rows, std::size_t classes, std::span<const std::int32_t> labels,
           std::span<const std::int32_t> candidates) {
  places_of_labels(labels, places_of(candidates, classes, "candidate classes"), "scores");

  double spread = 0;
  rows([&](std::size_t i, std::span<const float> row) {
    check_finite_scores({row.data(), 1, row.size()}, candidates, "scores", i);
    double low = row[static_cast<std::size_t>(candidates[0])], high = low;
    for (const std::int32_t c : candidates) {
      low = std::min<double>(low, row[static_cast<std::size_t>(c)]);
      high = std::max<double>(high, row[static_cast<std::size_t>(c)]);
    }
    spread = std::max(spread, high - low);
  });
  if (spread == 0) return 1;  // every temperature gives the uniform distribution

  double low = 1 / (spread * kRange), high = kRange / spread;
  if (slopes(rows, labels, candidates, low).first >= 0) return 1 / low;
  if (slopes(rows, labels, candidates, high).first <= 0) return 1 / high;
  double beta = std::sqrt(low * high), change = high - low;
  for (int step = 0; step < 200 && change > 1e-12 * beta; ++step) {  // halving alone would need 45
    const Slopes at = slopes(rows, labels, candidates, beta);
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

}  // namespace

double fit_temperature(std::size_t classes, const ScoreRows& unseen, const ScoreRows& seen, const GzslLabels& given,
                       double gamma) {
  std::vector<float> calibrated(classes);
  const Rows rows = [&](const auto& visit) {
    const auto visit_side = [&](const ScoreRows& side, std::size_t start) {
      side([&](std::size_t first, MatrixView<const float> scores) {
        for (std::size_t r = 0; r < scores.rows(); ++r) {
          std::ranges::copy(scores.row(r), calibrated.begin());
          for (const auto c : given.seen.classes) calibrated[static_cast<std::size_t>(c)] -= static_cast<float>(gamma);
          visit(start + first + r, calibrated);
        }
      });
    };
    visit_side(unseen, 0);
    visit_side(seen, given.unseen.labels.size());
  };
  std::vector<std::int32_t> labels(given.unseen.labels.begin(), given.unseen.labels.end()),
      candidates(given.seen.classes.begin(), given.seen.classes.end());
  labels.insert(labels.end(), given.seen.labels.begin(), given.seen.labels.end());
  candidates.insert(candidates.end(), given.unseen.classes.begin(), given.unseen.classes.end());
  return fit(rows, classes, labels, candidates);
}

// Gamma and temperature of a model from labelled samples.

void calibrate(Model& model, MatrixView<const float> x, std::span<const std::int32_t> labels, ThreadPool& pool) {
  const std::size_t classes = model.classes.names.size();
  const auto refuse = [](const std::string& field, const std::string& expected, const std::string& found) {
    throw Error(BadInput{"calibration", field, expected, found, ""});
  };
  if (labels.size() != x.rows())
    refuse("labels", fmt::format("{}, one per sample", x.rows()), std::to_string(labels.size()));
  struct Side {
    std::vector<std::int32_t> classes, rows, labels;
  } unseen, seen;
  for (std::size_t c = 0; c < classes; ++c)
    (model.classes.seen[c] ? seen : unseen).classes.push_back(static_cast<std::int32_t>(c));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes)
      refuse(fmt::format("label of sample {}", i), fmt::format("a class from 0 to {}", classes - 1),
             std::to_string(labels[i]));
    Side& side = model.classes.seen[static_cast<std::size_t>(labels[i])] ? seen : unseen;
    side.rows.push_back(static_cast<std::int32_t>(i));
    side.labels.push_back(labels[i]);
  }
  if (unseen.rows.empty() || seen.rows.empty())
    refuse("labels", "samples of seen and of unseen classes",
           fmt::format("{} of seen and {} of unseen classes", seen.rows.size(), unseen.rows.size()));
  const Predictor predictor(model, pool);
  const auto scores_of = [&](const Matrix<float>& rows) {
    return kept([&](const ScoreVisitor& visit) { predictor.visit_scores(rows.view(), pool, visit); }, rows.rows(),
                classes, kKeptScores);
  };
  const Matrix<float> unseen_rows = gather_rows(x, unseen.rows), seen_rows = gather_rows(x, seen.rows);
  const ScoreRows unseen_scores = scores_of(unseen_rows), seen_scores = scores_of(seen_rows);
  const GzslLabels sides{{unseen.labels, unseen.classes}, {seen.labels, seen.classes}};
  GzslCount count(classes, sides);
  unseen_scores([&](std::size_t first, MatrixView<const float> scores) { count.add_unseen(first, scores); });
  seen_scores([&](std::size_t first, MatrixView<const float> scores) { count.add_seen(first, scores); });
  const double gamma = count.best_gamma();
  model.temperature = fit_temperature(classes, unseen_scores, seen_scores, sides, gamma);
  model.gamma = gamma;
}

}  // namespace parsnets
