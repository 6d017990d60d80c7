// The metrics of zero-shot learning.

#include "eval/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

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

namespace {

using Counts = std::vector<std::size_t>;

/// Of the classes that have samples.
std::vector<ClassAccuracy> per_class(std::span<const std::int32_t> classes, const Counts& samples,
                                     const Counts& right) {
  std::vector<ClassAccuracy> found;
  for (std::size_t k = 0; k < classes.size(); ++k)
    if (samples[k] > 0)
      found.push_back(
          {classes[k], samples[k], 100.0 * static_cast<double>(right[k]) / static_cast<double>(samples[k])});
  return found;
}

double mean_over_classes(const Counts& samples, const Counts& right) {
  double sum = 0;
  std::size_t occurring = 0;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    if (samples[k] == 0) continue;
    sum += 100.0 * static_cast<double>(right[k]) / static_cast<double>(samples[k]);
    ++occurring;
  }
  return sum / static_cast<double>(occurring);
}

}  // namespace

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
    correct_[first + i] = ahead == 0;
    among_five_ += ahead < 5;
  }
}

Accuracy AccuracyCount::result() const {
  const auto percent = [&](auto count) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(labels_.size());
  };
  return {mean_over_classes(samples_, right_), percent(std::ranges::count(correct_, 1)), percent(among_five_),
          per_class(candidates_, samples_, right_)};
}

// With f the scores, S the seen and U the unseen classes,
//   prediction(x; γ) = argmax over c in S ∪ U of f_c(x) − γ [c in S].
// A sample is decided by its best seen score s and its best unseen score u alone: seen wins iff s − u > γ, so a tie
// goes to the unseen class. As γ rises each sample moves from its best seen to its best unseen class once, at t = s −
// u. A sample of an unseen class is right for γ >= t, one of a seen class for γ < t, and only if its own side's best
// class is its label; all others are wrong at every γ. So sorting the t of the samples that can be right gives the
// whole curve of per-class accuracies U(γ), rising from 0, and S(γ), falling to 0, and
//   AUSUC = Σ_k (U_{k+1} − U_k) (S_k + S_{k+1}) / 2.

GzslCount::GzslCount(std::size_t classes, const GzslLabels& labels) {
  const auto& [unseen, seen] = labels;
  const auto unseen_places = places_of(unseen.classes, classes, "unseen classes");
  const auto seen_places = places_of(seen.classes, classes, "seen classes");
  for (const std::int32_t c : seen.classes)
    if (unseen_places[static_cast<std::size_t>(c)] >= 0)
      throw Error(BadInput{"seen classes", "", "no class that is also unseen", "class " + std::to_string(c),
                           "a class is either seen or unseen; correct the split"});
  unseen_ = {false, unseen.labels, unseen.classes, places_of_labels(unseen.labels, unseen_places, "unseen scores"),
             Counts(unseen.classes.size(), 0)};
  seen_ = {true, seen.labels, seen.classes, places_of_labels(seen.labels, seen_places, "seen scores"),
           Counts(seen.classes.size(), 0)};
}

void GzslCount::add(Side& own, const Side& other, std::size_t first, MatrixView<const float> scores) {
  for (const Side* side : {&std::as_const(own), &other})
    check_finite_scores(scores, side->classes, own.is_seen ? "seen scores" : "unseen scores", first);
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const std::size_t truth = own.truth[first + i];
    ++own.samples[truth];
    const auto row = scores.row(i);
    const std::size_t best = best_place(row, own.classes);
    if (best != truth) continue;
    const double mine = row[static_cast<std::size_t>(own.classes[best])];
    const double theirs = row[static_cast<std::size_t>(other.classes[best_place(row, other.classes)])];
    own.flips.push_back({own.is_seen ? mine - theirs : theirs - mine, static_cast<std::uint32_t>(best),
                         static_cast<std::uint32_t>(first + i)});
  }
}

std::vector<std::uint8_t> GzslCount::correct(const Side& side, double gamma) {
  std::vector<std::uint8_t> correct(side.labels.size(), 0);
  for (const Flip& flip : side.flips) correct[flip.sample] = (gamma < flip.gamma) == side.is_seen;
  return correct;
}

