// The encoder's fit and use. W = R·V, where the rows of V are the h leading right singular vectors of X (N x d):
//   exact       eigenvectors of XᵀX, or of XXᵀ mapped back by V = Λ^(-1/2)·U·X when N < d;
//   randomized  V ≈ the leading directions within the range of (XᵀX)^q·Ω, Ω normal with l = h + 20 columns
//               (Halko, Martinsson, Tropp 2011, algorithms 4.4 and 5.1), orthonormalised at every power.
// R is the identity or a Haar rotation. The reported error is ‖X − X WᵀW‖_F / ‖X‖_F from the residual itself, because
// 1 − ‖XWᵀ‖²/‖X‖² loses half the digits when the error is small.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "features/fit_encoder.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kOversampling = 20;
constexpr int kPowers = 3;
constexpr double kWorthSaving = 10e9;  // flops: a tenth of a second
enum Stream : std::uint64_t { kSketch = 0x656e6301, kRotation = 0x656e6302 };

Matrix<double> normal_matrix(std::size_t rows, std::size_t cols, Rng rng) {
  Matrix<double> out(rows, cols);
  for (double& v : out.values()) v = rng.normal();
  return out;
}

Matrix<double> transposed_to_double(MatrixView<const float> a) {
  constexpr std::size_t kTile = 32;
  Matrix<double> out(a.cols(), a.rows());
  for (std::size_t r0 = 0; r0 < a.rows(); r0 += kTile)
    for (std::size_t c0 = 0; c0 < a.cols(); c0 += kTile)
      for (std::size_t r = r0; r < std::min(a.rows(), r0 + kTile); ++r)
        for (std::size_t c = c0; c < std::min(a.cols(), c0 + kTile); ++c) out(c, r) = a(r, c);
  return out;
}

struct Costs {
  double exact, through_gram, through_x;  ///< of the eigen-solve, and of the two ways to apply XᵀX in the range finder
};

/// Measured on one core, in flops of a float GEMM (about 80 G/s there): LAPACK's eigen-solve of size s in double takes
/// as long as 16·s³ + 6000·s² of them, orthonormalising l rows of d values as 14·d·l². For 7057 x 2048 and h = 400 this
/// says 192 G exact, 72 G randomized; the whole fit took 2.25 s and 1.25 s, 0.3 s of each for the error.
Costs costs_of(double n, double d, double h, bool has_products) {
  const auto eigen = [](double s) { return (16 * s + 6000) * s * s; };
  const auto orthonormalise = [d](double l) { return 14 * d * l * l; };
  const double side = std::min(n, d), l = std::min(h + kOversampling, side), steps = kPowers + 1;
  const double finder = steps * orthonormalise(l) + n * l * l + eigen(l) + 4 * d * h * l;
  const double products = has_products ? 0 : n * d * d;
  return {eigen(side) + (n < d ? 2 * n * n * d + 2 * n * d * h + orthonormalise(h) : products),
          products + (steps + 1) * 2 * d * d * l + finder, (2 * steps + 1) * 2 * n * d * l + finder};
}

Matrix<double> exact_axes(std::size_t h, MatrixView<const float> x, MatrixView<const float> products,
                          ThreadPool& pool) {
  if (x.cols() <= x.rows())
    return largest_eigenpairs(
               (products.empty() ? to_double(gram_of_columns(pool, x).view()) : to_double(products)).view(), h)
        .vectors;
  Matrix<float> gram(x.rows(), x.rows());
  multiply(pool, Trans::no, x, Trans::yes, x, gram.view());
  const auto pairs = largest_eigenpairs(to_double(gram.view()).view(), h);
  Matrix<float> axes(h, x.cols());
  multiply(pool, Trans::no, to_float(pairs.vectors.view()).view(), Trans::no, x, axes.view());
  // Lengths are sqrt(λ). Orthonormalised from the strongest on, since X may have fewer than h directions.
  Matrix<double> result = to_double(axes.view());
  orthonormalise_rows(result.view());
  return result;
}

Matrix<double> randomized_axes(std::size_t h, std::uint64_t seed, bool through_gram, MatrixView<const float> x,
                               MatrixView<const float> products, ThreadPool& pool) {
  const std::size_t l = std::min({h + kOversampling, x.rows(), x.cols()});
  Matrix<float> made;
  if (through_gram && products.empty()) made = gram_of_columns(pool, x);
  const MatrixView<const float> gram = products.empty() ? made.view() : products;
  Matrix<float> projected(through_gram ? 0 : x.rows(), l), next(x.cols(), l);  // X·Qᵀ and XᵀX·Qᵀ
  Matrix<double> range = normal_matrix(l, x.cols(), Rng(seed, kSketch));
  for (int power = 0; power <= kPowers; ++power) {
    const Matrix<float> q = to_float(range.view());
    if (through_gram) {
      multiply(pool, Trans::no, gram, Trans::yes, q.view(), next.view());
    } else {
      multiply(pool, Trans::no, x, Trans::yes, q.view(), projected.view());
      multiply(pool, Trans::yes, x, Trans::no, projected.view(), next.view());
    }
    range = transposed_to_double(next.view());
    orthonormalise_rows(range.view());
  }
  const Matrix<float> q = to_float(range.view());
  Matrix<float> small(l, l);  // Q·XᵀX·Qᵀ
  if (through_gram) {
    multiply(pool, Trans::no, gram, Trans::yes, q.view(), next.view());
    multiply(pool, Trans::no, q.view(), Trans::no, next.view(), small.view());
  } else {
    multiply(pool, Trans::no, x, Trans::yes, q.view(), projected.view());
    small = gram_of_columns(pool, projected.view());
  }
  const auto pairs = largest_eigenpairs(to_double(small.view()).view(), h);
  Matrix<double> axes(h, x.cols());
  multiply(pool, Trans::no, pairs.vectors.view(), Trans::no, range.view(), axes.view());
  return axes;
}

