// Eigenpairs of symmetric matrices, by our own products: Householder's tridiagonal form in blocks, then divide and
// conquer (Cuppen 1981; deflation and eigenvectors as Gu and Eisenstat 1995, which keeps vectors orthogonal however
// close their values are), then the reflections back.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/finite.hpp"
#include "base/householder.hpp"
#include "base/linalg.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;
constexpr std::size_t kLeaf = 32;  // tridiagonal matrices up to here are solved by QL rotations

/// y = A·x of the symmetric A whose lower triangle is at `a`.
void multiply_symmetric(const double* a, std::size_t stride, std::span<const double> x, std::span<double> y) {
  constexpr std::size_t kRows = 4;  // which share what is loaded of x and y
  const std::size_t n = x.size();
  std::fill(y.begin(), y.end(), 0.0);
  std::size_t i = 0;
  for (; i + kRows <= n; i += kRows) {
    const double *r0 = a + i * stride, *r1 = r0 + stride, *r2 = r1 + stride, *r3 = r2 + stride;
    const double x0 = x[i], x1 = x[i + 1], x2 = x[i + 2], x3 = x[i + 3];
    double lanes[kRows][2] = {};
    for (std::size_t j = 0; j < i; j += 2)  // i is even
      for (std::size_t l = 0; l < 2; ++l) {
        const double at = x[j + l];
        lanes[0][l] += r0[j + l] * at;
        lanes[1][l] += r1[j + l] * at;
        lanes[2][l] += r2[j + l] * at;
        lanes[3][l] += r3[j + l] * at;
        y[j + l] += (r0[j + l] * x0 + r1[j + l] * x1) + (r2[j + l] * x2 + r3[j + l] * x3);
      }
    for (std::size_t r = 0; r < kRows; ++r) y[i + r] += lanes[r][0] + lanes[r][1];
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t c = 0; c <= r; ++c) {
        const double value = a[(i + r) * stride + i + c];
        y[i + r] += value * x[i + c];
        if (c < r) y[i + c] += value * x[i + r];
      }
  }
  for (; i < n; ++i) {
    const double* row = a + i * stride;
    for (std::size_t j = 0; j < i; ++j) {
      y[i] += row[j] * x[j];
      y[j] += row[j] * x[i];
    }
    y[i] += row[i] * x[i];
  }
}

struct Tridiagonal {
  std::vector<double> diagonal, beside;  ///< n and n - 1 values
  std::vector<double> factors;           ///< of the reflections, n - 1
};

/// Reads the lower triangle of A. Row j of A becomes reflection j, from column j + 1 on, with zeros in front within its
/// block: A = H₀H₁⋯ T ⋯H₁H₀.
Tridiagonal tridiagonal_form(Matrix<double>& a) {
  const std::size_t n = a.rows();
  Tridiagonal out{std::vector<double>(n), std::vector<double>(n - 1), std::vector<double>(n - 1)};
  Matrix<double> both(2 * kReflectionBlock, n), swapped(2 * kReflectionBlock, n);  // V over W, W over V
  std::vector<double> column(n), v_parts(kReflectionBlock), w_parts(kReflectionBlock);
  for (std::size_t begin = 0; begin + 1 < n; begin += kReflectionBlock) {
    const std::size_t end = std::min(n - 1, begin + kReflectionBlock), size = end - begin;
    const auto v_row = [&](std::size_t p) { return both.row(p); };
    const auto w_row = [&](std::size_t p) { return both.row(size + p); };
    for (std::size_t j = begin; j < end; ++j) {
      const std::size_t p = j - begin;
      for (std::size_t i = j; i < n; ++i) column[i] = a(i, j);
      for (std::size_t q = 0; q < p; ++q) {
        const auto v = v_row(q), w = w_row(q);
        const double v_j = v[j], w_j = w[j];
        for (std::size_t i = j; i < n; ++i) column[i] -= v[i] * w_j + w[i] * v_j;
      }
      out.diagonal[j] = column[j];
      const auto x = std::span(column).subspan(j + 1);
      const Reflection made = make_reflection(x);
      out.factors[j] = made.factor;
      out.beside[j] = made.value;
      const auto v = v_row(p), w = w_row(p);
      std::fill_n(v.begin(), j + 1, 0.0);
      std::ranges::copy(x, v.begin() + static_cast<std::ptrdiff_t>(j + 1));
      std::fill_n(w.begin(), j + 1, 0.0);
      const auto tail = w.subspan(j + 1);
      multiply_symmetric(a.row(j + 1).data() + j + 1, n, x, tail);
      for (std::size_t q = 0; q < p; ++q) {
        v_parts[q] = dot(v_row(q).subspan(j + 1), x);
        w_parts[q] = dot(w_row(q).subspan(j + 1), x);
      }
      for (std::size_t q = 0; q < p; ++q) {
        const auto earlier_v = v_row(q).subspan(j + 1), earlier_w = w_row(q).subspan(j + 1);
        for (std::size_t i = 0; i < tail.size(); ++i) tail[i] -= earlier_v[i] * w_parts[q] + earlier_w[i] * v_parts[q];
      }
      for (double& value : tail) value *= made.factor;
      const double half = made.factor / 2 * dot(tail, x);
      for (std::size_t i = 0; i < tail.size(); ++i) tail[i] -= half * x[i];
    }
    for (std::size_t p = 0; p < size; ++p) {
      std::ranges::copy(w_row(p), swapped.row(p).begin());
      std::ranges::copy(v_row(p), swapped.row(size + p).begin());
      std::copy(v_row(p).begin() + static_cast<std::ptrdiff_t>(begin), v_row(p).end(), a.row(begin + p).data() + begin);
    }
    multiply_blocks<double>(nullptr, n - end, n - end, 2 * size, -1, {both.data() + end, n, Trans::yes},
                            {swapped.data() + end, n, Trans::no}, 1, a.row(end).data() + end, n, Part::lower);
  }
  out.diagonal[n - 1] = a(n - 1, n - 1);
  return out;
}

