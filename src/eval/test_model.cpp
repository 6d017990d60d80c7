// The zero-shot protocol on a data set's test samples.

#include "eval/test_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "data/rows.hpp"
#include "data/semantics.hpp"
#include "eval/model_data.hpp"
#include "parsnets/error.hpp"
#include "parsnets/training.hpp"

namespace parsnets {

namespace {

/// n x C scores in the data set's class order; classes the model does not have score lowest and are no candidates.
Matrix<float> scores_in_order(const TestSubject& subject, const Dataset& data, std::span<const std::int32_t> rows,
                              const std::vector<std::int32_t>& position, ProgressObserver* progress,
                              const char* stage) {
  Matrix<float> out(rows.size(), data.classes());
  constexpr std::size_t kBatch = 2048;
  for (std::size_t start = 0; start < rows.size(); start += kBatch) {
    report(progress, {stage, start, rows.size(), "samples"});
    const auto batch = rows.subspan(start, std::min(kBatch, rows.size() - start));
    const Matrix<float> scores = subject.scores(gather_rows(data.features.view(), batch).view());
    for (std::size_t r = 0; r < batch.size(); ++r)
      for (std::size_t c = 0; c < position.size(); ++c)
        out(start + r, c) = position[c] < 0 ? -3e38f : scores(r, static_cast<std::size_t>(position[c]));
  }
  return out;
}

}  // namespace

TestReport evaluate_subject(const TestSubject& subject, const Dataset& data, ProgressObserver* progress) {
  if (data.split.test_unseen.empty())
    throw Error(BadInput{data.name, "split", "test samples of unseen classes", "none",
                         "check the split with 'parsnets data inspect'"});
  std::vector<std::int32_t> position;
  for (const auto& name : data.class_names) {
    const auto found = std::find(subject.class_names.begin(), subject.class_names.end(), name);
    position.push_back(
        found == subject.class_names.end() ? -1 : static_cast<std::int32_t>(found - subject.class_names.begin()));
  }
  // Which classes count as seen is what the model was trained on, not what this split says.
  std::vector<std::int32_t> seen;
  for (std::size_t c = 0; c < position.size(); ++c)
    if (position[c] >= 0 && subject.class_seen[static_cast<std::size_t>(position[c])])
      seen.push_back(static_cast<std::int32_t>(c));
  const auto unseen = data.unseen_classes();
  for (const auto c : unseen) {
    if (position[static_cast<std::size_t>(c)] < 0)
      throw Error(BadInput{data.name, "class '" + data.class_names[static_cast<std::size_t>(c)] + "'",
                           "a class of the model", "none of that name",
                           "add it to the model file with 'parsnets classes add'"});
    if (std::find(seen.begin(), seen.end(), c) != seen.end())
      throw Error(BadInput{data.name, "class '" + data.class_names[static_cast<std::size_t>(c)] + "'",
                           "an unseen class", "one that the model was trained on",
                           "evaluate on the split it was trained with"});
  }
  for (const auto* list : {&data.split.test_unseen, &data.split.test_seen})
    check_finite_rows(data.features.view(), *list, features_source(data));
  TestReport result;
  result.warnings = semantic_warnings(data);
  if (unseen.size() == 1)
    result.warnings.push_back(fmt::format("'{}' is the only unseen class: its ZSL is 100 by definition",
                                          data.class_names[static_cast<std::size_t>(unseen[0])]));
  const auto unseen_labels = labels_of(data, data.split.test_unseen),
             seen_labels = labels_of(data, data.split.test_seen);
  const Matrix<float> unseen_scores =
      scores_in_order(subject, data, data.split.test_unseen, position, progress, "score unseen");
  result.zsl = accuracy_among(unseen_scores.view(), unseen_labels, unseen);
  if (data.split.test_seen.empty()) return result;
  const Matrix<float> seen_scores =
      scores_in_order(subject, data, data.split.test_seen, position, progress, "score seen");
  result.has_gzsl = true;
  result.gzsl =
      evaluate_gzsl(unseen_scores.view(), unseen_labels, seen_scores.view(), seen_labels, unseen, seen, subject.gamma);

  Matrix<float> all(unseen_scores.rows() + seen_scores.rows(), data.classes());
  std::copy(unseen_scores.values().begin(), unseen_scores.values().end(), all.data());
  std::copy(seen_scores.values().begin(), seen_scores.values().end(), all.data() + unseen_scores.size());
  for (std::size_t r = 0; r < all.rows(); ++r)
    for (const auto c : seen) all(r, static_cast<std::size_t>(c)) -= static_cast<float>(subject.gamma);
  auto labels = unseen_labels;
  labels.insert(labels.end(), seen_labels.begin(), seen_labels.end());
  std::vector<std::int32_t> candidates = unseen;  // first: in a tie with a seen class evaluate_gzsl lets them win, too
  candidates.insert(candidates.end(), seen.begin(), seen.end());
  result.confusion = confusion_matrix(all.view(), labels, candidates, data.classes());
  return result;
}

TestReport evaluate(const Model& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress,
                    bool allow_trained_samples) {
  check_semantics(model, data);
  const auto trained_samples = check_trained_samples(model, data, allow_trained_samples);
  TestReport report = evaluate_subject({model.classes.names, model.classes.seen, model.gamma,
                                        [&](MatrixView<const float> x) { return model.scores(x, pool); }},
                                       data, progress);
  report.trained_samples = trained_samples;
  return report;
}

}  // namespace parsnets
