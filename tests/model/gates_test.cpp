#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "base/linalg.hpp"
#include "base/random_matrix.hpp"
#include "expect.hpp"
#include "model/fit_gates.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model_parts.hpp"
#include "small_training.hpp"

namespace parsnets {
namespace {

using test::random_matrix;
using test::same_bits;

std::vector<std::uint16_t> select(const Gates& gates, std::span<const float> e) {
  std::vector<std::uint16_t> chosen(gates.open);
  gates.select(e, chosen);
  return chosen;
}

/// By a full stable sort: the slow, obvious way.
std::vector<std::uint16_t> largest(const std::vector<double>& scores, std::size_t k) {
  std::vector<std::uint16_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a] > scores[b]; });
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

std::vector<double> energies(std::span<const float> e, std::size_t networks) {
  const std::size_t part = e.size() / networks;
  const double mean = std::accumulate(e.begin(), e.end(), 0.0) / static_cast<double>(e.size());
  std::vector<double> v(networks, 0.0);
  for (std::size_t j = 0; j < e.size(); ++j) v[j / part] += (e[j] - mean) * (e[j] - mean) / static_cast<double>(part);
  return v;
}

void expect_batch_equals_select(const Gates& gates, const Matrix<float>& e) {
  ThreadPool pool(2);
  const auto open = open_networks(gates, e.view(), pool);
  ASSERT_EQ(open.rows(), e.rows());
  ASSERT_EQ(open.cols(), gates.open);
  for (std::size_t r = 0; r < e.rows(); ++r) {
    const auto chosen = select(gates, e.row(r));
    ASSERT_TRUE(std::equal(chosen.begin(), chosen.end(), open.row(r).begin())) << "row " << r;
    ASSERT_TRUE(std::ranges::is_sorted(chosen));
    ASSERT_TRUE(std::ranges::adjacent_find(chosen) == chosen.end());
  }
}

/// Gates of embeddings that are all in memory.
Gates gates_for(const GateOptions& options, const Matrix<float>& e, unsigned threads = 2) {
  ThreadPool pool(threads);
  const auto encodings = [&](std::span<const std::size_t> samples) {
    Matrix<float> some(samples.size(), e.cols());
    for (std::size_t i = 0; i < samples.size(); ++i) std::ranges::copy(e.row(samples[i]), some.row(i).begin());
    return some;
  };
  return fit_gates(options, e.rows(), e.cols(), encodings, pool);
}

ErrorCode code_of(const GateOptions& options, const Matrix<float>& e) {
  return test::code_of([&] { gates_for(options, e); });
}

TEST(Gates, TheSingleNetworkIsAlwaysOpen) {
  const auto e = random_matrix<float>(10, 7, 1);
  const auto gates = gates_for({GateKind::always, 200, 40}, e);
  EXPECT_EQ(gates.networks, 1u);
  EXPECT_EQ(select(gates, e.row(0)), std::vector<std::uint16_t>{0});
  expect_batch_equals_select(gates, e);
}

TEST(Gates, NoMoreEncodingsAreAskedForThanThereAreAnchors) {
  ThreadPool pool(1);
  std::size_t asked = 0;
  const auto encodings = [&](std::span<const std::size_t> samples) {
    asked += samples.size();
    return random_matrix<float>(samples.size(), 7, 4);
  };
  fit_gates({GateKind::anchor, 9, 2}, 50, 7, encodings, pool);
  EXPECT_EQ(asked, 9u);
}

TEST(Gates, EnergyIsMeasuredAboutTheMeanOfTheWholeEmbedding) {
  Gates gates{GateKind::energy, 3, 1, {}};
  // Mean 7: the parts' energies are 2, 16 and 25. About their own means only the first part would have any.
  const std::vector<float> e{5, 7, 3, 3, 12, 12}, longer(8, 1.0f);
  EXPECT_EQ(select(gates, e), std::vector<std::uint16_t>{2});
  gates.open = 2;
  EXPECT_EQ(select(gates, e), (std::vector<std::uint16_t>{1, 2}));
  EXPECT_THROW(select(gates, longer), Error);  // 8 is not a multiple of 3
}

TEST(Gates, EnergyGatesAgreeWithTheFormulaOnRandomData) {
  const auto e = random_matrix<float>(300, 60, 2);
  for (const int open : {1, 7, 29, 30}) {
    const auto gates = gates_for({GateKind::energy, 30, open}, e);
    for (std::size_t r = 0; r < e.rows(); ++r)
      ASSERT_EQ(select(gates, e.row(r)), largest(energies(e.row(r), 30), static_cast<std::size_t>(open)));
    expect_batch_equals_select(gates, e);
  }
}