/// Rows x and y become c·x + s·y and c·y − s·x.
void rotate(std::span<double> x, std::span<double> y, double c, double s) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double old = x[i];
    x[i] = c * old + s * y[i];
    y[i] = c * y[i] - s * old;
  }
}

/// Eigenvalues in d, in no order, by implicit QL; the same rotations of the rows of `vectors`, unless it is empty.
/// `e` holds what is beside the diagonal, and one value more.
void solve_by_rotations(std::span<double> d, std::span<double> e, MatrixView<double> vectors) {
  const std::size_t n = d.size();
  e[n - 1] = 0;
  double largest = 0;  // to which the matrix is exact: values far below it, as of one without full rank, are noise
  for (std::size_t i = 0; i < n; ++i) largest = std::max({largest, std::abs(d[i]), std::abs(e[i])});
  for (std::size_t first = 0; first < n; ++first)
    for (int round = 0;; ++round) {
      std::size_t last = first;
      while (last + 1 < n && std::abs(e[last]) > kEpsilon * largest) ++last;
      if (last == first) break;
      if (round == 60) throw Error(ErrorCode::failure, "the eigenvalues of a matrix were not found in 60 rounds of QL");
      double g = (d[first + 1] - d[first]) / (2 * e[first]);
      g = d[last] - d[first] + e[first] / (g + std::copysign(std::sqrt(g * g + 1), g));
      double s = 1, c = 1, p = 0;
      std::size_t i = last;
      while (i-- > first) {
        const double f = s * e[i], b = c * e[i], r = std::sqrt(f * f + g * g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[last] = 0;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        const double t = (d[i] - g) * s + 2 * c * b;
        p = s * t;
        d[i + 1] = g + p;
        g = c * t - b;
        if (!vectors.empty()) rotate(vectors.row(i + 1), vectors.row(i), c, s);
        if (i == first) {
          d[first] -= p;
          e[first] = g;
          e[last] = 0;
          break;
        }
      }
    }
}

/// D + ρ·zzᵀ with ascending d, no z of 0, ρ > 0 and ‖z‖ ≤ 1.
struct Secular {
  std::vector<double> d, z;
  double rho = 0;

  struct Value {
    double f = 0, lower = 0, upper = 0, size = 0;  ///< derivatives of the terms up to a pole, and beyond; Σ|terms|
  };
  Value at(std::size_t pole, std::span<const double> delta) const {
    Value out{1, 0, 0, 1};
    for (std::size_t i = 0; i < d.size(); ++i) {
      const double part = z[i] / delta[i], term = rho * z[i] * part;
      out.f += term;
      out.size += std::abs(term);
      (i <= pole ? out.lower : out.upper) += rho * part * part;
    }
    return out;
  }

  /// Eigenvalue j, between d[j] and d[j + 1]; delta[i] becomes d[i] − λ, to full relative precision.
  double root(std::size_t j, std::span<double> delta) const {
    const std::size_t k = d.size();
    if (k == 1) {
      delta[0] = -rho * z[0] * z[0];
      return d[0] - delta[0];
    }
    const bool last = j + 1 == k;
    const double width = last ? 2 * rho : d[j + 1] - d[j];  // ‖z‖ ≤ 1 up to rounding
    const auto move = [&](double origin, double offset) {
      for (std::size_t i = 0; i < k; ++i) delta[i] = (d[i] - origin) - offset;
    };
    move(d[j], width / 2);
    const bool right = !last && at(j, delta).f < 0;  // the root is nearer to d[j + 1], and is counted from there
    const double origin = right ? d[j + 1] : d[j], sign = right ? -1 : 1;
    double low = 0, high = last ? width : width / 2;  // of the distance from the origin
    double distance = high / 2;
    for (int round = 0; round < 200; ++round) {
      move(origin, sign * distance);
      const Value value = at(last ? k - 2 : j, delta);
      if (std::abs(value.f) <= 4 * kEpsilon * value.size) break;
      (value.f * sign < 0 ? low : high) = distance;
      // The pole on either side keeps its value and slope in a model that is solved for the next distance (Li 1993).
      const std::size_t pole = last ? k - 2 : j, next = last ? k - 1 : j + 1;
      const double a = delta[pole], b = delta[next], sum = value.f - a * value.lower - b * value.upper,
                   linear = (a + b) * value.f - a * b * (value.lower + value.upper), constant = a * b * value.f,
                   rest = std::sqrt(std::abs(linear * linear - 4 * sum * constant));
      const bool large = last ? linear >= 0 : linear <= 0;
      const double step = last ? (large ? (linear + rest) / (2 * sum) : 2 * constant / (linear - rest))
                               : (large ? (linear - rest) / (2 * sum) : 2 * constant / (linear + rest));
      const double proposed = distance + sign * step;
      if (proposed > low && proposed < high && round % 8 != 7) {
        distance = proposed;
        continue;
      }
      // Between the two numbers in the order of their bits: at most 64 such steps find the last bit of any distance.
      const auto from = std::bit_cast<std::uint64_t>(low), to = std::bit_cast<std::uint64_t>(high);
      if (to - from <= 1) break;
      distance = std::bit_cast<double>(from + (to - from) / 2);
    }
    if (distance <= 0) distance = std::numeric_limits<double>::min();
    move(origin, sign * distance);
    return origin + sign * distance;
  }
};

/// Ascending values, and in rows the vectors that belong to them.
struct Pairs {
  std::vector<double> values;
  Matrix<double> vectors;
};

/// Rows `rows` of `from`, and of these the columns from `begin` to `end`.
Matrix<double> picked(const Matrix<double>& from, std::span<const std::size_t> rows, std::size_t begin,
                      std::size_t end) {
  Matrix<double> out(rows.size(), end - begin);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(from.row(rows[i]).data() + begin, end - begin, out.row(i).data());
  return out;
}

/// The `wanted` largest pairs of the matrix that consists of two solved halves and `beside` between them.
Pairs merged(Pairs upper, Pairs lower, double beside, std::size_t wanted, ThreadPool* pool) {
  const std::size_t n1 = upper.values.size(), n2 = lower.values.size(), n = n1 + n2;
  Matrix<double> all(n, n, 0.0);
  std::vector<double> d(n), z(n);
  std::vector<bool> in_upper(n), in_lower(n);  // columns of a row of `all` that are not 0
  for (std::size_t i = 0; i < n; ++i) {
    const bool above = i < n1;
    const auto& half = above ? upper : lower;
    const auto row = half.vectors.row(above ? i : i - n1);
    std::ranges::copy(row, all.row(i).begin() + static_cast<std::ptrdiff_t>(above ? 0 : n1));
    d[i] = half.values[above ? i : i - n1];
    z[i] = (above ? row[n1 - 1] : std::copysign(row[0], row[0] * beside)) / std::sqrt(2.0);
    (above ? in_upper : in_lower)[i] = true;
  }
  const double rho = 2 * std::abs(beside);
  std::vector<std::size_t> order(n), kept, apart;  // apart: they are eigenpairs as they are
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return d[i]; });
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max({largest, std::abs(d[i]), std::abs(z[i])});
  const double tolerance = 8 * kEpsilon * largest;
  for (const std::size_t i : order) {
    if (rho * std::abs(z[i]) <= tolerance) {
      apart.push_back(i);
      continue;
    }
    if (!kept.empty()) {
      const std::size_t before = kept.back();
      const double length = std::sqrt(z[i] * z[i] + z[before] * z[before]), c = z[i] / length, s = -z[before] / length;
      if (std::abs((d[i] - d[before]) * c * s) <= tolerance) {  // equal values: a rotation leaves one without z
        z[i] = length;
        rotate(all.row(before), all.row(i), c, s);
        const double value = d[before];
        d[before] = value * c * c + d[i] * s * s;
        d[i] = value * s * s + d[i] * c * c;
        in_upper[i] = in_upper[before] = in_upper[i] || in_upper[before];
        in_lower[i] = in_lower[before] = in_lower[i] || in_lower[before];
        apart.push_back(before);
        kept.back() = i;
        continue;
      }
    }
    kept.push_back(i);
  }
  const std::size_t k = kept.size();
  Secular problem{std::vector<double>(k), std::vector<double>(k), rho};
  for (std::size_t i = 0; i < k; ++i) {
    problem.d[i] = d[kept[i]];
    problem.z[i] = z[kept[i]];
  }
  Matrix<double> delta(k, k);
  std::vector<double> values(k), exact(k, 1.0);  // the z whose eigenvalues are those found, to the last bit
  for (std::size_t j = 0; j < k; ++j) values[j] = problem.root(j, delta.row(j));
  for (std::size_t j = 0; j < k; ++j) {
    const auto row = delta.row(j);
    for (std::size_t i = 0; i < j; ++i) exact[i] *= row[i] / (problem.d[i] - problem.d[j]);
    exact[j] *= row[j];
    for (std::size_t i = j + 1; i < k; ++i) exact[i] *= row[i] / (problem.d[i] - problem.d[j]);
  }
  for (std::size_t i = 0; i < k; ++i) exact[i] = std::copysign(std::sqrt(std::abs(exact[i])), problem.z[i]);

  // In ascending order: (value, number in `kept`, or k + number in `apart`).
  std::vector<std::pair<double, std::size_t>> found;
  for (std::size_t j = 0; j < k; ++j) found.emplace_back(values[j], j);
  for (std::size_t j = 0; j < apart.size(); ++j) found.emplace_back(d[apart[j]], k + j);
  std::ranges::sort(found);
  found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(wanted));
  std::vector<std::size_t> roots, rows_of_roots;
  Pairs out{{}, Matrix<double>(wanted, n)};
  for (std::size_t r = 0; r < wanted; ++r) {
    out.values.push_back(found[r].first);
    if (found[r].second >= k) {
      std::ranges::copy(all.row(apart[found[r].second - k]), out.vectors.row(r).begin());
    } else {
      roots.push_back(found[r].second);
      rows_of_roots.push_back(r);
    }
  }
  for (const std::size_t j : roots) {
    const auto row = delta.row(j);
    for (std::size_t i = 0; i < k; ++i) row[i] = exact[i] / row[i];
    const double length = std::sqrt(dot(row, row));
    for (double& value : row) value /= length;
  }
  for (const bool above : {true, false}) {
    const std::size_t begin = above ? 0 : n1, end = above ? n1 : n;
    std::vector<std::size_t> columns, rows;
    for (std::size_t i = 0; i < k; ++i)
      if ((above ? in_upper : in_lower)[kept[i]]) {
        columns.push_back(i);
        rows.push_back(kept[i]);
      }
    Matrix<double> mix(roots.size(), columns.size()), result(roots.size(), end - begin);
    for (std::size_t r = 0; r < roots.size(); ++r)
      for (std::size_t c = 0; c < columns.size(); ++c) mix(r, c) = delta(roots[r], columns[c]);
    const Matrix<double> sources = picked(all, rows, begin, end);
    multiply_blocks<double>(pool, roots.size(), end - begin, columns.size(), 1, {mix.data(), columns.size(), Trans::no},
                            {sources.data(), end - begin, Trans::no}, 0, result.data(), end - begin);
    for (std::size_t r = 0; r < roots.size(); ++r)
      std::ranges::copy(result.row(r), out.vectors.row(rows_of_roots[r]).begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return out;
}

/// The `wanted` largest pairs of a tridiagonal matrix.
Pairs tridiagonal_pairs(std::span<double> d, std::span<double> e, std::size_t wanted, ThreadPool* pool) {
  const std::size_t n = d.size();
  if (n > kLeaf) {
    const std::size_t half = n / 2;
    const double beside = e[half - 1];
    d[half - 1] -= std::abs(beside);
    d[half] -= std::abs(beside);
    Pairs upper = tridiagonal_pairs(d.first(half), e.first(half), half, pool);
    return merged(std::move(upper), tridiagonal_pairs(d.subspan(half), e.subspan(half), n - half, pool), beside, wanted,
                  pool);
  }
  Matrix<double> vectors(n, n, 0.0);
  for (std::size_t i = 0; i < n; ++i) vectors(i, i) = 1;
  solve_by_rotations(d, e, vectors.view());
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return d[i]; });
  order.erase(order.begin(), order.end() - static_cast<std::ptrdiff_t>(wanted));
  Pairs out{{}, picked(vectors, order, 0, n)};
  for (const std::size_t i : order) out.values.push_back(d[i]);
  return out;
}