/// Haar: the orthonormalised rows of a normal matrix, with R's diagonal positive.
Matrix<double> rotated(Matrix<double> axes, std::uint64_t seed, ThreadPool& pool) {
  Matrix<double> rotation = normal_matrix(axes.rows(), axes.rows(), Rng(seed, kRotation));
  orthonormalise_rows(rotation.view());
  Matrix<double> out(axes.rows(), axes.cols());
  multiply(pool, Trans::no, rotation.view(), Trans::no, axes.view(), out.view());
  return out;
}

double reconstruction_error(const Matrix<float>& w, MatrixView<const float> x, ThreadPool& pool) {
  constexpr std::size_t kRows = 256;
  Matrix<double> sums(ThreadPool::chunk_count(x.rows(), kRows), 2);
  pool.parallel_for(x.rows(), kRows, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    const MatrixView<const float> part(x.data() + begin * x.cols(), end - begin, x.cols());
    Matrix<float> residual = Matrix<float>::copy_of(part), e(end - begin, w.rows());
    multiply(pool, Trans::no, part, Trans::yes, w.view(), e.view());
    multiply(pool, Trans::no, e.view(), Trans::no, w.view(), residual.view(), -1, 1);
    sums(chunk, 0) = dot(residual.values(), residual.values());
    sums(chunk, 1) = dot(part.values(), part.values());
  });
  double lost = 0, total = 0;
  for (std::size_t chunk = 0; chunk < sums.rows(); ++chunk) {
    lost += sums(chunk, 0);
    total += sums(chunk, 1);
  }
  return total > 0 ? std::sqrt(lost / total) : 0;
}

/// √(1 − ‖XWᵀ‖²/‖X‖²), W with orthonormal rows.
double error_of_products(const Matrix<float>& w, MatrixView<const float> products, ThreadPool& pool) {
  Matrix<float> moved(w.rows(), w.cols());
  multiply(pool, Trans::no, w.view(), Trans::no, products, moved.view());
  double kept = 0, total = 0;
  for (std::size_t i = 0; i < w.rows(); ++i) kept += dot(moved.row(i), w.row(i));
  for (std::size_t j = 0; j < products.rows(); ++j) total += products(j, j);
  return total > 0 ? std::sqrt(std::max(0.0, 1 - kept / total)) : 0;
}

/// W for samples whose values are not read where the products are given; its error is not set.
Encoder fit_weights(const EncoderOptions& options, MatrixView<const float> x, ThreadPool& pool,
                    MatrixView<const float> products) {
  if (options.dimensions < 1 || static_cast<std::size_t>(options.dimensions) > std::min(x.rows(), x.cols()))
    throw Error(ErrorCode::usage,
                fmt::format("an encoder of {} dimensions cannot be fitted to {} samples with {} features; use 1 to {}",
                            options.dimensions, x.rows(), x.cols(), std::min(x.rows(), x.cols())));
  const auto h = static_cast<std::size_t>(options.dimensions);
  const Costs costs =
      costs_of(static_cast<double>(x.rows()), static_cast<double>(x.cols()), static_cast<double>(h), !products.empty());
  const bool cheap = costs.exact < kWorthSaving || costs.exact < 2 * std::min(costs.through_gram, costs.through_x);
  const bool exact = options.method == EncoderMethod::exact || (options.method == EncoderMethod::automatic && cheap);
  Matrix<double> axes =
      exact ? exact_axes(h, x, products, pool)
            : randomized_axes(h, options.seed, x.data() == nullptr || costs.through_gram < costs.through_x, x, products,
                              pool);
  make_largest_positive(axes.view());
  if (options.random_rotation) axes = rotated(std::move(axes), options.seed, pool);
  Encoder encoder;
  encoder.weights = to_float(axes.view());
  return encoder;
}

}  // namespace

Encoder fit_encoder(const EncoderOptions& options, MatrixView<const float> x, ThreadPool& pool,
                    MatrixView<const float> products) {
  Encoder encoder = fit_weights(options, x, pool, products);
  encoder.reconstruction_error = reconstruction_error(encoder.weights, x, pool);
  return encoder;
}

Encoder fit_encoder(const EncoderOptions& options, std::size_t samples, MatrixView<const float> products,
                    ThreadPool& pool) {
  // With fewer samples than features, too, the eigenvectors are those of the products.
  const MatrixView<const float> shape(nullptr, std::max(samples, products.rows()), products.rows());
  Encoder encoder = fit_weights(options, shape, pool, products);
  encoder.reconstruction_error = error_of_products(encoder.weights, products, pool);
  return encoder;
}

Matrix<float> encoded(const Encoder& encoder, MatrixView<const float> x, ThreadPool& pool) {
  if (encoder.is_identity()) return Matrix<float>::copy_of(x);
  if (x.cols() != encoder.weights.cols())
    throw Error(ErrorCode::usage,
                fmt::format("encoder: expected samples of {} values, found {}", encoder.weights.cols(), x.cols()));
  Matrix<float> e(x.rows(), encoder.weights.rows());
  multiply(pool, Trans::no, x, Trans::yes, encoder.weights.view(), e.view());
  return e;
}

}  // namespace parsnets
