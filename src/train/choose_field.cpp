#include "train/choose_field.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "eval/metrics.hpp"
#include "model/field_em.hpp"
#include "model/prediction.hpp"

namespace parsnets {

namespace {

using Indices = std::vector<std::int32_t>;

constexpr double kStrengths[] = {3, 6, 12, 25, 50, 100}, kCertainty[] = {0.6, 0.75, 0.85},
                 kPriors[] = {1, 2, 4, 8, 16, 32}, kStrong[] = {20, 40, 80};
constexpr double kStrongGain = 1;                    ///< points by which the strong form, which risks more, must win
constexpr double kLeastFollows = 0.1;                ///< a shift of gamma is not divided by less
constexpr double kStrangers = 0.3;                   ///< of the held-out classes are not among the classes, on a pile
constexpr double kShortest = 0.005, kShorter = 0.9;  ///< share of shorter samples, and the length allowed below theirs
constexpr int kFieldRounds = 4;                      ///< settings are told apart before EM has converged
constexpr double kMostFall = 0.25, kMostStrongFall = 0.5;  ///< points, on piles that do not suit
constexpr double kFieldNoise = 0.15;                       ///< points by which another θ than the usual must win
constexpr double kSizeRatio = 50;  ///< of the largest class to the smallest, on an unbalanced pile
constexpr std::size_t kMostUnseen = 3000, kMostSeen = 1000, kDraws = 2, kShots[] = {1, 5};

struct Figures {
  double zsl = 0, h = 0;
  double merit() const { return (zsl + h) / 2; }
};

/// A fold with what does not depend on the settings.
struct Trial {
  const FieldFold& fold;
  std::vector<double> scale;               ///< Pile::scale
  std::vector<float> best_fit;             ///< n: highest score of a class fitted on
  std::vector<std::uint8_t> fit_is_right;  ///< n: whether that is the sample's class
  std::vector<double> rest;                ///< Pile::rest for `sharpness`
  double sharpness = 0;
  std::vector<Indices> unsuitable;    ///< piles
  Figures before;                     ///< without unlabelled samples
  double best_gamma = 0, best_h = 0;  ///< likewise, and the harmonic mean there
};

Matrix<float> scores_of(const Matrix<float>& samples, const Matrix<float>& vectors, std::size_t rows,
                        ThreadPool& pool) {
  Matrix<float> scores(rows, vectors.rows());
  multiply(pool, Trans::no, {samples.data(), rows, samples.cols()}, Trans::yes, vectors.view(), scores.view());
  return scores;
}

std::size_t best_of(std::span<const float> scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

/// Percent, mean over the classes that have samples.
class PerClass {
 public:
  explicit PerClass(std::size_t classes) : right_(classes, 0.0), count_(classes, 0.0) {}
  void add(std::size_t label, bool right) {
    count_[label] += 1;
    right_[label] += right ? 1 : 0;
  }
  double mean() const {
    double sum = 0, classes = 0;
    for (std::size_t c = 0; c < count_.size(); ++c)
      if (count_[c] > 0) {
        sum += right_[c] / count_[c];
        ++classes;
      }
    return classes > 0 ? 100 * sum / classes : 0;
  }

 private:
  std::vector<double> right_, count_;
};

/// What a fold says of samples when the held-out classes have these vectors.
struct Verdicts {
  double zsl = 0;
  std::vector<double> lead;         ///< n: of the best class fitted on, before gamma
  std::vector<std::uint8_t> right;  ///< n: whether the best class of the sample's kind is its own
  std::vector<double> class_share;  ///< n: of its class's accuracy in U or S, in percent
};

Verdicts verdicts(const Trial& trial, const Matrix<float>& held, ThreadPool& pool) {
  const FieldFold& fold = trial.fold;
  const std::size_t k = held.rows(), n = fold.samples.rows();
  const Matrix<float> scores = scores_of(fold.samples, held, n, pool);
  Verdicts found;
  PerClass zsl(k);
  std::vector<double> count(k + fold.fit.rows(), 0.0);
  for (const std::size_t label : fold.labels) count[label] += 1;
  double unseen = 0, seen = 0;  // classes that have samples
  for (std::size_t c = 0; c < count.size(); ++c) (c < k ? unseen : seen) += count[c] > 0 ? 1 : 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t best = best_of(scores.row(i));
    found.lead.push_back(static_cast<double>(trial.best_fit[i]) - scores(i, best));
    found.right.push_back(i < fold.unseen ? best == fold.labels[i] : trial.fit_is_right[i] != 0);
    found.class_share.push_back(100 / (count[fold.labels[i]] * (i < fold.unseen ? unseen : seen)));
    if (i < fold.unseen) zsl.add(fold.labels[i], best == fold.labels[i]);
  }
  found.zsl = zsl.mean();
  return found;
}

Figures at_gamma(const Trial& trial, const Verdicts& found, double gamma) {
  double u = 0, s = 0;
  for (std::size_t i = 0; i < found.lead.size(); ++i) {
    const bool is_unseen = i < trial.fold.unseen, to_unseen = found.lead[i] < gamma;
    if (found.right[i] && is_unseen == to_unseen) (is_unseen ? u : s) += found.class_share[i];
  }
  return {found.zsl, harmonic_mean(u, s)};
}

/// The gamma with the highest harmonic mean: every one at which a verdict changes is visited.
double best_gamma(const Trial& trial, const Verdicts& found) {
  std::vector<std::size_t> order(found.lead.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return found.lead[i]; });
  double u = 0, s = 0, best = -1, gamma = trial.fold.gamma;
  for (std::size_t i = trial.fold.unseen; i < found.lead.size(); ++i)
    if (found.right[i]) s += found.class_share[i];
  for (std::size_t place = 0; place < order.size(); ++place) {
    const std::size_t i = order[place];
    if (found.right[i]) (i < trial.fold.unseen ? u : s) += (i < trial.fold.unseen ? 1 : -1) * found.class_share[i];
    const double next = place + 1 < order.size() ? found.lead[order[place + 1]] : found.lead[i];
    if (const double h = harmonic_mean(u, s); h > best && (next > found.lead[i] || place + 1 == order.size())) {
      best = h;
      gamma = (found.lead[i] + next) / 2;
    }
  }
  return gamma;
}

/// Seen classes alone; half of the held-out classes missing; unbalanced.
std::vector<Indices> unsuitable_piles(const FieldFold& fold, std::uint64_t seed) {
  const std::size_t k = fold.held.rows();
  const auto held = Rng(seed, 6000).permutation(k), all = Rng(seed, 6001).permutation(k + fold.fit.rows());
  std::vector<std::uint8_t> missing(all.size(), 0);
  for (std::size_t c = 0; c < k / 2; ++c) missing[held[c]] = 1;
  std::vector<double> left(all.size(), 0.0);
  for (const std::size_t label : fold.labels) left[label] += 1;
  for (std::size_t place = 0; place < all.size(); ++place) {
    const double share = std::pow(kSizeRatio, -static_cast<double>(place) / static_cast<double>(all.size() - 1));
    left[all[place]] = std::max(1.0, std::round(left[all[place]] * share));
  }
  std::vector<Indices> piles(3);
  for (const std::size_t i : Rng(seed, 6002).permutation(fold.samples.rows())) {
    const std::size_t label = fold.labels[i];
    const bool in_pile[] = {label >= k, !missing[label], left[label] > 0};
    for (std::size_t p = 0; p < piles.size(); ++p)
      if (in_pile[p]) piles[p].push_back(static_cast<std::int32_t>(i));
    left[label] -= 1;
  }
  for (auto& pile : piles) std::ranges::sort(pile);
  return piles;
}

Trial make_trial(const FieldFold& fold, std::uint64_t seed, ThreadPool& pool) {
  Trial trial{fold, scales(fold.samples), {}, {}, {}, 0, unsuitable_piles(fold, seed), {}};
  const Matrix<float> scores = scores_of(fold.samples, fold.fit, fold.samples.rows(), pool);
  for (std::size_t i = 0; i < scores.rows(); ++i) {
    const std::size_t best = best_of(scores.row(i));
    trial.best_fit.push_back(scores(i, best));
    trial.fit_is_right.push_back(fold.labels[i] == fold.held.rows() + best);
  }
  const Verdicts found = verdicts(trial, fold.held, pool);
  trial.before = at_gamma(trial, found, fold.gamma);
  trial.best_gamma = best_gamma(trial, found);
  trial.best_h = at_gamma(trial, found, trial.best_gamma).h;
  return trial;
}

/// Null: a pile of all samples.
Verdicts adapted(Trial& trial, const FieldSettings& settings, const Indices* rows, ThreadPool& pool) {
  const FieldFold& fold = trial.fold;
  if (trial.sharpness != settings.sharpness) {
    trial.rest =
        rest_of(fold.samples, fold.fit, std::vector<double>(fold.fit.rows(), fold.gamma), settings.sharpness, pool);
    trial.sharpness = settings.sharpness;
  }
  Pile pile{rows != nullptr ? gather_rows(fold.samples.view(), *rows) : fold.samples.share(), trial.scale, trial.rest};
  if (rows != nullptr) {
    if (rows->empty()) return verdicts(trial, fold.held, pool);
    for (std::size_t i = 0; i < rows->size(); ++i) {
      pile.scale[i] = trial.scale[static_cast<std::size_t>((*rows)[i])];
      pile.rest[i] = trial.rest[static_cast<std::size_t>((*rows)[i])];
    }
  }
  const std::size_t k = fold.held.rows();
  const Movable classes{fold.held.share(), std::vector<double>(k, 0.0), std::vector<double>(k, 0.0),
                        Matrix<double>(k, fold.held.cols(), 0.0)};
  return verdicts(trial, move_places(pile, classes, settings, kFieldRounds, pool).vectors, pool);
}

/// At the best gamma of each fold; `shift` gets how far it lies from the best one before.
Figures adapted_to_all(std::vector<Trial>& trials, const FieldSettings& settings, ThreadPool& pool,
                       double* shift = nullptr) {
  Figures mean;
  for (Trial& trial : trials) {
    const Verdicts verdict = adapted(trial, settings, nullptr, pool);
    const double gamma = best_gamma(trial, verdict);
    const Figures found = at_gamma(trial, verdict, gamma);
    if (shift != nullptr) *shift += (gamma - trial.best_gamma) / static_cast<double>(trials.size());
    mean.zsl += found.zsl / static_cast<double>(trials.size());
    mean.h += found.h / static_cast<double>(trials.size());
  }
  return mean;
}

/// The largest fall of either figure, in points, over the piles; means over the folds.
double worst_fall(std::vector<Trial>& trials, const FieldSettings& settings, ThreadPool& pool) {
  double worst = 0;
  for (std::size_t pile = 0; pile < trials[0].unsuitable.size(); ++pile) {
    double zsl = 0, h = 0;
    for (Trial& trial : trials) {
      const Figures found = at_gamma(trial, adapted(trial, settings, &trial.unsuitable[pile], pool), trial.fold.gamma);
      zsl += (trial.before.zsl - found.zsl) / static_cast<double>(trials.size());
      h += (trial.before.h - found.h) / static_cast<double>(trials.size());
    }
    worst = std::max({worst, zsl, h});
  }
  return worst;
}

/// ZSL accuracy with `shots` examples of each held-out class for every prior, on the other samples.
std::vector<double> with_examples(const Trial& trial, std::size_t shots, std::uint64_t stream, std::uint64_t seed,
                                  ThreadPool& pool) {
  const FieldFold& fold = trial.fold;
  const std::size_t k = fold.held.rows(), p = fold.held.cols();
  std::vector<std::size_t> taken(k, 0);
  std::vector<std::uint8_t> is_example(fold.unseen, 0);
  Matrix<double> sums(k, p, 0.0);
  for (const std::size_t i : Rng(seed, stream).permutation(fold.unseen)) {
    const std::size_t c = fold.labels[i];
    if (taken[c] == shots) continue;
    ++taken[c];
    is_example[i] = 1;
    for (std::size_t j = 0; j < p; ++j) sums(c, j) += trial.scale[i] * fold.samples(i, j);
  }
  std::vector<double> zsl;
  for (const double prior : kPriors) {
    Matrix<float> vectors = Matrix<float>::copy_of(fold.held.view());
    for (std::size_t c = 0; c < k; ++c) {
      const auto part = vectors.row(c);
      const double length = std::sqrt(dot(part, part));
      double square = 0;
      for (std::size_t j = 0; j < p && length > 0; ++j) {
        part[j] = static_cast<float>(prior * part[j] / length + sums(c, j));
        square += static_cast<double>(part[j]) * part[j];
      }
      for (std::size_t j = 0; j < p && square > 0; ++j)
        part[j] = static_cast<float>(part[j] * length / std::sqrt(square));
    }
    const Matrix<float> scores = scores_of(fold.samples, vectors, fold.unseen, pool);
    PerClass found(k);
    for (std::size_t i = 0; i < scores.rows(); ++i)
      if (!is_example[i]) found.add(fold.labels[i], best_of(scores.row(i)) == fold.labels[i]);
    zsl.push_back(found.mean());
  }
  return zsl;
}

/// What the strong form makes of a pile, for one strength.
struct Outcome {
  Verdicts verdicts;
  double share = 0;
  bool is_used = false;
};

std::vector<Outcome> strong_outcomes(const Trial& trial, const Matrix<float>& pile, double sharpness,
                                     ThreadPool& pool) {
  const FieldFold& fold = trial.fold;
  if (pile.rows() < fold.held.rows())
    return std::vector<Outcome>(std::size(kStrong));  // adapt() does not use it either
  const Experience none;
  const FieldSearch search(pile, fold.map, none,
                           {fold.fit.share(), std::vector<std::uint8_t>(fold.fit.rows(), std::uint8_t{1})}, sharpness,
                           pool);
  std::vector<Outcome> outcomes;
  for (const double strength : kStrong) {
    const Found found = search.end(strength, pool);
    outcomes.push_back({verdicts(trial, found.vectors, pool), found.share, found.evidence.is_enough()});
  }
  return outcomes;
}

/// The fold without some held-out classes and their samples.
FieldFold without_strangers(const FieldFold& fold, std::uint64_t seed) {
  const std::size_t k = fold.held.rows(),
                    strangers = static_cast<std::size_t>(std::lround(kStrangers * static_cast<double>(k)));
  const auto order = Rng(seed, 6003).permutation(k);
  Indices kept, rows;
  for (std::size_t c = strangers; c < k; ++c) kept.push_back(static_cast<std::int32_t>(order[c]));
  std::ranges::sort(kept);
  std::vector<std::size_t> place(k + fold.fit.rows(), k + fold.fit.rows());
  for (std::size_t c = 0; c < kept.size(); ++c) place[static_cast<std::size_t>(kept[c])] = c;
  for (std::size_t c = 0; c < fold.fit.rows(); ++c) place[k + c] = kept.size() + c;
  FieldFold part{{}, {}, 0, gather_rows(fold.held.view(), kept), fold.fit.share(), fold.gamma, {}, fold.least_length};
  for (std::size_t i = 0; i < fold.labels.size(); ++i) {
    const std::size_t label = place[fold.labels[i]];
    if (label == place.size()) continue;
    rows.push_back(static_cast<std::int32_t>(i));
    part.labels.push_back(label);
    part.unseen += i < fold.unseen ? 1 : 0;
  }
  part.samples = gather_rows(fold.samples.view(), rows);
  part.map = {fold.map.seen.share(), gather_rows(fold.map.moving.view(), kept), fold.map.means.share(), fold.map.width,
              fold.map.ridge};
  return part;
}

/// Sets the strong form where it pays more than the careful one, whose figures these are.
void choose_strong(std::vector<Trial>& trials, std::uint64_t seed, const Figures& careful, FieldChoice& choice,
                   ThreadPool& pool) {
  constexpr std::size_t kCount = std::size(kStrong);
  const double share = 1 / static_cast<double>(trials.size());
  struct Tried {
    Figures all;
    double gamma = 0, follows = 0, fall = 0;
  };
  std::array<Tried, kCount> tried;
  struct Odd {
    Figures before;
    double gamma = 0;
    const Trial* trial = nullptr;
    std::vector<Outcome> outcomes;
  };
  std::vector<std::unique_ptr<FieldFold>> parts;
  std::vector<std::unique_ptr<Trial>> part_trials;
  std::vector<std::array<Odd, 3>> odd;
  const double sharpness = choice.settings.sharpness;
  for (Trial& trial : trials) {
    const auto all = strong_outcomes(trial, trial.fold.samples, sharpness, pool);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double gamma = best_gamma(trial, all[i].verdicts);
      const Figures found = at_gamma(trial, all[i].verdicts, gamma);
      tried[i].all.zsl += share * found.zsl;
      tried[i].all.h += share * found.h;
      tried[i].gamma += share * (gamma - trial.best_gamma);
      tried[i].follows += share * all[i].share;
      if (!all[i].is_used) tried[i].fall = 100;
    }
    parts.push_back(std::make_unique<FieldFold>(without_strangers(trial.fold, seed)));
    part_trials.push_back(std::make_unique<Trial>(make_trial(*parts.back(), seed, pool)));
    const Trial& part = *part_trials.back();
    const auto of_pile = [&](const Indices& pile) {
      return Odd{trial.before, trial.fold.gamma, &trial,
                 strong_outcomes(trial, gather_rows(trial.fold.samples.view(), pile), sharpness, pool)};
    };
    odd.push_back(
        {of_pile(trial.unsuitable[0]), of_pile(trial.unsuitable[1]),
         Odd{part.before, trial.fold.gamma, &part, strong_outcomes(part, trial.fold.samples, sharpness, pool)}});
  }
  for (Tried& one : tried) {
    const auto i = static_cast<std::size_t>(&one - tried.data());
    one.gamma /= std::max(one.follows, kLeastFollows);
    for (std::size_t kind = 0; kind < odd[0].size(); ++kind) {
      Figures lost;
      for (const auto& kinds : odd) {
        const Odd& pile = kinds[kind];
        const Outcome& outcome = pile.outcomes[i];
        if (!outcome.is_used) continue;
        const Figures found = at_gamma(*pile.trial, outcome.verdicts, pile.gamma + one.gamma * outcome.share);
        lost.zsl += share * (pile.before.zsl - found.zsl);
        lost.h += share * (pile.before.h - found.h);
      }
      one.fall = std::max({one.fall, lost.zsl, lost.h});
    }
  }
  const Tried* best = nullptr;
  for (const Tried& one : tried)
    if (one.fall <= kMostStrongFall &&
        one.all.merit() > (best == nullptr ? careful.merit() + kStrongGain : best->all.merit()))
      best = &one;
  if (best == nullptr) return;
  choice.settings.strong = kStrong[best - tried.data()];
  choice.settings.strong_gamma_shift = best->gamma;
  choice.record.adapted_zsl = best->all.zsl;
  choice.record.adapted_h = best->all.h;
  choice.record.worst_fall = std::max(choice.record.worst_fall, best->fall);
}

