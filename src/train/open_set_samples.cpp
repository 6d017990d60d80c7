#include "train/open_set_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <iterator>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "model/evidence.hpp"
#include "model/prediction.hpp"
#include "parsnets/error.hpp"
#include "parsnets/predictor.hpp"
#include "train/fitter.hpp"
#include "train/train_options.hpp"
#include "train/validation.hpp"

namespace parsnets {

namespace {

using Indices = std::vector<std::int32_t>;

constexpr std::size_t kFewestClasses = 4, kFewestTraining = 100;
constexpr std::size_t kSampleFolds = 20;   ///< every kept class leaves out one sample of so many
constexpr std::size_t kMostOfClass = 500;  ///< samples of a class that are judged; more would not tell more
constexpr std::size_t kJudgedRows = 1024;  ///< at a time
constexpr double kFitMatrices = 80, kMostBeside = 5e8;  ///< bytes of a fit's d x d matrices per value; of a second fit

/// One fit: which classes are left out of it, and which samples.
struct OpenFold {
  Indices fit, held_out;    ///< rows: fitted; of the kept classes, left out
  Indices unknown[2];       ///< classes that are unknown in each of the two turns
  Indices unknown_rows[2];  ///< their samples
};

Indices seen_classes_of(const Dataset& data) { return distinct(labels_of(data, data.split.trainval)); }

/// Classes in a random order are dealt out to the folds, and in each fold to its two halves, or all to the first.
std::vector<OpenFold> open_folds(const Dataset& data, const OpenSetOptions& options, bool halves) {
  Indices classes = seen_classes_of(data);
  const auto members = rows_by_class(data, data.split.trainval, options.seed, 7000);
  Rng(options.seed, 6999).shuffle(classes);
  // Both halves of a fold have classes: otherwise the number of candidates would tell known samples from unknown ones.
  std::vector<OpenFold> folds(std::min(static_cast<std::size_t>(options.folds), classes.size() / 2));
  for (std::size_t f = 0; f < folds.size(); ++f) {
    OpenFold& fold = folds[f];
    for (std::size_t i = 0; i < classes.size(); ++i) {
      const Indices& rows = members.at(classes[i]);
      if (i % folds.size() == f) {
        const std::size_t turn = halves ? (i / folds.size()) % 2 : 0;
        fold.unknown[turn].push_back(classes[i]);
        fold.unknown_rows[turn].insert(fold.unknown_rows[turn].end(), rows.begin(),
                                       rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), kMostOfClass)));
        continue;
      }
      std::size_t judged = 0;
      for (std::size_t r = 0; r < rows.size(); ++r)
        if (r % kSampleFolds != f || rows.size() < 2)  // every sample at most once, however many folds there are
          fold.fit.push_back(rows[r]);
        else if (judged++ < kMostOfClass / kSampleFolds)
          fold.held_out.push_back(rows[r]);
    }
    for (Indices* list : {&fold.fit, &fold.held_out, &fold.unknown_rows[0], &fold.unknown_rows[1]})
      std::ranges::sort(*list);
  }
  return folds;
}

/// A model that was fitted without a part of the classes, with the bank of the model that is calibrated.
class FoldJudge {
 public:
  FoldJudge(const Model& model, const TrainOptions& options, const OpenFold& fold, Stages* whole, const Dataset& data,
            ThreadPool& pool, ProgressObserver* progress)
      : data_(data),
        pool_(pool),
        own_(fit_fold(model, options, fold, whole, data, pool, progress)),
        predictor_(own_, pool) {
    const std::vector<std::string>& bank = model.classes.names;
    for (std::size_t c = 0; c < own_.classes.names.size(); ++c)
      if (std::ranges::find(bank, own_.classes.names[c]) != bank.end()) bank_.push_back(static_cast<std::int32_t>(c));
  }

  /// Judges rows of the data set with the classes of one turn unknown.
  void judge(std::span<const std::int32_t> rows, std::uint32_t number, const Indices& unknown,
             std::vector<HeldOutSample>& judged) const {
    Indices candidates;
    for (const auto c : bank_)
      if (std::ranges::find(unknown, c) == unknown.end()) candidates.push_back(c);
    std::vector<std::uint8_t> in_bank(own_.classes.names.size(), 0);
    for (const auto c : candidates) in_bank[static_cast<std::size_t>(c)] = 1;
    const Ranking ranking(own_, std::move(candidates));
    std::vector<RankedClass> best;
    std::vector<Evidence> evidence;
    visit_row_blocks(data_, rows, kJudgedRows, [&](std::size_t, std::span<const std::int32_t> block) {
      best.resize(block.size());
      evidence.resize(block.size());
      predictor_.rank(gather_rows(data_.features.view(), block).view(), ranking, pool_, best, evidence);
      for (std::size_t i = 0; i < block.size(); ++i) {
        const std::int32_t label = data_.labels[static_cast<std::size_t>(block[i])];
        const bool known = in_bank[static_cast<std::size_t>(label)] != 0;
        judged.push_back({label, number, known, known && is_seen(label), is_seen(best[i].class_index),
                          best[i].confidence, evidence[i]});
      }
    });
  }

