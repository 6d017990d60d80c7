/* The ParsNets runtime. One kernel does the work: rows of a matrix (float32, float16 or int8) times a vector, in plain
 * C, NEON, AVX2 or, for int8, AVX-512 VNNI, ARM's dot products and WebAssembly's SIMD128. Integer sums are exact, and
 * every other float operation is written out in a fixed order, so int8 models give the same bits everywhere;
 * contraction of a*b+c would break that and is switched off here. */
#include "parsnets_rt.h"

#include <float.h>
#include <math.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0) || \
    defined(__ASSOCIATIVE_MATH__)
#error \
    "parsnets_rt.c checks for non-finite numbers and promises equal bits: compile it without -ffast-math and its parts"
#endif
#if defined(FLT_EVAL_METHOD) && (FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2)
#error "floats must be computed as floats: on 32-bit x86, compile with -msse2 -mfpmath=sse"
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "device models are little-endian and used where they lie"
#endif

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__) && !defined(PNRT_NO_SIMD)
#define PNRT_HAS_AVX2 1
#include <immintrin.h>
#if __GNUC__ >= 8 || (defined(__clang__) && __clang_major__ >= 8) /* clang calls itself GNU C 4 */
#define PNRT_HAS_VNNI 1
#endif
#elif defined(__ARM_NEON) && !defined(PNRT_NO_SIMD)
#define PNRT_HAS_NEON 1
#include <arm_neon.h>
#if defined(__ARM_FEATURE_DOTPROD)
#define PNRT_HAS_DOT 1
#define DOT
#elif defined(__aarch64__) && defined(__linux__) && __STDC_HOSTED__ && __GNUC__ >= 8 && !defined(__clang__)
#include <sys/auxv.h>
#define PNRT_HAS_DOT 1
#define PNRT_ASKS_FOR_DOT 1
#define DOT __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#elif defined(__wasm_simd128__) && !defined(PNRT_NO_SIMD)
#define PNRT_HAS_WASM 1
#include <wasm_simd128.h>
#endif

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

/* At -Os, one copy of what is called in many places; clang would make many. */
#if defined(__GNUC__) && defined(__OPTIMIZE_SIZE__)
#define ONE_COPY __attribute__((noinline))
#else
#define ONE_COPY
#endif

/* What other parts refer to is left out as code that cannot be reached. */
#ifdef PNRT_NO_FLOAT
enum { kFloat = 0 };
#else
enum { kFloat = 1 };
#endif
#ifdef PNRT_NO_REJECT
enum { kReject = 0 };
#else
enum { kReject = 1 };
#endif

#ifdef PNRT_NO_LEARN
enum { kLearn = 0 };
#else
enum { kLearn = 1 };
#endif
/* Attributes of classes: int8 models have them as halves, too. */
#if defined(PNRT_NO_EXPLAIN) && defined(PNRT_NO_REJECT) && defined(PNRT_NO_SAVE)
enum { kAttributes = 0, kHalves = kFloat };
#else
enum { kAttributes = 1, kHalves = 1 };
#endif
#if defined(__GNUC__)
#define MAY_BE_UNUSED __attribute__((unused))
#else
#define MAY_BE_UNUSED
#endif

enum { kAlign = 16, kHash = 32 };
enum { kSavedHeader = 32, kSavedVersion = 1 };           /* of a bank */
enum { kScaleNone = 0, kScaleUnit = 1, kScaleRoot = 2 }; /* features */
enum { kPlain = 0, kUnit = 1, kBinary = 2 };             /* semantics */
enum { kAlways = 0, kEnergy = 1, kAnchor = 2 };          /* gates */
enum { kCosine = 0, kDot = 1, kEuclidean = 2 };          /* similarity */

typedef union {
  float value;
  uint32_t bits;
} float_bits;

const char* pnrt_status_text(pnrt_status status) {
  static const char* const text[] = {"ok",
                                     "bad argument: a null pointer or a number out of range",
                                     "memory must be aligned to 4 bytes",
                                     "not a ParsNets device model or saved bank",
                                     "a device model or saved bank of an unsupported format version",
                                     "the size does not match the header: truncated?",
                                     "the checksum does not match: the data are damaged",
                                     "the contents are inconsistent",
                                     "the memory is too small",
                                     "a value is not finite",
                                     "a class name must have 1 to 63 bytes",
                                     "a class of that name exists already",
                                     "there is no such class",
                                     "the bank is full",
                                     "there is no learning memory, or the model has no class space",
                                     "the bank was saved with another model",
                                     "the model has no rejection: calibrate it before export",
                                     "it needs a part of the runtime that was not compiled (PNRT_NO_...)"};
  return (unsigned)status < sizeof text / sizeof text[0] ? text[status] : "unknown status";
}

/* ---- numbers ---- */

static uint64_t aligned(uint64_t at) { return (at + (kAlign - 1)) & ~(uint64_t)(kAlign - 1); }

static int is_finite(float v) { return (v < 0 ? -v : v) <= FLT_MAX; }

/* 0 times a number is 0 (or -0), 0 times anything else is not; eight sums, so that it can be vectorised. */
static int all_finite(const float* v, size_t n) {
  float part[8] = {0, 0, 0, 0, 0, 0, 0, 0}, sum = 0;
  size_t i, j;
  for (i = 0; i + 8 <= n; i += 8)
    for (j = 0; j < 8; ++j) part[j] += v[i + j] * 0.0f;
  for (; i < n; ++i) sum += v[i] * 0.0f;
  for (j = 0; j < 8; ++j) sum += part[j];
  return sum == 0;
}

static float half_to_float(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, fraction = h & 1023u;
  float_bits out;
  if (exponent == 0) { /* zero or subnormal: fraction * 2^-24, exact */
    const float value = (float)fraction * 5.9604644775390625e-8f;
    return sign ? -value : value;
  }
  out.bits = sign | (exponent + 112) << 23 | fraction << 13;
  return out.value;
}

static uint16_t float_to_half(float v) { /* to nearest even; the caller keeps |v| below 65504 */
  float_bits in;
  uint32_t sign, rest, half;
  int shift;
  in.value = v;
  sign = (in.bits >> 16) & 0x8000u;
  rest = in.bits & 0x7fffffffu;
  if (rest < 0x33000000u) return (uint16_t)sign;
  if (rest < 0x38800000u) { /* subnormal half */
    shift = (int)(126 - (rest >> 23));
    rest = (rest & 0x7fffffu) | 0x800000u;
    half = rest >> shift;
    rest &= (1u << shift) - 1u;
    if (rest > (1u << (shift - 1)) || (rest == (1u << (shift - 1)) && (half & 1u))) ++half;
    return (uint16_t)(sign | half);
  }
  half = (rest - 0x38000000u) >> 13;
  rest &= 0x1fffu;
  if (rest > 0x1000u || (rest == 0x1000u && (half & 1u))) ++half;
  return (uint16_t)(sign | half);
}

/* Eight partial sums: more exact than one, and free to be vectorised without changing the result. */
static float product_sum(const float* a, const float* b, uint32_t n) {
  float part[8] = {0, 0, 0, 0, 0, 0, 0, 0};
  uint32_t i, j;
  for (i = 0; i + 8 <= n; i += 8)
    for (j = 0; j < 8; ++j) part[j] += a[i + j] * b[i + j];
  for (j = 0; i < n; ++i, ++j) part[j] += a[i] * b[i];
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

/* Signs of data follow no pattern, so that branches on them are often mispredicted: these look at the bits. */
ONE_COPY static float magnitude(float v) {
  float_bits out;
  out.value = v;
  out.bits &= 0x7fffffffu;
  return out.value;
}

static float with_sign_of(float size, float v) {
  float_bits out, sign;
  out.value = size;
  sign.value = v;
  out.bits |= sign.bits & 0x80000000u;
  return out.value;
}

/* Largest magnitude of finite values, which are ordered as their bits are. */
static float largest_of(const float* v, uint32_t n) {
  float_bits out;
  int32_t most = 0;
  size_t i;
  for (i = 0; i < n; ++i) {
    int32_t bits;
    out.value = v[i];
    bits = (int32_t)(out.bits & 0x7fffffffu);
    most = most < bits ? bits : most;
  }
  out.bits = (uint32_t)most;
  return out.value;
}

/* To the nearest integer, halves away from zero. */
static int32_t rounded(float t) { return (int32_t)(t + with_sign_of(0.5f, t)); }

ONE_COPY static float length_of(const float* v, uint32_t n) { return sqrtf(product_sum(v, v, n)); }

/* A zero vector has no direction and stays zero. */
static void to_unit_length(float* v, uint32_t n) {
  const float length = length_of(v, n), factor = 1.0f / length;
  uint32_t i;
  if (!(length > 0)) return;
  if (factor <= FLT_MAX)
    for (i = 0; i < n; ++i) v[i] *= factor;
  else
    for (i = 0; i < n; ++i) v[i] /= length;
}

/* e^x by 2^n times a polynomial on |r| <= ln(2)/2; the same bits everywhere, unlike expf. */
static float exponential(float x) {
  float_bits power;
  float n, r;
  if (x < -87.0f) return 0;
  if (x > 88.0f) x = 88.0f;
  n = (float)(int32_t)(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));
  r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  power.bits = (uint32_t)((int32_t)n + 127) << 23;
  return power.value *
         (1 + r * (1 + r * (0.5f +
                            r * (1.66666667e-1f + r * (4.16666667e-2f + r * (8.33333333e-3f + r * 1.38888889e-3f))))));
}

/* ln x of x >= 1 by its exponent and a series for the rest, which lies between sqrt(1/2) and sqrt(2). */
static float logarithm(float x) {
  float_bits in;
  float n, s, square;
  in.value = x;
  n = (float)(int32_t)((in.bits + 0x004afb0du) >> 23) - 127;
  in.bits -= (uint32_t)(int32_t)n << 23;
  s = (in.value - 1) / (in.value + 1);
  square = s * s;
  return n * 0.693359375f +
         (2 * s *
              (1 + square * (3.33333333e-1f + square * (0.2f + square * (1.42857143e-1f + square * 1.11111111e-1f)))) -
          n * 2.12194440e-4f);
}

/* ---- rows times vector ---- */

/* A vector as float and, for int8 matrices, rounded to integers whose sums of products cannot overflow. The integers
 * are followed by zeros up to a multiple of 16, so that kernels may read past the end of a row: what they find there is
 * multiplied by 0. After every matrix of a file, and after every row of a bank, there are 16 bytes to read. */
typedef struct {
  const float* value;
  const int16_t* integer;
  float scale;
} vector;

static int quantise_limit(uint32_t n) {
  const uint32_t most = 0x7fffffffu / 128u / n;
  return most < 32767u ? (int)most : 32767;
}

static void prepare(vector* out, const float* v, uint32_t n, int16_t* integer) {
  const float limit = (float)quantise_limit(n);
  float largest, factor;
  uint32_t i;
  out->value = v;
  out->integer = integer;
  out->scale = 0;
  if (!integer) return;
  for (i = n; i % kAlign != 0; ++i) integer[i] = 0;
  largest = largest_of(v, n);
  if (largest < 1e-30f) { /* too small to divide by */
    for (i = 0; i < n; ++i) integer[i] = 0;
    return;
  }
  factor = limit / largest;
  out->scale = largest / limit;
  for (i = 0; i < n; ++i) integer[i] = (int16_t)rounded(v[i] * factor);
}

/* out[i] = row (first + i) of a times x, i < count. Kernels take rows in blocks of four; a last, shorter block takes
 * its first row several times. */
typedef void kernel(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out);

#ifdef PNRT_NO_FLOAT
enum { kKernels = 1, kFirstType = PNRT_I8 };
#define KERNELS(f32, f16, i8) \
  { i8 }
#else
enum { kKernels = 3, kFirstType = PNRT_F32 };
#define KERNELS(f32, f16, i8) \
  { f32, f16, i8 }
#endif

#define FOR_BLOCKS(T, lanes)                         \
  const size_t n = a->cols, whole = n - n % (lanes); \
  size_t i;                                          \
  uint32_t done;                                     \
  for (done = 0; done < count; done += 4)
#define BLOCK_ROWS(T)                                          \
  const uint32_t left = count - done;                          \
  const T* w = (const T*)a->data + ((size_t)first + done) * n; \
  const T* w1 = left > 1 ? w + n : w;                          \
  const T* w2 = left > 2 ? w + 2 * n : w;                      \
  const T* w3 = left > 3 ? w + 3 * n : w
#define ADD_TAIL(convert, v)            \
  for (; i < n; ++i) {                  \
    sums[0] += convert(w[i]) * (v)[i];  \
    sums[1] += convert(w1[i]) * (v)[i]; \
    sums[2] += convert(w2[i]) * (v)[i]; \
    sums[3] += convert(w3[i]) * (v)[i]; \
  }

#if !defined(PNRT_NO_FLOAT) && (defined(PNRT_HAS_AVX2) || defined(PNRT_HAS_NEON))
ONE_COPY static void put_floats(const float* sums, uint32_t left, float* out) {
  uint32_t r;
  for (r = 0; r < 4 && r < left; ++r) out[r] = sums[r];
}
#endif

static void put_integers(const int32_t* sums, uint32_t left, const float* scale, float x_scale, float* out) {
  uint32_t r;
  for (r = 0; r < 4 && r < left; ++r) out[r] = (float)sums[r] * (scale[r] * x_scale);
}