std::vector<TradeOff> GzslCount::curve() const {
  auto up = unseen_.flips, down = seen_.flips;
  for (auto* flips : {&up, &down})
    std::sort(flips->begin(), flips->end(), [](const Flip& a, const Flip& b) { return a.gamma < b.gamma; });
  Counts right_unseen(unseen_.classes.size(), 0), right_seen(seen_.classes.size(), 0);
  for (const Flip& flip : down) ++right_seen[flip.place];

  std::vector<TradeOff> curve{{0, 0, mean_over_classes(seen_.samples, right_seen)}};
  std::size_t i = 0, j = 0;
  while (i < up.size() || j < down.size()) {
    TradeOff point = curve.back();
    point.gamma = j == down.size() || (i < up.size() && up[i].gamma < down[j].gamma) ? up[i].gamma : down[j].gamma;
    const std::size_t i_before = i, j_before = j;
    for (; i < up.size() && up[i].gamma == point.gamma; ++i) ++right_unseen[up[i].place];
    for (; j < down.size() && down[j].gamma == point.gamma; ++j) --right_seen[down[j].place];
    // Summed anew at every point, so that it equals the direct evaluation at its gamma to the last bit.
    if (i > i_before) point.u = mean_over_classes(unseen_.samples, right_unseen);
    if (j > j_before) point.s = mean_over_classes(seen_.samples, right_seen);
    curve.push_back(point);
  }
  // The first point holds for every gamma below the second; a finite one of them keeps reports free of infinities.
  if (curve.size() > 1) curve[0].gamma = std::nextafter(curve[1].gamma, -std::numeric_limits<double>::infinity());
  return curve;
}

Gzsl GzslCount::at(double gamma) const {
  if (std::isnan(gamma)) throw Error(ErrorCode::usage, "gamma: expected a number, found nan; use 0 for no calibration");
  Gzsl result;
  result.gamma = gamma;
  const auto count = [&](const Side& side, double& mean, std::vector<ClassAccuracy>& classes) {
    Counts right(side.classes.size(), 0);
    for (const Flip& flip : side.flips) right[flip.place] += (gamma < flip.gamma) == side.is_seen;
    mean = mean_over_classes(side.samples, right);
    classes = per_class(side.classes, side.samples, right);
  };
  count(unseen_, result.u, result.unseen_classes);
  count(seen_, result.s, result.seen_classes);
  result.h = harmonic_mean(result.u, result.s);
  result.curve = curve();
  for (std::size_t k = 1; k < result.curve.size(); ++k) {
    const TradeOff &a = result.curve[k - 1], &b = result.curve[k];
    result.ausuc += (b.u - a.u) * (a.s + b.s) / 200;
  }
  return result;
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

void ConfidenceCount::add(std::span<const std::int32_t> labels, MatrixView<const float> scores) {
  for (std::size_t r = 0; r < scores.rows(); ++r) {
    const std::int32_t best = ranking_.winner(scores.row(r)), label = labels[r];
    row_.assign(scores.row(r).begin(), scores.row(r).end());
    ranking_.to_confidences(row_);
    confidences_.push_back(row_[static_cast<std::size_t>(best)]);
    correct_.push_back(best == label);
    for (std::size_t k = 0; k < thresholds_.size(); ++k) {
      const std::vector<float>& least = thresholds_[k];
      const auto is_in = [&](std::int32_t c) {
        return c == best || row_[static_cast<std::size_t>(c)] >= least[static_cast<std::size_t>(c)];
      };
      covered_[k] += is_in(label);
      for (const auto c : ranking_.candidates()) classes_[k] += is_in(c);
    }
  }
}

Reliability ConfidenceCount::reliability() const {
  return confidences_.empty() ? Reliability{} : parsnets::reliability(confidences_, correct_);
}

SetSide ConfidenceCount::set(std::size_t coverage) const {
  const auto n = static_cast<double>(confidences_.size());
  if (confidences_.empty()) return {};
  return {confidences_.size(), 100 * static_cast<double>(covered_[coverage]) / n,
          static_cast<double>(classes_[coverage]) / n};
}

namespace {

using Json = nlohmann::ordered_json;

Json side_json(const SetSide& side) {
  if (side.samples == 0) return nullptr;
  return {{"samples", side.samples}, {"coverage", side.coverage}, {"size", side.size}};
}

Json side_json(const Reliability& side) {
  if (side.samples == 0) return nullptr;
  Json json{{"samples", side.samples}, {"ece", side.ece}, {"bins", Json::array()}};
  for (const ReliabilityBin& bin : side.bins) {
    const auto known = [&bin](double value) { return bin.samples > 0 ? Json(value) : Json(); };
    json["bins"].push_back(
        {{"samples", bin.samples}, {"confidence", known(bin.confidence)}, {"accuracy", known(bin.accuracy)}});
  }
  return json;
}

}  // namespace

Json sets_json(const EvaluationDetails& result) {
  if (result.sets.empty()) return nullptr;
  Json json = Json::array();
  for (const SetResult& sets : result.sets) {
    json.push_back({{"stated", sets.stated}, {"seen", side_json(sets.seen)}, {"unseen", side_json(sets.unseen)}});
    json.back()["unseen"]["calibrated_on"] = "validation classes";
  }
  return json;
}

Json reliability_json(const EvaluationDetails& result) {
  return {{"seen", side_json(result.seen_reliability)}, {"unseen", side_json(result.unseen_reliability)}};
}

}  // namespace parsnets
