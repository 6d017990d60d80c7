#include "model/field_search.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/exponentials.hpp"
#include "base/linalg.hpp"
#include "data/sample_set.hpp"
#include "features/preprocess.hpp"

namespace parsnets {

namespace {

/// A kernel of the map to begin with: the spectrum of the semantics is flattened by the power `flatter` first.
struct Start {
  double flatter, width, ridge;
};
constexpr Start kStarts[] = {{0, 1.2, 0.3},  {0.35, 1.2, 0.3}, {-0.35, 1.2, 0.3}, {0, 0, 0.3},
                             {0.35, 0, 0.3}, {0, 0.7, 0.3},    {0, 1.2, 1},       {0.35, 0.7, 0.1}};
constexpr int kOwnRounds = 4, kModelRounds = 4, kEndRounds = 2;
constexpr double kSearchStrength = 20, kSeenPenalty = 0.05;  ///< β of the search; γ₀
constexpr double kLeastEvidence = 1e-6, kLeastAxis = 1e-6, kFlatFloor = 1e-3;
constexpr std::size_t kSearchRows = 2048;  ///< samples whose responsibilities are in memory at once

void unit_rows(Matrix<double>& rows) {
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    double square = 0;
    for (const double v : rows.row(r)) square += v * v;
    if (square > 0)
      for (double& v : rows.row(r)) v /= std::sqrt(square);
  }
}

double product_of(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

Matrix<double> kernel_of(Matrix<double> cosines, double width) {
  if (width > 0)
    for (double& v : cosines.values()) v = std::exp((v - 1) / (width * width));
  return cosines;
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double next = values[std::min(below + 1, values.size() - 1)];
  return values[below] + (place - std::floor(place)) * (next - values[below]);
}

/// 2 − 2·cos of each mean and the place that the other classes predict for it, on average: from the residuals of ridge
/// regression without a class.
double unpredicted(const Matrix<double>& kernel, double ridge, const Matrix<double>& means) {
  const std::size_t count = means.rows();
  ThreadPool caller(1);
  const Cholesky factor(Matrix<double>::copy_of(kernel.view()), ridge);
  Matrix<double> weights = Matrix<double>::copy_of(means.view()), inverse(count, count, 0.0);
  for (std::size_t s = 0; s < count; ++s) inverse(s, s) = 1;
  factor.solve(caller, weights.view());
  factor.solve(caller, inverse.view());
  double cosines = 0;
  std::vector<double> predicted(means.cols());
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t j = 0; j < predicted.size(); ++j) predicted[j] = means(s, j) - weights(s, j) / inverse(s, s);
    const double length = std::sqrt(product_of(predicted, predicted));
    if (length > 0) cosines += product_of(predicted, means.row(s)) / length;
  }
  return 2 - 2 * cosines / static_cast<double>(count);
}

}  // namespace

PlaceMap place_map(const Model& model, std::span<const std::int32_t> moving) {
  const Prototypes& known = model.prototypes;
  PlaceMap map;
  map.width = known.width;
  map.ridge = known.ridge;
  map.moving = Matrix<float>(moving.size(), known.support.cols());
  map.seen = known.support.share();
  if (!map.can_be_searched()) return map;
  map.moving =
      preprocessed_semantics(model.semantic_preprocess, gather_rows(model.classes.semantics.view(), moving).view());
  unit_rows(map.moving.view());
  // The weights α are (K + λI)⁻¹ times the means.
  ThreadPool caller(1);
  const Matrix<double> support = to_double(known.support.view()), weights = to_double(known.weights.view());
  Matrix<double> kernel = kernel_of(product(caller, Trans::no, support, Trans::yes, support), known.width);
  for (std::size_t s = 0; s < kernel.rows(); ++s) kernel(s, s) += known.ridge;
  map.means = to_float(product(caller, Trans::no, kernel, Trans::no, weights).view());
  unit_rows(map.means.view());
  return map;
}

