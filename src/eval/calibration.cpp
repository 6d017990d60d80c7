// The temperature of the softmax. With β = 1/t and z_ic the scores over the candidates, the objective
//   L(β) = (1/n) Σ_i [ log Σ_c exp(β z_ic) − β z_i,label ]
// is convex in β:  L'(β) = mean of (E_β[z_i] − z_i,label),  L''(β) = mean of Var_β[z_i] >= 0. So the minimum is the one
// zero of L', found by Newton's steps, or by halving the bracket (in log β) where a step leaves it or is slow.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exponentials.hpp"
#include "data/sample_set.hpp"
#include "eval/metrics.hpp"
#include "eval/scoring.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

namespace {

constexpr double kRange = 1e4;  ///< t stays within the largest spread of a row's scores, divided and multiplied by this

constexpr std::size_t kRows = 64;  ///< of one piece of work
constexpr std::size_t kLanes = 4;  ///< sums that are added up side by side

/// L' and L'' of scores, of which the seen classes' are less by gamma. Sums have one order, whatever the number of
/// threads.
class Objective {
 public:
  struct Slopes {
    double first = 0, second = 0;
  };

  Objective(std::size_t classes, const ScoreRows& unseen, const ScoreRows& seen, const GzslLabels& given, double gamma,
            ThreadPool& pool)
      : unseen_(unseen), seen_(seen), gamma_(static_cast<float>(gamma)), pool_(pool) {
    candidates_.assign(given.seen.classes.begin(), given.seen.classes.end());
    lowered_ = candidates_.size();
    candidates_.insert(candidates_.end(), given.unseen.classes.begin(), given.unseen.classes.end());
    labels_.assign(given.unseen.labels.begin(), given.unseen.labels.end());
    unseen_rows_ = labels_.size();
    labels_.insert(labels_.end(), given.seen.labels.begin(), given.seen.labels.end());
    places_ = places_of_labels(labels_, places_of(candidates_, classes, "candidate classes"), "scores");
  }

  /// Of a row's scores, the largest.
  double spread() const {
    const auto check = [&](std::size_t first, MatrixView<const float> scores) {
      check_finite_scores(scores, candidates_, "scores", first);
    };
    unseen_(check);
    seen_([&](std::size_t first, MatrixView<const float> scores) { check(unseen_rows_ + first, scores); });
    std::vector<double> spreads(labels_.size());
    each_row([&](std::size_t i, std::span<const double> z, std::span<double>) {
      spreads[i] = -*std::ranges::min_element(z);
    });
    return *std::ranges::max_element(spreads);
  }

  Slopes at(double beta) const {
    std::vector<Slopes> rows(labels_.size());
    each_row([&](std::size_t i, std::span<const double> z, std::span<double> w) {
      exponentials(beta, z, w);
      std::fill(w.begin() + static_cast<std::ptrdiff_t>(candidates_.size()), w.end(), 0.0);
      double weight[kLanes] = {}, mean[kLanes] = {}, square[kLanes] = {};
      for (std::size_t c = 0; c < z.size(); c += kLanes)
        for (std::size_t l = 0; l < kLanes; ++l) {
          const double part = w[c + l] * z[c + l];
          weight[l] += w[c + l];
          mean[l] += part;
          square[l] += part * z[c + l];
        }
      const auto sum = [](const double(&v)[kLanes]) { return (v[0] + v[1]) + (v[2] + v[3]); };
      const double total = sum(weight), middle = sum(mean) / total;
      rows[i] = {middle - z[places_[i]], std::max(0.0, sum(square) / total - middle * middle)};
    });
    Slopes sum;
    for (const Slopes& row : rows) {
      sum.first += row.first;
      sum.second += row.second;
    }
    const auto n = static_cast<double>(rows.size());
    return {sum.first / n, sum.second / n};
  }

 private:
  /// Calls body(i, z, room) for every row, in any order: the candidates' scores less the highest of them, filled up
  /// with zeros to whole lanes, and as much room.
  template <typename Body>
  void each_row(const Body& body) const {
    const auto visit = [&](std::size_t first, MatrixView<const float> scores) {
      pool_.parallel_for(scores.rows(), kRows, [&](std::size_t begin, std::size_t end, std::size_t) {
        std::vector<double> z((candidates_.size() + kLanes - 1) / kLanes * kLanes, 0.0), room(z.size());
        for (std::size_t r = begin; r < end; ++r) {
          const auto row = scores.row(r);
          double top = -std::numeric_limits<double>::infinity();
          for (std::size_t c = 0; c < candidates_.size(); ++c) {
            const float score = row[static_cast<std::size_t>(candidates_[c])];
            z[c] = c < lowered_ ? score - gamma_ : score;
            top = std::max(top, z[c]);
          }
          for (std::size_t c = 0; c < candidates_.size(); ++c) z[c] -= top;
          body(first + r, z, room);
        }
      });
    };
    unseen_(visit);
    seen_([&](std::size_t first, MatrixView<const float> scores) { visit(unseen_rows_ + first, scores); });
  }

  const ScoreRows &unseen_, &seen_;
  float gamma_;
  ThreadPool& pool_;
  std::vector<std::int32_t> candidates_, labels_;
  std::size_t lowered_ = 0, unseen_rows_ = 0;
  std::vector<std::size_t> places_;
};

}  // namespace

double fit_temperature(std::size_t classes, const ScoreRows& unseen, const ScoreRows& seen, const GzslLabels& given,
                       double gamma, ThreadPool& pool) {
  const Objective objective(classes, unseen, seen, given, gamma, pool);
  const double spread = objective.spread();
  if (spread == 0) return 1;  // every temperature gives the uniform distribution

  double low = 1 / (spread * kRange), high = kRange / spread;
  if (objective.at(low).first >= 0) return 1 / low;
  if (objective.at(high).first <= 0) return 1 / high;
  double beta = std::sqrt(low * high), change = high - low;
  for (int step = 0; step < 200 && change > 1e-12 * beta; ++step) {  // halving alone would need 45
    const auto at = objective.at(beta);
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
  model.temperature = fit_temperature(classes, unseen_scores, seen_scores, sides, gamma, pool);
  model.gamma = gamma;
}

}  // namespace parsnets
