#include "train/scale_gamma.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "features/preprocess.hpp"

namespace parsnets {

namespace {

double distance(const Dataset& data, const SemanticOptions& options, std::span<const std::int32_t> seen,
                std::span<const std::int32_t> unseen) {
  const Matrix<float> vectors = preprocessed_semantics(fit_semantic_preprocess(options, data.semantics, seen, true),
                                                       data.semantics.values.view());
  const auto product = [&](std::int32_t a, std::int32_t b) {
    const auto x = vectors.row(static_cast<std::size_t>(a)), y = vectors.row(static_cast<std::size_t>(b));
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  std::vector<double> squares;
  for (const auto u : unseen) squares.push_back(product(u, u));
  double sum = 0;
  for (const auto s : seen) {
    const double square = product(s, s);
    double nearest = -1;
    for (std::size_t i = 0; i < unseen.size(); ++i)
      if (const double lengths = std::sqrt(square * squares[i]); lengths > 0)
        nearest = std::max(nearest, product(s, unseen[i]) / lengths);
    sum += 1 - nearest;
  }
  return sum / static_cast<double>(seen.size());
}

}  // namespace

double scale_gamma(double gamma, std::span<const Fold> folds, std::span<const std::int32_t> seen, const Dataset& data,
                   const SemanticOptions& options) {
  std::vector<std::int32_t> unseen(data.semantics.values.rows());
  std::iota(unseen.begin(), unseen.end(), 0);
  std::erase_if(unseen, [&](std::int32_t c) { return std::ranges::find(seen, c) != seen.end(); });
  double of_folds = 0;
  for (const Fold& fold : folds)
    of_folds += distance(data, options, fold.fit_classes, fold.held_classes) / static_cast<double>(folds.size());
  return unseen.empty() || of_folds <= 0 ? gamma : gamma * distance(data, options, seen, unseen) / of_folds;
}

}  // namespace parsnets