#ifndef PNRT_NO_FLOAT
static void rows_f32(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  uint32_t r;
  for (r = 0; r < count; ++r)
    out[r] = product_sum((const float*)a->data + (size_t)(first + r) * a->cols, x->value, a->cols);
}

static void rows_f16(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  uint32_t r, i;
  for (r = 0; r < count; ++r) {
    const uint16_t* w = (const uint16_t*)a->data + (size_t)(first + r) * a->cols;
    float part[2] = {0, 0};
    for (i = 0; i < a->cols; ++i) part[i & 1u] += half_to_float(w[i]) * x->value[i];
    out[r] = part[0] + part[1];
  }
}
#endif

static void rows_i8(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  uint32_t r, i;
  for (r = 0; r < count; ++r) {
    const int8_t* w = (const int8_t*)a->data + (size_t)(first + r) * a->cols;
    int32_t sum = 0;
    for (i = 0; i < a->cols; ++i) sum += (int32_t)w[i] * x->integer[i];
    put_integers(&sum, 1, a->scale + first + r, x->scale, out + r);
  }
}

#ifdef PNRT_HAS_AVX2
#define INLINE inline __attribute__((always_inline))
#define AVX2 __attribute__((target("avx2,fma,f16c")))

#ifndef PNRT_NO_FLOAT
INLINE AVX2 static __m128 sum_lanes(__m256 a, __m256 b, __m256 c, __m256 d) {
  const __m256 all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
  return _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
}

AVX2 static void rows_f32_avx2(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  FOR_BLOCKS(float, 8) {
    BLOCK_ROWS(float);
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    float sums[4];
    for (i = 0; i < whole; i += 8) {
      const __m256 v = _mm256_loadu_ps(x->value + i);
      s0 = _mm256_fmadd_ps(_mm256_loadu_ps(w + i), v, s0);
      s1 = _mm256_fmadd_ps(_mm256_loadu_ps(w1 + i), v, s1);
      s2 = _mm256_fmadd_ps(_mm256_loadu_ps(w2 + i), v, s2);
      s3 = _mm256_fmadd_ps(_mm256_loadu_ps(w3 + i), v, s3);
    }
    _mm_storeu_ps(sums, sum_lanes(s0, s1, s2, s3));
    ADD_TAIL((float), x->value)
    put_floats(sums, left, out + done);
  }
}

INLINE AVX2 static __m256 load_half(const uint16_t* w) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)(const void*)w));
}

AVX2 static void rows_f16_avx2(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  FOR_BLOCKS(uint16_t, 8) {
    BLOCK_ROWS(uint16_t);
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    float sums[4];
    for (i = 0; i < whole; i += 8) {
      const __m256 v = _mm256_loadu_ps(x->value + i);
      s0 = _mm256_fmadd_ps(load_half(w + i), v, s0);
      s1 = _mm256_fmadd_ps(load_half(w1 + i), v, s1);
      s2 = _mm256_fmadd_ps(load_half(w2 + i), v, s2);
      s3 = _mm256_fmadd_ps(load_half(w3 + i), v, s3);
    }
    _mm_storeu_ps(sums, sum_lanes(s0, s1, s2, s3));
    ADD_TAIL(half_to_float, x->value)
    put_floats(sums, left, out + done);
  }
}
#endif

INLINE AVX2 static __m256i multiply_i8(const int8_t* w, __m256i v) {
  return _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)(const void*)w)), v);
}

AVX2 static void rows_i8_avx2(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  FOR_BLOCKS(int8_t, 1) {
    BLOCK_ROWS(int8_t);
    __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0, all;
    __m128i total;
    for (i = 0; i < whole; i += 16) {
      const __m256i v = _mm256_loadu_si256((const __m256i*)(const void*)(x->integer + i));
      s0 = _mm256_add_epi32(s0, multiply_i8(w + i, v));
      s1 = _mm256_add_epi32(s1, multiply_i8(w1 + i, v));
      s2 = _mm256_add_epi32(s2, multiply_i8(w2 + i, v));
      s3 = _mm256_add_epi32(s3, multiply_i8(w3 + i, v));
    }
    all = _mm256_hadd_epi32(_mm256_hadd_epi32(s0, s1), _mm256_hadd_epi32(s2, s3));
    total = _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    if (left >= 4) { /* what put_integers does, four at a time */
      const __m128 scale = _mm_mul_ps(_mm_loadu_ps(a->scale + first + done), _mm_set1_ps(x->scale));
      _mm_storeu_ps(out + done, _mm_mul_ps(_mm_cvtepi32_ps(total), scale));
    } else {
      int32_t sums[4];
      _mm_storeu_si128((__m128i*)(void*)sums, total);
      put_integers(sums, left, a->scale + first + done, x->scale, out + done);
    }
  }
}

#ifdef PNRT_HAS_VNNI
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

/* The sums of the lanes of each. */
INLINE VNNI static __m128i sum_lanes_512(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  const __m512i all = _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

INLINE VNNI static __m512i add_product_i8(__m512i sum, __m256i w, __m512i v) {
  return _mm512_dpwssd_epi32(sum, _mm512_cvtepi8_epi16(w), v);
}

/* Vectors have 16 bits, so that the product of words is the one to use: that of bytes would take two, and a correction
 * for the sign, and is no faster. */
VNNI static void rows_i8_vnni(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  const __mmask32 tail = (1u << a->cols % 32) - 1;
  FOR_BLOCKS(int8_t, 32) {
    BLOCK_ROWS(int8_t);
    __m512i s0 = _mm512_setzero_si512(), s1 = s0, s2 = s0, s3 = s0, v;
    __m128 scale;
    __mmask8 rows;
    for (i = 0; i < whole; i += 32) {
      v = _mm512_loadu_si512(x->integer + i);
      s0 = add_product_i8(s0, _mm256_loadu_si256((const __m256i*)(const void*)(w + i)), v);
      s1 = add_product_i8(s1, _mm256_loadu_si256((const __m256i*)(const void*)(w1 + i)), v);
      s2 = add_product_i8(s2, _mm256_loadu_si256((const __m256i*)(const void*)(w2 + i)), v);
      s3 = add_product_i8(s3, _mm256_loadu_si256((const __m256i*)(const void*)(w3 + i)), v);
    }
    if (tail) {
      v = _mm512_maskz_loadu_epi16(tail, x->integer + i);
      s0 = add_product_i8(s0, _mm256_maskz_loadu_epi8(tail, w + i), v);
      s1 = add_product_i8(s1, _mm256_maskz_loadu_epi8(tail, w1 + i), v);
      s2 = add_product_i8(s2, _mm256_maskz_loadu_epi8(tail, w2 + i), v);
      s3 = add_product_i8(s3, _mm256_maskz_loadu_epi8(tail, w3 + i), v);
    }
    rows = left < 4 ? (__mmask8)((1u << left) - 1) : 15; /* then what put_integers does */
    scale = _mm_mul_ps(_mm_maskz_loadu_ps(rows, a->scale + first + done), _mm_set1_ps(x->scale));
    _mm_mask_storeu_ps(out + done, rows, _mm_mul_ps(_mm_cvtepi32_ps(sum_lanes_512(s0, s1, s2, s3)), scale));
  }
}
#endif

static kernel* const kernels[][kKernels] = {
    [PNRT_SCALAR] = KERNELS(rows_f32, rows_f16, rows_i8),
    [PNRT_AVX2] = KERNELS(rows_f32_avx2, rows_f16_avx2, rows_i8_avx2),
#ifdef PNRT_HAS_VNNI
    [PNRT_VNNI] = KERNELS(rows_f32_avx2, rows_f16_avx2, rows_i8_vnni),
#endif
};
#elif defined(PNRT_HAS_NEON)
static int32_t sum_s32(int32x4_t v) {
  const int32x2_t pair = vadd_s32(vget_low_s32(v), vget_high_s32(v));
  return vget_lane_s32(vpadd_s32(pair, pair), 0);
}

#ifndef PNRT_NO_FLOAT
static float sum_f32(float32x4_t v) {
  const float32x2_t pair = vadd_f32(vget_low_f32(v), vget_high_f32(v));
  return vget_lane_f32(vpadd_f32(pair, pair), 0);
}

static void rows_f32_neon(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  FOR_BLOCKS(float, 4) {
    BLOCK_ROWS(float);
    float32x4_t s0 = vdupq_n_f32(0), s1 = s0, s2 = s0, s3 = s0;
    float sums[4];
    for (i = 0; i < whole; i += 4) {
      const float32x4_t v = vld1q_f32(x->value + i);
      s0 = vmlaq_f32(s0, vld1q_f32(w + i), v);
      s1 = vmlaq_f32(s1, vld1q_f32(w1 + i), v);
      s2 = vmlaq_f32(s2, vld1q_f32(w2 + i), v);
      s3 = vmlaq_f32(s3, vld1q_f32(w3 + i), v);
    }
    sums[0] = sum_f32(s0);
    sums[1] = sum_f32(s1);
    sums[2] = sum_f32(s2);
    sums[3] = sum_f32(s3);
    ADD_TAIL((float), x->value)
    put_floats(sums, left, out + done);
  }
}

#ifdef __aarch64__
static void rows_f16_neon(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  uint32_t r, i;
  for (r = 0; r < count; ++r) {
    const uint16_t* w = (const uint16_t*)a->data + (size_t)(first + r) * a->cols;
    float32x4_t s = vdupq_n_f32(0);
    for (i = 0; i + 4 <= a->cols; i += 4)
      s = vmlaq_f32(s, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(w + i))), vld1q_f32(x->value + i));
    out[r] = sum_f32(s);
    for (; i < a->cols; ++i) out[r] += half_to_float(w[i]) * x->value[i];
  }
}
#else
#define rows_f16_neon rows_f16 /* 32-bit NEON need not know halves */
#endif
#endif

static int32x4_t multiply_i8(int32x4_t sum, const int8_t* w, int16x8_t v) {
  const int16x8_t wide = vmovl_s8(vld1_s8(w));
  return vmlal_s16(vmlal_s16(sum, vget_low_s16(wide), vget_low_s16(v)), vget_high_s16(wide), vget_high_s16(v));
}

static void rows_i8_neon(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  FOR_BLOCKS(int8_t, 1) {
    BLOCK_ROWS(int8_t);
    int32x4_t s0 = vdupq_n_s32(0), s1 = s0, s2 = s0, s3 = s0;
    int32_t sums[4];
    for (i = 0; i < whole; i += 8) {
      const int16x8_t v = vld1q_s16(x->integer + i);
      s0 = multiply_i8(s0, w + i, v);
      s1 = multiply_i8(s1, w1 + i, v);
      s2 = multiply_i8(s2, w2 + i, v);
      s3 = multiply_i8(s3, w3 + i, v);
    }
    sums[0] = sum_s32(s0);
    sums[1] = sum_s32(s1);
    sums[2] = sum_s32(s2);
    sums[3] = sum_s32(s3);
    put_integers(sums, left, a->scale + first + done, x->scale, out + done);
  }
}

#ifdef PNRT_HAS_DOT
/* A row of bytes times integers of 16 bits, 256 * high + low + 128 with both as signed bytes: the sums of w * high,
 * w * low and w make up the whole. None of them can overflow, as a lane has a quarter of the columns. */
typedef struct {
  int32x4_t high, low, row;
} split_sum;

DOT static inline split_sum add_split(split_sum sum, const int8_t* w, int8x16x2_t v) {
  const int8x16_t row = vld1q_s8(w);
  sum.high = vdotq_s32(sum.high, row, v.val[1]);
  sum.low = vdotq_s32(sum.low, row, v.val[0]);
  sum.row = vdotq_s32(sum.row, row, vdupq_n_s8(1));
  return sum;
}

static int32_t sum_split(split_sum sum) {
  return sum_s32(vaddq_s32(vaddq_s32(vshlq_n_s32(sum.high, 8), sum.low), vshlq_n_s32(sum.row, 7)));
}

DOT static void rows_i8_dot(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  FOR_BLOCKS(int8_t, 1) {
    BLOCK_ROWS(int8_t);
    const int32x4_t zero = vdupq_n_s32(0);
    split_sum s0 = {zero, zero, zero}, s1 = s0, s2 = s0, s3 = s0;
    int32_t sums[4];
    for (i = 0; i < whole; i += 16) {
      int8x16x2_t v = vld2q_s8((const int8_t*)(x->integer + i)); /* low bytes, high bytes */
      v.val[0] = veorq_s8(v.val[0], vdupq_n_s8(-128));
      s0 = add_split(s0, w + i, v);
      s1 = add_split(s1, w1 + i, v);
      s2 = add_split(s2, w2 + i, v);
      s3 = add_split(s3, w3 + i, v);
    }
    sums[0] = sum_split(s0);
    sums[1] = sum_split(s1);
    sums[2] = sum_split(s2);
    sums[3] = sum_split(s3);
    put_integers(sums, left, a->scale + first + done, x->scale, out + done);
  }
}
#endif

static kernel* const kernels[][kKernels] = {
    [PNRT_SCALAR] = KERNELS(rows_f32, rows_f16, rows_i8),
    [PNRT_NEON] = KERNELS(rows_f32_neon, rows_f16_neon, rows_i8_neon),
#ifdef PNRT_HAS_DOT
    [PNRT_DOT] = KERNELS(rows_f32_neon, rows_f16_neon, rows_i8_dot),
#endif
};
#elif defined(PNRT_HAS_WASM)
static v128_t multiply_i8(v128_t sum, const int8_t* w, v128_t v) {
  return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(wasm_i16x8_load8x8(w), v));
}

