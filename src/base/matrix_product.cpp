// C = alpha·A·B + beta·C by tiles of kRows x kVectors registers. For blocks of up to kInner inner indices and kColumns
// columns, B is packed once for all threads; each thread packs its share of the rows of A and runs over the tiles.
// 2·rows·columns·inner flops; bytes packed: those of B once, those of A once per block of columns.

#include "base/matrix_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 on its own intrinsics (PR 105593)
#endif
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace parsnets {

namespace {

constexpr std::size_t kInner = 512;         // inner indices at a time: a row of tiles of A stays in the first cache
constexpr std::size_t kColumns = 3072;      // columns at a time: the packed part of B stays in the last cache
constexpr std::size_t kRowsPerChunk = 192;  // rows of A that a thread packs at a time: they stay in the second cache
constexpr std::size_t kGramSamples = 512;   // that add_gram_lower() sums up in float32
constexpr std::size_t kFewRows = 32;        // up to which B is not packed
constexpr std::size_t kMostVectors = 4, kMostTile = 16 * 64;  // vectors in a row, values

/// What the second cache should have by the time the next tiles are made: `pace` values further in each step.
template <class T>
struct Soon {
  const T* data;
  std::size_t pace;
};

template <class T>
using Tile = void (*)(std::size_t inner, const T* a, const T* b, std::size_t next, T* c, std::size_t stride,
                      bool resume, Soon<T> soon);

/// What one instruction set has: the sizes of its largest tile, and its functions.
struct MatrixKernels {
  std::size_t rows, vectors, bytes;              // the last of a vector
  std::array<Tile<float>, kMostVectors> single;  // with 1, 2, … vectors in a row
  std::array<Tile<double>, kMostVectors> twice;
  float (*registers)(std::size_t);
  void (*add)(std::size_t count, double factor, const float* from, double* to);

  template <class T>
  const auto& tiles() const {
    if constexpr (sizeof(T) == 4)
      return single;
    else
      return twice;
  }
};

namespace matrix_portable {

#define PARSNETS_TARGET
template <class T>
struct Lanes {
  typedef T Vec __attribute__((vector_size(16)));
  static constexpr std::size_t kWidth = 16 / sizeof(T);
  static Vec zero() { return Vec{}; }
  static Vec load(const T* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void store(T* p, Vec v) { std::memcpy(p, &v, sizeof v); }
  static Vec broadcast(T value) { return Vec{} + value; }
#if defined(__aarch64__)
  static float32x4_t multiply_add(float32x4_t a, float32x4_t b, float32x4_t sum) { return vfmaq_f32(sum, a, b); }
  static float64x2_t multiply_add(float64x2_t a, float64x2_t b, float64x2_t sum) { return vfmaq_f64(sum, a, b); }
#else
  static Vec multiply_add(Vec a, Vec b, Vec sum) { return sum + a * b; }
#endif
};
#if defined(__aarch64__)
constexpr std::size_t kRows = 6, kVectors = 4;
#else
constexpr std::size_t kRows = 4, kVectors = 2;
#endif
#include "base/matrix_kernels.inc"
#undef PARSNETS_TARGET

}  // namespace matrix_portable

#if defined(__x86_64__)

namespace matrix_avx2 {

#define PARSNETS_TARGET __attribute__((target("avx2,fma")))
template <class T>
struct Lanes;
template <>
struct Lanes<float> {
  using Vec = __m256;
  static constexpr std::size_t kWidth = 8;
  PARSNETS_TARGET static Vec zero() { return _mm256_setzero_ps(); }
  PARSNETS_TARGET static Vec load(const float* p) { return _mm256_loadu_ps(p); }
  PARSNETS_TARGET static void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
  PARSNETS_TARGET static Vec broadcast(float value) { return _mm256_set1_ps(value); }
  PARSNETS_TARGET static Vec multiply_add(Vec a, Vec b, Vec sum) { return _mm256_fmadd_ps(a, b, sum); }
};
template <>
struct Lanes<double> {
  using Vec = __m256d;
  static constexpr std::size_t kWidth = 4;
  PARSNETS_TARGET static Vec zero() { return _mm256_setzero_pd(); }
  PARSNETS_TARGET static Vec load(const double* p) { return _mm256_loadu_pd(p); }
  PARSNETS_TARGET static void store(double* p, Vec v) { _mm256_storeu_pd(p, v); }
  PARSNETS_TARGET static Vec broadcast(double value) { return _mm256_set1_pd(value); }
  PARSNETS_TARGET static Vec multiply_add(Vec a, Vec b, Vec sum) { return _mm256_fmadd_pd(a, b, sum); }
};
constexpr std::size_t kRows = 4, kVectors = 3;
#include "base/matrix_kernels.inc"
#undef PARSNETS_TARGET

}  // namespace matrix_avx2

namespace matrix_avx512 {

#define PARSNETS_TARGET __attribute__((target("avx512f")))
template <class T>
struct Lanes;
template <>
struct Lanes<float> {
  using Vec = __m512;
  static constexpr std::size_t kWidth = 16;
  PARSNETS_TARGET static Vec zero() { return _mm512_setzero_ps(); }
  PARSNETS_TARGET static Vec load(const float* p) { return _mm512_loadu_ps(p); }
  PARSNETS_TARGET static void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  PARSNETS_TARGET static Vec broadcast(float value) { return _mm512_set1_ps(value); }
  PARSNETS_TARGET static Vec multiply_add(Vec a, Vec b, Vec sum) { return _mm512_fmadd_ps(a, b, sum); }
};
template <>
struct Lanes<double> {
  using Vec = __m512d;
  static constexpr std::size_t kWidth = 8;
  PARSNETS_TARGET static Vec zero() { return _mm512_setzero_pd(); }
  PARSNETS_TARGET static Vec load(const double* p) { return _mm512_loadu_pd(p); }
  PARSNETS_TARGET static void store(double* p, Vec v) { _mm512_storeu_pd(p, v); }
  PARSNETS_TARGET static Vec broadcast(double value) { return _mm512_set1_pd(value); }
  PARSNETS_TARGET static Vec multiply_add(Vec a, Vec b, Vec sum) { return _mm512_fmadd_pd(a, b, sum); }
};
constexpr std::size_t kRows = 8, kVectors = 3;
#include "base/matrix_kernels.inc"
#undef PARSNETS_TARGET

}  // namespace matrix_avx512

#endif

const MatrixKernels& matrix_kernels([[maybe_unused]] Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::avx512) return matrix_avx512::kKernels;
  if (simd == Simd::avx2) return matrix_avx2::kKernels;
#endif
  return matrix_portable::kKernels;
}

/// Memory of the calling thread for `count` values, aligned to cache lines, not set. It is kept for the next product.
template <class T>
T* thread_memory(std::size_t count) {
  struct Memory {
    ~Memory() { ::operator delete (data, std::align_val_t{64}); }
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  thread_local Memory memory;
  if (memory.bytes < count * sizeof(T)) {
    ::operator delete (std::exchange(memory.data, nullptr), std::align_val_t{64});
    memory.bytes = 0;
    memory.data = ::operator new (count * sizeof(T), std::align_val_t{64});
    memory.bytes = count * sizeof(T);
  }
  return static_cast<T*>(memory.data);
}

/// to[k·width + i] = factor·from[i·stride + k] for a block of 16 bytes by 16 bytes.
inline void turn_block(const float* from, std::size_t stride, float factor, float* to, std::size_t width) {
  typedef float Vec __attribute__((vector_size(16)));
  Vec r[4];
  for (std::size_t i = 0; i < 4; ++i) std::memcpy(&r[i], from + i * stride, sizeof r[i]);
  const Vec a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
            c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  const Vec turned[4] = {
      factor * __builtin_shufflevector(a, b, 0, 1, 4, 5), factor * __builtin_shufflevector(a, b, 2, 3, 6, 7),
      factor * __builtin_shufflevector(c, d, 0, 1, 4, 5), factor * __builtin_shufflevector(c, d, 2, 3, 6, 7)};
  for (std::size_t k = 0; k < 4; ++k) std::memcpy(to + k * width, &turned[k], sizeof turned[k]);
}
inline void turn_block(const double* from, std::size_t stride, double factor, double* to, std::size_t width) {
  typedef double Vec __attribute__((vector_size(16)));
  Vec r[2];
  for (std::size_t i = 0; i < 2; ++i) std::memcpy(&r[i], from + i * stride, sizeof r[i]);
  const Vec turned[2] = {factor * __builtin_shufflevector(r[0], r[1], 0, 2),
                         factor * __builtin_shufflevector(r[0], r[1], 1, 3)};
  for (std::size_t k = 0; k < 2; ++k) std::memcpy(to + k * width, &turned[k], sizeof turned[k]);
}

/// The rows of A, or the columns of B, in panels of `width`: value k of row r, times `factor`, goes to
/// to[(r / width·depth + k)·width + r % width]. Zeros follow the last row. Value k of row r is from[k·stride + r].
template <class T>
void pack_across(const T* from, std::size_t stride, std::size_t rows, std::size_t depth, std::size_t width, T factor,
                 T* to) {
  constexpr std::size_t kAhead = 8;
  for (std::size_t k = 0; k < depth; ++k, from += stride, to += width) {
    for (std::size_t r = 0; r < rows; r += 64 / sizeof(T)) __builtin_prefetch(from + kAhead * stride + r);
    for (std::size_t first = 0; first < rows; first += width) {
      T* panel = to + first * depth;
      const std::size_t count = std::min(width, rows - first);
      for (std::size_t i = 0; i < count; ++i) panel[i] = factor * from[first + i];
      for (std::size_t i = count; i < width; ++i) panel[i] = 0;
    }
  }
}

/// The same where value k of row r is from[r·stride + k].
template <class T>
void pack_along(const T* from, std::size_t stride, std::size_t rows, std::size_t depth, std::size_t width, T factor,
                T* to) {
  constexpr std::size_t kSide = 16 / sizeof(T), kLine = 64 / sizeof(T);
  for (std::size_t first = 0; first < rows; first += width, from += width * stride, to += width * depth) {
    const std::size_t count = std::min(width, rows - first), whole = count / kSide * kSide;
    if (count < width) std::fill_n(to, depth * width, T{0});
    std::size_t k = 0;
    for (; k + kSide <= depth; k += kSide) {
      if (k % kLine == 0)
        for (std::size_t i = 0; i < width; ++i) __builtin_prefetch(from + (width + i) * stride + k);
      for (std::size_t i = 0; i < whole; i += kSide)
        turn_block(from + i * stride + k, stride, factor, to + k * width + i, width);
    }
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t rest = i < whole ? k : 0; rest < depth; ++rest)
        to[rest * width + i] = factor * from[i * stride + rest];
  }
}

/// Values `inner` to `inner + depth` of `rows` rows of A from `first` on, or of as many columns of B; `across`: those
/// of a place are side by side in memory.
template <class T>
void pack(const Factor<T>& m, bool across, std::size_t first, std::size_t rows, std::size_t inner, std::size_t depth,
          std::size_t width, T factor, T* to) {
  if (across)
    pack_across(m.data + inner * m.stride + first, m.stride, rows, depth, width, factor, to);
  else
    pack_along(m.data + first * m.stride + inner, m.stride, rows, depth, width, factor, to);
}

template <class T>
struct Block {
  std::size_t rows, columns, inner;  // of the whole product
  T alpha;
  Factor<T> a, b;
  Part part;
  const MatrixKernels& kernels;
};

/// parallel_for, in the calling thread without a pool.
template <class Body>
void share(ThreadPool* pool, std::size_t count, std::size_t grain, const Body& body) {
  if (pool != nullptr && pool->size() > 1) return pool->parallel_for(count, grain, body);
  for (std::size_t c = 0; c * grain < count; ++c) body(c * grain, std::min(count, (c + 1) * grain), c);
}

/// A part of the packed inner indices of a product, and the tiles of its result.
template <class T>
struct Visited {
  std::size_t row, column, rows, columns;  // of the result
  std::size_t first, depth;                // inner indices
  const T *a, *b;                          // a is packed
  std::size_t next;                        // from row to row of b
  std::size_t vectors;                     // in a row of the tile
  Soon<T> soon;                            // of the next panel of b
};

/// Calls visit() for each tile of the result and each block of inner indices; those of a tile come in their order.
template <class T, class Visit>
void visit_tiles(ThreadPool* pool, const Block<T>& p, std::size_t most_inner, std::size_t most_columns,
                 const Visit& visit) {
  const MatrixKernels& k = p.kernels;
  const std::size_t lanes = k.bytes / sizeof(T), height = k.rows;
  const auto blocks_of = [](std::size_t count, std::size_t most) { return (count + most - 1) / most; };
  const std::size_t inner_blocks = blocks_of(p.inner, most_inner), column_blocks = blocks_of(p.columns, most_columns),
                    threads = pool != nullptr ? pool->size() : 1,
                    // several chunks for each thread, as many for one as for another
      least = threads == 1 ? 1 : std::min(4 * threads, blocks_of(p.rows, kFewRows)),
                    shares = blocks_of(std::max(blocks_of(p.rows, kRowsPerChunk), least), threads) * threads,
                    chunk = blocks_of(blocks_of(p.rows, shares), height) * height, chunks = blocks_of(p.rows, chunk);
  Matrix<T> packed(blocks_of(p.inner, inner_blocks), blocks_of(p.columns, column_blocks) + k.vectors * lanes);
  for (std::size_t left = 0, part = 0; part < column_blocks; ++part) {
    const std::size_t columns = p.columns * (part + 1) / column_blocks - left, vectors = blocks_of(columns, lanes),
                      panels = blocks_of(vectors, k.vectors);
    const auto panel = [&](std::size_t number) { return vectors * number / panels; };  // its first vector
    for (std::size_t first = 0, block = 0; block < inner_blocks; ++block) {
      const std::size_t depth = p.inner * (block + 1) / inner_blocks - first;
      // For few rows, B is read where it is: packing it would take as long as the product.
      const bool packs = p.rows > kFewRows || p.b.trans == Trans::yes;
      share(pool, panels, 1, [&](std::size_t number, std::size_t, std::size_t) {
        const std::size_t begin = panel(number) * lanes, end = panel(number + 1) * lanes;
        if (!packs && end <= columns) return;
        pack(p.b, p.b.trans == Trans::no, left + begin, std::min(end, columns) - begin, first, depth, end - begin, T{1},
             packed.data() + begin * depth);
      });
      share(pool, chunks, 1, [&](std::size_t number, std::size_t, std::size_t) {
        // The last rows of a triangle are the longest and come first.
        const std::size_t top = (chunks - 1 - number) * chunk, bottom = std::min(p.rows, top + chunk);
        if (p.part == Part::lower && bottom <= left) return;
        T* rows = thread_memory<T>(chunk * depth);
        pack(p.a, p.a.trans == Trans::yes, top, bottom - top, first, depth, height, p.alpha, rows);
        for (std::size_t n = 0; n < panels; ++n) {
          const std::size_t begin = panel(n) * lanes, width = panel(n + 1) * lanes - begin,
                            end = std::min(begin + width, columns);
          const bool in_place = !packs && begin + width <= columns;
          const T* b = in_place ? p.b.data + first * p.b.stride + left + begin : packed.data() + begin * depth;
          if (p.part == Part::lower && bottom <= left + begin) break;
          Soon<T> soon{in_place ? b : packed.data() + (n + 1 < panels ? begin + width : 0) * depth,
                       in_place ? 0 : width * height / chunk};
          for (std::size_t r = top; r < bottom; r += height, soon.data += soon.pace * depth)
            if (p.part == Part::all || r + height > left + begin)
              visit(Visited<T>{r, left + begin, std::min(height, bottom - r), end - begin, first, depth,
                               rows + (r - top) * depth, b, in_place ? p.b.stride : width, width / lanes, soon});
        }
      });
      first += depth;
    }
    left += columns;
  }
}

}  // namespace

template <class T>
void multiply_blocks(ThreadPool* pool, std::size_t rows, std::size_t columns, std::size_t inner, T alpha, Factor<T> a,
                     Factor<T> b, T beta, T* c, std::size_t stride, Part part, Simd simd) {
  if (rows == 0 || columns == 0) return;
  if (beta != T{0} && beta != T{1})
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t j = 0; j < columns; ++j) c[r * stride + j] *= beta;
  if (inner == 0) {
    if (beta == T{0})
      for (std::size_t r = 0; r < rows; ++r) std::fill_n(c + r * stride, columns, T{0});
    return;
  }
  const MatrixKernels& k = matrix_kernels(simd);
  visit_tiles<T>(pool, {rows, columns, inner, alpha, a, b, part, k}, kInner, kColumns, [&](const Visited<T>& v) {
    T* to = c + v.row * stride + v.column;
    const std::size_t width = v.vectors * k.bytes / sizeof(T);
    const bool resume = v.first > 0 || beta != T{0};
    const Tile<T> tile = k.tiles<T>()[v.vectors - 1];
    for (std::size_t r = k.rows; r < 2 * k.rows && v.row + r < rows; ++r)  // what the next tile starts from
      for (std::size_t j = 0; j < width; j += 64 / sizeof(T)) __builtin_prefetch(to + r * stride + j, 1);
    if (v.rows == k.rows && v.columns == width) return tile(v.depth, v.a, v.b, v.next, to, stride, resume, v.soon);
    alignas(64) T edge[kMostTile];
    for (std::size_t r = 0; resume && r < v.rows; ++r) std::copy_n(to + r * stride, v.columns, edge + r * width);
    tile(v.depth, v.a, v.b, v.next, edge, width, resume, v.soon);
    for (std::size_t r = 0; r < v.rows; ++r) std::copy_n(edge + r * width, v.columns, to + r * stride);
  });
}
template void multiply_blocks(ThreadPool*, std::size_t, std::size_t, std::size_t, float, Factor<float>, Factor<float>,
                              float, float*, std::size_t, Part, Simd);
