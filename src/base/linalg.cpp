#include "base/linalg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/simd.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

void check(bool agree, const char* what) {
  if (!agree) throw Error(ErrorCode::failure, fmt::format("internal error: shapes do not agree in {}", what));
}

}  // namespace

template <class T>
void multiply(ThreadPool& pool, Trans trans_a, std::type_identity_t<MatrixView<const T>> a, Trans trans_b,
              std::type_identity_t<MatrixView<const T>> b, MatrixView<T> c, std::type_identity_t<T> alpha,
              std::type_identity_t<T> beta) {
  const std::size_t rows = trans_a == Trans::no ? a.rows() : a.cols(),
                    inner = trans_a == Trans::no ? a.cols() : a.rows();
  check(rows == c.rows() && inner == (trans_b == Trans::no ? b.rows() : b.cols()) &&
            c.cols() == (trans_b == Trans::no ? b.cols() : b.rows()),
        "multiply");
  multiply_blocks<T>(&pool, rows, c.cols(), inner, alpha, {a.data(), a.cols(), trans_a}, {b.data(), b.cols(), trans_b},
                     beta, c.data(), c.cols());
}

template void multiply(ThreadPool&, Trans, MatrixView<const float>, Trans, MatrixView<const float>, MatrixView<float>,
                       float, float);
template void multiply(ThreadPool&, Trans, MatrixView<const double>, Trans, MatrixView<const double>,
                       MatrixView<double>, double, double);

namespace {

PARSNETS_SIMD double dot_of(const float* a, const float* b, std::size_t count) {
  constexpr std::size_t kLanes = 8;  // independent sums, which the compiler keeps in vector registers
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(a[i + l]) * static_cast<double>(b[i + l]);
  double sum = 0;
  for (; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  for (const double lane : lanes) sum += lane;
  return sum;
}

constexpr std::size_t kRowsAtOnce = 4;  // whose sums wait for each other in turn

PARSNETS_SIMD void dots_of(const float* rows, const float* b, std::size_t count, float* out) {
  constexpr std::size_t kLanes = 8;  // as in dot_of()
  double lanes[kRowsAtOnce][kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t r = 0; r < kRowsAtOnce; ++r)
      for (std::size_t l = 0; l < kLanes; ++l)
        lanes[r][l] += static_cast<double>(rows[r * count + i + l]) * static_cast<double>(b[i + l]);
  for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
    double sum = 0;
    for (std::size_t k = i; k < count; ++k) sum += static_cast<double>(rows[r * count + k]) * static_cast<double>(b[k]);
    for (const double lane : lanes[r]) sum += lane;
    out[r] = static_cast<float>(sum);
  }
}

}  // namespace

double dot(std::span<const float> a, std::span<const float> b) {
  check(a.size() == b.size(), "dot");
  return dot_of(a.data(), b.data(), a.size());
}

void dots(MatrixView<const float> rows, std::span<const float> b, std::span<float> out) {
  check(rows.cols() == b.size() && rows.rows() == out.size(), "dots");
  std::size_t r = 0;
  for (; r + kRowsAtOnce <= out.size(); r += kRowsAtOnce) dots_of(rows.row(r).data(), b.data(), b.size(), &out[r]);
  for (; r < out.size(); ++r) out[r] = static_cast<float>(dot_of(rows.row(r).data(), b.data(), b.size()));
}

// Tile by tile: a column at a time would miss the cache at every step.
template <class T>
void mirror_lower(ThreadPool& pool, MatrixView<T> a) {
  check(a.rows() == a.cols(), "mirror_lower");
  constexpr std::size_t kTile = 64;
  const std::size_t n = a.rows(), tiles = ThreadPool::chunk_count(n, kTile);
  pool.parallel_for(tiles, 1, [&](std::size_t t, std::size_t, std::size_t) {
    const std::size_t begin = t * kTile, end = std::min(n, begin + kTile);
    for (std::size_t first = begin; first < n; first += kTile)
      for (std::size_t r = begin; r < end; ++r)
        for (std::size_t c = std::max(first, r + 1); c < std::min(n, first + kTile); ++c) a(r, c) = a(c, r);
  });
}
template void mirror_lower(ThreadPool&, MatrixView<float>);
template void mirror_lower(ThreadPool&, MatrixView<double>);

