#include "train/validation.hpp"

#include <algorithm>
#include <map>

#include "base/rng.hpp"
#include "data/rows.hpp"
#include "data/split.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

namespace {

using Indices = std::vector<std::int32_t>;

Fold make_fold(const Dataset& data, const Indices& train, const Indices& val, std::uint64_t seed) {
  Fold fold;
  fold.unseen = val;
  std::map<std::int32_t, Indices> members;
  for (const auto r : train) members[data.labels[static_cast<std::size_t>(r)]].push_back(r);
  for (auto& [label, rows] : members) {
    Rng(seed, 5000 + static_cast<std::uint64_t>(label)).shuffle(rows);
    const auto held = static_cast<std::ptrdiff_t>(rows.size() / 5);
    fold.seen.insert(fold.seen.end(), rows.begin(), rows.begin() + held);
    fold.fit.insert(fold.fit.end(), rows.begin() + held, rows.end());
  }
  std::sort(fold.fit.begin(), fold.fit.end());
  std::sort(fold.seen.begin(), fold.seen.end());
  fold.fit_classes = distinct(labels_of(data, fold.fit));
  fold.held_classes = distinct(labels_of(data, fold.unseen));
  return fold;
}

}  // namespace

std::vector<Fold> validation_folds(const Dataset& data, int count, std::uint64_t seed) {
  std::vector<Fold> folds;
  if (data.split.train.empty() || data.split.val.empty()) return folds;
  if (!data.split.validation_drawn) folds.push_back(make_fold(data, data.split.train, data.split.val, seed));
  for (int f = static_cast<int>(folds.size()); f < count; ++f) {
    Split drawn;
    drawn.trainval = data.split.trainval;
    derive_validation(drawn, data.labels, {}, seed + static_cast<std::uint64_t>(f));
    folds.push_back(make_fold(data, drawn.train, drawn.val, seed + static_cast<std::uint64_t>(f)));
  }
  return folds;
}

FoldResult evaluate_fold(const Model& model, const Dataset& data, const Fold& fold, ThreadPool& pool) {
  const auto scores = [&](const Indices& rows) {
    return rows.empty() ? Matrix<float>() : model.scores(gather_rows(data.features.view(), rows).view(), pool);
  };
  return evaluate_fold(scores(fold.unseen).view(), scores(fold.seen).view(), data, fold);
}

FoldResult evaluate_fold(MatrixView<const float> unseen, MatrixView<const float> seen, const Dataset& data,
                         const Fold& fold, bool with_temperature) {
  FoldResult result;
  const auto unseen_labels = labels_of(data, fold.unseen), seen_labels = labels_of(data, fold.seen);
  result.zsl = accuracy_among(unseen, unseen_labels, fold.held_classes).top1_per_class;
  if (fold.seen.empty()) return result;
  result.gamma = best_gamma(unseen, unseen_labels, seen, seen_labels, fold.held_classes, fold.fit_classes);
  const Gzsl gzsl =
      evaluate_gzsl(unseen, unseen_labels, seen, seen_labels, fold.held_classes, fold.fit_classes, result.gamma);
  result.h = gzsl.h;
  if (!with_temperature) return result;
  result.temperature =
      fit_temperature(unseen, unseen_labels, seen, seen_labels, fold.held_classes, fold.fit_classes, result.gamma);
  return result;
}

}  // namespace parsnets