/// `a` times a power of two, which no square of leaves the range of numbers. Returns what undoes it.
double scale(MatrixView<const double> from, Matrix<double>& a) {
  if (from.rows() != from.cols() || from.empty())
    throw Error(ErrorCode::failure, "internal error: shapes do not agree in an eigenvalue problem");
  if (!all_finite(from.values()))
    throw Error(ErrorCode::failure, "the matrix of an eigenvalue problem has non-finite values");
  double largest = 0;
  for (std::size_t i = 0; i < from.size(); ++i) largest = std::max(largest, std::abs(from.data()[i]));
  const int exponent = largest > 0 ? std::clamp(std::ilogb(largest), -1000, 1000) : 0;
  a = Matrix<double>::copy_of(from);
  for (double& v : a.values()) v = std::ldexp(v, -exponent);
  return std::ldexp(1.0, exponent);
}

}  // namespace

std::vector<double> eigenvalues(MatrixView<const double> from) {
  Matrix<double> a;
  const double factor = scale(from, a);
  Tridiagonal form = tridiagonal_form(a);
  form.beside.push_back(0);
  solve_by_rotations(form.diagonal, form.beside, {});
  std::ranges::sort(form.diagonal);
  for (double& value : form.diagonal) value *= factor;
  return form.diagonal;
}