template <class T>
void multiply_lower(ThreadPool& pool, std::type_identity_t<MatrixView<const T>> a,
                    std::type_identity_t<MatrixView<const T>> b, MatrixView<T> c, std::type_identity_t<T> alpha,
                    std::type_identity_t<T> beta) {
  const std::size_t d = c.rows();
  check(c.cols() == d && a.cols() == d && b.cols() == d && a.rows() == b.rows(), "multiply_lower");
  multiply_blocks<T>(&pool, d, d, a.rows(), alpha, {a.data(), d, Trans::yes}, {b.data(), d, Trans::no}, beta, c.data(),
                     d, Part::lower);
}
template void multiply_lower(ThreadPool&, MatrixView<const float>, MatrixView<const float>, MatrixView<float>, float,
                             float);
template void multiply_lower(ThreadPool&, MatrixView<const double>, MatrixView<const double>, MatrixView<double>,
                             double, double);

Matrix<float> gram_of_columns(ThreadPool& pool, MatrixView<const float> x) {
  Matrix<float> gram(x.cols(), x.cols());
  multiply_lower(pool, x, x, gram.view());
  mirror_lower(pool, gram.view());
  return gram;
}

void add_gram_of_columns(ThreadPool& pool, MatrixView<const float> x, double factor, MatrixView<double> sum) {
  check(sum.rows() == x.cols() && sum.cols() == x.cols(), "add_gram_of_columns");
  add_gram_lower(pool, x, factor, sum);
  mirror_lower(pool, sum);
}

Matrix<double> to_double(MatrixView<const float> a) {
  Matrix<double> out(a.rows(), a.cols());
  std::copy(a.data(), a.data() + a.size(), out.data());
  return out;
}

Matrix<float> to_float(MatrixView<const double> a) {
  Matrix<float> out(a.rows(), a.cols());
  std::transform(a.data(), a.data() + a.size(), out.data(), [](double v) { return static_cast<float>(v); });
  return out;
}

// Cholesky factors by panels of kPanelColumns columns: all but the small blocks on the diagonal is matrix products.
// With the inverses of those blocks, solutions are products, too.
namespace {

constexpr std::size_t kPanelColumns = 96;  // a multiple of the columns of a tile on every processor
constexpr std::size_t kSmallBlock = 12;    // factorised value by value

}  // namespace

template <class T>
std::size_t factorise_block(std::size_t n, T* a, std::size_t stride, T* inverse, std::size_t width) {
  if (n <= kSmallBlock) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = j; i < n; ++i) {
        T value = a[i * stride + j];
        for (std::size_t k = 0; k < j; ++k) value -= a[i * stride + k] * a[j * stride + k];
        if (i == j && !(value > 0 && std::isfinite(value))) return j + 1;
        a[i * stride + j] = i == j ? std::sqrt(value) : value / a[j * stride + j];
      }
    }
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i) {
        T sum = i == j ? T{1} : T{0};
        for (std::size_t k = j; k < i; ++k) sum -= a[i * stride + k] * inverse[k * width + j];
        inverse[i * width + j] = i < j ? T{0} : sum / a[i * stride + i];
      }
    return 0;
  }
  const std::size_t half = n / 2, rest = n - half;
  T *below = a + half * stride, *corner = below + half, *inverse_below = inverse + half * width;
  if (const std::size_t pivot = factorise_block(half, a, stride, inverse, width); pivot != 0) return pivot;
  Matrix<T> moved(rest, half);
  gemm(Trans::no, Trans::yes, rest, half, half, 1, below, stride, inverse, width, 0, moved.data(), half);
  for (std::size_t i = 0; i < rest; ++i) std::copy_n(moved.row(i).data(), half, below + i * stride);
  gemm(Trans::no, Trans::yes, rest, rest, half, -1, below, stride, below, stride, 1, corner, stride);
  if (const std::size_t pivot = factorise_block(rest, corner, stride, inverse_below + half, width); pivot != 0)
    return half + pivot;
  gemm(Trans::no, Trans::no, rest, half, half, 1, below, stride, inverse, width, 0, moved.data(), half);
  gemm(Trans::no, Trans::no, rest, half, rest, -1, inverse_below + half, width, moved.data(), half, 0, inverse_below,
       width);
  for (std::size_t i = 0; i < half; ++i) std::fill_n(inverse + i * width + half, rest, T{0});
  return 0;
}
template std::size_t factorise_block(std::size_t, float*, std::size_t, float*, std::size_t);
template std::size_t factorise_block(std::size_t, double*, std::size_t, double*, std::size_t);