TEST(Gates, TiesGoToTheLowerIndex) {
  const Gates parts{GateKind::energy, 4, 2, {}};
  const std::vector<float> strongest_last{1, -1, 1, -1, 1, -1, 2, -2};  // the tie must leave room for the last
  EXPECT_EQ(select(parts, strongest_last), (std::vector<std::uint16_t>{0, 3}));
  for (const auto kind : {GateKind::energy, GateKind::anchor}) {
    auto e = random_matrix<float>(40, 8, 3);
    auto gates = gates_for({kind, 8, 3}, e);
    const std::vector<float> zero(8, 0.0f);
    EXPECT_EQ(select(gates, zero), (std::vector<std::uint16_t>{0, 1, 2}));
    if (kind == GateKind::anchor) {
      for (const std::size_t a : {2u, 4u, 6u}) std::ranges::copy(e.row(0), gates.anchors.row(a).begin());
      for (const std::size_t a : {0u, 1u, 3u, 5u, 7u})
        for (float& v : gates.anchors.row(a)) v /= 100;
      gates.open = 2;
      EXPECT_EQ(select(gates, e.row(0)), (std::vector<std::uint16_t>{2, 4}));
    }
    for (float& v : e.row(5)) v = 0;
    expect_batch_equals_select(gates, e);
  }
}

TEST(Gates, AnchorGatesOpenTheNearestByCosine) {
  auto e = random_matrix<float>(400, 24, 4);
  for (std::size_t r = 0; r < e.rows(); ++r)  // lengths must not matter
    for (float& v : e.row(r)) v *= static_cast<float>(1 + r);
  const auto gates = gates_for({GateKind::anchor, 50, 9}, e);
  for (std::size_t r = 0; r < e.rows(); ++r) {
    std::vector<double> cosine;
    for (std::size_t a = 0; a < 50; ++a)
      cosine.push_back(dot(gates.anchors.row(a), e.row(r)) /
                       std::sqrt(dot(gates.anchors.row(a), gates.anchors.row(a)) * dot(e.row(r), e.row(r))));
    auto expected = largest(cosine, 9);
    const auto chosen = select(gates, e.row(r));
    // Anchors are of unit length up to rounding only: a different choice must be a tie within it.
    if (chosen == expected) continue;
    auto sorted = cosine;
    std::ranges::sort(sorted, std::greater<>());
    for (const auto a : chosen) EXPECT_GE(cosine[a], sorted[8] - 1e-6);
  }
}

TEST(Gates, ManySamplesGetTheNetworksEachWouldGetAlone) {
  auto e = random_matrix<float>(3000, 96, 5);
  for (std::size_t r = 0; r < e.rows(); ++r)
    for (float& v : e.row(r)) v *= r % 3 == 0 ? 1e-20f : r % 3 == 1 ? 1.0f : 1e15f;
  for (const int open : {1, 40, 199, 200}) {
    auto gates = gates_for({GateKind::anchor, 200, open}, e);
    expect_batch_equals_select(gates, e);
    // Anchors that differ by less than a float GEMM resolves: the approximate order is useless, the choice is not.
    Rng rng(6);
    for (std::size_t a = 1; a < 200; ++a)
      for (std::size_t j = 0; j < 96; ++j)
        gates.anchors(a, j) = gates.anchors(0, j) * (1 + static_cast<float>(rng.normal()) * 1e-7f);
    expect_batch_equals_select(gates, e);
  }
}

TEST(Gates, EmbeddingsThatCannotBeRankedStillOpenDistinctNetworks) {
  auto e = random_matrix<float>(200, 12, 7);
  const Gates all[] = {gates_for({GateKind::energy, 6, 3}, e), gates_for({GateKind::anchor, 6, 3}, e)};
  e(3, 4) = std::numeric_limits<float>::quiet_NaN();
  e(4, 4) = std::numeric_limits<float>::infinity();
  for (float& v : e.row(5)) v = std::numeric_limits<float>::max();
  for (const auto& gates : all) expect_batch_equals_select(gates, e);
}

TEST(Gates, DrawnAnchorsAreDistinctSamplesOfUnitLength) {
  auto e = random_matrix<float>(60, 5, 8);
  for (std::size_t r = 0; r < 60; r += 2)
    for (float& v : e.row(r)) v = 0;
  const auto gates = gates_for({GateKind::anchor, 30, 4}, e);  // all that are not zero
  std::set<std::size_t> sources;
  for (std::size_t a = 0; a < 30; ++a) {
    EXPECT_NEAR(dot(gates.anchors.row(a), gates.anchors.row(a)), 1, 1e-6);
    for (std::size_t r = 1; r < 60; r += 2)
      if (dot(gates.anchors.row(a), e.row(r)) > (1 - 1e-6) * std::sqrt(dot(e.row(r), e.row(r)))) sources.insert(r);
  }
  EXPECT_EQ(sources.size(), 30u);
  EXPECT_FALSE(same_bits(gates_for({GateKind::anchor, 30, 4, /*seed=*/2}, e).anchors, gates.anchors));
  EXPECT_EQ(code_of({GateKind::anchor, 31, 4}, e), ErrorCode::usage);
}