FieldSearch::FieldSearch(const Matrix<float>& samples, const PlaceMap& map, const Experience& taught,
                         const Staying& staying, double sharpness, ThreadPool& pool)
    : samples_(samples), map_(map), taught_(taught), sharpness_(sharpness), staying_(staying.vectors.rows()) {
  std::vector<double> penalty;
  for (const auto seen : staying.seen) penalty.push_back(seen != 0 ? kSeenPenalty : 0);
  rest_ = rest_of(samples, staying.vectors, penalty, sharpness, pool);
  const Matrix<double> seen = to_double(map.seen.view()), moving = to_double(map.moving.view());
  seen_ = product(pool, Trans::no, seen, Trans::yes, seen);
  across_ = product(pool, Trans::no, moving, Trans::yes, seen);
  moving_ = product(pool, Trans::no, moving, Trans::yes, moving);
  const EigenPairs pairs = largest_eigenpairs(seen_.view());
  std::size_t axes = 0;
  while (axes < pairs.values.size() && pairs.values[axes] > kLeastAxis * pairs.values[0]) ++axes;
  lengths_.assign(pairs.values.begin(), pairs.values.begin() + static_cast<std::ptrdiff_t>(axes));
  axes_ = Matrix<double>(seen_.rows(), axes);
  for (std::size_t a = 0; a < axes; ++a)
    for (std::size_t s = 0; s < seen_.rows(); ++s) axes_(s, a) = pairs.vectors(a, s) / std::sqrt(lengths_[a]);
  own_ = kernel(0, map.width, map.ridge);
  distance_ =
      unpredicted(kernel_of(Matrix<double>::copy_of(seen_.view()), map.width), map.ridge, to_double(map.means.view()));
  Matrix<float> vectors[std::size(kStarts)];
  double objective[std::size(kStarts)];
  const auto search_from = [&](std::size_t begin, std::size_t, std::size_t) {
    const Start& start = kStarts[begin];
    Matrix<float>& own = vectors[begin];
    const Kernel first = kernel(start.flatter, start.width, start.ridge);
    own = to_float(first.places.view());
    Round round = expect(own, pool);
    double agreement = 0;
    for (int i = 0; i < kOwnRounds + kModelRounds; ++i) {
      std::vector<double> x(own.rows());
      std::ranges::transform(round.support, x.begin(), [](double n) { return n / kSearchStrength; });
      std::tie(own, agreement) = refit(i < kOwnRounds ? first : own_, round, x);
      round = expect(own, pool);
    }
    objective[begin] = round.likelihood + sharpness_ * kSearchStrength * agreement;
  };
  // A start for each thread, or all threads for each start, where there are more of them.
  if (pool.size() <= std::size(kStarts))
    pool.parallel_for(std::size(kStarts), 1, search_from);
  else
    for (std::size_t i = 0; i < std::size(kStarts); ++i) search_from(i, i + 1, i);
  rounds_ = std::size(kStarts) * (kOwnRounds + kModelRounds);
  best_ = std::move(vectors[std::ranges::max_element(objective) - objective]);
  first_ = expect(to_float(own_.places.view()), pool).likelihood;
}

FieldSearch::Kernel FieldSearch::kernel(double flatter, double width, double ridge) const {
  ThreadPool caller(1);
  const std::size_t s = seen_.rows(), k = moving_.rows();
  Matrix<double> seen, across, moving;
  if (flatter == 0) {
    seen = Matrix<double>::copy_of(seen_.view());
    across = Matrix<double>::copy_of(across_.view());
    moving = Matrix<double>::copy_of(moving_.view());
  } else {
    const auto flattened = [&](const Matrix<double>& cosines) {
      Matrix<double> along = product(caller, Trans::no, cosines, Trans::no, axes_);
      for (std::size_t a = 0; a < lengths_.size(); ++a)
        for (std::size_t c = 0; c < along.rows(); ++c)
          along(c, a) *= std::pow(lengths_[a] / lengths_[0] + kFlatFloor, -flatter / 2);
      unit_rows(along);
      return along;
    };
    const Matrix<double> of_seen = flattened(seen_), of_moving = flattened(across_);
    seen = product(caller, Trans::no, of_seen, Trans::yes, of_seen);
    across = product(caller, Trans::no, of_moving, Trans::yes, of_seen);
    moving = product(caller, Trans::no, of_moving, Trans::yes, of_moving);
  }
  across = kernel_of(std::move(across), width);
  Kernel made{{}, kernel_of(std::move(moving), width), ridge};
  Matrix<double> solved(s, k);  // (K_ss + λI)⁻¹K_su
  for (std::size_t c = 0; c < k; ++c)
    for (std::size_t i = 0; i < s; ++i) solved(i, c) = across(c, i);
  Cholesky(kernel_of(std::move(seen), width), ridge).solve(caller, solved.view());
  made.places = product(caller, Trans::yes, solved, Trans::no, to_double(map_.means.view()));
  multiply(caller, Trans::no, across.view(), Trans::no, solved.view(), made.covariance.view(), -1.0, 1.0);
  return made;
}

