#include "features/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "thread_processes.hpp"

namespace parsnets {
namespace {

struct Samples {
  Matrix<float> x;
  std::vector<std::int32_t> labels, rows;

  Samples(std::size_t n, std::size_t d, std::size_t classes) : x(n, d), rows(n) {
    Rng rng(n + d);
    for (auto& v : x.values()) v = static_cast<float>(std::abs(rng.normal()) + 0.3);
    for (std::size_t l = 0; l < n; ++l) labels.push_back(static_cast<std::int32_t>(rng.below(classes)));
    std::iota(rows.begin(), rows.end(), 0);
  }
};

std::vector<std::string> names(std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t c = 0; c < count; ++c) out.push_back("class " + std::to_string(c));
  return out;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

TEST(Statistics, AreTheSumsOfScaledSamplesAndTheirProducts) {
  const Samples s(2500, 9, 4);  // more than two blocks
  ThreadPool pool(2);
  Statistics stats(FeatureScaling::sqrt_l2, names(4), 9);
  std::vector<double> weights;
  Rng rng(3);
  for (std::size_t l = 0; l < 2500; ++l) weights.push_back(0.5 + rng.uniform());
  stats.add(s.x.view(), s.labels, s.rows, pool, weights);
  Matrix<double> sums(4, 9, 0.0), products(9, 9, 0.0);
  std::vector<double> counts(4, 0.0);
  for (std::size_t l = 0; l < 2500; ++l) {
    std::vector<double> x(9);
    double sum = 0;  // of the squares of roots
    for (std::size_t j = 0; j < 9; ++j) sum += static_cast<double>(s.x(l, j));
    for (std::size_t j = 0; j < 9; ++j) x[j] = std::sqrt(static_cast<double>(s.x(l, j)) / sum);
    const auto c = static_cast<std::size_t>(s.labels[l]);
    counts[c] += weights[l];
    for (std::size_t i = 0; i < 9; ++i) {
      sums(c, i) += weights[l] * x[i];
      for (std::size_t j = 0; j < 9; ++j) products(i, j) += weights[l] * x[i] * x[j];
    }
  }
  for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(stats.class_weights()[c], counts[c], 1e-9);
  EXPECT_LT(largest_difference(stats.class_sums().values(), sums.values()), 1e-4);
  EXPECT_LT(largest_difference(stats.products().values(), products.values()), 1e-3);
}

TEST(Statistics, OfShardsAddUpInAnyOrder) {
  const Samples s(3000, 20, 5);
  ThreadPool pool(2);
  Statistics whole(FeatureScaling::l2, names(5), 20);
  whole.add(s.x.view(), s.labels, s.rows, pool);
  for (const bool backwards : {false, true}) {
    Statistics merged(FeatureScaling::l2, {}, 20);
    for (std::size_t k = 0; k < 7; ++k) {
      const std::size_t shard = backwards ? 6 - k : k;
      std::vector<std::int32_t> own;
      for (const auto r : s.rows)
        if (static_cast<std::size_t>(r) % 7 == shard) own.push_back(r);
      Statistics part(FeatureScaling::l2, names(5), 20);
      part.add(s.x.view(), s.labels, own, pool);
      merged.merge(part);
    }
    EXPECT_EQ(merged.class_names(), whole.class_names());
    EXPECT_EQ(merged.class_weights(), whole.class_weights());
    EXPECT_LT(largest_difference(merged.class_sums().values(), whole.class_sums().values()), 1e-9);
    EXPECT_LT(largest_difference(merged.products().values(), whole.products().values()), 1e-3);
  }
}

TEST(Statistics, AddUpOverProcesses) {
  const Samples s(700, 9, 4);
  ThreadPool pool(1);
  Statistics whole(FeatureScaling::l2, names(4), 9);
  whole.add(s.x.view(), s.labels, s.rows, pool);
  run_as_processes(3, [&](Processes& group) {
    ThreadPool own_pool(1);
    const Share own = group.share(s.rows.size());
    Statistics part(FeatureScaling::l2, names(4), 9);
    part.add(s.x.view(), s.labels, std::span(s.rows).subspan(own.first, own.count), own_pool);
    part.sum_over(group);
    EXPECT_EQ(part.samples(), whole.samples());
    EXPECT_EQ(part.class_weights(), whole.class_weights());
    EXPECT_LT(largest_difference(part.class_sums().values(), whole.class_sums().values()), 1e-5);
    EXPECT_LT(largest_difference(part.products().values(), whole.products().values()), 1e-4);
    EXPECT_EQ(group.bytes(), 8u * (9 * 9 + 4 * 9 + 4 + 1));
    Statistics keeping({FeatureScaling::l2, 2, 3}, names(4), 9);
    EXPECT_THROW(keeping.sum_over(group), Error);
  });
}

TEST(Statistics, ClassesAreMatchedByName) {
  const Samples s(40, 3, 2);
  ThreadPool pool(1);
  Statistics one(FeatureScaling::none, {"cat", "dog"}, 3), other(FeatureScaling::none, {"dog", "owl"}, 3);
  one.add(s.x.view(), s.labels, s.rows, pool);
  other.add(s.x.view(), s.labels, s.rows, pool);
  const double dogs = one.class_weights()[1] + other.class_weights()[0];
  one.merge(other);
  EXPECT_EQ(one.class_names(), (std::vector<std::string>{"cat", "dog", "owl"}));
  EXPECT_EQ(one.class_weights()[1], dogs);
  EXPECT_EQ(one.weight(), 80);
}

TEST(Statistics, SamplesCanBeTakenOutAgain) {
  const Samples s(900, 12, 3);
  ThreadPool pool(2);
  Statistics half(FeatureScaling::sqrt_l2, names(3), 12);
  half.add(s.x.view(), s.labels, std::span(s.rows).first(450), pool);
  Statistics all = half.copy();
  all.add(s.x.view(), s.labels, std::span(s.rows).subspan(450), pool);
  all.remove(s.x.view(), s.labels, std::span(s.rows).subspan(450), pool);
  EXPECT_EQ(all.class_weights(), half.class_weights());
  EXPECT_LT(largest_difference(all.products().values(), half.products().values()), 1e-12);
}

TEST(Statistics, CanBeMovedToAnotherOrigin) {
  const Samples s(900, 70, 5);
  ThreadPool pool(2);
  Statistics moved({FeatureScaling::none, 2, 0}, names(5), 70), other = moved.copy();
  moved.add(s.x.view(), s.labels, s.rows, pool);
  std::vector<double> by(70);
  Matrix<float> x = Matrix<float>::copy_of(s.x.view());
  for (std::size_t j = 0; j < 70; ++j) {
    by[j] = 0.01 * static_cast<double>(j);
    for (std::size_t l = 0; l < 900; ++l) x(l, j) -= static_cast<float>(by[j]);
  }
  other.add(x.view(), s.labels, s.rows, pool);
  moved.move_origin(by, pool);
  EXPECT_LT(largest_difference(moved.class_sums().values(), other.class_sums().values()), 1e-4);
  for (std::size_t g = 0; g < 2; ++g) {
    const Matrix<double>& products = moved.group_products()[g];
    EXPECT_LT(largest_difference(products.values(), other.group_products()[g].values()), 2e-3);
    for (std::size_t i = 0; i < 70; ++i)
      for (std::size_t j = 0; j < i; ++j) ASSERT_EQ(products(i, j), products(j, i));
  }
}

TEST(Statistics, BadInputChangesNothing) {
  Samples s(10, 4, 2);
  ThreadPool pool(1);
  Statistics stats(FeatureScaling::l2, names(2), 4);
  s.x(7, 2) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(stats.add(s.x.view(), s.labels, s.rows, pool), Error);
  s.x(7, 2) = 1;
  s.labels[3] = 2;
  EXPECT_THROW(stats.add(s.x.view(), s.labels, s.rows, pool), Error);
  s.labels[3] = 1;
  EXPECT_THROW(stats.add(s.x.view(), s.labels, s.rows, pool, std::vector<double>(10, -1.0)), Error);
  EXPECT_EQ(stats.weight(), 0);
  EXPECT_THROW(stats.merge(Statistics(FeatureScaling::none, names(2), 4)), Error);
  EXPECT_THROW(stats.merge(Statistics(FeatureScaling::l2, names(2), 5)), Error);
  EXPECT_THROW(Statistics(FeatureScaling::standardize, names(2), 4), Error);
}

TEST(Statistics, GroupsAddUpAndOneCanBeLeftOut) {
  const Samples s(1300, 6, 12);
  ThreadPool pool(2);
  const StatisticsOptions options{FeatureScaling::l2, 3, 0};
  Statistics grouped(options, names(12), 6), plain(FeatureScaling::l2, names(12), 6), rest(options, names(12), 6);
  grouped.add(s.x.view(), s.labels, s.rows, pool);
  plain.add(s.x.view(), s.labels, s.rows, pool);
  EXPECT_LT(largest_difference(grouped.products().values(), plain.products().values()), 1e-3);
  EXPECT_EQ(grouped.class_weights(), plain.class_weights());
  std::vector<std::int32_t> others;
  for (const auto r : s.rows)
    if (Statistics::group_of(names(12)[static_cast<std::size_t>(s.labels[static_cast<std::size_t>(r)])], 3) != 1)
      others.push_back(r);
  ASSERT_LT(others.size(), s.rows.size());
  rest.add(s.x.view(), s.labels, others, pool);
  const Statistics left = grouped.without_group(1);
  EXPECT_EQ(left.class_weights(), rest.class_weights());
  EXPECT_EQ(largest_difference(left.products().values(), rest.products().values()), 0);
  EXPECT_EQ(largest_difference(left.class_sums().values(), rest.class_sums().values()), 0);
}

TEST(Statistics, KeptRowsAreTheSameForAnyOrderOfSamplesAndShards) {
  Samples s(600, 5, 4);
  std::ranges::copy(s.x.row(0), s.x.row(1).begin());  // the same sample twice counts as one of weight 2
  s.labels[1] = s.labels[0];
  ThreadPool pool(1);
  const StatisticsOptions options{FeatureScaling::l2, 2, 7};
  Statistics whole(options, names(4), 5);
  whole.add(s.x.view(), s.labels, s.rows, pool);
  for (const auto& rows : whole.kept_rows()) EXPECT_EQ(rows.size(), 7u);
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::vector<std::int32_t> order = s.rows;
    Rng(seed).shuffle(order);
    Statistics merged(options, names(4), 5);
    for (std::size_t first = 0; first < order.size(); first += 100) {
      Statistics part(options, names(4), 5);
      part.add(s.x.view(), s.labels, std::span(order).subspan(first, 100), pool);
      if (seed == 3) std::swap(part, merged);
      merged.merge(part);
    }
    EXPECT_EQ(merged.kept_rows(), whole.kept_rows());
    EXPECT_EQ(merged.samples(), 600u);
  }
}

TEST(Statistics, AWeightOfTwoEqualsTheSampleTwice) {
  const Samples s(200, 5, 3);
  ThreadPool pool(1);
  const StatisticsOptions options{FeatureScaling::sqrt_l2, 2, 9};
  std::vector<std::int32_t> doubled;
  std::vector<double> weights;
  for (const auto r : s.rows) {
    weights.push_back(r % 3);  // 0, 1, 2
    for (int copy = 0; copy < r % 3; ++copy) doubled.push_back(r);
  }
  Statistics weighted(options, names(3), 5), repeated(options, names(3), 5);
  weighted.add(s.x.view(), s.labels, s.rows, pool, weights);
  repeated.add(s.x.view(), s.labels, doubled, pool);
  EXPECT_EQ(weighted.class_weights(), repeated.class_weights());
  EXPECT_EQ(weighted.kept_rows(), repeated.kept_rows());
  EXPECT_LT(largest_difference(weighted.products().values(), repeated.products().values()), 1e-4);
}

TEST(Statistics, RemovedRowsAreNoLongerKept) {
  const Samples s(60, 4, 2);
  ThreadPool pool(1);
  Statistics stats({FeatureScaling::l2, 2, 5}, names(2), 4);
  stats.add(s.x.view(), s.labels, s.rows, pool);
  stats.remove(s.x.view(), s.labels, s.rows, pool);
  for (const auto& rows : stats.kept_rows()) EXPECT_TRUE(rows.empty());
  EXPECT_EQ(stats.weight(), 0);
  EXPECT_EQ(stats.samples(), 0u);
}

}  // namespace
}  // namespace parsnets
