// The zero-shot protocol on a data set's test samples.

#include "parsnets/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "data/sample_set.hpp"
#include "data/semantics.hpp"
#include "eval/confidence_count.hpp"
#include "eval/counts.hpp"
#include "eval/metrics.hpp"
#include "eval/model_data.hpp"
#include "eval/recogniser.hpp"
#include "eval/score_source.hpp"
#include "parsnets/error.hpp"
#include "parsnets/field.hpp"

namespace parsnets {

namespace {

/// Scores of rows in the data set's class order; classes the model does not have score lowest and are no candidates.
void visit_ordered(const Recogniser& recogniser, const Dataset& data, std::span<const std::int32_t> rows,
                   const std::vector<std::int32_t>& position, const ScoreVisitor& visit) {
  if (rows.empty()) return;
  recogniser.visit_scores(
      gather_rows(data.features, rows).view(), [&](std::size_t first, MatrixView<const float> scores) {
        Matrix<float> ordered(scores.rows(), position.size());
        for (std::size_t r = 0; r < scores.rows(); ++r)
          for (std::size_t c = 0; c < position.size(); ++c)
            ordered(r, c) = position[c] < 0 ? -3e38f : scores(r, static_cast<std::size_t>(position[c]));
        visit(first, ordered.view());
      });
}

/// The same for a batch of which each process scores a part; all of them visit all rows.
void visit_shared(const Recogniser& recogniser, Processes& processes, const Dataset& data,
                  std::span<const std::int32_t> rows, const std::vector<std::int32_t>& position,
                  const ScoreVisitor& visit) {
  const Share own = processes.share(rows.size());
  std::string bytes;
  visit_ordered(recogniser, data, rows.subspan(own.first, own.count), position,
                [&](std::size_t, MatrixView<const float> scores) {
                  bytes.append(reinterpret_cast<const char*>(scores.data()), scores.size() * sizeof(float));
                });
  std::size_t first = 0;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    std::string part = rank == processes.rank() ? std::move(bytes) : std::string();
    processes.broadcast(part, rank);
    Matrix<float> scores(part.size() / sizeof(float) / position.size(), position.size());
    if (part.empty()) continue;
    std::memcpy(scores.data(), part.data(), part.size());
    visit(first, scores.view());
    first += scores.rows();
  }
}

void visit_in_order(const Recogniser& recogniser, Processes* processes, const Dataset& data,
                    std::span<const std::int32_t> rows, const std::vector<std::int32_t>& position,
                    ProgressObserver* progress, const char* stage, const ScoreVisitor& visit) {
  constexpr std::size_t kSharedScores = std::size_t{4} << 20;  // of one batch that goes to all processes
  const bool shared = processes != nullptr && processes->size() > 1;
  const std::size_t most =
      shared ? std::clamp(kSharedScores / position.size(), processes->size(), kScoredRows) : kScoredRows;
  for (std::size_t start = 0; start < rows.size(); start += most) {
    report(progress, {stage, start, rows.size(), "samples"});
    const auto batch = rows.subspan(start, std::min(most, rows.size() - start));
    const auto take = [&](std::size_t first, MatrixView<const float> scores) { visit(start + first, scores); };
    if (shared)
      visit_shared(recogniser, *processes, data, batch, position, take);
    else
      visit_ordered(recogniser, data, batch, position, take);
  }
}

/// Which class each sample was taken for, with gamma subtracted from the scores of seen classes.
class ConfusionCount {
 public:
  ConfusionCount(std::span<const std::int32_t> unseen, std::span<const std::int32_t> seen, double gamma)
      : candidates_(unseen.begin(), unseen.end()), seen_(seen), gamma_(static_cast<float>(gamma)) {
    // Unseen ones first: in a tie with a seen class evaluate_gzsl lets them win, too.
    candidates_.insert(candidates_.end(), seen.begin(), seen.end());
  }

  void add(std::span<const std::int32_t> labels, MatrixView<const float> scores) {
    for (std::size_t r = 0; r < scores.rows(); ++r) {
      row_.assign(scores.row(r).begin(), scores.row(r).end());
      for (const auto c : seen_) row_[static_cast<std::size_t>(c)] -= gamma_;
      pairs_.emplace_back(labels[r], candidates_[best_place(row_, candidates_)]);
    }
  }