FieldSearch::Round FieldSearch::expect(const Matrix<float>& given, ThreadPool& pool) const {
  Matrix<float> vectors = Matrix<float>::copy_of(given.view());
  parsnets::unit_rows(vectors.view());
  const std::size_t n = samples_.rows(), k = vectors.rows(), o = vectors.cols();
  Round found{std::vector<double>(k, 0.0), std::vector<double>(k, 0.0), Matrix<double>(k, o, 0.0), 0, 0};
  Matrix<float> share(std::min(kSearchRows, n), k), sums(k, o, 0.0f);
  std::vector<double> likelihood(share.rows()), staying(share.rows());
  for (std::size_t first = 0; first < n; first += kSearchRows) {
    const std::size_t rows = std::min(kSearchRows, n - first);
    const MatrixView<const float> block(samples_.row(first).data(), rows, o);
    const MatrixView<float> r(share.data(), rows, k);
    multiply(pool, Trans::no, block, Trans::yes, vectors.view(), r);
    pool.parallel_for(rows, 256, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = r.row(i);
        const double rest = rest_[first + i],
                     top = std::max(rest, sharpness_ * static_cast<double>(*std::ranges::max_element(row)));
        const double sum = std::exp(rest - top) + exponentials(sharpness_, top, row);
        for (float& v : row) v = static_cast<float>(v / sum);
        likelihood[i] = top + std::log(sum);
        staying[i] = std::exp(rest - likelihood[i]);
      }
    });
    multiply(pool, Trans::yes, MatrixView<const float>(share.data(), rows, k), Trans::no, block, sums.view(), 1.0f,
             1.0f);
    // In one order, whatever the number of threads.
    for (std::size_t i = 0; i < rows; ++i) {
      found.likelihood += likelihood[i];
      found.staying += staying[i];
    }
    pool.parallel_for(k, 16, [&](std::size_t begin, std::size_t end, std::size_t) {
      for (std::size_t i = 0; i < rows; ++i) {
        const auto row = r.row(i);
        for (std::size_t c = begin; c < end; ++c) {
          found.support[c] += row[c];
          found.squares[c] += static_cast<double>(row[c]) * row[c];
        }
      }
    });
  }
  for (std::size_t c = 0; c < k; ++c) {
    const double examples = taught_.samples.empty() ? 0 : taught_.samples[c];
    found.support[c] += examples;
    found.squares[c] += examples;
    for (std::size_t j = 0; j < o; ++j)
      found.means(c, j) = static_cast<double>(sums(c, j)) + (examples > 0 ? taught_.sums(c, j) : 0);
  }
  unit_rows(found.means);
  return found;
}

std::pair<Matrix<float>, double> FieldSearch::refit(const Kernel& kernel, const Round& round,
                                                    std::span<const double> x) const {
  ThreadPool caller(1);
  const std::size_t k = round.means.rows(), o = round.means.cols();
  Matrix<double> noisy = Matrix<double>::copy_of(kernel.covariance.view()),
                 away = Matrix<double>::copy_of(round.means.view()), f = Matrix<double>::copy_of(kernel.places.view());
  for (std::size_t c = 0; c < k; ++c) {
    noisy(c, c) += kernel.ridge * (1 + 1 / std::max(x[c], kLeastEvidence));
    for (std::size_t j = 0; j < o; ++j) away(c, j) -= kernel.places(c, j);
  }
  Cholesky(std::move(noisy), 0).solve(caller, away.view());
  multiply(caller, Trans::no, kernel.covariance.view(), Trans::no, away.view(), f.view(), 1.0, 1.0);
  unit_rows(f);
  Matrix<double> q(k, o);
  for (std::size_t c = 0; c < k; ++c)
    for (std::size_t j = 0; j < o; ++j) q(c, j) = x[c] * round.means(c, j) + f(c, j);
  unit_rows(q);
  double agreement = 0;
  for (std::size_t c = 0; c < k; ++c) agreement += product_of(q.row(c), f.row(c));
  return {to_float(q.view()), agreement};
}

Found FieldSearch::end(double strength, ThreadPool& pool) const {
  Found found;
  found.vectors = Matrix<float>::copy_of(best_.view());
  const std::size_t k = found.vectors.rows();
  std::vector<double> x(k);
  Round round = expect(found.vectors, pool);
  for (int i = 0; i < kEndRounds; ++i) {
    const double usual = std::max(quantile(round.support, 0.5), kLeastEvidence);
    for (std::size_t c = 0; c < k; ++c) {
      const double purity = round.squares[c] / std::max(round.support[c], kLeastEvidence),
                   size = round.support[c] / usual, factor = 2 * size * size / (1 + size * size);
      x[c] = round.support[c] * purity * purity * distance_ * distance_ / strength * factor;
    }
    found.vectors = refit(own_, round, x).first;
    round = expect(found.vectors, pool);
  }
  std::vector<double> evidence(k);
  double sum = 0, entropy = 0;
  for (std::size_t c = 0; c < k; ++c) {
    evidence[c] = round.squares[c] * round.squares[c] / std::max(round.support[c], kLeastEvidence);
    sum += evidence[c];
    found.share += x[c] / (1 + x[c]) / static_cast<double>(k);
  }
  for (const double e : evidence)
    if (e > 0) entropy -= e / sum * std::log(e / sum);
  found.evidence = {sum > 0 ? std::exp(entropy) / static_cast<double>(k) : 0, quantile(evidence, 0.75),
                    staying_ > 0 ? round.staying / static_cast<double>(staying_) : 0};
  found.support = std::move(round.support);
  found.likelihood_gain = (round.likelihood - first_) / static_cast<double>(samples_.rows());
  found.rounds = rounds_ + kEndRounds;
  return found;
}

}  // namespace parsnets
