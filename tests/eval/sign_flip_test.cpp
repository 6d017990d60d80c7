#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "eval/random_outcomes.hpp"
#include "parsnets/uncertainty.hpp"

namespace parsnets::test {

namespace {

using List = std::vector<double>;

/// Accuracy of each class, in percent.
List per_class(const std::vector<std::int32_t>& labels, const std::vector<std::uint16_t>& right, double runs) {
  std::map<std::int32_t, std::pair<double, double>> sums;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    sums[labels[i]].first += 100 * right[i] / runs;
    sums[labels[i]].second += 1;
  }
  List accuracies;
  for (const auto& [label, sum] : sums) accuracies.push_back(sum.first / sum.second);
  return accuracies;
}

double mean(const List& values, std::size_t from, std::size_t to) {
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(from),
                         values.begin() + static_cast<std::ptrdiff_t>(to), 0.0) /
         static_cast<double>(to - from);
}

/// The share of all 2^K exchanges, classes that do not differ included, whose difference is as large as the observed.
double enumerated(const List& a, const List& b, const std::function<double(const List&)>& figure) {
  const double observed = std::abs(figure(a) - figure(b));
  std::size_t extreme = 0;
  const std::size_t count = std::size_t{1} << a.size();
  List x(a.size()), y(a.size());
  for (std::size_t bits = 0; bits < count; ++bits) {
    for (std::size_t c = 0; c < a.size(); ++c) {
      const bool exchanged = bits >> c & 1;
      x[c] = exchanged ? b[c] : a[c];
      y[c] = exchanged ? a[c] : b[c];
    }
    extreme += std::abs(figure(x) - figure(y)) >= observed - 1e-7;
  }
  return static_cast<double>(extreme) / static_cast<double>(count);
}

struct Expected {
  double zsl, u, s, h;
};

Expected enumerated(const Outcomes& a, const Outcomes& b, std::size_t classes) {
  const auto all = [&](const List& v) { return mean(v, 0, classes); };
  const auto of = [](const Outcomes& o, const std::vector<std::int32_t>& labels,
                     const std::vector<std::uint16_t>& right) { return per_class(labels, right, o.runs); };
  const auto joined = [&](const Outcomes& o) {
    List both = of(o, o.unseen_labels, o.unseen);
    const List seen = of(o, o.seen_labels, o.seen);
    both.insert(both.end(), seen.begin(), seen.end());
    return both;
  };
  return {enumerated(of(a, a.unseen_labels, a.zsl), of(b, b.unseen_labels, b.zsl), all),
          enumerated(of(a, a.unseen_labels, a.unseen), of(b, b.unseen_labels, b.unseen), all),
          enumerated(of(a, a.seen_labels, a.seen), of(b, b.seen_labels, b.seen), all),
          enumerated(joined(a), joined(b), [&](const List& v) {
            const double u = mean(v, 0, classes), s = mean(v, classes, 2 * classes);
            return u + s > 0 ? 2 * u * s / (u + s) : 0;
          })};
}

}  // namespace

TEST(SignFlip, FewClassesAreEnumerated) {
  ThreadPool pool(1);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    // Of few samples, so that some classes do not differ and some exchanges tie.
    const auto a = random_outcomes(seed, 6, 5, 0.6, 0.3, seed % 2 == 0 ? 1 : 3),
               b = random_outcomes(seed + 50, 6, 5, 0.4, 0.3);
    const auto result = compare_paired(a, b, pool, {40, 1, 1});
    const auto expected = enumerated(a, b, 6);
    EXPECT_NEAR(result.zsl.p, expected.zsl, 1e-12) << seed;
    EXPECT_NEAR(result.u.p, expected.u, 1e-12) << seed;
    EXPECT_NEAR(result.s.p, expected.s, 1e-12) << seed;
    EXPECT_NEAR(result.h.p, expected.h, 1e-12) << seed;
    EXPECT_TRUE(result.zsl.exact && result.u.exact && result.s.exact && result.h.exact);
  }
}

TEST(SignFlip, ManyClassesAreDrawn) {
  ThreadPool pool(2);
  const auto a = random_outcomes(3, 17, 60, 0.55, 0.3), b = random_outcomes(4, 17, 60, 0.45, 0.3);
  const auto result = compare_paired(a, b, pool, {40, 10000, 1});
  const List x = per_class(a.seen_labels, a.seen, 1), y = per_class(b.seen_labels, b.seen, 1);
  const double expected = enumerated(x, y, [](const List& v) { return mean(v, 0, v.size()); });
  EXPECT_FALSE(result.s.exact);
  EXPECT_NEAR(result.s.p, expected, 4 * std::sqrt(expected * (1 - expected) / 10000) + 1e-4);
  EXPECT_GT(expected, 0.001);
  EXPECT_LT(expected, 0.5);
}

TEST(SignFlip, ADrawnPIsNeverZero) {
  ThreadPool pool(2);
  const auto good = random_outcomes(3, 40, 20, 0.9, 0.05), bad = random_outcomes(4, 40, 20, 0.1, 0.05);
  const auto result = compare_paired(good, bad, pool);
  EXPECT_DOUBLE_EQ(result.zsl.p, 1.0 / 10001);
  EXPECT_DOUBLE_EQ(result.h.p, 1.0 / 10001);
}

TEST(SignFlip, EqualMethodsSeldomHaveASmallP) {
  ThreadPool pool(2);
  int small = 0, small_h = 0;
  const int sets = 400;
  for (std::uint64_t i = 0; i < sets; ++i) {
    const auto result = compare_paired(random_outcomes(1000 + i, 10, 20, 0.5, 0.3),
                                       random_outcomes(5000 + i, 10, 20, 0.5, 0.3), pool, {40, 400, 1});
    small += result.zsl.p <= 0.05;
    small_h += result.h.p <= 0.05;
  }
  for (const int count : {small, small_h}) {  // 20 expected, standard deviation 4.4
    EXPECT_GT(count, 5);
    EXPECT_LT(count, 36);
  }
}

}  // namespace parsnets::test