template void multiply_blocks(ThreadPool*, std::size_t, std::size_t, std::size_t, double, Factor<double>,
                              Factor<double>, double, double*, std::size_t, Part, Simd);

void add_gram_lower(ThreadPool& pool, MatrixView<const float> x, double factor, MatrixView<double> sum) {
  const MatrixKernels& k = matrix_kernels(best_simd());
  const std::size_t d = x.cols();
  if (x.empty()) return;
  const Factor<float> samples{x.data(), d, Trans::no}, turned{x.data(), d, Trans::yes};
  visit_tiles<float>(&pool, {d, d, x.rows(), 1.0f, turned, samples, Part::lower, k}, kGramSamples, kColumns,
                     [&](const Visited<float>& v) {
                       alignas(64) float tile[kMostTile];
                       const std::size_t width = v.vectors * k.bytes / sizeof(float);
                       double* to = &sum(v.row, v.column);
                       for (std::size_t r = 0; r < v.rows; ++r)
                         for (std::size_t j = 0; j < v.columns; j += 8) __builtin_prefetch(to + r * d + j, 1);
                       k.single[v.vectors - 1](v.depth, v.a, v.b, v.next, tile, width, false, v.soon);
                       for (std::size_t r = 0; r < v.rows; ++r) k.add(v.columns, factor, tile + r * width, to + r * d);
                     });
}

