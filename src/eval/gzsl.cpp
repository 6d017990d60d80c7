// Generalised zero-shot evaluation with calibrated stacking (Chao et al., ECCV 2016): with f the scores, S the seen and
// U the unseen classes,
//   prediction(x; γ) = argmax over c in S ∪ U of f_c(x) − γ [c in S].
// A sample is decided by its best seen score s and its best unseen score u alone: seen wins iff s − u > γ, so a tie
// goes to the unseen class. As γ rises each sample moves from its best seen to its best unseen class once, at t = s −
// u. A sample of an unseen class is right for γ >= t, one of a seen class for γ < t, and only if its own side's best
// class is its label; all others are wrong at every γ. So sorting the t of the samples that can be right gives the
// whole curve of per-class accuracies U(γ), rising from 0, and S(γ), falling to 0, and
//   AUSUC = Σ_k (U_{k+1} − U_k) (S_k + S_{k+1}) / 2.

#include <algorithm>
#include <cmath>
#include <limits>

#include "eval/counts.hpp"
#include "eval/harmonic_mean.hpp"
#include "eval/scores.hpp"
#include "parsnets/error.hpp"
#include "parsnets/metrics.hpp"

namespace parsnets {

namespace {

/// The count of scores that are there as a whole.
GzslCount count_of(const GzslScores& scores) {
  const auto& [unseen, seen] = scores;
  if (unseen.scores.cols() != seen.scores.cols())
    throw Error(BadInput{"seen scores", "columns", std::to_string(unseen.scores.cols()) + ", as in the unseen scores",
                         std::to_string(seen.scores.cols()), "score both with the same classes"});
  check_label_count(unseen.scores.rows(), unseen.labels, "unseen scores");
  check_label_count(seen.scores.rows(), seen.labels, "seen scores");
  GzslCount count(unseen.scores.cols(), {{unseen.labels, unseen.classes}, {seen.labels, seen.classes}});
  count.add_unseen(0, unseen.scores);
  count.add_seen(0, seen.scores);
  return count;
}

}  // namespace

GzslCount::GzslCount(std::size_t classes, const GzslLabels& labels) {
  const auto& [unseen, seen] = labels;
  const auto unseen_places = places_of(unseen.classes, classes, "unseen classes");
  const auto seen_places = places_of(seen.classes, classes, "seen classes");
  for (const std::int32_t c : seen.classes)
    if (unseen_places[static_cast<std::size_t>(c)] >= 0)
      throw Error(BadInput{"seen classes", "", "no class that is also unseen", "class " + std::to_string(c),
                           "a class is either seen or unseen; correct the split"});
  unseen_ = {"unseen scores",
             unseen.labels,
             unseen.classes,
             places_of_labels(unseen.labels, unseen_places, "unseen scores"),
             Counts(unseen.classes.size(), 0),
             {}};
  seen_ = {"seen scores",
           seen.labels,
           seen.classes,
           places_of_labels(seen.labels, seen_places, "seen scores"),
           Counts(seen.classes.size(), 0),
           {}};
}

void GzslCount::add(Side& own, const Side& other, bool own_is_seen, std::size_t first, MatrixView<const float> scores) {
  check_finite_scores(scores, own.classes, own.what, first);
  check_finite_scores(scores, other.classes, own.what, first);
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const std::size_t truth = own.truth[first + i];
    ++own.samples[truth];
    const auto row = scores.row(i);
    const std::size_t best = best_place(row, own.classes);
    if (best != truth) continue;
    const double mine = row[static_cast<std::size_t>(own.classes[best])];
    const double theirs = row[static_cast<std::size_t>(other.classes[best_place(row, other.classes)])];
    own.flips.push_back({own_is_seen ? mine - theirs : theirs - mine, static_cast<std::uint32_t>(best),
                         static_cast<std::uint32_t>(first + i)});
  }
}

void GzslCount::add_unseen(std::size_t first, MatrixView<const float> scores) {
  add(unseen_, seen_, false, first, scores);
}

void GzslCount::add_seen(std::size_t first, MatrixView<const float> scores) {
  add(seen_, unseen_, true, first, scores);
}

std::vector<GzslCount::Flip> GzslCount::by_gamma(const Side& side) {
  auto flips = side.flips;
  std::sort(flips.begin(), flips.end(), [](const Flip& a, const Flip& b) { return a.gamma < b.gamma; });
  return flips;
}

std::vector<ClassAccuracy> GzslCount::per_class(const Side& side, const Counts& right) {
  std::vector<ClassAccuracy> classes;
  for (std::size_t k = 0; k < side.classes.size(); ++k)
    if (side.samples[k] > 0)
      classes.push_back({side.classes[k], side.samples[k],
                         100.0 * static_cast<double>(right[k]) / static_cast<double>(side.samples[k])});
  return classes;
}