  /// Adds what rows of the data set give their own class among all classes. Where the rows are of fitted classes, those
  /// that were left out count as seen, as they do in the calibrated model: without gamma they would compete harder.
  void own_confidences(std::span<const std::int32_t> rows, bool fitted, std::vector<OwnConfidence>& own) const {
    std::vector<std::uint8_t> seen = own_.classes.seen;
    if (fitted)
      for (const auto c : data_.seen_classes()) seen[static_cast<std::size_t>(c)] = 1;
    const Ranking ranking(seen, own_.gamma, own_.temperature, bank_);
    visit_row_blocks(data_, rows, kJudgedRows, [&](std::size_t, std::span<const std::int32_t> block) {
      Matrix<float> scores(block.size(), own_.classes.names.size());
      predictor_.scores(gather_rows(data_.features.view(), block).view(), pool_, scores.view());
      for (std::size_t i = 0; i < block.size(); ++i) {
        const std::int32_t label = data_.labels[static_cast<std::size_t>(block[i])];
        if (std::ranges::find(bank_, label) == bank_.end()) continue;
        ranking.to_confidences(scores.row(i));
        const float confidence = scores(i, static_cast<std::size_t>(label));
        const bool is_best = confidence == std::ranges::max(scores.row(i));
        own.push_back({label, is_seen(label), is_best ? 1.0f : confidence});
      }
    });
  }

 private:
  static Model fit_fold(const Model& model, const TrainOptions& options, const OpenFold& fold, Stages* whole,
                        const Dataset& data, ThreadPool& pool, ProgressObserver* progress) {
    Fitter fitter(data, fold.fit, pool, progress, place_samples(options, data, nullptr), whole);
    Model own = fitter.fit(options);
    own.gamma = model.gamma;
    own.temperature = model.temperature;
    std::vector<std::string> added;
    Indices rows;
    for (std::size_t c = 0; c < model.classes.names.size(); ++c)
      if (is_described(model.classes, c) &&
          std::ranges::find(own.classes.names, model.classes.names[c]) == own.classes.names.end()) {
        added.push_back(model.classes.names[c]);
        rows.push_back(static_cast<std::int32_t>(c));
      }
    if (!added.empty()) own.add_classes(added, gather_rows(model.classes.semantics.view(), rows).view());
    return own;
  }

  bool is_seen(std::int32_t c) const { return own_.classes.seen[static_cast<std::size_t>(c)] != 0; }

  const Dataset& data_;
  ThreadPool& pool_;
  const Model own_;
  const Predictor predictor_;
  Indices bank_;  ///< classes that the calibrated model has
};

/// Folds that are fitted one after the other, or by two halves of the threads at a time: a fit has parts that do not
/// share out well.
class FoldQueue {
 public:
  FoldQueue(std::size_t folds, ProgressObserver* progress) : folds_(folds), progress_(progress) {}

