// The zero-shot protocol on a data set's test samples.

#include "parsnets/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "data/sample_set.hpp"
#include "data/semantics.hpp"
#include "eval/metrics.hpp"
#include "eval/model_data.hpp"
#include "eval/recogniser.hpp"
#include "eval/scoring.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

/// Scores of test samples in the data set's class order, by one process or by several together, all of which visit all
/// rows. Classes the model does not have (position -1) score lowest and are no candidates.
struct OrderedScores {
  const Recogniser& recogniser;
  const Dataset& data;
  const std::vector<std::int32_t>& position;
  Processes* processes;
  ProgressObserver* progress;

  void visit(const std::vector<std::int32_t>& list, const char* stage, const ScoreVisitor& use) const {
    constexpr std::size_t kSharedScores = std::size_t{4} << 20;  // of one batch that goes to all processes
    const std::span<const std::int32_t> rows(list);
    const bool shared = processes != nullptr && processes->size() > 1;
    const std::size_t most =
        shared ? std::clamp(kSharedScores / position.size(), processes->size(), kScoredRows) : kScoredRows;
    for (std::size_t start = 0; start < rows.size(); start += most) {
      report(progress, {stage, start, rows.size(), "samples"});
      const auto batch = rows.subspan(start, std::min(most, rows.size() - start));
      const auto take = [&](std::size_t first, MatrixView<const float> scores) { use(start + first, scores); };
      if (shared)
        visit_shared(batch, take);
      else
        visit_alone(batch, take);
    }
  }

  void visit_alone(std::span<const std::int32_t> rows, const ScoreVisitor& use) const {
    if (rows.empty()) return;
    recogniser.visit_scores(
        gather_rows(data.features, rows).view(), [&](std::size_t first, MatrixView<const float> scores) {
          Matrix<float> ordered(scores.rows(), position.size());
          for (std::size_t r = 0; r < scores.rows(); ++r)
            for (std::size_t c = 0; c < position.size(); ++c)
              ordered(r, c) = position[c] < 0 ? -3e38f : scores(r, static_cast<std::size_t>(position[c]));
          use(first, ordered.view());
        });
  }

  void visit_shared(std::span<const std::int32_t> rows, const ScoreVisitor& use) const {
    const Share own = processes->share(rows.size());
    std::string bytes;
    visit_alone(rows.subspan(own.first, own.count), [&](std::size_t, MatrixView<const float> scores) {
      bytes.append(reinterpret_cast<const char*>(scores.data()), scores.size() * sizeof(float));
    });
    std::size_t first = 0;
    for (std::size_t rank = 0; rank < processes->size(); ++rank) {
      std::string part = rank == processes->rank() ? std::move(bytes) : std::string();
      processes->broadcast(part, rank);
      Matrix<float> scores(part.size() / sizeof(float) / position.size(), position.size());
      if (part.empty()) continue;
      std::memcpy(scores.data(), part.data(), part.size());
      use(first, scores.view());
      first += scores.rows();
    }
  }
};

/// Pairs of a label and the class that was predicted, counted.
std::vector<Confusion> counted(std::vector<std::pair<std::int32_t, std::int32_t>> pairs) {
  std::ranges::sort(pairs);
  std::vector<Confusion> counts;
  for (const auto& [label, predicted] : pairs) {
    if (counts.empty() || counts.back().label != label || counts.back().predicted != predicted)
      counts.push_back({label, predicted, 0});
    ++counts.back().samples;
  }
  return counts;
}

/// The data set's classes as a ranking compares all that the model has, and their thresholds of prediction sets.
struct OrderedClasses {
  Ranking ranking;
  std::vector<std::vector<float>> thresholds;  ///< of each coverage
};

/// `position`: of each class in the model's bank, -1 if it is not there.
OrderedClasses ordered_classes(const Recogniser& recogniser, const std::vector<std::int32_t>& position,
                               std::span<const double> coverages) {
  std::vector<std::uint8_t> seen(position.size());
  std::vector<std::int32_t> candidates;
  for (std::size_t c = 0; c < position.size(); ++c) {
    if (position[c] < 0) continue;
    seen[c] = recogniser.seen[static_cast<std::size_t>(position[c])];
    candidates.push_back(static_cast<std::int32_t>(c));
  }
  OrderedClasses ordered{Ranking(seen, recogniser.gamma, recogniser.temperature, std::move(candidates)), {}};
  if (recogniser.sets.empty()) return ordered;
  for (const double coverage : coverages) {
    const auto in_bank = recogniser.sets.thresholds(coverage, recogniser.seen);
    auto& thresholds = ordered.thresholds.emplace_back(position.size());
    for (std::size_t c = 0; c < position.size(); ++c)
      if (position[c] >= 0) thresholds[c] = in_bank[static_cast<std::size_t>(position[c])];
  }
  return ordered;
}

}  // namespace