/// Summed anew at every point of the curve, so that a point equals the direct evaluation at its gamma to the last bit.
double GzslCount::mean_over_classes(const Side& side, const Counts& right) {
  double sum = 0;
  std::size_t occurring = 0;
  for (std::size_t k = 0; k < side.classes.size(); ++k) {
    if (side.samples[k] == 0) continue;
    sum += 100.0 * static_cast<double>(right[k]) / static_cast<double>(side.samples[k]);
    ++occurring;
  }
  return sum / static_cast<double>(occurring);
}

std::vector<TradeOff> GzslCount::curve() const {
  const auto up = by_gamma(unseen_), down = by_gamma(seen_);
  Counts right_unseen(unseen_.classes.size(), 0), right_seen(seen_.classes.size(), 0);
  for (const Flip& flip : down) ++right_seen[flip.place];

  std::vector<TradeOff> curve{{0, 0, mean_over_classes(seen_, right_seen)}};
  std::size_t i = 0, j = 0;
  while (i < up.size() || j < down.size()) {
    TradeOff point = curve.back();
    point.gamma = j == down.size() || (i < up.size() && up[i].gamma < down[j].gamma) ? up[i].gamma : down[j].gamma;
    const std::size_t i_before = i, j_before = j;
    for (; i < up.size() && up[i].gamma == point.gamma; ++i) ++right_unseen[up[i].place];
    for (; j < down.size() && down[j].gamma == point.gamma; ++j) --right_seen[down[j].place];
    if (i > i_before) point.u = mean_over_classes(unseen_, right_unseen);
    if (j > j_before) point.s = mean_over_classes(seen_, right_seen);
    curve.push_back(point);
  }
  // The first point holds for every gamma below the second; a finite one of them keeps reports free of infinities.
  if (curve.size() > 1) curve[0].gamma = std::nextafter(curve[1].gamma, -std::numeric_limits<double>::infinity());
  return curve;
}

Gzsl GzslCount::at(double gamma) const {
  if (std::isnan(gamma)) throw Error(ErrorCode::usage, "gamma: expected a number, found nan; use 0 for no calibration");
  Counts right_unseen(unseen_.classes.size(), 0), right_seen(seen_.classes.size(), 0);
  for (const Flip& flip : unseen_.flips) right_unseen[flip.place] += gamma >= flip.gamma;
  for (const Flip& flip : seen_.flips) right_seen[flip.place] += gamma < flip.gamma;

  Gzsl result;
  result.gamma = gamma;
  result.u = mean_over_classes(unseen_, right_unseen);
  result.s = mean_over_classes(seen_, right_seen);
  result.h = harmonic_mean(result.u, result.s);
  result.unseen_classes = per_class(unseen_, right_unseen);
  result.seen_classes = per_class(seen_, right_seen);
  result.curve = curve();
  for (std::size_t k = 1; k < result.curve.size(); ++k) {
    const TradeOff &a = result.curve[k - 1], &b = result.curve[k];
    result.ausuc += (b.u - a.u) * (a.s + b.s) / 200;
  }
  return result;
}

std::vector<std::uint8_t> GzslCount::correct_unseen(double gamma) const {
  std::vector<std::uint8_t> correct(unseen_.labels.size(), 0);
  for (const Flip& flip : unseen_.flips) correct[flip.sample] = gamma >= flip.gamma;
  return correct;
}

std::vector<std::uint8_t> GzslCount::correct_seen(double gamma) const {
  std::vector<std::uint8_t> correct(seen_.labels.size(), 0);
  for (const Flip& flip : seen_.flips) correct[flip.sample] = gamma < flip.gamma;
  return correct;
}

double GzslCount::best_gamma() const {
  const auto points = curve();
  // U is 0 at the first point and S at the last, so the two unbounded intervals never win.
  double best = 0, best_h = 0, best_width = 0;
  for (std::size_t k = 1; k + 1 < points.size(); ++k) {
    const double h = harmonic_mean(points[k].u, points[k].s), low = points[k].gamma, high = points[k + 1].gamma;
    if (h < best_h || h == 0 || (h == best_h && high - low <= best_width)) continue;
    const double middle = low + (high - low) / 2;
    best = middle < high ? middle : low;
    best_h = h;
    best_width = high - low;
  }
  return best;
}

Gzsl evaluate_gzsl(const GzslScores& scores, double gamma) { return count_of(scores).at(gamma); }

double best_gamma(const GzslScores& scores) { return count_of(scores).best_gamma(); }

}  // namespace parsnets