namespace {

double seconds(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The best rate of `work`, which does `flops`, in about a tenth of a second of the clock, in GFLOP/s.
template <class Work>
double best_rate(clockid_t clock, double flops, const Work& work) {
  double best = 0;
  for (const double start = seconds(clock); seconds(clock) - start < 0.1 || best == 0;) {
    const double begin = seconds(clock);
    work();
    best = std::max(best, 1e-9 * flops / std::max(seconds(clock) - begin, 1e-9));
  }
  return best;
}

}  // namespace

double register_peak() {
  const MatrixKernels& k = matrix_kernels(best_simd());
  constexpr std::size_t kSteps = 100000;
  volatile float sink = 0;
  return best_rate(CLOCK_THREAD_CPUTIME_ID, 2.0 * 16 * static_cast<double>(k.bytes / sizeof(float) * kSteps),
                   [&] { sink = k.registers(kSteps); });
}

ProductRates measure_products(ThreadPool& pool) {
  constexpr std::size_t kSize = 1152;
  const Matrix<float> a(kSize, kSize, 0.5f), b(kSize, kSize, 0.25f);
  Matrix<float> c(kSize, kSize);
  const auto rate = [&](clockid_t clock, ThreadPool* threads) {
    return best_rate(clock, 2.0 * kSize * kSize * kSize, [&] {
      multiply_blocks<float>(threads, kSize, kSize, kSize, 1, {a.data(), kSize}, {b.data(), kSize}, 0, c.data(), kSize);
    });
  };
  return {register_peak(), rate(CLOCK_THREAD_CPUTIME_ID, nullptr), rate(CLOCK_MONOTONIC, &pool)};
}

std::string problem_of(const ProductRates& rates, const std::string& build_type) {
  if (rates.share() >= 0.5) return "";
  return fmt::format("matrix products reach {:.0f} % of what the processor can do; {}", 100 * rates.share(),
                     build_type == "Release" ? "close programs that use the same cores and run doctor again"
                                             : "this is a " + build_type + " build: use Release");
}

}  // namespace parsnets
