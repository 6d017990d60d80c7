// The metrics of zero-shot learning.

#include "eval/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "eval/counts.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

std::vector<std::int32_t> places_of(std::span<const std::int32_t> candidates, std::size_t classes,
                                    const std::string& what) {
  if (candidates.empty())
    throw Error(BadInput{what, "", "at least one class", "none", "name the classes that may be predicted"});
  std::vector<std::int32_t> places(classes, -1);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const std::int32_t c = candidates[k];
    if (c < 0 || static_cast<std::size_t>(c) >= classes)
      throw Error(BadInput{what, fmt::format("entry {}", k), fmt::format("a class index below {}", classes),
                           fmt::format("{}", c), "the scores need one column per class"});
    std::int32_t& place = places[static_cast<std::size_t>(c)];
    if (place >= 0)
      throw Error(BadInput{what, fmt::format("entry {}", k), "each class only once", fmt::format("class {} twice", c),
                           "remove the duplicate"});
    place = static_cast<std::int32_t>(k);
  }
  return places;
}

void check_label_count(std::size_t rows, std::span<const std::int32_t> labels, const std::string& what) {
  if (labels.size() != rows)
    throw Error(BadInput{what, "labels", fmt::format("one per row of scores, {}", rows),
                         fmt::format("{}", labels.size()), "pass the labels of the same samples"});
}

void check_finite_scores(MatrixView<const float> scores, std::span<const std::int32_t> candidates,
                         const std::string& what, std::size_t first) {
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const auto row = scores.row(i);
    for (const std::int32_t c : candidates)
      if (!std::isfinite(row[static_cast<std::size_t>(c)]))
        throw Error(BadInput{what, fmt::format("row {}, class {}", first + i, c), "a finite score",
                             fmt::format("{}", row[static_cast<std::size_t>(c)]),
                             "check for missing or overflowing features or class attributes"});
  }
}

std::vector<std::size_t> places_of_labels(std::span<const std::int32_t> labels, std::span<const std::int32_t> places,
                                          const std::string& what) {
  if (labels.empty())
    throw Error(BadInput{what, "", "at least one sample", "none", "accuracy is undefined without samples"});
  std::vector<std::size_t> found(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int32_t label = labels[i];
    const bool known = label >= 0 && static_cast<std::size_t>(label) < places.size();
    const std::int32_t place = known ? places[static_cast<std::size_t>(label)] : -1;
    if (place < 0)
      throw Error(BadInput{what, fmt::format("label {}", i), "one of the candidate classes",
                           fmt::format("class {}", label), "pass only samples of these classes, or add the class"});
    found[i] = static_cast<std::size_t>(place);
  }
  return found;
}

// Accuracy among candidate classes, and the table of which class was taken for which.

AccuracyCount::AccuracyCount(std::size_t classes, std::span<const std::int32_t> labels,
                             std::span<const std::int32_t> candidates)
    : labels_(labels),
      candidates_(candidates),
      correct_(labels.size(), 0),
      truth_(places_of_labels(labels, places_of(candidates, classes, "candidate classes"), "scores")),
      samples_(candidates.size(), 0),
      right_(candidates.size(), 0) {}

void AccuracyCount::add(std::size_t first, MatrixView<const float> scores) {
  check_finite_scores(scores, candidates_, "scores", first);
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const auto row = scores.row(i);
    const std::size_t truth = truth_[first + i];
    const float own = row[static_cast<std::size_t>(labels_[first + i])];
    std::size_t ahead = 0;
    for (std::size_t k = 0; k < candidates_.size(); ++k) {
      const float other = row[static_cast<std::size_t>(candidates_[k])];
      ahead += other > own || (other == own && k < truth);
    }
    ++samples_[truth];
    right_[truth] += ahead == 0;
    first_ += ahead == 0;
    correct_[first + i] = ahead == 0;
    among_five_ += ahead < 5;
  }
}

Accuracy AccuracyCount::result() const {
  Accuracy result;
  for (std::size_t k = 0; k < candidates_.size(); ++k) {
    if (samples_[k] == 0) continue;
    const double top1 = 100.0 * static_cast<double>(right_[k]) / static_cast<double>(samples_[k]);
    result.classes.push_back({candidates_[k], samples_[k], top1});
    result.top1_per_class += top1;
  }
  const auto n = static_cast<double>(labels_.size());
  result.top1_per_class /= static_cast<double>(result.classes.size());
  result.top1 = 100.0 * static_cast<double>(first_) / n;
  result.top5 = 100.0 * static_cast<double>(among_five_) / n;
  return result;
}

Accuracy accuracy_among(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                        std::span<const std::int32_t> candidates) {
  check_label_count(scores.rows(), labels, "scores");
  AccuracyCount count(scores.cols(), labels, candidates);
  count.add(0, scores);
  return count.result();
}

Matrix<std::uint32_t> confusion_matrix(MatrixView<const float> scores, std::span<const std::int32_t> labels,
                                       std::span<const std::int32_t> candidates, std::size_t classes) {
  places_of(candidates, std::min(classes, scores.cols()), "candidate classes");
  check_label_count(scores.rows(), labels, "scores");
  check_finite_scores(scores, candidates, "scores");
  Matrix<std::uint32_t> counts(classes, classes, 0);
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes)
      throw Error(BadInput{"scores", fmt::format("label {}", i), fmt::format("a class index below {}", classes),
                           fmt::format("{}", labels[i]), "pass the number of all classes"});
    const auto predicted = candidates[best_place(scores.row(i), candidates)];
    ++counts(static_cast<std::size_t>(labels[i]), static_cast<std::size_t>(predicted));
  }
  return counts;
}

// Generalised zero-shot evaluation with calibrated stacking (Chao et al., ECCV 2016): with f the scores, S the seen and
// U the unseen classes,
//   prediction(x; γ) = argmax over c in S ∪ U of f_c(x) − γ [c in S].
// A sample is decided by its best seen score s and its best unseen score u alone: seen wins iff s − u > γ, so a tie
// goes to the unseen class. As γ rises each sample moves from its best seen to its best unseen class once, at t = s −
// u. A sample of an unseen class is right for γ >= t, one of a seen class for γ < t, and only if its own side's best
// class is its label; all others are wrong at every γ. So sorting the t of the samples that can be right gives the
// whole curve of per-class accuracies U(γ), rising from 0, and S(γ), falling to 0, and
//   AUSUC = Σ_k (U_{k+1} − U_k) (S_k + S_{k+1}) / 2.

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

// The confidence interval of a mean by Student's t. The quantile is computed here because the standard library has no
// Student distribution; for whole degrees of freedom ν its distribution is a finite sum (Abramowitz & Stegun 26.7.3-4),
// with θ = atan(t / √ν):
//   P(|T| <= t) = 2/π (θ + sin θ (cos θ + 2/3 cos³θ + ... + 2·4···(ν−3) / (3·5···(ν−2)) cos^(ν−2) θ))   for odd ν,
//   P(|T| <= t) = sin θ (1 + 1/2 cos²θ + ... + 1·3···(ν−3) / (2·4···(ν−2)) cos^(ν−2) θ)                 for even ν.

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