Evaluation evaluate(const Recogniser& recogniser, const Dataset& data, ProgressObserver* progress, Processes* processes,
                    std::span<const double> coverages) {
  if (data.split.test_unseen.empty())
    throw Error(
        BadInput{data.name, "split", "test samples of unseen classes", "none: all samples train",
                 "to measure, draw a split that holds classes out, as docs/data.md describes, and train again"});
  const std::vector<std::int32_t> position = bank_places(recogniser.names, data);
  // Which classes count as seen is what the model was trained on, not what this split says.
  std::vector<std::int32_t> seen;
  for (std::size_t c = 0; c < position.size(); ++c)
    if (position[c] >= 0 && recogniser.seen[static_cast<std::size_t>(position[c])])
      seen.push_back(static_cast<std::int32_t>(c));
  const auto unseen = data.unseen_classes();
  for (const auto c : unseen) {
    if (position[static_cast<std::size_t>(c)] < 0)
      refuse_class(data, c, "a class of the model", "none of that name", "add the class to the model");
    if (std::binary_search(seen.begin(), seen.end(), c))
      refuse_class(data, c, "an unseen class", "one that the model was trained on",
                   "evaluate on the split it was trained with");
  }
  for (const auto* list : {&data.split.test_unseen, &data.split.test_seen})
    check_finite_rows(data.features, *list, features_source(data));
  Evaluation result;
  const auto details = std::make_shared<EvaluationDetails>();
  result.details = details;
  result.warnings = semantic_warnings(data);
  if (unseen.size() == 1)
    result.warnings.push_back(fmt::format("'{}' is the only unseen class: its ZSL is 100 by definition",
                                          data.class_names[static_cast<std::size_t>(unseen[0])]));
  const auto unseen_labels = labels_of(data, data.split.test_unseen),
             seen_labels = labels_of(data, data.split.test_seen);
  AccuracyCount zsl(data.classes(), unseen_labels, unseen);
  result.has_gzsl = !data.split.test_seen.empty();
  std::optional<GzslCount> gzsl;
  if (result.has_gzsl) gzsl.emplace(data.classes(), GzslLabels{{unseen_labels, unseen}, {seen_labels, seen}});
  const OrderedClasses ordered = ordered_classes(recogniser, position, coverages);
  ConfidenceCount unseen_confidences(ordered.ranking, ordered.thresholds),
      seen_confidences(ordered.ranking, ordered.thresholds);
  std::vector<std::int32_t> candidates = unseen;  // first: in a tie with a seen class GzslCount lets them win, too
  candidates.insert(candidates.end(), seen.begin(), seen.end());
  std::vector<std::pair<std::int32_t, std::int32_t>> confusion;
  const auto confuse = [&](std::span<const std::int32_t> labels, MatrixView<const float> scores) {
    for (std::size_t r = 0; r < scores.rows(); ++r) {
      std::vector<float> row(scores.row(r).begin(), scores.row(r).end());
      for (const auto c : seen) row[static_cast<std::size_t>(c)] -= static_cast<float>(recogniser.gamma);
      confusion.emplace_back(labels[r], candidates[best_place(row, candidates)]);
    }
  };
  const OrderedScores all{recogniser, data, position, processes, progress};
  all.visit(data.split.test_unseen, "score unseen", [&](std::size_t first, MatrixView<const float> scores) {
    const auto labels = std::span(unseen_labels).subspan(first);
    zsl.add(first, scores);
    unseen_confidences.add(labels, scores);
    if (!gzsl) return;
    gzsl->add_unseen(first, scores);
    confuse(labels, scores);
  });
  result.zsl = zsl.result();
  details->correct.zsl = zsl.correct();
  all.visit(data.split.test_seen, "score seen", [&](std::size_t first, MatrixView<const float> scores) {
    const auto labels = std::span(seen_labels).subspan(first);
    gzsl->add_seen(first, scores);
    seen_confidences.add(labels, scores);
    confuse(labels, scores);
  });
  details->unseen_reliability = unseen_confidences.reliability();
  details->seen_reliability = seen_confidences.reliability();
  for (std::size_t k = 0; k < ordered.thresholds.size(); ++k)
    details->sets.push_back({100 * coverages[k], seen_confidences.set(k), unseen_confidences.set(k)});
  if (!gzsl) return result;
  result.gzsl = gzsl->at(recogniser.gamma);
  details->correct.unseen = gzsl->correct_unseen(recogniser.gamma);
  details->correct.seen = gzsl->correct_seen(recogniser.gamma);
  details->confusion = counted(std::move(confusion));
  return result;
}

Evaluation evaluate(const Model& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress,
                    bool allow_trained_samples, Processes* processes, std::span<const double> coverages) {
  const auto trained_samples = check_test_data(model, data, allow_trained_samples);
  const std::shared_ptr<const Model> borrowed(std::shared_ptr<void>(), &model);
  Evaluation result = evaluate(recogniser_of(borrowed, pool), data, progress, processes, coverages);
  result.trained_samples = trained_samples;
  warn_of_learning(model, result.warnings);
  return result;
}

}  // namespace parsnets