void choose_prior(const std::vector<Trial>& trials, std::uint64_t seed, FieldChoice& choice, ThreadPool& pool) {
  constexpr std::size_t kCount = std::size(kPriors);
  std::vector<double> one(kCount, 0.0), five(kCount, 0.0);
  for (const Trial& trial : trials)
    for (std::size_t draw = 0; draw < kDraws; ++draw)
      for (const std::size_t shots : kShots) {
        const auto zsl = with_examples(trial, shots, 6100 + draw, seed, pool);
        for (std::size_t i = 0; i < kCount; ++i)
          (shots == 1 ? one : five)[i] += zsl[i] / static_cast<double>(kDraws * trials.size());
      }
  std::size_t best = 0;
  for (std::size_t i = 1; i < kCount; ++i)
    if (one[i] + five[i] > one[best] + five[best]) best = i;
  choice.settings.example_prior = kPriors[best];
  choice.record.one_example_zsl = one[best];
  choice.record.five_examples_zsl = five[best];
}

/// At most `most` of the rows, drawn with the seed, in their order.
Indices some_of(std::size_t rows, std::size_t most, std::uint64_t seed, std::uint64_t stream) {
  Indices order(rows);
  std::iota(order.begin(), order.end(), 0);
  if (rows <= most) return order;
  Rng(seed, stream).shuffle(order);
  order.resize(most);
  std::ranges::sort(order);
  return order;
}

