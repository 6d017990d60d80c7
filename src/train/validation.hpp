#pragma once
// Validation problems made from training samples alone: some seen classes play the unseen ones.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eval/scoring.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// Samples of a fold's seen, and of its held-out, classes that models are judged by. More would not tell more.
inline constexpr std::size_t kMostJudged = 32768;

struct Fold {
  std::vector<std::int32_t> fit;     ///< 80 % of the samples of the fitting classes
  std::vector<std::int32_t> seen;    ///< the other 20 %, of many a part of each class
  std::vector<std::int32_t> unseen;  ///< samples of the held-out classes, of many a part of each class
  std::vector<std::int32_t> fit_classes, held_classes;
};

/// The rows of each class, in an order that is drawn with the seed and the stream of the class.
std::map<std::int32_t, std::vector<std::int32_t>> rows_by_class(const Dataset& data, std::span<const std::int32_t> rows,
                                                                std::uint64_t seed, std::uint64_t stream);

/// `count` folds: the first from the split's own train and val, unless those were drawn by us, the others drawn from
/// trainval with seed, seed+1, …
/// No fold when the split has no validation classes. Never touches a test sample.
std::vector<Fold> validation_folds(const Dataset& data, int count, std::uint64_t seed);

/// Of the validation figures: where one class competes, it always wins.
void warn_of_single_classes(const std::vector<Fold>& folds, std::vector<std::string>& warnings);

struct FoldResult {
  double zsl = 0;  ///< per-class top-1 of the held-out classes among themselves
  double h = 0;    ///< harmonic mean at the best gamma
  double gamma = 0, temperature = 1;
};
/// What a model gives for these rows of the features, rows.size() x o; memory beside that does not grow with their
/// number.
Matrix<float> predict_rows(const Model& model, const Dataset& data, std::span<const std::int32_t> rows,
                           ThreadPool& pool);
/// Scores a model that was fitted on fold.fit; its class bank is in the data set's class order.
FoldResult evaluate_fold(const Model& model, const Dataset& data, const Fold& fold, ThreadPool& pool);
/// The same from scores of fold.unseen and fold.seen; without a pool the temperature, the costly part, is left out.
/// With a gamma, `h` is that at it.
FoldResult evaluate_fold(const ScoreRows& unseen, const ScoreRows& seen, const Dataset& data, const Fold& fold,
                         ThreadPool* pool, std::optional<double> gamma = {});

}  // namespace parsnets