static void rows_i8_wasm(const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x, float* out) {
  FOR_BLOCKS(int8_t, 1) {
    BLOCK_ROWS(int8_t);
    v128_t s0 = wasm_i32x4_const_splat(0), s1 = s0, s2 = s0, s3 = s0;
    int32_t sums[4];
    for (i = 0; i < whole; i += 8) {
      const v128_t v = wasm_v128_load(x->integer + i);
      s0 = multiply_i8(s0, w + i, v);
      s1 = multiply_i8(s1, w1 + i, v);
      s2 = multiply_i8(s2, w2 + i, v);
      s3 = multiply_i8(s3, w3 + i, v);
    }
#define SUM_WASM(s)                                                                             \
  (int32_t)((uint32_t)wasm_i32x4_extract_lane(s, 0) + (uint32_t)wasm_i32x4_extract_lane(s, 1) + \
            (uint32_t)wasm_i32x4_extract_lane(s, 2) + (uint32_t)wasm_i32x4_extract_lane(s, 3))
    sums[0] = SUM_WASM(s0);
    sums[1] = SUM_WASM(s1);
    sums[2] = SUM_WASM(s2);
    sums[3] = SUM_WASM(s3);
    put_integers(sums, left, a->scale + first + done, x->scale, out + done);
  }
}

static kernel* const kernels[][kKernels] = {
    [PNRT_SCALAR] = KERNELS(rows_f32, rows_f16, rows_i8),
    [PNRT_WASM] = KERNELS(rows_f32, rows_f16, rows_i8_wasm),
};
#else
static kernel* const kernels[][kKernels] = {[PNRT_SCALAR] = KERNELS(rows_f32, rows_f16, rows_i8)};
#endif

static uint8_t best_path(void) {
#ifdef PNRT_HAS_AVX2
  __builtin_cpu_init();
  /* Every processor with AVX2 has F16C, for which not all compilers can ask. */
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return PNRT_SCALAR;
#ifdef PNRT_HAS_VNNI
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
    return PNRT_VNNI;
#endif
  return PNRT_AVX2;
#elif defined(PNRT_ASKS_FOR_DOT)
  return getauxval(AT_HWCAP) & HWCAP_ASIMDDP ? PNRT_DOT : PNRT_NEON;
#elif defined(PNRT_HAS_DOT)
  return PNRT_DOT;
#elif defined(PNRT_HAS_NEON)
  return PNRT_NEON;
#elif defined(PNRT_HAS_WASM)
  return PNRT_WASM;
#else
  return PNRT_SCALAR;
#endif
}

ONE_COPY static void multiply(uint8_t path, const pnrt_matrix* a, uint32_t first, uint32_t count, const vector* x,
                              float* out) {
  kernels[path][a->type - kFirstType](a, first, count, x, out);
}

static void read_row(const pnrt_matrix* a, uint32_t row, float* out) {
  const size_t start = (size_t)row * a->cols;
  uint32_t j;
  for (j = 0; j < a->cols; ++j)
    out[j] = a->type == PNRT_I8               ? (float)((const int8_t*)a->data)[start + j] * a->scale[row]
             : kHalves && a->type == PNRT_F16 ? half_to_float(((const uint16_t*)a->data)[start + j])
                                              : ((const float*)a->data)[start + j];
}

/* The row as the matrix stores it. With `unit` the scale is such that the rounded row has length 1. */
static void write_row(pnrt_matrix* a, float* scale, const float* v, int unit) {
  int8_t* out = (int8_t*)(uintptr_t)a->data;
  const float largest = largest_of(v, a->cols), factor = largest < 1e-30f ? 0 : 127.0f / largest;
  int32_t squares = 0; /* below 2^16 * 2^14 */
  uint32_t j;
  if (kHalves && a->type == PNRT_F32)
    for (j = 0; j < a->cols; ++j) ((float*)(uintptr_t)a->data)[j] = v[j];
  if (kHalves && a->type == PNRT_F16)
    for (j = 0; j < a->cols; ++j) ((uint16_t*)(uintptr_t)a->data)[j] = float_to_half(v[j]);
  if (kHalves && a->type != PNRT_I8) return;
  for (j = 0; j < a->cols; ++j) out[j] = (int8_t)rounded(v[j] * factor);
  for (j = 0; j < a->cols; ++j) squares += (int32_t)out[j] * out[j];
  *scale = factor > 0 ? largest / 127.0f : 0;
  if (unit && squares > 0) *scale = 1.0f / sqrtf((float)squares);
}

/* ---- opening ---- */