Matrix<float> at_unit_length(Matrix<float> rows) {
  unit_rows(rows.view());
  return rows;
}

Matrix<float> stacked(Matrix<float> a, const Matrix<float>& b) {
  if (b.empty()) return a;
  Matrix<float> both(a.rows() + b.rows(), a.cols());
  std::ranges::copy(a.values(), both.data());
  std::ranges::copy(b.values(), both.data() + a.size());
  return both;
}

std::size_t place_in(const Indices& sorted, std::int32_t label) {
  return static_cast<std::size_t>(std::ranges::lower_bound(sorted, label) - sorted.begin());
}

}  // namespace

FieldFold field_fold(const FoldOutputs& outputs, const Dataset& data, const Fold& fold, double gamma,
                     std::uint64_t seed) {
  const Indices unseen = some_of(fold.unseen.size(), kMostUnseen, seed, 6200),
                seen = some_of(fold.seen.size(), kMostSeen, seed, 6201);
  Matrix<float> samples = stacked(gather_rows(outputs.unseen.view(), unseen), gather_rows(outputs.seen.view(), seen));
  centre_rows(outputs.model, samples.view());
  std::vector<double> lengths;
  for (std::size_t i = 0; i < samples.rows(); ++i) lengths.push_back(dot(samples.row(i), samples.row(i)));
  std::ranges::sort(lengths);
  const auto vectors_of = [&](const Indices& classes) {
    return at_unit_length(gather_rows(outputs.prepared.vectors.view(), classes));
  };
  FieldFold made{at_unit_length(std::move(samples)), {},   unseen.size(), vectors_of(fold.held_classes),
                 vectors_of(fold.fit_classes),       gamma};
  const auto label_of = [&](std::int32_t row) { return data.labels[static_cast<std::size_t>(row)]; };
  for (const auto i : unseen)
    made.labels.push_back(place_in(fold.held_classes, label_of(fold.unseen[static_cast<std::size_t>(i)])));
  if (!lengths.empty())
    made.least_length = std::sqrt(lengths[static_cast<std::size_t>(kShortest * static_cast<double>(lengths.size()))] /
                                  static_cast<double>(made.samples.cols()));
  made.map = place_map(outputs.model, fold.held_classes);
  for (const auto i : seen)
    made.labels.push_back(made.held.rows() +
                          place_in(fold.fit_classes, label_of(fold.seen[static_cast<std::size_t>(i)])));
  return made;
}