TEST(Gates, FitAndChoiceDoNotDependOnTheNumberOfThreads) {
  const auto e = random_matrix<float>(1500, 40, 11);
  const GateOptions options{GateKind::anchor, 60, 12};
  ThreadPool one(1);
  const auto first = gates_for(options, e, 1);
  const auto open = open_networks(first, e.view(), one);
  for (const unsigned threads : {2u, 5u}) {
    ThreadPool pool(threads);
    const auto again = gates_for(options, e, threads);
    EXPECT_TRUE(same_bits(first.anchors, again.anchors));
    EXPECT_TRUE(same_bits(open, open_networks(again, e.view(), pool)));
  }
}

TEST(Gates, ImpossibleOptionsAreUsageErrors) {
  const auto e = random_matrix<float>(20, 12, 12);
  for (const auto& [networks, open] : {std::pair(4, 5), {4, 0}, {0, 0}, {5, 2}, {24, 2}})  // not parts of 12 values
    EXPECT_EQ(code_of({GateKind::energy, networks, open}, e), ErrorCode::usage) << networks;
  for (const int networks : {21, 70000})  // of 20 samples
    EXPECT_EQ(code_of({GateKind::anchor, networks, 2}, e), ErrorCode::usage);
  auto broken = random_matrix<float>(20, 12, 12);
  broken(3, 3) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(code_of({GateKind::anchor, 20, 2}, broken), ErrorCode::bad_input);  // every sample is drawn
}

TEST(Gates, GatesThatDoNotFitTheEmbeddingAreRefused) {
  ThreadPool pool(1);
  const auto e = random_matrix<float>(20, 12, 13), other = random_matrix<float>(20, 11, 13);
  const auto gates = gates_for({GateKind::anchor, 5, 2}, e);
  EXPECT_THROW(select(gates, other.row(0)), Error);
  EXPECT_THROW(open_networks(gates, other.view(), pool), Error);
  EXPECT_THROW(select({GateKind::energy, 0, 0, {}}, e.row(0)), Error);
  std::vector<std::uint16_t> three(3);
  EXPECT_THROW(gates.select(e.row(0), three), Error);
}

TEST(Gates, UsageCountsSharesAndEntropy) {
  Matrix<std::uint16_t> open(4, 2);
  const std::vector<std::uint16_t> values{0, 1, 0, 2, 0, 1, 0, 3};
  std::ranges::copy(values, open.values().begin());
  const auto usage = gate_usage(open.view(), 5);
  EXPECT_EQ(usage.samples, (std::vector<std::size_t>{4, 2, 1, 1, 0}));
  EXPECT_EQ(usage.minimum, 0);
  EXPECT_EQ(usage.median, 0.25);
  EXPECT_EQ(usage.maximum, 1);
  EXPECT_NEAR(usage.entropy, (0.5 * std::log(2) + 0.25 * std::log(4) + 0.25 * std::log(8)) / std::log(5), 1e-12);
  EXPECT_EQ(gate_usage(open.view(), 4).median, 0.375);
  EXPECT_THROW(gate_usage(open.view(), 3), Error);
  Matrix<std::uint16_t> even(6, 1);
  for (std::size_t r = 0; r < 6; ++r) even(r, 0) = static_cast<std::uint16_t>(r % 3);
  EXPECT_NEAR(gate_usage(even.view(), 3).entropy, 1, 1e-12);
  Matrix<std::uint16_t> single(6, 1, std::uint16_t{0});
  EXPECT_EQ(gate_usage(single.view(), 1).entropy, 1);
  EXPECT_EQ(gate_usage(single.view(), 2).entropy, 0);
  EXPECT_EQ(gate_usage(Matrix<std::uint16_t>(0, 2).view(), 2).samples, (std::vector<std::size_t>{0, 0}));
}

TEST(Gates, RandomRotationsSpreadTheEnergyThatPrincipalAxesConcentrate) {
  // What the rotation policy is for: with falling variances the first parts win always, with even ones all do
  // sometimes.
  ThreadPool pool(1);
  auto even = random_matrix<float>(500, 40, 14), falling = random_matrix<float>(500, 40, 14);
  for (std::size_t r = 0; r < 500; ++r)
    for (std::size_t j = 0; j < 40; ++j) falling(r, j) /= static_cast<float>(1 + j);
  const auto gates = gates_for({GateKind::energy, 20, 4}, even);
  const auto balanced = gate_usage(open_networks(gates, even.view(), pool).view(), 20);
  const auto degenerate = gate_usage(open_networks(gates, falling.view(), pool).view(), 20);
  EXPECT_GT(balanced.entropy, 0.99);
  EXPECT_GT(balanced.minimum, 0.1);
  EXPECT_LT(degenerate.entropy, 0.9);
  EXPECT_GT(degenerate.maximum, 0.8);
}

}  // namespace
}  // namespace parsnets
