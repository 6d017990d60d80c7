#include "train/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "data/split.hpp"
#include "eval/metrics.hpp"

namespace parsnets {

namespace {

using Indices = std::vector<std::int32_t>;

/// A part of the samples of each class, drawn with the seed, at least one each; all of them where they are few.
Indices at_most(const Dataset& data, Indices rows, std::size_t most, std::uint64_t seed) {
  if (rows.size() <= most) return rows;
  Indices kept;
  for (const auto& [label, own] : rows_by_class(data, rows, seed, 9000)) {
    const std::size_t count = std::max<std::size_t>(1, own.size() * most / rows.size());
    kept.insert(kept.end(), own.begin(), own.begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::ranges::sort(kept);
  return kept;
}

Fold make_fold(const Dataset& data, const Indices& train, const Indices& val, std::uint64_t seed) {
  Fold fold;
  fold.unseen = at_most(data, val, kMostJudged, seed);
  for (const auto& [label, rows] : rows_by_class(data, train, seed, 5000)) {
    const auto held = static_cast<std::ptrdiff_t>(rows.size() / 5);
    fold.seen.insert(fold.seen.end(), rows.begin(), rows.begin() + held);
    fold.fit.insert(fold.fit.end(), rows.begin() + held, rows.end());
  }
  std::sort(fold.fit.begin(), fold.fit.end());
  std::sort(fold.seen.begin(), fold.seen.end());
  fold.seen = at_most(data, std::move(fold.seen), kMostJudged, seed);
  fold.fit_classes = distinct(labels_of(data, fold.fit));
  fold.held_classes = distinct(labels_of(data, fold.unseen));
  return fold;
}

}  // namespace

std::map<std::int32_t, Indices> rows_by_class(const Dataset& data, std::span<const std::int32_t> rows,
                                              std::uint64_t seed, std::uint64_t stream) {
  std::map<std::int32_t, Indices> members;
  for (const auto r : rows) members[data.labels[static_cast<std::size_t>(r)]].push_back(r);
  for (auto& [label, own] : members) Rng(seed, stream + static_cast<std::uint64_t>(label)).shuffle(own);
  return members;
}

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

void warn_of_single_classes(const std::vector<Fold>& folds, std::vector<std::string>& warnings) {
  const auto single = std::ranges::count_if(folds, [](const Fold& fold) { return fold.held_classes.size() == 1; });
  if (single > 0)
    warnings.push_back(
        fmt::format("validation holds out one class{}: its ZSL is 100 by definition and says nothing "
                    "about the model",
                    folds.size() == 1 ? "" : fmt::format(" in {} of {} folds", single, folds.size())));
}

Matrix<float> predict_rows(const Model& model, const Dataset& data, std::span<const std::int32_t> rows,
                           ThreadPool& pool) {
  Matrix<float> f(rows.size(), model.outputs());
  visit_row_blocks(data, rows, kScoredRows, [&](std::size_t first, std::span<const std::int32_t> block) {
    const Matrix<float> part = model.predict(gather_rows(data.features.view(), block).view(), pool);
    std::ranges::copy(part.values(), f.row(first).begin());
  });
  return f;
}

FoldResult evaluate_fold(const Model& model, const Dataset& data, const Fold& fold, ThreadPool& pool) {
  const Predictor predictor(model, pool);
  const auto source = [&](const Indices& rows) {
    return [&](const ScoreVisitor& visit) {
      visit_row_blocks(data, rows, kScoredRows, [&](std::size_t first, std::span<const std::int32_t> block) {
        const Matrix<float> x = gather_rows(data.features.view(), block);
        predictor.visit_scores(x.view(), pool,
                               [&](std::size_t row, MatrixView<const float> scores) { visit(first + row, scores); });
      });
    };
  };
  return evaluate_fold(source(fold.unseen), source(fold.seen), data, fold, &pool);
}

FoldResult evaluate_fold(const ScoreRows& unseen_scores, const ScoreRows& seen_scores, const Dataset& data,
                         const Fold& fold, ThreadPool* pool, std::optional<double> gamma) {
  FoldResult result;
  const auto unseen_labels = labels_of(data, fold.unseen), seen_labels = labels_of(data, fold.seen);
  const std::uint64_t kept_bytes = pool != nullptr ? kKeptScores : 0;  // else they are visited once
  const ScoreRows unseen = kept(unseen_scores, fold.unseen.size(), data.classes(), kept_bytes),
                  seen = kept(seen_scores, fold.seen.size(), data.classes(), kept_bytes);
  const GzslLabels labels{{unseen_labels, fold.held_classes}, {seen_labels, fold.fit_classes}};
  AccuracyCount zsl(data.classes(), unseen_labels, fold.held_classes);
  std::optional<GzslCount> gzsl;
  if (!fold.seen.empty()) gzsl.emplace(data.classes(), labels);
  unseen([&](std::size_t first, MatrixView<const float> scores) {
    zsl.add(first, scores);
    if (gzsl) gzsl->add_unseen(first, scores);
  });
  result.zsl = zsl.result().top1_per_class;
  if (!gzsl) return result;
  seen([&](std::size_t first, MatrixView<const float> scores) { gzsl->add_seen(first, scores); });
  result.gamma = gamma ? *gamma : gzsl->best_gamma();
  result.h = gzsl->at(result.gamma).h;
  if (pool == nullptr) return result;
  result.temperature = fit_temperature(data.classes(), unseen, seen, labels, result.gamma, *pool);
  return result;
}

}  // namespace parsnets