namespace {

std::size_t middle_of(std::size_t begin, std::size_t end) {
  const std::size_t panels = ThreadPool::chunk_count(end - begin, kPanelColumns);
  return begin + panels / 2 * kPanelColumns;
}

/// A matrix whose lower triangle becomes L with A = LLᵀ, by halves, so that most of the work is large products.
template <class T>
struct Factorisation {
  ThreadPool& pool;
  MatrixView<T> a, inverses;  // as in Cholesky
  const std::function<void()>& tick;
  Matrix<T> moved{a.rows(), kPanelColumns};
  const std::size_t n = a.rows();

  T* at(std::size_t r, std::size_t c) const { return a.data() + r * n + c; }

  /// Rows and columns `begin` to `end`, less what the columns before account for. Returns 0, or the pivot (from 1) that
  /// is not positive or not finite.
  std::size_t factorise(std::size_t begin, std::size_t end) {
    if (end - begin <= kPanelColumns) {
      if (tick) tick();
      const std::size_t pivot =
          factorise_block(end - begin, at(begin, begin), n, inverses.row(begin).data(), kPanelColumns);
      return pivot == 0 ? 0 : begin + pivot;
    }
    const std::size_t middle = middle_of(begin, end), rest = end - middle;
    if (const std::size_t pivot = factorise(begin, middle); pivot != 0) return pivot;
    solve_below(middle, end, begin, middle);
    const Factor<T> below{at(middle, begin), n, Trans::no}, turned{below.data, n, Trans::yes};
    multiply_blocks<T>(&pool, rest, rest, middle - begin, -1, below, turned, 1, at(middle, middle), n, Part::lower);
    return factorise(middle, end);
  }

  /// Rows `top` to `bottom` of columns `begin` to `end` become those of L.
  void solve_below(std::size_t top, std::size_t bottom, std::size_t begin, std::size_t end) {
    const std::size_t rows = bottom - top, width = end - begin;
    if (width <= kPanelColumns) {
      multiply_blocks<T>(&pool, rows, width, width, 1, {at(top, begin), n, Trans::no},
                         {inverses.row(begin).data(), kPanelColumns, Trans::yes}, 0, moved.data(), kPanelColumns);
      for (std::size_t i = 0; i < rows; ++i) std::copy_n(moved.row(i).data(), width, at(top + i, begin));
      return;
    }
    const std::size_t middle = middle_of(begin, end);
    solve_below(top, bottom, begin, middle);
    multiply_blocks<T>(&pool, rows, end - middle, middle - begin, -1, {at(top, begin), n, Trans::no},
                       {at(middle, begin), n, Trans::yes}, 1, at(top, middle), n);
    solve_below(top, bottom, middle, end);
  }
};

}  // namespace

