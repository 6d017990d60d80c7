// The encoder's fit and use. W = R·V, where the rows of V are the h leading right singular vectors of X (N x d):
//   exact       eigenvectors of XᵀX;
//   randomized  V ≈ the leading directions within the range of (XᵀX)^q·Ω, Ω normal with l = h + 20 columns
//               (Halko, Martinsson, Tropp 2011, algorithms 4.4 and 5.1), orthonormalised at every power.
// R is the identity or a Haar rotation. The reported error is ‖X − X WᵀW‖_F / ‖X‖_F = √(1 − ‖XWᵀ‖²/‖X‖²).

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

Matrix<double> transposed_to_double(MatrixView<const float> a, ThreadPool& pool) {
  constexpr std::size_t kTile = 32;
  Matrix<double> out(a.cols(), a.rows());
  pool.parallel_for(a.cols(), kTile, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t r0 = 0; r0 < a.rows(); r0 += kTile)
      for (std::size_t c = begin; c < end; ++c)
        for (std::size_t r = r0; r < std::min(a.rows(), r0 + kTile); ++r) out(c, r) = a(r, c);
  });
  return out;
}

/// Measured on one core, in flops of a float GEMM (about 80 G/s there): the eigenvectors of size s in double take
/// as long as 16·s³ + 6000·s² of them, orthonormalising l rows of d values as 14·d·l².
bool exact_is_cheap(double n, double d, double h) {
  const auto eigen = [](double s) { return (16 * s + 6000) * s * s; };
  const double l = std::min(h + kOversampling, d), steps = kPowers + 1;
  const double randomized = (steps + 1) * 2 * d * d * l + steps * 14 * d * l * l + n * l * l + eigen(l) + 4 * d * h * l;
  return eigen(d) < kWorthSaving || eigen(d) < 2 * randomized;
}

Matrix<double> randomized_axes(std::size_t h, std::uint64_t seed, MatrixView<const float> products, ThreadPool& pool) {
  const std::size_t d = products.rows(), l = std::min(h + kOversampling, d);
  Matrix<double> range = normal_matrix(l, d, Rng(seed, kSketch));
  for (int power = 0; power <= kPowers; ++power) {
    const Matrix<float> q = to_float(range.view());
    range = transposed_to_double(product(pool, Trans::no, products, Trans::yes, q).view(), pool);
    orthonormalise_rows(range.view(), &pool);
  }
  const Matrix<float> q = to_float(range.view()), next = product(pool, Trans::no, products, Trans::yes, q);
  const auto pairs =
      largest_eigenpairs(to_double(product(pool, Trans::no, q, Trans::no, next).view()).view(), h, &pool);
  return product(pool, Trans::no, pairs.vectors, Trans::no, range);
}

/// Haar: the orthonormalised rows of a normal matrix, with R's diagonal positive.
Matrix<double> rotated(Matrix<double> axes, std::uint64_t seed, ThreadPool& pool) {
  Matrix<double> rotation = normal_matrix(axes.rows(), axes.rows(), Rng(seed, kRotation));
  orthonormalise_rows(rotation.view(), &pool);
  return product(pool, Trans::no, rotation, Trans::no, axes);
}

/// √(1 − ‖XWᵀ‖²/‖X‖²), W with orthonormal rows.
double error_of_products(const Matrix<float>& w, MatrixView<const float> products, ThreadPool& pool) {
  const Matrix<float> moved = product(pool, Trans::no, w, Trans::no, products);
  double kept = 0, total = 0;
  for (std::size_t i = 0; i < w.rows(); ++i) kept += dot(moved.row(i), w.row(i));
  for (std::size_t j = 0; j < products.rows(); ++j) total += products(j, j);
  return total > 0 ? std::sqrt(std::max(0.0, 1 - kept / total)) : 0;
}

}  // namespace

Encoder fit_encoder(const EncoderOptions& options, std::size_t samples, MatrixView<const float> products,
                    ThreadPool& pool) {
  // With fewer samples than features, too, the eigenvectors are those of the products.
  const std::size_t d = products.rows(), n = std::max(samples, d);
  if (options.dimensions < 1 || static_cast<std::size_t>(options.dimensions) > d)
    throw Error(ErrorCode::usage,
                fmt::format("an encoder of {} dimensions cannot be fitted to {} samples with {} features; use 1 to {}",
                            options.dimensions, n, d, d));
  const auto h = static_cast<std::size_t>(options.dimensions);
  const bool exact = options.method == EncoderMethod::exact ||
                     (options.method == EncoderMethod::automatic &&
                      exact_is_cheap(static_cast<double>(n), static_cast<double>(d), static_cast<double>(h)));
  Matrix<double> axes = exact ? largest_eigenpairs(to_double(products).view(), h, &pool).vectors
                              : randomized_axes(h, options.seed, products, pool);
  make_largest_positive(axes.view());
  if (options.random_rotation) axes = rotated(std::move(axes), options.seed, pool);
  Encoder encoder;
  encoder.weights = to_float(axes.view());
  encoder.reconstruction_error = error_of_products(encoder.weights, products, pool);
  return encoder;
}

Matrix<float> encoded(const Encoder& encoder, MatrixView<const float> x, ThreadPool& pool) {
  if (encoder.is_identity()) return Matrix<float>::copy_of(x);
  if (x.cols() != encoder.weights.cols())
    throw Error(ErrorCode::usage,
                fmt::format("encoder: expected samples of {} values, found {}", encoder.weights.cols(), x.cols()));
  return product(pool, Trans::no, x, Trans::yes, encoder.weights);
}

}  // namespace parsnets