  std::vector<Confusion> result() {
    std::ranges::sort(pairs_);
    std::vector<Confusion> counts;
    for (const auto& [label, predicted] : pairs_) {
      if (counts.empty() || counts.back().label != label || counts.back().predicted != predicted)
        counts.push_back({label, predicted, 0});
      ++counts.back().samples;
    }
    return counts;
  }

 private:
  std::vector<std::int32_t> candidates_;
  std::span<const std::int32_t> seen_;
  float gamma_;
  std::vector<float> row_;
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs_;
};

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
    throw Error(BadInput{data.name, "split", "test samples of unseen classes", "none", "check the split"});
  std::unordered_map<std::string_view, std::int32_t> places;
  for (std::size_t c = 0; c < recogniser.names.size(); ++c)
    places.emplace(recogniser.names[c], static_cast<std::int32_t>(c));
  std::vector<std::int32_t> position;
  for (const auto& name : data.class_names) {
    const auto found = places.find(name);
    position.push_back(found == places.end() ? -1 : found->second);
  }
  // Which classes count as seen is what the model was trained on, not what this split says.
  std::vector<std::int32_t> seen;
  for (std::size_t c = 0; c < position.size(); ++c)
    if (position[c] >= 0 && recogniser.seen[static_cast<std::size_t>(position[c])])
      seen.push_back(static_cast<std::int32_t>(c));
  const auto unseen = data.unseen_classes();
  for (const auto c : unseen) {
    if (position[static_cast<std::size_t>(c)] < 0)
      throw Error(BadInput{data.name, "class '" + data.class_names[static_cast<std::size_t>(c)] + "'",
                           "a class of the model", "none of that name", "add the class to the model"});
    if (std::binary_search(seen.begin(), seen.end(), c))
      throw Error(BadInput{data.name, "class '" + data.class_names[static_cast<std::size_t>(c)] + "'",
                           "an unseen class", "one that the model was trained on",
                           "evaluate on the split it was trained with"});
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
  ConfusionCount confusion(unseen, seen, recogniser.gamma);
  const OrderedClasses ordered = ordered_classes(recogniser, position, coverages);
  ConfidenceCount unseen_confidences(ordered.ranking, ordered.thresholds),
      seen_confidences(ordered.ranking, ordered.thresholds);
  visit_in_order(recogniser, processes, data, data.split.test_unseen, position, progress, "score unseen",
                 [&](std::size_t first, MatrixView<const float> scores) {
                   zsl.add(first, scores);
                   unseen_confidences.add(std::span(unseen_labels).subspan(first), scores);
                   if (!gzsl) return;
                   gzsl->add_unseen(first, scores);
                   confusion.add(std::span(unseen_labels).subspan(first), scores);
                 });
  result.zsl = zsl.result();
  details->correct.zsl = zsl.correct();
  visit_in_order(recogniser, processes, data, data.split.test_seen, position, progress, "score seen",
                 [&](std::size_t first, MatrixView<const float> scores) {
                   gzsl->add_seen(first, scores);
                   seen_confidences.add(std::span(seen_labels).subspan(first), scores);
                   confusion.add(std::span(seen_labels).subspan(first), scores);
                 });
  details->unseen_reliability = unseen_confidences.reliability();
  details->seen_reliability = seen_confidences.reliability();
  for (std::size_t k = 0; k < ordered.thresholds.size(); ++k)
    details->sets.push_back({100 * coverages[k], seen_confidences.set(k), unseen_confidences.set(k)});
  if (!gzsl) return result;
  result.gzsl = gzsl->at(recogniser.gamma);
  details->correct.unseen = gzsl->correct_unseen(recogniser.gamma);
  details->correct.seen = gzsl->correct_seen(recogniser.gamma);
  details->confusion = confusion.result();
  return result;
}

Evaluation evaluate(const Model& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress,
                    bool allow_trained_samples, Processes* processes, std::span<const double> coverages) {
  check_source(model, data);
  check_semantics(model, data);
  const auto trained_samples = check_trained_samples(model, data, allow_trained_samples);
  Evaluation result = evaluate(recogniser_of(model, pool), data, progress, processes, coverages);
  result.trained_samples = trained_samples;
  if (is_adapted(model))
    result.warnings.push_back("the model has been adapted to unlabelled samples: these are not inductive results");
  if (std::ranges::any_of(model.classes.taught.samples, [](float n) { return n > 0; }))
    result.warnings.push_back("the model has been taught examples: these are not zero-shot results");
  return result;
}

}  // namespace parsnets