template <class T>
Cholesky<T>::Cholesky(ThreadPool& pool, Matrix<T> a, double ridge, const Tick& tick)
    : factor_(std::move(a)), inverses_(factor_.rows(), kPanelColumns) {
  check(factor_.rows() == factor_.cols(), "Cholesky");
  for (std::size_t i = 0; i < factor_.rows(); ++i) factor_(i, i) = static_cast<T>(factor_(i, i) + ridge);
  Factorisation<T> made{pool, factor_.view(), inverses_.view(), tick};
  if (const std::size_t pivot = made.factorise(0, factor_.rows()); pivot != 0)
    throw Error(ErrorCode::failure, fmt::format("a matrix is not positive definite (pivot {}); use a larger {}", pivot,
                                                option_name("lambda")));
}

template <class T>
Cholesky<T>::Cholesky(Matrix<T> a, double ridge) {
  ThreadPool caller(1);
  *this = Cholesky(caller, std::move(a), ridge);
}

template <class T>
void Cholesky<T>::solve(ThreadPool& pool, MatrixView<T> b) const {
  check(b.rows() == factor_.rows(), "Cholesky::solve");
  Matrix<T> part(kPanelColumns, b.cols());
  solve_part(pool, Trans::no, 0, b.rows(), b, part.view());
  solve_part(pool, Trans::yes, 0, b.rows(), b, part.view());
}

// Some columns at a time: those of L are not needed any more when the inverse takes their place.
template <class T>
Matrix<T> Cholesky<T>::inverse(ThreadPool& pool, const Tick& tick) && {
  constexpr std::size_t kColumns = 4 * kPanelColumns;
  const std::size_t n = factor_.rows();
  for (std::size_t first = 0; first < n; first += kColumns) {
    if (tick) tick();
    const std::size_t width = std::min(kColumns, n - first);
    Matrix<T> columns(n, width, T{0}), part(kPanelColumns, width);
    for (std::size_t c = 0; c < width; ++c) columns(first + c, c) = 1;
    solve_part(pool, Trans::no, first, n, columns.view(), part.view());
    solve_part(pool, Trans::yes, first, n, columns.view(), part.view());
    for (std::size_t r = first; r < n; ++r) std::copy_n(columns.row(r).data(), width, &factor_(r, first));
  }
  mirror_lower(pool, factor_.view());
  return std::move(factor_);
}

template <class T>
void Cholesky<T>::solve_part(ThreadPool& pool, Trans trans, std::size_t begin, std::size_t end, MatrixView<T> b,
                             MatrixView<T> part) const {
  const std::size_t n = b.rows(), m = b.cols(), width = end - begin;
  if (width <= kPanelColumns) {
    T* rows = b.data() + begin * m;
    multiply_blocks<T>(&pool, width, m, width, 1, {inverses_.row(begin).data(), kPanelColumns, trans},
                       {rows, m, Trans::no}, 0, part.data(), m);
    std::copy_n(part.data(), width * m, rows);
    return;
  }
  const std::size_t middle = middle_of(begin, end);
  const T* below = factor_.data() + middle * n + begin;
  T *upper = b.data() + begin * m, *lower = b.data() + middle * m;
  if (trans == Trans::no) {
    solve_part(pool, trans, begin, middle, b, part);
    multiply_blocks<T>(&pool, end - middle, m, middle - begin, -1, {below, n, Trans::no}, {upper, m, Trans::no}, 1,
                       lower, m);
    solve_part(pool, trans, middle, end, b, part);
  } else {
    solve_part(pool, trans, middle, end, b, part);
    multiply_blocks<T>(&pool, middle - begin, m, end - middle, -1, {below, n, Trans::yes}, {lower, m, Trans::no}, 1,
                       upper, m);
    solve_part(pool, trans, begin, middle, b, part);
  }
}

template class Cholesky<float>;
template class Cholesky<double>;

}  // namespace parsnets