  /// Calls take(fold, pool, observer) for every fold; the observer lets a fit be cancelled without telling of its own
  /// stages. The thread that called this one alone calls the progress, and always has the first fold: it can cancel
  /// however the others are shared out.
  template <class Take>
  void run(ThreadPool& pool, bool two, const Take& take) {
    const auto work = [&](std::size_t first, ThreadPool& own, ProgressObserver* progress) {
      Team team(*this, progress);
      try {
        for (std::size_t f = first; f < folds_ && !stopped_; f = next_++) {
          take(f, own, &team);
          ++done_;
        }
      } catch (...) {
        if (!stopped_.exchange(true)) failure_ = std::current_exception();  // the other's is that it was stopped
      }
    };
    if (two && pool.size() > 1) {
      next_ = 2;
      ThreadPool half(pool.size() - pool.size() / 2), rest(pool.size() / 2);
      const auto other = std::async(std::launch::async, [&] { work(1, rest, nullptr); });
      work(0, half, progress_);
      other.wait();
    } else {
      next_ = 1;
      work(0, pool, progress_);
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  class Team : public ProgressObserver {
   public:
    Team(FoldQueue& queue, ProgressObserver* progress) : queue_(queue), progress_(progress) {}
    bool on_progress(const ProgressEvent&) override {
      report(progress_, {"calibrate", queue_.done_, queue_.folds_, "folds"});
      return !queue_.stopped_;
    }

   private:
    FoldQueue& queue_;
    ProgressObserver* progress_;
  };

  const std::size_t folds_;
  ProgressObserver* progress_;
  std::atomic<std::size_t> next_ = 0, done_ = 0;
  std::atomic<bool> stopped_ = false;
  std::exception_ptr failure_;
};

/// Every second one from `first` on.
Indices every_second(const Indices& rows, std::size_t first) {
  Indices some;
  for (std::size_t i = first; i < rows.size(); i += 2) some.push_back(rows[i]);
  return some;
}

}  // namespace

void require_open_set_classes(const Dataset& data) {
  if (const std::size_t classes = seen_classes_of(data).size(); classes < kFewestClasses)
    throw Error(BadInput{data.name, "split", fmt::format("at least {} seen classes with samples", kFewestClasses),
                         std::to_string(classes), "unknown samples cannot be calibrated on fewer"});
  if (const std::size_t samples = data.split.trainval.size(); samples < kFewestTraining)
    throw Error(BadInput{data.name, "split", fmt::format("at least {} training samples", kFewestTraining),
                         std::to_string(samples), "unknown samples cannot be calibrated on fewer"});
}

OpenSetSamples collect_open_set(const Model& model, const Dataset& data, const OpenSetOptions& options,
                                ThreadPool& pool, ProgressObserver* progress) {
  TrainOptions fit = options_of(model);
  if (options.memory_limit > 0) fit.run.memory_limit = options.memory_limit;
  fit = resolve_options(fit, data);
  require_open_set_classes(data);
  // Classes that are known by their semantics alone are judged where the bank has such classes.
  const bool has_unseen = std::ranges::count(model.classes.seen, std::uint8_t{0}) > 0,
             has_span = !LinearSpan(model, pool).basis().empty();
  const std::vector<OpenFold> folds = open_folds(data, options, has_unseen);
  OpenSetSamples samples;
  samples.folds = folds.size();
  // Without a limit of memory the folds' sums are those of all samples without the ones that a fold leaves out.
  Stages whole(data, data.split.trainval, pool, progress, {.kept = false});
  std::vector<OpenSetSamples> of_folds(folds.size());
  const bool shares = fit.run.memory_limit == 0 && std::holds_alternative<ParsNetsOptions>(fit.method);
  if (shares) whole.inputs(feature_scaling_of(fit.method));
  const double n = static_cast<double>(data.split.trainval.size()), d = static_cast<double>(data.features.cols());
  const bool two = shares && 4 * n * d + kFitMatrices * d * d < kMostBeside;
  FoldQueue(folds.size(), progress).run(pool, two, [&](std::size_t f, ThreadPool& own, ProgressObserver* observer) {
    const OpenFold& fold = folds[f];
    report(observer, {});
    const FoldJudge judge(model, fit, fold, shares ? &whole : nullptr, data, own, observer);
    for (std::size_t turn = 0; turn < (has_unseen ? 2 : 1); ++turn) {
      const auto number = static_cast<std::uint32_t>(f);
      const Indices seen = has_unseen ? every_second(fold.held_out, turn) : fold.held_out;
      for (const Indices& rows : {seen, fold.unknown_rows[0], fold.unknown_rows[1]})
        judge.judge(rows, number, fold.unknown[turn], of_folds[f].judged);
      if (has_unseen) judge.own_confidences(fold.unknown_rows[turn], false, of_folds[f].own);
    }
    judge.own_confidences(fold.held_out, true, of_folds[f].own);
  });
  for (const OpenSetSamples& of_fold : of_folds) {
    std::ranges::copy(of_fold.judged, std::back_inserter(samples.judged));
    std::ranges::copy(of_fold.own, std::back_inserter(samples.own));
  }
  report(progress, {"calibrate", folds.size(), folds.size(), "folds"});
  if (!has_span)  // folds with fewer axes may have one, which says nothing of the model
    for (HeldOutSample& sample : samples.judged) sample.evidence.outside = 0;
  return samples;
}

}  // namespace parsnets