static uint32_t u32_at(const unsigned char* p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static float f32_at(const unsigned char* p) {
  float_bits out;
  out.bits = u32_at(p);
  return out.value;
}

static uint32_t crc32_of(const unsigned char* p, size_t n) {
  static const uint32_t nibble[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                      0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                      0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
  uint32_t crc = 0xffffffffu;
  size_t i;
  for (i = 0; i < n; ++i) {
    crc ^= p[i];
    crc = crc >> 4 ^ nibble[crc & 15u];
    crc = crc >> 4 ^ nibble[crc & 15u];
  }
  return ~crc;
}

/* Walks the sections in their order. */
typedef struct {
  const unsigned char* file;
  uint64_t at, size;
  int section, good, left_out; /* left_out: needs code that was not compiled */
} walk;

static int take(walk* w, uint64_t bytes, const void** data) {
  const uint64_t end = w->at + bytes, next = aligned(end);
  uint64_t i;
  if (next > w->size) return 0;
  *data = w->file + w->at;
  for (i = end; i < next; ++i)
    if (w->file[i] != 0) return 0;
  w->at = next;
  return 1;
}

enum { kVECTOR, kMATRIX, kU8, kU16, kU32, kTEXT };
enum { NEVER, MUST, MAY };
#define MAY_IF(condition) ((condition) ? MAY : NEVER)
#define HAS(name) (w->file[PNRT_TYPES_AT + PNRT_SECTION_##name] != 0)

static pnrt_matrix section(walk* w, int kind, int present, uint64_t rows, uint64_t cols) {
  const unsigned type = w->file[PNRT_TYPES_AT + w->section++];
  const uint64_t count = rows * cols;
  pnrt_matrix out = {0, 0, 0, 0, PNRT_ABSENT};
  const void *data = 0, *scale = 0;
  uint64_t i, size = kind == kU8 || kind == kTEXT || type == PNRT_I8 ? 1 : kind == kU16 || type == PNRT_F16 ? 2 : 4;
  if (!w->good || (type == PNRT_ABSENT && present != MUST)) return out;
  w->good = 0;
  if (present == NEVER || (kind == kVECTOR && type != PNRT_F32) || (kind > kMATRIX && type != PNRT_BYTES) ||
      (kind == kMATRIX && (type < PNRT_F32 || type > PNRT_I8)))
    return out;
  if (type == PNRT_I8) {
    if (!take(w, rows * 4, &scale) || !all_finite((const float*)scale, (size_t)rows)) return out;
    for (i = 0; i < rows; ++i)
      if (((const float*)scale)[i] < 0) return out;
  }
  if (!take(w, count * size, &data)) return out;
  if (type == PNRT_F32 && !all_finite((const float*)data, (size_t)count)) return out;
  if (!kFloat && kind == kMATRIX && type != PNRT_I8 && w->section - 1 != PNRT_SECTION_span &&
      w->section - 1 != PNRT_SECTION_class_attributes) /* which are not multiplied */
    w->left_out = 1;
  for (i = 0; kHalves && type == PNRT_F16 && i < count; ++i)
    if ((((const uint16_t*)data)[i] & 0x7c00u) == 0x7c00u) return out;
  w->good = 1;
  out.data = data;
  out.scale = (const float*)scale;
  out.rows = (uint32_t)rows;
  out.cols = (uint32_t)cols;
  out.type = type;
  return out;
}

static int compare_names(const char* a, const char* b) {
  for (; *a && *a == *b; ++a, ++b) {
  }
  return (unsigned char)*a - (unsigned char)*b;
}

/* Exactly `count` names that are not empty; where `offsets` are given, they must be theirs. */
static int check_names(const char* text, uint32_t bytes, uint32_t count, const uint32_t* offsets) {
  uint32_t i = 0, name = 0;
  while (i < bytes) {
    if (name == count || text[i] == 0 || (offsets && offsets[name] != i)) return 0;
    while (i < bytes && text[i] != 0) ++i;
    if (i == bytes) return 0;
    ++i;
    ++name;
  }
  return name == count;
}

static int check_order(const pnrt_model* m) {
  const char* last = 0;
  uint32_t i;
  for (i = 0; i < m->classes; ++i) {
    const char* name;
    if (m->class_order[i] >= m->classes) return 0;
    name = m->class_names + m->class_name_offsets[m->class_order[i]];
    if (last && compare_names(last, name) >= 0) return 0;
    last = name;
  }
  return 1;
}

static uint32_t embedding_size(const pnrt_model* m) { return m->encoding ? m->encoding : m->features; }
static uint32_t input_size(const pnrt_model* m) { return m->encoding && m->sees_encoding ? m->encoding : m->features; }

/* Whether a class vector is a prototype in class space, which attributes only predict. */
static int has_class_space(const pnrt_model* m) { return m->support > 0; }

/* The numbers of the header within their bounds, and padding that is zero. */
static int read_header(pnrt_model* m, const unsigned char* p) {
#define LEAST(name, least, most, meaning) least,
#define MOST(name, least, most, meaning) most,
#define CHOICE_MOST(name, most, meaning) most,
#define READ_SIZE(name, least, most, meaning) m->name = u32_at(p), p += 4;
#define READ_NUMBER(name, least, most, meaning) m->name = f32_at(p), p += 4;
#define READ_CHOICE(name, most, meaning) m->name = *p++;
  static const uint32_t size_bounds[][PNRT_SIZE_COUNT] = {{PNRT_SIZES(LEAST)}, {PNRT_SIZES(MOST)}};
  static const float number_bounds[][PNRT_NUMBER_COUNT] = {{PNRT_NUMBERS(LEAST)}, {PNRT_NUMBERS(MOST)}};
  static const uint8_t choice_most[] = {PNRT_CHOICES(CHOICE_MOST)};
  uint32_t i;
  for (i = 0; i < PNRT_SIZE_COUNT; ++i) {
    const uint32_t value = u32_at(p + PNRT_SIZES_AT + 4 * i);
    if (value < size_bounds[0][i] || value > size_bounds[1][i]) return 0;
  }
  for (i = 0; i < PNRT_NUMBER_COUNT; ++i) {
    const float value = f32_at(p + PNRT_NUMBERS_AT + 4 * i);
    if (!(value >= number_bounds[0][i] && value <= number_bounds[1][i])) return 0;
  }
  for (i = 0; i < sizeof choice_most; ++i)
    if (p[PNRT_CHOICES_AT + i] > choice_most[i]) return 0;
  for (i = PNRT_TYPES_AT + PNRT_SECTION_COUNT; i < PNRT_HEADER_BYTES; ++i)
    if (p[i] != 0) return 0;
  m->checksum = u32_at(p + 16);
  p += PNRT_SIZES_AT;
  PNRT_SIZES(READ_SIZE)
  PNRT_NUMBERS(READ_NUMBER)
  PNRT_CHOICES(READ_CHOICE)
  return 1;
}

/* Fields of the header that bound each other. */
static int is_consistent(const pnrt_model* m) {
  const uint32_t source = m->source_dimensions | m->source_width | m->source_height | m->source_preset | m->source_fit;
  if (m->open > m->networks || m->basis > m->networks || m->tables > m->attributes || m->tables == 1) return 0;
  if ((m->gates == kAlways && m->networks != 1) || (m->gates == kEnergy && embedding_size(m) % m->networks != 0))
    return 0;
  if (has_class_space(m) ? m->similarity != kCosine : m->outputs != m->semantics) return 0;
  if (m->width > 0 && m->width < 1e-3f) return 0;
  return m->source_bytes ? m->source_bytes >= kHash + 2 && m->source_dimensions && m->source_width && m->source_height
                         : source == 0;
}

/* Every table has attributes, and all together have m. */
static int check_tables(const pnrt_model* m) {
  uint64_t sum = 0;
  uint32_t t;
  for (t = 0; t < m->tables; ++t) {
    if (m->table_attributes[t] == 0) return 0;
    sum += m->table_attributes[t];
  }
  return m->tables == 0 || sum == m->attributes;
}

/* What is known of a sample before it is accepted; docs/device.md. */
enum { kScore, kEnergyOf, kLength, kDistance, kOutside, kFit, kEvidence };
/* Where weights, the range of evidence and thresholds are in the section `rejection`. */
enum { kLow = 2 * (kEvidence + 1), kHigh = kLow + kEvidence, kThresholds = kHigh + kEvidence };

static int check_rejection(const pnrt_model* m) {
  uint32_t i;
  for (i = 0; kReject && m->rejection && i < kEvidence; ++i)
    if (m->rejection[kLow + i] > m->rejection[kHigh + i]) return 0;
  return 1;
}

/* The hash of the backbone, then two texts. */
static int read_source(pnrt_model* m) {
  pnrt_source* out = &m->feature_source;
  uint32_t i, texts = 0;
  out->sha256 = m->source;
  if (!m->source) return 1;
  out->layer = out->backbone = (const char*)m->source + kHash;
  for (i = kHash; i < m->source_bytes; ++i)
    if (m->source[i] == 0 && texts++ == 0) out->backbone = (const char*)m->source + i + 1;
  out->dimensions = m->source_dimensions;
  out->width = (uint16_t)m->source_width;
  out->height = (uint16_t)m->source_height;
  out->preset = m->source_preset;
  out->fit = m->source_fit;
  return texts == 2 && m->source[m->source_bytes - 1] == 0;
}

/* Every value of the vector lies within 0 and `most`. */
ONE_COPY static int within(const float* v, uint32_t n, float most) {
  uint32_t i;
  for (i = 0; i < n; ++i)
    if (!(v[i] >= 0 && v[i] <= most)) return 0;
  return 1;
}

static int starts_with(const unsigned char* p, size_t size, const char* magic) {
  uint32_t i;
  for (i = 0; i < 8; ++i)
    if (i >= size || p[i] != (unsigned char)magic[i]) return 0;
  return 1;
}

/* Of models and of saved banks: the size at 12, and at 16 the CRC-32 of all that follows. */
static pnrt_status check_contents(const unsigned char* p, size_t size, size_t header) {
  if (u32_at(p + 12) != size || size > 0x7fffffffu || size < header) return PNRT_TRUNCATED;
  return crc32_of(p + 20, size - 20) == u32_at(p + 16) ? PNRT_OK : PNRT_DAMAGED;
}

static int open_sections(pnrt_model* model, walk* w) {
#define AS_VECTOR(section) (const float*)(section).data
#define AS_MATRIX(section) section
#define AS_U8(section) (const uint8_t*)(section).data
#define AS_U16(section) (const uint16_t*)(section).data
#define AS_U32(section) (const uint32_t*)(section).data
#define AS_TEXT(section) (const char*)(section).data
#define OPEN_SECTION(kind, name, rows, columns, present, meaning) \
  model->name = AS_##kind(section(w, k##kind, present, rows, columns));
  PNRT_SYMBOLS(model);
  PNRT_SECTIONS(OPEN_SECTION)
  return w->good && w->at == w->size && (model->whitening.data || q == m);
}

pnrt_status pnrt_open(pnrt_model* model, const void* buffer, size_t size) {
  const unsigned char* p = (const unsigned char*)buffer;
  pnrt_status status;
  uint32_t i;
  walk w;
  if (!model || !buffer) return PNRT_BAD_ARGUMENT;
  if ((uintptr_t)buffer % 4 != 0) return PNRT_MISALIGNED;
  if (!starts_with(p, size, "PARSNETS")) return PNRT_NOT_A_MODEL;
  if (size < PNRT_SIZES_AT) return PNRT_TRUNCATED;
  if (u32_at(p + 8) != PNRT_FORMAT_VERSION) return PNRT_OTHER_VERSION;
  status = check_contents(p, size, PNRT_HEADER_BYTES);
  if (status != PNRT_OK) return status;
  w.file = p;
  w.at = PNRT_HEADER_BYTES;
  w.size = size;
  w.section = 0;
  w.good = 1;
  w.left_out = 0;
  if (!read_header(model, p) || !is_consistent(model) || !open_sections(model, &w)) return PNRT_INVALID;
  if (!check_tables(model) || !check_rejection(model) || !read_source(model)) return PNRT_INVALID;
  if (has_class_space(model) &&
      (!within(model->class_lengths, model->classes, FLT_MAX) || !within(model->class_predicted, model->classes, 1)))
    return PNRT_INVALID;
  for (i = 0; i < model->classes; ++i)
    if (model->class_seen[i] > 1) return PNRT_INVALID;
  if (!check_names(model->class_names, model->class_name_bytes, model->classes, model->class_name_offsets) ||
      !check_order(model) ||
      (model->attribute_names &&
       !check_names(model->attribute_names, model->attribute_name_bytes, model->attributes, 0)))
    return PNRT_INVALID;
  if (w.left_out) return PNRT_LEFT_OUT;
  model->integer = 0;
  for (i = 0; i < PNRT_SECTION_COUNT; ++i) model->integer |= p[PNRT_TYPES_AT + i] == PNRT_I8;
  model->path = best_path();
  return PNRT_OK;
}

const pnrt_source* pnrt_feature_source(const pnrt_model* model) {
  return model && model->feature_source.sha256 ? &model->feature_source : 0;
}

/* ---- working memory ---- */

typedef struct {
  unsigned char* at;
  size_t left;
  int good;
} arena;

ONE_COPY static void* carve(arena* a, uint64_t bytes) {
  void* out = a->at;
  bytes = (bytes + 3) & ~(uint64_t)3;
  if (bytes > a->left) {
    a->good = 0;
    return 0;
  }
  a->at += bytes;
  a->left -= (size_t)bytes;
  return out;
}

ONE_COPY static float* carve_floats(arena* a, uint64_t count) { return (float*)carve(a, count * 4); }

/* Room for the integer form of a vector; null when the model needs none. */
ONE_COPY static int16_t* carve_integers(arena* a, const pnrt_model* m, uint64_t count) {
  return m->integer ? (int16_t*)carve(a, aligned(count) * 2) : 0;
}

static uint64_t most_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

size_t pnrt_work_bytes(const pnrt_model* model, const pnrt_bank* bank) {
  uint64_t d, e, m, o, q, s, predict, explain, total;
  if (!model) return 0;
  d = model->features;
  e = model->encoding;
  m = model->attributes;
  o = model->outputs;
  q = model->semantics;
  s = model->support;
  predict = 6 * (d + e) + 4 * (uint64_t)model->networks + 6 * (uint64_t)model->open +
            4 * (uint64_t)model->basis * (model->relu ? o + 1 : 1) + 4 * o +
            (kReject && model->span.data ? 4 * model->outputs : 0);
  explain = 14 * m + 16 * o + 10 * (q + s) + 4 * most_of(m, o) + 4 * most_of(m, most_of(q, s)); /* and adding classes */
  total = 4 * o + 4 * (uint64_t)pnrt_class_slots(model, bank) + most_of(predict, explain) + 32 * 16; /* f, scores */
  total = aligned(total);
  return total > (size_t)-1 ? 0 : (size_t)total;
}

ONE_COPY static pnrt_status start(arena* a, const pnrt_model* model, const pnrt_bank* bank, void* work, size_t bytes) {
  if (!model || !work || (bank && bank->model != model)) return PNRT_BAD_ARGUMENT;
  if ((uintptr_t)work % 4 != 0) return PNRT_MISALIGNED;
  a->at = (unsigned char*)work;
  a->left = bytes;
  a->good = 1;
  return bytes < pnrt_work_bytes(model, bank) ? PNRT_NO_MEMORY : PNRT_OK;
}

/* ---- prediction ---- */

static void prepare_features(const pnrt_model* m, const float* raw, float* x) {
  const uint32_t d = m->features;
  uint32_t j;
  if (m->feature_scaling == kScaleRoot)
    for (j = 0; j < d; ++j) x[j] = with_sign_of(sqrtf(magnitude(raw[j])), raw[j]);
  else
    for (j = 0; j < d; ++j) x[j] = raw[j];
  if (m->feature_scaling != kScaleNone) to_unit_length(x, d);
  if (m->feature_mean)
    for (j = 0; j < d; ++j) x[j] -= m->feature_mean[j];
  if (m->feature_factor)
    for (j = 0; j < d; ++j) x[j] *= m->feature_factor[j];
}

/* The k networks of largest rank, ascending; of equals the lower index. `rank` is used up. */
static void choose(const float* rank, uint32_t n, uint32_t k, float* best, uint16_t* open) {
  uint32_t count = 0, i, j;
  for (i = 0; i < n; ++i) { /* best first */
    if (count == k && !(rank[i] > best[k - 1])) continue;
    j = count < k ? count++ : k - 1;
    for (; j > 0 && rank[i] > best[j - 1]; --j) {
      best[j] = best[j - 1];
      open[j] = open[j - 1];
    }
    best[j] = rank[i];
    open[j] = (uint16_t)i;
  }
  for (i = 1; i < k; ++i) { /* now by index */
    const uint16_t moved = open[i];
    for (j = i; j > 0 && open[j - 1] > moved; --j) open[j] = open[j - 1];
    open[j] = moved;
  }
}

static void open_gates(const pnrt_model* m, const vector* e, float* rank, float* best, uint16_t* open) {
  const uint32_t n = m->networks;
  uint32_t i, j;
  if (m->gates == kAnchor) {
    multiply(m->path, &m->anchors, 0, n, e, rank);
  } else if (m->gates == kEnergy) {
    const uint32_t size = embedding_size(m), part = size / n;
    float mean = 0;
    for (j = 0; j < size; ++j) mean += e->value[j];
    mean /= (float)size;
    for (i = 0; i < n; ++i) {
      rank[i] = 0;
      for (j = i * part; j < (i + 1) * part; ++j) rank[i] += (e->value[j] - mean) * (e->value[j] - mean);
    }
  } else {
    rank[0] = 0;
  }
  choose(rank, n, m->open, best, open);
}

/* row = stored network b of z. */
static void run_network(const pnrt_model* m, uint32_t b, const vector* z, float* row) {
  const float* bias = m->network_bias + (size_t)b * m->outputs;
  uint32_t j;
  multiply(m->path, &m->network_weights, b * m->outputs, m->outputs, z, row);
  for (j = 0; j < m->outputs; ++j) row[j] += bias[j];
}

static void add_scaled(float* f, const float* row, float factor, uint32_t n) {
  uint32_t j;
  for (j = 0; j < n; ++j) f[j] += factor * row[j];
}

static void add_positive(float* f, const float* row, uint32_t n) {
  uint32_t j;
  for (j = 0; j < n; ++j) f[j] += row[j] <= 0 ? 0 : row[j]; /* what is no number stays so */
}

/* f += the open networks of z. Each stored network is run at most once, however many open ones it is part of.
 * `mix`: r values; `row`: o; `outputs`: r * o, for mixtures with ReLU alone. */
static void compose(const pnrt_model* m, const vector* z, const uint16_t* open, float* mix, float* outputs, float* row,
                    float* f) {
  const uint32_t o = m->outputs, r = m->basis;
  uint32_t i, b, j;
  if (!m->mixing) {
    for (i = 0; i < m->open; ++i) {
      run_network(m, open[i], z, row);
      if (m->relu)
        add_positive(f, row, o);
      else
        add_scaled(f, row, 1, o);
    }
  } else if (!m->relu) {
    for (b = 0; b < r; ++b) mix[b] = 0;
    for (i = 0; i < m->open; ++i) add_scaled(mix, m->mixing + (size_t)open[i] * r, 1, r);
    for (b = 0; b < r; ++b) {
      run_network(m, b, z, row);
      add_scaled(f, row, mix[b], o);
    }
  } else {
    for (b = 0; b < r; ++b) run_network(m, b, z, outputs + (size_t)b * o);
    for (i = 0; i < m->open; ++i) {
      for (j = 0; j < o; ++j) row[j] = 0;
      for (b = 0; b < r; ++b) add_scaled(row, outputs + (size_t)b * o, m->mixing[(size_t)open[i] * r + b], o);
      add_positive(f, row, o);
    }
  }
}

/* The share of |x|^2 outside of the span of the linear map from x to f - `span_offset`. Float on every path, so that
 * its bits are equal. Squares are of values relative to the largest, which cannot overflow. `row` and `v`: p values. */
static float outside_span(const pnrt_model* m, const float* x, const float* f, float* row, float* v) {
  const uint32_t p = m->outputs;
  const float unit = largest_of(x, m->features);
  float part[8] = {0, 0, 0, 0, 0, 0, 0, 0}, inside = 0, all = 0, share;
  uint32_t i, j;
  if (!m->span.data || !(unit > 0)) return 0;
  for (i = 0; i < m->features; i += 8)
    for (j = 0; j < 8 && i + j < m->features; ++j) part[j] += x[i + j] / unit * (x[i + j] / unit);
  for (j = 0; j < 8; ++j) all += part[j];
  for (i = 0; i < p; ++i) v[i] = (f[i] - m->span_offset[i]) / unit;
  for (i = 0; i < p; ++i) {
    float along;
    read_row(&m->span, i, row);
    along = product_sum(row, v, p);
    inside += along * along;
  }
  share = 1 - inside / all;
  return share > 0 ? share : 0;
}

/* `chosen` and `evidence` may be null. */
static pnrt_status predict(const pnrt_model* m, const float* features, float* f, uint16_t* chosen, float* evidence,
                           arena a) {
  const uint32_t o = m->outputs;
  float *x, *e = 0, *rank, *best, *mix, *outputs = 0, *row, *v = 0;
  int16_t *xi, *ei = 0;
  uint16_t* open;
  vector vx, ve;
  uint32_t i, j;
  if (!all_finite(features, m->features)) return PNRT_NOT_FINITE;
  x = carve_floats(&a, m->features);
  xi = carve_integers(&a, m, m->features);
  if (m->encoding) {
    e = carve_floats(&a, m->encoding);
    ei = carve_integers(&a, m, m->encoding);
  }
  rank = carve_floats(&a, m->networks);
  best = carve_floats(&a, m->open);
  open = (uint16_t*)carve(&a, (uint64_t)m->open * 2);
  mix = carve_floats(&a, m->basis);
  if (m->relu && m->mixing) outputs = carve_floats(&a, (uint64_t)m->basis * o);
  row = carve_floats(&a, o);
  if (kReject && evidence && m->span.data) v = carve_floats(&a, m->outputs);
  if (!a.good) return PNRT_NO_MEMORY;

  prepare_features(m, features, x);
  if (!all_finite(x, m->features)) return PNRT_NOT_FINITE;
  prepare(&vx, x, m->features, xi);
  ve = vx;
  if (e) {
    multiply(m->path, &m->encoder, 0, m->encoding, &vx, e);
    if (!all_finite(e, m->encoding)) return PNRT_NOT_FINITE;
    prepare(&ve, e, m->encoding, ei);
  }
  open_gates(m, &ve, rank, best, open);
  if (m->shared.data)
    multiply(m->path, &m->shared, 0, o, &vx, f);
  else
    for (j = 0; j < o; ++j) f[j] = 0;
  for (j = 0; j < o; ++j) f[j] += m->bias[j];
  if (kReject && evidence && m->shared.data) evidence[kOutside] = outside_span(m, x, f, row, v);
  compose(m, m->sees_encoding ? &ve : &vx, open, mix, outputs, row, f);
  if (kReject && evidence && !m->shared.data) evidence[kOutside] = outside_span(m, x, f, row, v);
  if (chosen)
    for (i = 0; i < m->open; ++i) chosen[i] = open[i];
  return all_finite(f, o) ? PNRT_OK : PNRT_NOT_FINITE;
}

pnrt_status pnrt_predict(const pnrt_model* model, const float* features, float* prediction, uint16_t* open, void* work,
                         size_t work_bytes) {
  arena a;
  const pnrt_status status = start(&a, model, 0, work, work_bytes);
  if (status != PNRT_OK) return status;
  return features && prediction ? predict(model, features, prediction, open, 0, a) : PNRT_BAD_ARGUMENT;
}

/* ---- the bank ---- */

/* Memory: a byte per class of the model (1: removed) and padding; for every place the hash of its name, 0 when it is
 * free, side by side so that a search touches little memory; then the places: this head, the class vector, the
 * attributes. */
typedef struct {
  float vector_scale, attribute_scale;
  char name[PNRT_NAME_BYTES];
} place_head;

ONE_COPY static uint64_t row_bytes(const pnrt_matrix* a) {
  const uint64_t element = a->type == PNRT_I8 ? 1 : a->type == PNRT_F16 ? 2 : 4;
  return (a->cols * element + 3) & ~(uint64_t)3;
}
ONE_COPY static uint64_t place_bytes(const pnrt_model* m) {
  return sizeof(place_head) + row_bytes(&m->class_vectors) + row_bytes(&m->class_attributes);
}
static uint64_t removed_bytes(const pnrt_model* m) { return (m->classes + 3) & ~(uint64_t)3; }

static place_head* place_at(const pnrt_bank* bank, uint32_t i) {
  return (place_head*)(void*)(bank->memory + removed_bytes(bank->model) + (uint64_t)bank->capacity * 4 +
                              place_bytes(bank->model) * i);
}

static uint32_t* hashes(const pnrt_bank* bank) { return (uint32_t*)(void*)(bank->memory + removed_bytes(bank->model)); }

/* The stored row of an added class, as a matrix of one row. */
ONE_COPY static pnrt_matrix place_row(const pnrt_bank* bank, uint32_t i, int attributes) {
  place_head* head = place_at(bank, i);
  const unsigned char* data = (const unsigned char*)head + sizeof *head;
  pnrt_matrix out = attributes ? bank->model->class_attributes : bank->model->class_vectors;
  out.rows = 1;
  out.data = attributes ? data + row_bytes(&bank->model->class_vectors) : data;
  out.scale = attributes ? &head->attribute_scale : &head->vector_scale;
  return out;
}

static int is_class(const pnrt_model* m, const pnrt_bank* bank, uint32_t index) {
  if (index < m->classes) return !bank || !bank->memory[index];
  return bank && index - m->classes < bank->capacity && hashes(bank)[index - m->classes] != 0;
}

ONE_COPY static int is_seen(const pnrt_model* m, uint32_t index) { return index < m->classes && m->class_seen[index]; }

/* What was learned of a class; in the learning memory, one for each slot. Sums of p values each follow: of the taught,
 * the remembered and the fresh samples, and then the class vector of o values. */
typedef struct {
  float fresh;           /* samples of the call that is running */
  uint32_t moved;        /* 1: the class vector is this one */
  float taught, samples; /* examples, remembered samples; with the first two sums, all that is saved */
} experience;

static uint64_t experience_bytes(const pnrt_model* m) { return sizeof(experience) + 16 * (uint64_t)m->outputs; }

ONE_COPY static experience* experience_at(const pnrt_bank* bank, uint32_t index) {
  return (experience*)(void*)((unsigned char*)bank->learning + experience_bytes(bank->model) * index);
}

static float* sums_of(experience* e) { return (float*)(void*)(e + 1); }

/* The class vector that samples moved; null if it is the stored one. */
static const float* moved_vector(const pnrt_bank* bank, uint32_t index) {
  experience* e = kLearn && bank && bank->learning ? experience_at(bank, index) : 0;
  return e && e->moved ? sums_of(e) + 3 * (size_t)bank->model->outputs : 0;
}

/* The most unlabelled samples of a class that are remembered, and how many of them make it move. */
MAY_BE_UNUSED static float most_samples(const pnrt_model* m) { return 10.0f * m->strength; }
static float least_samples(const pnrt_model* m) {
  const float half = most_samples(m) / 2;
  return half < 3.0f ? half : 3.0f;
}

/* How far a class follows unlabelled samples, from 0 to 1. */
ONE_COPY static float follows(const pnrt_bank* bank, uint32_t index) {
  const experience* e = experience_at(bank, index);
  const float n = e->samples;
  return e->moved && n >= least_samples(bank->model) ? n / (n + bank->model->strength) : 0;
}

float pnrt_gamma(const pnrt_model* model, const pnrt_bank* bank) {
  float sum = 0;
  uint32_t c, unseen = 0;
  if (!model) return 0;
  if (!kLearn || !bank || !bank->learning) return model->gamma;
  for (c = pnrt_class_slots(model, bank); c-- > 0;)
    if (!is_seen(model, c) && pnrt_class_name(model, bank, c)) {
      ++unseen;
      sum += follows(bank, c);
    }
  return unseen ? model->gamma + model->gamma_shift * sum / (float)unseen : model->gamma;
}

static void clear(void* memory, uint64_t bytes) {
  unsigned char* p = (unsigned char*)memory;
  uint64_t i;
  for (i = 0; i < bytes; ++i) p[i] = 0;
}

ONE_COPY static uint32_t hash_of(const char* name) {
  uint32_t h = 2166136261u;
  for (; *name; ++name) h = (h ^ (unsigned char)*name) * 16777619u;
  return h ? h : 1;
}

size_t pnrt_bank_bytes(const pnrt_model* model, uint32_t capacity) {
  uint64_t bytes;
  if (!model || capacity > 0x7fffffffu) return 0;
  bytes = removed_bytes(model) + (4 + place_bytes(model)) * capacity + kAlign; /* below 2^20 * 2^31; see `vector` */
  return bytes > (size_t)-1 ? 0 : (size_t)bytes;
}

pnrt_status pnrt_bank_init(pnrt_bank* bank, const pnrt_model* model, uint32_t capacity, void* memory, size_t bytes) {
  uint32_t i;
  const size_t needed = pnrt_bank_bytes(model, capacity);
  if (!bank || !model || !memory || needed == 0) return PNRT_BAD_ARGUMENT;
  if ((uintptr_t)memory % 4 != 0) return PNRT_MISALIGNED;
  if (bytes < needed) return PNRT_NO_MEMORY;
  bank->model = model;
  bank->memory = (unsigned char*)memory;
  bank->capacity = capacity;
  bank->added = 0;
  bank->learning = 0;
  for (i = 0; i < removed_bytes(model); ++i) bank->memory[i] = 0;
  for (i = 0; i < capacity; ++i) hashes(bank)[i] = 0;
  return PNRT_OK;
}

ONE_COPY uint32_t pnrt_class_slots(const pnrt_model* model, const pnrt_bank* bank) {
  return model ? model->classes + (bank ? bank->capacity : 0) : 0;
}

const char* pnrt_class_name(const pnrt_model* model, const pnrt_bank* bank, uint32_t index) {
  if (!model || (bank && bank->model != model) || !is_class(model, bank, index)) return 0;
  return index < model->classes ? model->class_names + model->class_name_offsets[index]
                                : place_at(bank, index - model->classes)->name;
}

const char* pnrt_attribute_name(const pnrt_model* model, uint32_t attribute) {
  const char* name;
  if (!model || !model->attribute_names || attribute >= model->attributes) return 0;
  for (name = model->attribute_names; attribute > 0; --attribute) {
    while (*name) ++name;
    ++name;
  }
  return name;
}

/* The class of the model that has that name, removed or not; `classes` if there is none. */
static uint32_t find_in_model(const pnrt_model* model, const char* name) {
  uint32_t low = 0, high = model->classes;
  while (low < high) {
    const uint32_t middle = (low + high) / 2, c = model->class_order[middle];
    const int order = compare_names(name, model->class_names + model->class_name_offsets[c]);
    if (order == 0) return c;
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  return model->classes;
}

pnrt_status pnrt_find_class(const pnrt_model* model, const pnrt_bank* bank, const char* name, uint32_t* index) {
  uint32_t i, hash;
  if (!model || !name || !index || (bank && bank->model != model)) return PNRT_BAD_ARGUMENT;
  i = find_in_model(model, name);
  if (i < model->classes && is_class(model, bank, i)) {
    *index = i;
    return PNRT_OK;
  } /* one of the name of a removed class may have been added since */
  if (!bank || bank->added == 0) return PNRT_NOT_FOUND;
  hash = hash_of(name);
  for (i = 0; i < bank->capacity; ++i)
    if (hashes(bank)[i] == hash && compare_names(name, place_at(bank, i)->name) == 0) {
      *index = model->classes + i;
      return PNRT_OK;
    }
  return PNRT_NOT_FOUND;
}

/* Raw attributes to scaled ones, in place. */
static void scale_attributes(const pnrt_model* model, float* a) {
  const uint32_t m = model->attributes;
  uint32_t j, t;
  if (model->semantic_mean)
    for (j = 0; j < m; ++j) a[j] -= model->semantic_mean[j];
  if (model->semantic_factor)
    for (j = 0; j < m; ++j) a[j] *= model->semantic_factor[j];
  if (model->semantic_scaling == kBinary)
    for (j = 0; j < m; ++j) a[j] = a[j] > 0 ? 1.0f : 0.0f;
  if (model->semantic_scaling != kUnit) return;
  if (!model->tables) to_unit_length(a, m);
  for (t = 0; t < model->tables; a += model->table_attributes[t++]) to_unit_length(a, model->table_attributes[t]);
}

/* What the attributes of a class alone say of it. */
typedef struct {
  float* b;        /* q: prepared attributes, for cosine at unit length */
  float* likeness; /* S: kernel of b and each supporting class */
  float* vector;   /* o: class vector */
  float length;    /* of b before it was scaled */
} description;

static void carve_description(arena* a, const pnrt_model* m, description* out) {
  out->b = carve_floats(a, m->semantics);
  out->likeness = carve_floats(a, m->support);
  out->vector = carve_floats(a, m->outputs);
}

/* `a` has m scaled attributes. */
static pnrt_status describe(const pnrt_model* model, const float* a, description* out, arena work) {
  const uint32_t m = model->attributes, o = model->outputs, q = model->semantics, s = model->support;
  float* sum = carve_floats(&work, most_of(m, o));
  int16_t *mi = carve_integers(&work, model, m), *qi = carve_integers(&work, model, q),
          *si = carve_integers(&work, model, s);
  vector v;
  uint32_t j;
  if (!work.good) return PNRT_NO_MEMORY;
  if (model->whitening.data) {
    for (j = 0; j < m; ++j) sum[j] = a[j] - model->whitening_centre[j];
    if (!all_finite(sum, m)) return PNRT_NOT_FINITE;
    prepare(&v, sum, m, mi);
    multiply(model->path, &model->whitening, 0, q, &v, out->b);
  } else {
    for (j = 0; j < q; ++j) out->b[j] = a[j];
  }
  if (!s && model->similarity == kCosine && model->semantic_centre)
    for (j = 0; j < q; ++j) out->b[j] -= model->semantic_centre[j];
  if (!all_finite(out->b, q)) return PNRT_NOT_FINITE;
  out->length = length_of(out->b, q);
  if (model->similarity == kCosine) to_unit_length(out->b, q);
  for (j = 0; j < o; ++j) out->vector[j] = s ? 0 : out->b[j];
  if (!s || !(out->length > 0)) return PNRT_OK;
  prepare(&v, out->b, q, qi);
  multiply(model->path, &model->prototype_support, 0, s, &v, out->likeness);
  if (!all_finite(out->likeness, s)) return PNRT_NOT_FINITE;
  if (model->width > 0)
    for (j = 0; j < s; ++j) out->likeness[j] = exponential((out->likeness[j] - 1.0f) / (model->width * model->width));
  prepare(&v, out->likeness, s, si);
  multiply(model->path, &model->prototype_weights, 0, o, &v, sum);
  for (j = 0; j < o; ++j) out->vector[j] += sum[j];
  return all_finite(out->vector, o) ? PNRT_OK : PNRT_NOT_FINITE;
}

/* Values that a half can hold, and whose squares a float can. */
ONE_COPY static int storable(const pnrt_matrix* a, const float* v) {
  const float most = a->type == PNRT_F16 ? 65000.0f : 1e18f;
  uint32_t j;
  for (j = 0; j < a->cols; ++j)
    if (!(v[j] >= -most && v[j] <= most)) return 0;
  return 1;
}

pnrt_status pnrt_add_class(pnrt_bank* bank, const char* name, const float* attributes, uint32_t* index, void* work,
                           size_t work_bytes) {
  const pnrt_model* m = bank ? bank->model : 0;
  place_head* head;
  pnrt_matrix vector_row, attribute_row;
  arena a;
  description d;
  float* scaled;
  uint32_t i, j, known, length = 0;
  pnrt_status status = start(&a, m, bank, work, work_bytes);
  if (status != PNRT_OK) return status;
  if (!name || !attributes) return PNRT_BAD_ARGUMENT;
  while (length < PNRT_NAME_BYTES && name[length]) ++length;
  if (length == 0 || length == PNRT_NAME_BYTES) return PNRT_BAD_NAME;
  if (pnrt_find_class(m, bank, name, &known) == PNRT_OK) return PNRT_EXISTS;
  if (bank->added == bank->capacity) return PNRT_FULL;
  if (!all_finite(attributes, m->attributes) || !storable(&m->class_attributes, attributes)) return PNRT_NOT_FINITE;
  scaled = carve_floats(&a, m->attributes);
  carve_description(&a, m, &d);
  if (!a.good) return PNRT_NO_MEMORY;
  for (j = 0; j < m->attributes; ++j) scaled[j] = attributes[j];
  scale_attributes(m, scaled);
  status = describe(m, scaled, &d, a);
  if (status != PNRT_OK) return status;
  if (has_class_space(m)) to_unit_length(d.vector, m->outputs);
  if (!all_finite(d.vector, m->outputs) || !storable(&m->class_vectors, d.vector)) return PNRT_NOT_FINITE;
  i = bank->added;
  if (hashes(bank)[i] != 0) /* places were freed: the first free one */
    for (i = 0; hashes(bank)[i] != 0; ++i) {
    }
  head = place_at(bank, i);
  clear(head, place_bytes(m)); /* padding too: it is saved */
  hashes(bank)[i] = hash_of(name);
  head->vector_scale = head->attribute_scale = 1;
  for (j = 0; j <= length; ++j) head->name[j] = name[j];
  vector_row = place_row(bank, i, 0);
  attribute_row = place_row(bank, i, 1);
  write_row(&vector_row, &head->vector_scale, d.vector, m->similarity == kCosine);
  if (kAttributes) write_row(&attribute_row, &head->attribute_scale, attributes, 0);
  ++bank->added;
  if (index) *index = m->classes + i;
  return PNRT_OK;
}

pnrt_status pnrt_remove_class(pnrt_bank* bank, const char* name) {
  uint32_t index;
  pnrt_status status;
  if (!bank) return PNRT_BAD_ARGUMENT;
  status = pnrt_find_class(bank->model, bank, name, &index);
  if (status != PNRT_OK) return status;
  if (index < bank->model->classes) {
    bank->memory[index] = 1;
  } else {
    hashes(bank)[index - bank->model->classes] = 0;
    --bank->added;
  }
  if (kLearn && bank->learning) clear(experience_at(bank, index), experience_bytes(bank->model));
  return PNRT_OK;
}

/* The vector or attributes of a class as they are stored, which samples do not move. */
static void stored_row(const pnrt_model* m, const pnrt_bank* bank, uint32_t index, int attributes, float* out) {
  if (index < m->classes) {
    read_row(attributes ? &m->class_attributes : &m->class_vectors, index, out);
  } else {
    const pnrt_matrix one = place_row(bank, index - m->classes, attributes);
    read_row(&one, 0, out);
  }
}

/* The vector of a class as it is compared with predictions. */
static void class_vector(const pnrt_model* m, const pnrt_bank* bank, uint32_t index, float* out) {
  const float* moved = moved_vector(bank, index);
  uint32_t j;
  if (!moved) stored_row(m, bank, index, 0, out);
  for (j = 0; moved && j < m->outputs; ++j) out[j] = moved[j];
}

pnrt_status pnrt_class_vector(const pnrt_model* model, const pnrt_bank* bank, uint32_t index, float* values) {
  if (!model || !values || (bank && bank->model != model)) return PNRT_BAD_ARGUMENT;
  if (!is_class(model, bank, index)) return PNRT_NOT_FOUND;
  class_vector(model, bank, index, values);
  return all_finite(values, model->outputs) ? PNRT_OK : PNRT_NOT_FINITE;
}

/* ---- scores ---- */

/* f as it is compared with class vectors, in place. */
static pnrt_status centre(const pnrt_model* m, float* f, float* evidence) {
  uint32_t j;
  if (m->similarity == kCosine && m->semantic_centre)
    for (j = 0; j < m->outputs; ++j) f[j] -= m->semantic_centre[j];
  if (!is_finite(product_sum(f, f, m->outputs))) return PNRT_NOT_FINITE;
  if (kReject && evidence) evidence[kLength] = length_of(f, m->outputs);
  return PNRT_OK;
}

/* f is centred in place for cosine; scores has a value per slot; `evidence` may be null. */
static pnrt_status score(const pnrt_model* m, const pnrt_bank* bank, float* f, float* scores, float* evidence,
                         arena a) {
  const uint32_t o = m->outputs, slots = pnrt_class_slots(m, bank);
  int16_t* oi = carve_integers(&a, m, o);
  float* row = m->similarity == kEuclidean ? carve_floats(&a, o) : 0;
  float length, square;
  vector v;
  uint32_t c;
  if (!a.good) return PNRT_NO_MEMORY;
  if (centre(m, f, evidence) != PNRT_OK) return PNRT_NOT_FINITE;
  square = product_sum(f, f, o);
  length = sqrtf(square);
  prepare(&v, f, o, oi);
  multiply(m->path, &m->class_vectors, 0, m->classes, &v, scores);
  for (c = 0; c < slots; ++c) {
    const float* moved;
    pnrt_matrix one;
    if (!is_class(m, bank, c)) {
      scores[c] = -FLT_MAX;
      continue;
    }
    moved = moved_vector(bank, c);
    if (moved) {
      scores[c] = product_sum(moved, f, o); /* float on every path, so that its bits are equal */
    } else if (c >= m->classes) {
      one = place_row(bank, c - m->classes, 0);
      multiply(m->path, &one, 0, 1, &v, scores + c);
    }
    if (m->similarity == kCosine) {
      scores[c] = length > 0 ? scores[c] / length : 0;
    } else if (m->similarity == kEuclidean) {
      float distance;
      if (c < m->classes)
        read_row(&m->class_vectors, c, row);
      else
        read_row(&one, 0, row);
      distance = square + product_sum(row, row, o) - 2 * scores[c];
      scores[c] = distance <= 0 ? 0 : -sqrtf(distance); /* what is no number stays so */
    }
    if (!is_finite(scores[c])) return PNRT_NOT_FINITE;
  }
  return PNRT_OK;
}

pnrt_status pnrt_scores(const pnrt_model* model, const pnrt_bank* bank, const float* features, float* scores,
                        void* work, size_t work_bytes) {
  arena a;
  float* f;
  pnrt_status status = start(&a, model, bank, work, work_bytes);
  if (status != PNRT_OK) return status;
  if (!features || !scores) return PNRT_BAD_ARGUMENT;
  f = carve_floats(&a, model->outputs);
  status = predict(model, features, f, 0, 0, a);
  return status == PNRT_OK ? score(model, bank, f, scores, 0, a) : status;
}

uint64_t pnrt_multiply_adds(const pnrt_model* model, const pnrt_bank* bank) {
  uint64_t d, o, work, networks;
  if (!model) return 0;
  d = model->features;
  o = model->outputs;
  networks = model->mixing ? model->basis : model->open;
  work = model->encoding * d + networks * o * (input_size(model) + 1);
  if (model->gates == kAnchor) work += (uint64_t)model->networks * embedding_size(model);
  if (model->shared.data) work += o * d;
  if (model->mixing) work += (uint64_t)model->open * model->basis * (model->relu ? o : 1);
  return work + o * (model->classes + (bank ? bank->added : 0));
}

static int competes(const pnrt_model* m, const pnrt_bank* bank, uint32_t index, uint32_t among) {
  return is_class(m, bank, index) && (among == PNRT_ALL || (among == PNRT_SEEN) == is_seen(m, index));
}

/* The length of the place of a class in class space. Of an added class it is not stored: its attributes tell. */
ONE_COPY static pnrt_status place_length(const pnrt_model* m, const pnrt_bank* bank, uint32_t index, float* length,
                                         arena work) {
  description d;
  float* attributes;
  pnrt_status status;
  if (index < m->classes) {
    *length = m->class_lengths[index];
    return PNRT_OK;
  }
  attributes = carve_floats(&work, m->attributes);
  carve_description(&work, m, &d);
  if (!work.good) return PNRT_NO_MEMORY;
  stored_row(m, bank, index, 1, attributes);
  scale_attributes(m, attributes);
  status = describe(m, attributes, &d, work);
  if (status == PNRT_OK) *length = length_of(d.vector, m->outputs);
  return status;
}

/* Judges a sample by its evidence, of which length and outside are there. `sum`: of the softmax over `classes`. */
static pnrt_status reject(const pnrt_model* m, const pnrt_bank* bank, const pnrt_match* best, float gamma, float sum,
                          uint32_t classes, float* evidence, pnrt_verdict* verdict, arena a) {
  const int seen = is_seen(m, best->index);
  const float *weight = m->rejection + (seen ? kEvidence + 1 : 0), *low = m->rejection + kLow,
              *high = m->rejection + kHigh;
  const float root = sqrtf((float)m->outputs);
  float cosine = seen ? best->score + gamma : best->score, place, known = weight[kEvidence];
  const pnrt_status status = place_length(m, bank, best->index, &place, a);
  uint32_t i;
  if (status != PNRT_OK) return status;
  cosine = cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
  evidence[kScore] = best->score;
  evidence[kEnergyOf] = best->score + m->temperature * (logarithm(sum) - logarithm((float)classes));
  evidence[kDistance] = evidence[kLength] * sqrtf(1 - cosine * cosine) / root;
  evidence[kFit] = place > 0 ? evidence[kLength] * cosine / place : 0;
  evidence[kLength] /= root;
  for (i = 0; i < kEvidence; ++i) {
    known += weight[i] * evidence[i];
    if (!(evidence[i] >= low[i] && evidence[i] <= high[i])) break;
  }
  verdict->known_score = i == kEvidence && is_finite(known) ? known : -FLT_MAX;
  verdict->unknown = verdict->known_score < m->rejection[kThresholds + (seen ? 1 : 0)];
  return PNRT_OK;
}

pnrt_status pnrt_classify(const pnrt_model* model, const pnrt_bank* bank, const float* features,
                          const pnrt_query* query, pnrt_match* top, uint32_t k, pnrt_verdict* verdict, void* work,
                          size_t work_bytes) {
  const uint32_t among = query ? query->among : PNRT_ALL;
  const uint32_t slots = pnrt_class_slots(model, bank);
  const int rejects = kReject && query && query->reject;
  const float gamma = pnrt_gamma(model, bank);
  arena a;
  float *f, *scores, sum = 0, evidence[kEvidence];
  uint32_t c, i, classes = 0;
  pnrt_status status = start(&a, model, bank, work, work_bytes);
  if (status != PNRT_OK) return status;
  if (!features || !top || !verdict || k == 0 || among > PNRT_UNSEEN || (query && query->reject > 1))
    return PNRT_BAD_ARGUMENT;
  if (!kReject && query && query->reject) return PNRT_LEFT_OUT;
  if (rejects && !model->rejection) return PNRT_NO_REJECTION;
  f = carve_floats(&a, model->outputs);
  scores = carve_floats(&a, slots);
  status = predict(model, features, f, 0, rejects ? evidence : 0, a);
  if (status == PNRT_OK) status = score(model, bank, f, scores, rejects ? evidence : 0, a);
  if (status != PNRT_OK) return status;
  verdict->count = 0;
  for (c = 0; c < slots; ++c) { /* insertion into the k best */
    if (!competes(model, bank, c, among)) continue;
    ++classes;
    if (is_seen(model, c)) scores[c] -= gamma;
    if (verdict->count == k && !(scores[c] > top[k - 1].score)) continue;
    i = verdict->count < k ? verdict->count++ : k - 1;
    for (; i > 0 && scores[c] > top[i - 1].score; --i) top[i] = top[i - 1];
    top[i].index = c;
    top[i].score = scores[c];
  }
  for (c = 0; c < slots; ++c)
    if (competes(model, bank, c, among)) sum += exponential((scores[c] - top[0].score) / model->temperature);
  for (i = 0; i < verdict->count; ++i)
    top[i].confidence = exponential((top[i].score - top[0].score) / model->temperature) / sum;
  verdict->unknown = verdict->count == 0;
  verdict->known_score = rejects ? -FLT_MAX : 0;
  if (!rejects || verdict->count == 0) return PNRT_OK;
  return reject(model, bank, top, gamma, sum, classes, evidence, verdict, a);
}

/* ---- learning ---- */

/* v = weight * v + sum, at unit length. */
ONE_COPY MAY_BE_UNUSED static void draw_towards(float* v, float weight, const float* sum, uint32_t n) {
  uint32_t j;
  for (j = 0; j < n; ++j) v[j] = weight * v[j] + sum[j];
  to_unit_length(v, n);
}

MAY_BE_UNUSED static int has_length(const pnrt_model* m, const float* v) {
  return all_finite(v, m->outputs) && is_finite(length_of(v, m->outputs));
}

/* Places a class by what was learned of it, and by nothing else: a bank that is loaded is as it was when saved. */
MAY_BE_UNUSED static void place_class(const pnrt_bank* bank, uint32_t index) {
  const pnrt_model* m = bank->model;
  const uint32_t p = m->outputs;
  experience* e = experience_at(bank, index);
  float *taught = sums_of(e), *sum = taught + p, *v = sum + 2 * (size_t)p, length;
  const int adapted = e->samples >= least_samples(m);
  uint32_t j;
  stored_row(m, bank, index, 0, v);
  e->moved = (e->taught > 0 || adapted) && has_length(m, v);
  if (!e->moved) return;
  length = length_of(v, p);
  if (!(length > 0)) length = 1;
  to_unit_length(v, p);
  if (e->taught > 0) draw_towards(v, m->example_prior, taught, p);
  if (adapted) draw_towards(v, m->strength, sum, p);
  for (j = 0; j < p; ++j) v[j] *= length;
}

#ifndef PNRT_NO_LEARN
size_t pnrt_learning_bytes(const pnrt_bank* bank) {
  uint64_t bytes;
  if (!bank || !has_class_space(bank->model)) return 0;
  bytes = experience_bytes(bank->model) * pnrt_class_slots(bank->model, bank); /* below 2^21 * 2^32 */
  return bytes > (size_t)-1 ? 0 : (size_t)bytes;
}

pnrt_status pnrt_bank_learn(pnrt_bank* bank, void* memory, size_t bytes) {
  const size_t needed = pnrt_learning_bytes(bank);
  if (!bank || !memory) return PNRT_BAD_ARGUMENT;
  if (!has_class_space(bank->model)) return PNRT_CANNOT_LEARN;
  if ((uintptr_t)memory % 4 != 0) return PNRT_MISALIGNED;
  if (needed == 0 || bytes < needed) return PNRT_NO_MEMORY;
  bank->learning = (float*)memory;
  clear(memory, needed);
  return PNRT_OK;
}

pnrt_status pnrt_forget(pnrt_bank* bank) {
  if (!bank) return PNRT_BAD_ARGUMENT;
  if (!bank->learning) return PNRT_CANNOT_LEARN;
  clear(bank->learning, pnrt_learning_bytes(bank));
  return PNRT_OK;
}

static pnrt_status start_learning(arena* a, const pnrt_bank* bank, const float* features, void* work, size_t bytes) {
  const pnrt_status status = start(a, bank ? bank->model : 0, bank, work, bytes);
  if (status != PNRT_OK) return status;
  if (!features) return PNRT_BAD_ARGUMENT;
  return bank->learning ? PNRT_OK : PNRT_CANNOT_LEARN;
}

static void add_fresh(const pnrt_bank* bank, uint32_t index, const float* sample, float share) {
  const uint32_t p = bank->model->outputs;
  experience* e = experience_at(bank, index);
  e->fresh += share;
  add_scaled(sums_of(e) + 2 * (size_t)p, sample, share, p);
}

/* Adds a sample to the unseen classes that it convinces. `scores` are used up. */
static void share_out(const pnrt_bank* bank, const float* sample, float* scores) {
  const pnrt_model* m = bank->model;
  const uint32_t slots = pnrt_class_slots(m, bank);
  float best = -FLT_MAX, sum = 0;
  uint32_t c;
  for (c = 0; c < slots; ++c) { /* slots without a class have the lowest score */
    if (is_seen(m, c)) scores[c] -= m->gamma;
    if (scores[c] > best) best = scores[c];
  }
  for (c = 0; c < slots; ++c) {
    scores[c] = is_class(m, bank, c) ? exponential(m->sharpness * (scores[c] - best)) : 0;
    sum += scores[c];
  }
  for (c = 0; c < slots; ++c) {
    const float share = scores[c] > 0 ? scores[c] / sum : 0;
    if (share > 0 && share >= m->certainty && !is_seen(m, c)) add_fresh(bank, c, sample, share);
  }
}

/* Adds samples to the class `index`, or to those that they convince if that is no slot. */
static pnrt_status take_samples(const pnrt_bank* bank, uint32_t index, const float* features, uint32_t count, arena a) {
  const pnrt_model* m = bank->model;
  const uint32_t slots = pnrt_class_slots(m, bank);
  float *f = carve_floats(&a, m->outputs), *scores = carve_floats(&a, slots);
  const float least = index < slots ? 0 : m->least_length * sqrtf((float)m->outputs);
  pnrt_status status = PNRT_OK;
  float length;
  uint32_t c;
  for (c = 0; c < slots; ++c) {
    experience* e = experience_at(bank, c);
    e->fresh = 0;
    clear(sums_of(e) + 2 * (size_t)m->outputs, 4 * (uint64_t)m->outputs);
  }
  for (; count > 0; --count, features += m->features) {
    status = predict(m, features, f, 0, 0, a);
    if (status == PNRT_OK) status = index < slots ? centre(m, f, 0) : score(m, bank, f, scores, 0, a);
    if (status != PNRT_OK) break;
    length = length_of(f, m->outputs);
    if (!(length > 0 && length >= least)) continue;
    to_unit_length(f, m->outputs);
    if (index < slots)
      add_fresh(bank, index, f, 1);
    else
      share_out(bank, f, scores);
  }
  return status;
}

/* Fresh samples join the remembered ones, of which they displace some. */
static void remember(const pnrt_bank* bank, uint32_t index) {
  const uint32_t p = bank->model->outputs;
  const float most = most_samples(bank->model);
  experience* e = experience_at(bank, index);
  float *sum = sums_of(e) + p, *fresh = sum + p, keep = 1 - e->fresh / most;
  uint32_t j;
  if (!(keep > 0)) keep = 0;
  for (j = 0; j < p; ++j) sum[j] = keep * sum[j] + fresh[j];
  e->samples = keep * e->samples + e->fresh;
  if (e->samples > most) {
    keep = most / e->samples;
    for (j = 0; j < p; ++j) sum[j] *= keep;
    e->samples = most;
  }
}

pnrt_status pnrt_adapt(pnrt_bank* bank, const float* features, uint32_t count, uint32_t* moved, void* work,
                       size_t work_bytes) {
  arena a;
  uint32_t c, slots, places = 0;
  pnrt_status status = start_learning(&a, bank, features, work, work_bytes);
  if (status != PNRT_OK) return status;
  slots = pnrt_class_slots(bank->model, bank);
  status = take_samples(bank, slots, features, count, a);
  for (c = 0; c < slots && status == PNRT_OK; ++c) {
    experience* e = experience_at(bank, c);
    if (!(e->fresh > 0)) continue;
    remember(bank, c);
    place_class(bank, c);
    places += follows(bank, c) > 0;
  }
  if (moved && status == PNRT_OK) *moved = places;
  return status;
}

pnrt_status pnrt_teach(pnrt_bank* bank, const char* name, const float* features, uint32_t count, void* work,
                       size_t work_bytes) {
  const pnrt_model* m;
  arena a;
  experience* e;
  float* taught;
  uint32_t index;
  pnrt_status status = start_learning(&a, bank, features, work, work_bytes);
  if (status != PNRT_OK) return status;
  m = bank->model;
  status = pnrt_find_class(m, bank, name, &index);
  if (status != PNRT_OK) return status;
  stored_row(m, bank, index, 0, (float*)work);
  if (!has_length(m, (const float*)work)) return PNRT_NOT_FINITE;
  status = take_samples(bank, index, features, count, a);
  if (status != PNRT_OK) return status;
  e = experience_at(bank, index);
  taught = sums_of(e);
  e->taught += e->fresh;
  add_scaled(taught, taught + 2 * (size_t)m->outputs, 1, m->outputs);
  place_class(bank, index);
  return PNRT_OK;
}
#endif

/* ---- saved banks ---- */

#ifndef PNRT_NO_SAVE
/* Header: magic, version, size, CRC-32 as in a model; the checksum of the model, and how many classes were added and
 * learned of. Then the bytes of removed classes; the added ones, each as its number and place; those learned of, each
 * as its index, the two numbers of samples and the two sums. */
static uint64_t saved_place_bytes(const pnrt_model* m) { return 4 + place_bytes(m); }
static uint64_t saved_experience_bytes(const pnrt_model* m) { return 12 + 8 * (uint64_t)m->outputs; }

static unsigned char* saved_part(const pnrt_bank* bank, uint32_t index) {
  return (unsigned char*)experience_at(bank, index) + offsetof(experience, taught);
}

static int knows(const pnrt_bank* bank, uint32_t index) {
  const experience* e = kLearn && bank->learning ? experience_at(bank, index) : 0;
  return e && (e->taught > 0 || e->samples > 0);
}

static uint64_t saved_bytes(const pnrt_model* m, uint64_t added, uint64_t known) {
  return kSavedHeader + removed_bytes(m) + added * saved_place_bytes(m) + known * saved_experience_bytes(m);
}

static uint32_t count_known(const pnrt_bank* bank) {
  uint32_t c, known = 0;
  for (c = 0; c < pnrt_class_slots(bank->model, bank); ++c) known += (uint32_t)knows(bank, c);
  return known;
}

size_t pnrt_saved_bytes(const pnrt_bank* bank) {
  const uint64_t bytes = bank ? saved_bytes(bank->model, bank->added, count_known(bank)) : 0;
  return bytes > 0x7fffffffu ? 0 : (size_t)bytes;
}

static void copy(void* to, const void* from, uint64_t bytes) {
  uint64_t i;
  for (i = 0; i < bytes; ++i) ((unsigned char*)to)[i] = ((const unsigned char*)from)[i];
}

static void put_u32(unsigned char* p, uint32_t value) { copy(p, &value, 4); }

pnrt_status pnrt_bank_save(const pnrt_bank* bank, void* buffer, size_t bytes) {
  const size_t size = pnrt_saved_bytes(bank);
  const pnrt_model* m;
  unsigned char *p = (unsigned char*)buffer, *at;
  uint32_t i;
  if (!bank || !buffer) return PNRT_BAD_ARGUMENT;
  if (size == 0 || bytes < size) return PNRT_NO_MEMORY;
  m = bank->model;
  copy(p, "PNRTBANK", 8);
  put_u32(p + 8, kSavedVersion);
  put_u32(p + 12, (uint32_t)size);
  put_u32(p + 20, m->checksum);
  put_u32(p + 24, bank->added);
  put_u32(p + 28, count_known(bank));
  at = p + kSavedHeader;
  copy(at, bank->memory, removed_bytes(m));
  at += removed_bytes(m);
  for (i = 0; i < bank->capacity; ++i) {
    if (hashes(bank)[i] == 0) continue;
    put_u32(at, i);
    copy(at + 4, place_at(bank, i), place_bytes(m));
    at += saved_place_bytes(m);
  }
  for (i = 0; i < pnrt_class_slots(m, bank); ++i) {
    if (!knows(bank, i)) continue;
    put_u32(at, i);
    copy(at + 4, saved_part(bank, i), saved_experience_bytes(m) - 4);
    at += saved_experience_bytes(m);
  }
  put_u32(p + 16, crc32_of(p + 20, size - 20));
  return PNRT_OK;
}

/* Values from -most to most; of any alignment. */
static int bounded(const unsigned char* p, uint32_t n, float most) {
  uint32_t i;
  for (i = 0; i < n; ++i, p += 4)
    if (!(f32_at(p) >= -most && f32_at(p) <= most)) return 0;
  return 1;
}

/* Values such as pnrt_add_class stores. */
static int is_row(const pnrt_matrix* a, const unsigned char* scale, const unsigned char* p) {
  uint32_t i;
  if (!(f32_at(scale) >= 0 && f32_at(scale) <= 1e16f)) return 0;
  if (a->type == PNRT_F32) return bounded(p, a->cols, 1e18f);
  for (i = 0; a->type == PNRT_F16 && i < a->cols; ++i)
    if ((p[2 * i + 1] & 0x7cu) == 0x7cu) return 0;
  return 1;
}

ONE_COPY static int is_place(const pnrt_model* m, const unsigned char* removed, const unsigned char* place) {
  const unsigned char *name = place + offsetof(place_head, name), *vector_row = place + sizeof(place_head);
  uint32_t length = 0, same;
  while (length < PNRT_NAME_BYTES && name[length]) ++length;
  if (length == 0 || length == PNRT_NAME_BYTES) return 0;
  same = find_in_model(m, (const char*)name);
  return (same == m->classes || removed[same]) && is_row(&m->class_vectors, place, vector_row) &&
         is_row(&m->class_attributes, place + 4, vector_row + row_bytes(&m->class_vectors));
}

static int is_experience(const pnrt_model* m, const unsigned char* p) {
  const float taught = f32_at(p), samples = f32_at(p + 4);
  return taught >= 0 && taught <= FLT_MAX / 4 && samples >= 0 && samples <= most_samples(m) &&
         bounded(p + 8, m->outputs, 2 * taught) && bounded(p + 8 + 4 * (size_t)m->outputs, m->outputs, 2 * samples);
}

/* Whether a slot of the saved bank has a class: not removed, or among the added ones. */
static int has_saved_class(const pnrt_model* m, const unsigned char* removed, uint32_t added, uint32_t index) {
  const unsigned char* at = removed + removed_bytes(m);
  if (index < m->classes) return !removed[index];
  for (; added > 0; --added, at += saved_place_bytes(m))
    if (u32_at(at) == index - m->classes) return 1;
  return 0;
}

static pnrt_status check_saved(const pnrt_bank* bank, const unsigned char* p) {
  const pnrt_model* m = bank->model;
  const uint32_t added = u32_at(p + 24), known = u32_at(p + 28);
  const unsigned char *removed = p + kSavedHeader, *at = removed + removed_bytes(m), *other;
  uint32_t i, last = 0;
  for (i = 0; i < removed_bytes(m); ++i)
    if (removed[i] > (i < m->classes)) return PNRT_INVALID;
  for (i = 0; i < added; ++i, at += saved_place_bytes(m)) {
    if ((i > 0 && u32_at(at) <= last) || !is_place(m, removed, at + 4)) return PNRT_INVALID;
    last = u32_at(at);
    if (last >= bank->capacity) return PNRT_NO_MEMORY;
    for (other = removed + removed_bytes(m); other < at; other += saved_place_bytes(m))
      if (compare_names((const char*)other + 4 + offsetof(place_head, name),
                        (const char*)at + 4 + offsetof(place_head, name)) == 0)
        return PNRT_INVALID;
  }
  if (!kLearn && known > 0) return PNRT_LEFT_OUT;
  for (i = 0; kLearn && i < known; ++i, at += saved_experience_bytes(m)) {
    if ((i > 0 && u32_at(at) <= last) || !has_saved_class(m, removed, added, u32_at(at)) || !is_experience(m, at + 4))
      return PNRT_INVALID;
    last = u32_at(at);
  }
  return kLearn && known > 0 && !bank->learning ? PNRT_CANNOT_LEARN : PNRT_OK;
}

pnrt_status pnrt_bank_load(pnrt_bank* bank, const void* buffer, size_t bytes) {
  const unsigned char *p = (const unsigned char*)buffer, *at;
  const pnrt_model* m;
  pnrt_status status;
  uint32_t i;
  if (!bank || !buffer) return PNRT_BAD_ARGUMENT;
  m = bank->model;
  if (!starts_with(p, bytes, "PNRTBANK")) return PNRT_NOT_A_MODEL;
  if (bytes < kSavedHeader) return PNRT_TRUNCATED;
  if (u32_at(p + 8) != kSavedVersion) return PNRT_OTHER_VERSION;
  status = check_contents(p, bytes, kSavedHeader);
  if (status != PNRT_OK) return status;
  if (u32_at(p + 20) != m->checksum) return PNRT_OTHER_MODEL;
  if (saved_bytes(m, u32_at(p + 24), u32_at(p + 28)) != bytes) return PNRT_INVALID;
  status = check_saved(bank, p);
  if (status != PNRT_OK) return status;
  at = p + kSavedHeader;
  copy(bank->memory, at, removed_bytes(m));
  at += removed_bytes(m);
  clear(hashes(bank), 4 * (uint64_t)bank->capacity);
  bank->added = u32_at(p + 24);
  for (i = 0; i < bank->added; ++i, at += saved_place_bytes(m)) {
    place_head* head = place_at(bank, u32_at(at));
    copy(head, at + 4, place_bytes(m));
    hashes(bank)[u32_at(at)] = hash_of(head->name);
  }
  if (kLearn && bank->learning) clear(bank->learning, experience_bytes(m) * pnrt_class_slots(m, bank));
  for (i = 0; kLearn && i < u32_at(p + 28); ++i, at += saved_experience_bytes(m)) {
    copy(saved_part(bank, u32_at(at)), at + 4, saved_experience_bytes(m) - 4);
    place_class(bank, u32_at(at));
  }
  return PNRT_OK;
}
#endif

/* ---- explanation ---- */

#ifndef PNRT_NO_EXPLAIN
/* q values of prepared attributes as m of attribute space. `unit`: along axes of length 1, which keeps lengths and
 * angles. */
static void expand(const pnrt_model* m, const float* v, int unit, float* row, float* out) {
  uint32_t i, j;
  if (!m->whitening.data) {
    for (j = 0; j < m->attributes; ++j) out[j] = v[j];
    return;
  }
  for (j = 0; j < m->attributes; ++j) out[j] = 0;
  for (i = 0; i < m->semantics; ++i) {
    float length = 1;
    read_row(&m->whitening, i, row);
    if (unit) length = length_of(row, m->attributes);
    if (!(length > 0)) continue;
    for (j = 0; j < m->attributes; ++j) out[j] += v[i] / length * row[j];
  }
}

static pnrt_status predict_attributes(const pnrt_model* m, const float* f, float* predicted, arena work) {
  float* row = carve_floats(&work, m->attributes);
  int16_t* oi = carve_integers(&work, m, m->outputs);
  vector v;
  if (!work.good) return PNRT_NO_MEMORY;
  if (has_class_space(m)) {
    prepare(&v, f, m->outputs, oi);
    multiply(m->path, &m->attribute_head, 0, m->attributes, &v, predicted);
    add_scaled(predicted, m->attribute_offset, 1, m->attributes);
  } else {
    expand(m, f, 1, row, predicted);
  }
  return all_finite(predicted, m->attributes) ? PNRT_OK : PNRT_NOT_FINITE;
}

/* An end of the line on which cosines are explained. */
typedef struct {
  float *a, *own;  /* m: scaled attributes; o: what is in the class vector beside what they predict */
  float predicted; /* weight of that */
} line_end;

static pnrt_status end_at(const pnrt_model* m, const pnrt_bank* bank, uint32_t index, line_end* end, description* d,
                          arena work) {
  const int placed = has_class_space(m) && index < m->classes;
  pnrt_status status;
  float length;
  uint32_t j;
  stored_row(m, bank, index, 1, end->a);
  class_vector(m, bank, index, end->own);
  scale_attributes(m, end->a);
  status = describe(m, end->a, d, work);
  if (status != PNRT_OK) return status;
  length = placed ? m->class_lengths[index] : length_of(d->vector, m->outputs);
  end->predicted = placed ? m->class_predicted[index] : 1;
  for (j = 0; j < m->outputs; ++j) end->own[j] = end->own[j] * length - end->predicted * d->vector[j];
  return PNRT_OK;
}

/* slope (m values) = transposed derivative of the class vector by the attributes, times g (o). `h` has q values,
 * `along` S, `row` the most of m, q and S. */
static void pull_back(const pnrt_model* m, const description* d, const float* g, float* h, float* along, float* row,
                      float* slope) {
  const uint32_t q = m->semantics, s = m->support;
  uint32_t i, j;
  for (i = 0; i < q; ++i) h[i] = !s && d->length > 0 ? g[i] : 0;
  if (s && d->length > 0) {
    for (i = 0; i < s; ++i) along[i] = 0;
    for (j = 0; j < m->outputs; ++j) {
      read_row(&m->prototype_weights, j, row);
      add_scaled(along, row, g[j], s);
    }
    for (i = 0; i < s; ++i) {
      if (m->width > 0) along[i] *= d->likeness[i] / (m->width * m->width);
      read_row(&m->prototype_support, i, row);
      add_scaled(h, row, along[i], q);
    }
  }
  add_scaled(h, d->b, -product_sum(h, d->b, q), q);
  if (d->length > 0)
    for (i = 0; i < q; ++i) h[i] /= d->length;
  expand(m, h, 0, row, slope);
}

/* p becomes `factor` times the derivative of fᵀp / |p|. */
static void derive_cosine(const float* f, float* p, uint32_t n, float factor) {
  const float length = length_of(p, n), score = length > 0 ? product_sum(f, p, n) / length : 0;
  uint32_t j;
  for (j = 0; j < n; ++j) p[j] = length > 0 ? factor * ((f[j] - score * (p[j] / length)) / length) : 0;
}

/* Cosines: the score of a class whose attributes go along the straight line from `other` to `winner` is integrated
 * (Aumann-Shapley; Gauss-Legendre with 16 nodes, the other 8 by symmetry). f is centred and used up. */
static pnrt_status integrate(const pnrt_model* model, const pnrt_bank* bank, uint32_t winner, uint32_t other, float* f,
                             float* contributions, arena work) {
  static const float nodes[8][2] = {{5.29953250e-3f, 1.35762297e-2f}, {2.77124885e-2f, 3.11267620e-2f},
                                    {6.71843988e-2f, 4.75792558e-2f}, {1.22297796e-1f, 6.23144856e-2f},
                                    {1.91061878e-1f, 7.47979944e-2f}, {2.70991611e-1f, 8.45782597e-2f},
                                    {3.59198225e-1f, 9.13017075e-2f}, {4.52493745e-1f, 9.47253052e-2f}};
  const uint32_t m = model->attributes, o = model->outputs;
  line_end from, to;
  description d;
  float *a, *g, *h, *along, *row;
  pnrt_status status;
  uint32_t i, j;
  from.a = carve_floats(&work, m);
  to.a = carve_floats(&work, m);
  a = carve_floats(&work, m);
  from.own = carve_floats(&work, o);
  to.own = carve_floats(&work, o);
  g = carve_floats(&work, o);
  h = carve_floats(&work, model->semantics);
  along = carve_floats(&work, model->support);
  row = carve_floats(&work, most_of(m, most_of(model->semantics, model->support)));
  carve_description(&work, model, &d);
  if (!work.good) return PNRT_NO_MEMORY;
  to_unit_length(f, o);
  status = end_at(model, bank, other, &from, &d, work);
  if (status == PNRT_OK) status = end_at(model, bank, winner, &to, &d, work);
  for (i = 0; i < 16 && status == PNRT_OK; ++i) {
    const float t = i % 2 ? 1 - nodes[i / 2][0] : nodes[i / 2][0];
    const float predicted = from.predicted + t * (to.predicted - from.predicted);
    for (j = 0; j < m; ++j) a[j] = from.a[j] + t * (to.a[j] - from.a[j]);
    status = describe(model, a, &d, work);
    if (status != PNRT_OK) break;
    for (j = 0; j < o; ++j) g[j] = from.own[j] + t * (to.own[j] - from.own[j]) + predicted * d.vector[j];
    derive_cosine(f, g, o, predicted);
    pull_back(model, &d, g, h, along, row, a);
    for (j = 0; j < m; ++j) contributions[j] += nodes[i / 2][1] * a[j] * (to.a[j] - from.a[j]);
  }
  return status;
}

/* Dot products and squared distances are sums over attributes. */
static pnrt_status subtract(const pnrt_model* m, const pnrt_bank* bank, uint32_t winner, uint32_t other, float* f,
                            float* contributions, arena work) {
  float *row = carve_floats(&work, m->attributes), *in_attributes = carve_floats(&work, m->attributes),
        *compared = carve_floats(&work, m->outputs), *a = carve_floats(&work, m->attributes);
  uint32_t i, j;
  if (!work.good) return PNRT_NO_MEMORY;
  expand(m, f, 1, row, in_attributes);
  for (i = 0; i < 2; ++i) {
    stored_row(m, bank, i ? other : winner, 0, compared);
    expand(m, compared, 1, row, a);
    for (j = 0; j < m->attributes; ++j) {
      const float difference = in_attributes[j] - a[j];
      const float term = m->similarity == kDot ? in_attributes[j] * a[j] : -(difference * difference);
      contributions[j] += i ? -term : term;
    }
  }
  return PNRT_OK;
}

pnrt_status pnrt_explain(const pnrt_model* model, const pnrt_bank* bank, const float* features,
                         pnrt_explanation* explanation, float* contributions, float* predicted, void* work,
                         size_t work_bytes) {
  const uint32_t slots = pnrt_class_slots(model, bank);
  const float gamma = pnrt_gamma(model, bank);
  arena a;
  float *f, *scores, won, lost;
  uint32_t c, j, best, second;
  pnrt_status status = start(&a, model, bank, work, work_bytes);
  if (status != PNRT_OK) return status;
  if (!features || !explanation || !contributions) return PNRT_BAD_ARGUMENT;
  best = second = slots;
  f = carve_floats(&a, model->outputs);
  scores = carve_floats(&a, slots);
  status = predict(model, features, f, 0, 0, a);
  if (status == PNRT_OK && predicted) status = predict_attributes(model, f, predicted, a);
  if (status == PNRT_OK) status = score(model, bank, f, scores, 0, a);
  if (status != PNRT_OK) return status;
  for (c = 0; c < slots; ++c) {
    if (!is_class(model, bank, c)) continue;
    if (is_seen(model, c)) scores[c] -= gamma;
    if (best == slots || scores[c] > scores[best]) {
      second = best;
      best = c;
    } else if (second == slots || scores[c] > scores[second]) {
      second = c;
    }
  }
  if (best == slots) return PNRT_NOT_FOUND;
  if (second == slots) second = best;
  explanation->winner = best;
  explanation->runner_up = second;
  explanation->winner_score = scores[best];
  explanation->runner_up_score = scores[second];
  won = is_seen(model, best) ? gamma : 0;
  lost = is_seen(model, second) ? gamma : 0;
  explanation->calibration = lost - won;
  for (j = 0; j < model->attributes; ++j) contributions[j] = 0;
  status = (model->similarity == kCosine ? integrate : subtract)(model, bank, best, second, f, contributions, a);
  if (status != PNRT_OK) return status;
  won += scores[best];
  lost += scores[second];
  explanation->examples = model->similarity == kEuclidean ? lost * lost - won * won : won - lost;
  for (j = 0; j < model->attributes; ++j) explanation->examples -= contributions[j];
  return is_finite(explanation->examples) && all_finite(contributions, model->attributes) ? PNRT_OK : PNRT_NOT_FINITE;
}
#endif