std::optional<FieldChoice> choose_field(std::span<const FieldFold> folds, std::uint64_t seed, ThreadPool& pool) {
  std::vector<Trial> trials;
  for (const FieldFold& fold : folds)
    if (fold.held.rows() > 1) trials.push_back(make_trial(fold, seed, pool));
  if (trials.empty()) return std::nullopt;
  FieldChoice choice;
  FieldSettings& settings = choice.settings;
  Figures best;
  std::size_t strength = 0;
  for (std::size_t i = std::size(kStrengths); i-- > 0; strength = i) {  // the more cautious one in a tie
    FieldSettings tried = settings;
    tried.strength = kStrengths[i];
    const Figures found = adapted_to_all(trials, tried, pool);
    if (found.merit() <= best.merit()) break;  // and it falls further
    best = found;
  }
  settings.strength = kStrengths[strength];
  double least = best.merit() + kFieldNoise;
  const FieldSettings usual = settings;
  for (const double certainty : kCertainty) {
    FieldSettings tried = usual;
    tried.certainty = certainty;
    if (tried == usual) continue;
    if (const Figures found = adapted_to_all(trials, tried, pool); found.merit() > least) {
      least = found.merit();
      settings = tried;
    }
  }
  double fall = worst_fall(trials, settings, pool);
  while (fall > kMostFall && strength + 1 < std::size(kStrengths)) {
    settings.strength = kStrengths[++strength];
    fall = worst_fall(trials, settings, pool);
  }
  best = adapted_to_all(trials, settings, pool, &settings.gamma_shift);
  for (const Trial& trial : trials) {
    choice.record.zsl += trial.before.zsl / static_cast<double>(trials.size());
    choice.record.h += trial.best_h / static_cast<double>(trials.size());
  }
  choice.record.adapted_zsl = best.zsl;
  choice.record.adapted_h = best.h;
  choice.record.worst_fall = fall;
  settings.least_length = std::numeric_limits<double>::max();
  bool searchable = true;
  for (const Trial& trial : trials) {
    settings.least_length = std::min(settings.least_length, kShorter * trial.fold.least_length);
    searchable = searchable && trial.fold.map.can_be_searched() && trial.fold.held.rows() > 3;
  }
  if (searchable) choose_strong(trials, seed, best, choice, pool);
  choose_prior(trials, seed, choice, pool);
  return choice;
}

void scale_shifts(FieldSettings& settings, double gamma_of_folds, double gamma) {
  if (gamma_of_folds <= 0) return;
  for (double* shift : {&settings.gamma_shift, &settings.strong_gamma_shift}) *shift *= gamma / gamma_of_folds;
}

}  // namespace parsnets