EigenPairs largest_eigenpairs(MatrixView<const double> from, std::size_t count, ThreadPool* pool) {
  if (count > from.rows())
    throw Error(ErrorCode::failure, "internal error: shapes do not agree in an eigenvalue problem");
  Matrix<double> a;
  const double factor = scale(from, a);
  const std::size_t n = a.rows(), wanted = count == 0 ? n : count;
  Tridiagonal form = tridiagonal_form(a);
  form.beside.push_back(0);
  Pairs pairs = tridiagonal_pairs(form.diagonal, form.beside, wanted, pool);
  const std::size_t blocks = (n - 1 + kReflectionBlock - 1) / kReflectionBlock;
  for (std::size_t b = blocks; b-- > 0;) {
    const std::size_t begin = b * kReflectionBlock, size = std::min(n - 1 - begin, kReflectionBlock);
    apply_reflections(pool, Order::last, n - begin - 1, std::span(form.factors).subspan(begin, size),
                      {a.row(begin).data() + begin + 1, n, Trans::no}, wanted, pairs.vectors.data() + begin + 1, n);
  }
  EigenPairs result;
  result.vectors = Matrix<double>(wanted, n);
  for (std::size_t i = 0; i < wanted; ++i) {
    result.values.push_back(factor * pairs.values[wanted - 1 - i]);
    std::ranges::copy(pairs.vectors.row(wanted - 1 - i), result.vectors.row(i).begin());
  }
  make_largest_positive(result.vectors.view());
  return result;
}

void make_largest_positive(MatrixView<double> rows) {
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const auto row = rows.row(r);
    const auto largest =
        std::max_element(row.begin(), row.end(), [](double x, double y) { return std::abs(x) < std::abs(y); });
    if (largest != row.end() && *largest < 0)
      for (double& v : row) v = -v;
  }
}

}  // namespace parsnets
