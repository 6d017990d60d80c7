// The joint fit: the proximal SVR against subgradient descent, J never rises, the geometry gets better.

#include "solvers/joint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random_matrix.hpp"
#include "expect.hpp"
#include "pool_test.hpp"
#include "solvers/svr_problem.hpp"

namespace parsnets {
namespace {

using test::code_of;
using test::SvrProblem;
using JointFit = test::PoolTest;

struct JointProblem {
  SvrProblem svr;
  std::vector<std::int32_t> labels;
};

// Samples around the centres of classes; the targets are those of the class.
JointProblem class_problem(std::size_t n, std::size_t h, std::size_t networks, std::size_t k, std::size_t m,
                           int classes, std::uint64_t seed) {
  JointProblem p{test::make_problem(n, h, networks, k, m, seed), {}};
  Rng rng(seed, 1);
  Matrix<float> centre(static_cast<std::size_t>(classes), h), semantics(static_cast<std::size_t>(classes), m);
  for (float& v : centre.values()) v = static_cast<float>(rng.normal() / std::sqrt(static_cast<double>(h)));
  for (float& v : semantics.values()) v = static_cast<float>(rng.normal());
  for (std::size_t i = 0; i < n; ++i) {
    const auto c = static_cast<std::size_t>(rng.below(static_cast<std::uint64_t>(classes)));
    p.labels.push_back(static_cast<std::int32_t>(c));
    for (std::size_t j = 0; j < h; ++j) p.svr.z(i, j) += centre(c, j);
    std::copy_n(semantics.row(c).begin(), m, p.svr.targets.row(i).begin());
  }
  return p;
}

JointOptions options_for(double lambda) {
  return {.svr = {.c = 0.5, .epsilon = 0.05, .tolerance = 1e-4, .block = 64}, .mmg = lambda};
}

JointResult solve(const JointProblem& p, const JointOptions& o, ThreadPool& pool,
                  ProgressObserver* progress = nullptr) {
  return solve_joint(p.svr.samples(), p.labels, p.svr.targets.view(), o, pool, progress);
}

struct Model {
  std::vector<double> theta;  ///< as networks_from_dual
  std::vector<double> bias;
};

Model model_of(MatrixView<const float> networks, std::span<const float> bias) {
  return {{networks.data(), networks.data() + networks.size()}, {bias.begin(), bias.end()}};
}

double value_of(const SvrProblem& p, const Model& model, std::size_t l, std::size_t j) {
  const std::size_t h = p.z.cols(), m = p.m();
  double f = model.bias[j];
  for (const std::uint16_t i : p.open.row(l)) {
    f += model.theta[i * (h + 1) * m + j];
    for (std::size_t c = 0; c < h; ++c) f += model.theta[(i * (h + 1) + 1 + c) * m + j] * p.z(l, c);
  }
  return f;
}

double fit_of(const SvrProblem& p, const SvrOptions& o, const Model& model) {
  double total = 0;
  for (const double t : model.theta) total += 0.5 * t * t;
  for (std::size_t l = 0; l < p.n(); ++l)
    for (std::size_t j = 0; j < p.m(); ++j)
      total += o.c * std::max(0.0, std::fabs(p.targets(l, j) - value_of(p, model, l, j)) - o.epsilon);
  return total;
}

double proximal_of(const SvrProblem& p, const SvrOptions& o, const Model& model, const Matrix<float>& centre,
                   double eta) {
  double distance = 0;
  for (std::size_t e = 0; e < centre.size(); ++e)
    distance += (model.theta[e] - centre.data()[e]) * (model.theta[e] - centre.data()[e]);
  return fit_of(p, o, model) + distance / (2 * eta);
}

// The smallest value that plain subgradient descent with steps 1/(μt) meets, the later half of the path averaged.
double descend(const SvrProblem& p, const SvrOptions& o, const Matrix<float>& centre, double eta) {
  const std::size_t h = p.z.cols(), m = p.m();
  Model now{std::vector<double>(centre.size(), 0.0), std::vector<double>(m, 0.0)}, mean = now;
  const double mu = 1 + 1 / eta;
  const int steps = 60000;
  for (int t = 1; t <= steps; ++t) {
    Model slope{std::vector<double>(centre.size()), std::vector<double>(m, 0.0)};
    for (std::size_t e = 0; e < centre.size(); ++e)
      slope.theta[e] = now.theta[e] + (now.theta[e] - centre.data()[e]) / eta;
    for (std::size_t l = 0; l < p.n(); ++l)
      for (std::size_t j = 0; j < m; ++j) {
        const double r = p.targets(l, j) - value_of(p, now, l, j);
        if (std::fabs(r) <= o.epsilon) continue;
        const double pull = r > 0 ? -o.c : o.c;
        slope.bias[j] += pull;
        for (const std::uint16_t i : p.open.row(l)) {
          slope.theta[i * (h + 1) * m + j] += pull;
          for (std::size_t c = 0; c < h; ++c) slope.theta[(i * (h + 1) + 1 + c) * m + j] += pull * p.z(l, c);
        }
      }
    const double step = 1 / (mu * (t + 20));
    for (std::size_t e = 0; e < now.theta.size(); ++e) now.theta[e] -= step * slope.theta[e];
    for (std::size_t j = 0; o.global_bias && j < m; ++j) now.bias[j] -= slope.bias[j] / (t + 20);  // no curvature
    if (t <= steps / 2) continue;
    const double share = 1.0 / (t - steps / 2);
    for (std::size_t e = 0; e < now.theta.size(); ++e) mean.theta[e] += share * (now.theta[e] - mean.theta[e]);
    for (std::size_t j = 0; j < m; ++j) mean.bias[j] += share * (now.bias[j] - mean.bias[j]);
  }
  return std::min(proximal_of(p, o, now, centre, eta), proximal_of(p, o, mean, centre, eta));
}

Matrix<float> random_centre(const SvrProblem& p, std::uint64_t seed) {
  Matrix<float> centre = test::random_matrix<float>(p.networks * (p.z.cols() + 1), p.m(), seed);
  for (float& v : centre.values()) v *= 0.5f;
  return centre;
}

TEST(ProximalFit, ReachesTheMinimumThatSubgradientDescentFinds) {
  ThreadPool pool(1);
  const SvrProblem p = test::make_problem(14, 2, 3, 2, 2, 5);
  const Matrix<float> centre = random_centre(p, 6);
  for (const bool bias : {true, false})
    for (const double eta : {0.1, 1.0, 8.0}) {
      const SvrOptions o{.c = 0.4, .epsilon = 0.1, .global_bias = bias, .tolerance = 1e-5};
      const ProximalFit r = solve_proximal_fit(p.samples(), p.targets.view(), centre.view(), eta, o, pool);
      const double found = proximal_of(p, o, model_of(r.networks.view(), r.bias), centre, eta),
                   reference = descend(p, o, centre, eta);
      SCOPED_TRACE(testing::Message() << "eta " << eta << " bias " << bias);
      EXPECT_TRUE(r.converged);
      EXPECT_LE(found, reference * (1 + 1e-5));
      EXPECT_GE(found, reference * (1 - 1e-4));  // descent is slow, not wrong
      // Θ = (Θ̂ + η·Φᵀβ)/(1 + η), β in the box of C
      const Matrix<float> features = networks_from_dual(p.samples(), r.beta.view(), pool);
      for (const float b : r.beta.values()) EXPECT_LE(std::fabs(b), static_cast<float>(o.c));
      for (std::size_t e = 0; e < centre.size(); ++e)
        EXPECT_NEAR(r.networks.data()[e], (centre.data()[e] + eta * features.data()[e]) / (1 + eta), 1e-5);
    }
}

TEST(ProximalFit, WithTheSolutionAsCentreStaysThereAtOnce) {
  ThreadPool pool(1);
  const SvrProblem p = test::make_problem(60, 5, 6, 2, 3, 7);
  const SvrResult svr = solve_svr(p.samples(), p.targets.view(), {.epsilon = 0.1, .tolerance = 1e-4}, pool);
  const Matrix<float> theta = networks_from_dual(p.samples(), svr.beta.view(), pool);
  const SvrOptions none{.epsilon = 0.1, .tolerance = 2e-4, .max_passes = 0};
  const ProximalFit r =
      solve_proximal_fit(p.samples(), p.targets.view(), theta.view(), 0.7, none, pool, nullptr, svr.beta.view());
  EXPECT_TRUE(r.converged);
  for (std::size_t e = 0; e < theta.size(); ++e) EXPECT_NEAR(r.networks.data()[e], theta.data()[e], 1e-5);
}

TEST_F(JointFit, NeverRisesAndEveryNumberItReportsIsTrue) {
  for (const double lambda : {0.02, 0.3, 2.0}) {
    const JointProblem p = class_problem(150, 6, 6, 2, 5, 5, 11);
    JointOptions o = options_for(lambda);
    const JointResult r = solve(p, o, pool);
    SCOPED_TRACE(testing::Message() << "lambda " << lambda);
    double last = r.start_objective;
    int accepted = 0;
    for (const JointStep& s : r.steps) {
      EXPECT_EQ(s.accepted, s.objective <= last);
      EXPECT_NEAR(s.objective, s.fit + r.weight * s.mmg, 1e-12 * s.objective);
      if (!s.accepted) continue;
      last = s.objective;
      ++accepted;
    }
    EXPECT_GT(accepted, 0);
    EXPECT_LE(accepted, o.outer_steps);
    EXPECT_EQ(r.objective, last);
    const NetworkMmg g = mmg_of_networks(p.svr.samples(), p.labels, r.networks.view(), false, pool);
    const double fit = fit_of(p.svr, o.svr, model_of(r.networks.view(), r.bias));
    EXPECT_EQ(r.mmg, g.value);
    EXPECT_EQ(r.orthogonality, network_orthogonality(r.networks.view(), 6, pool));
    EXPECT_NEAR(r.objective, fit + r.weight * g.value, 1e-9 * r.objective);
    EXPECT_NEAR(r.start_objective, (1 + lambda) * r.weight / lambda * r.start_mmg, 1e-9 * r.start_objective);
    EXPECT_TRUE(r.converged);
    EXPECT_LE(r.relative_gap, o.svr.tolerance);
    EXPECT_GT(r.flops, 0);
    EXPECT_GT(r.bytes, 0);
  }
}

TEST_F(JointFit, TradesALittleFitForBetterGeometry) {
  const JointProblem p = class_problem(150, 6, 6, 2, 5, 5, 12);
  double last = std::numeric_limits<double>::infinity();
  for (const double lambda : {0.1, 1.0}) {
    const JointResult r = solve(p, options_for(lambda), pool);
    EXPECT_LT(r.objective, r.start_objective * (1 - 1e-3));
    EXPECT_LT(r.mmg, r.start_mmg * 0.99);
    EXPECT_LT(r.mmg, last);  // more weight, better geometry
    last = r.mmg;
    const double fit = r.objective - r.weight * r.mmg, start = r.start_objective - r.weight * r.start_mmg;
    EXPECT_GE(fit, start * (1 - 2e-4));  // the start was optimal for the fit
  }
}

TEST_F(JointFit, WithoutWeightOrGeometryIsTheSvrSolution) {
  JointProblem p = class_problem(120, 5, 4, 2, 4, 3, 13);
  const SvrResult svr = solve_svr(p.svr.samples(), p.svr.targets.view(), options_for(0).svr, pool);
  const Matrix<float> networks = networks_from_dual(p.svr.samples(), svr.beta.view(), pool);
  for (const double lambda : {0.0, 0.5}) {
    if (lambda > 0) std::fill(p.labels.begin(), p.labels.end(), 4);  // one class: g = 0
    const JointResult r = solve(p, options_for(lambda), pool);
    EXPECT_TRUE(test::same_bits(r.networks, networks));
    EXPECT_TRUE(test::same_bits(r.start_beta, svr.beta));
    EXPECT_EQ(r.bias, svr.bias);
    EXPECT_TRUE(r.steps.empty());
    EXPECT_EQ(r.objective, r.start_objective);
    EXPECT_NEAR(r.objective, svr.primal, 1e-5 * svr.primal);
  }
}

TEST_F(JointFit, WorksWhereNetworksAreEqualOrNeverOpen) {
  JointProblem p = class_problem(80, 5, 3, 3, 4, 3, 14);  // all open: all networks equal, no projection
  JointOptions o = options_for(0.5);
  const JointResult equal = solve(p, o, pool);
  ASSERT_FALSE(equal.steps.empty());
  EXPECT_EQ(equal.steps[0].projection, 0);
  EXPECT_LT(equal.mmg, equal.start_mmg);
  EXPECT_LT(equal.objective, equal.start_objective);

  p = class_problem(80, 5, 3, 1, 4, 3, 15);
  p.svr.networks = 4;  // the last one is open for no sample
  const JointResult closed = solve(p, o, pool);
  ASSERT_FALSE(closed.steps.empty());
  EXPECT_GT(closed.steps[0].projection, 0);
  EXPECT_LT(closed.objective, closed.start_objective);
  for (std::size_t r = 18; r < 24; ++r)
    for (const float v : closed.networks.row(r)) EXPECT_EQ(v, 0.0f);
}

TEST_F(JointFit, StartsFromAGivenSolution) {
  const JointProblem p = class_problem(100, 5, 6, 2, 4, 4, 16);
  const JointOptions o = options_for(0.3);
  const JointResult cold = solve(p, o, pool);
  const JointResult warm =
      solve_joint(p.svr.samples(), p.labels, p.svr.targets.view(), o, pool, nullptr, cold.start_beta.view());
  EXPECT_LT(warm.flops, cold.flops);
  EXPECT_NEAR(warm.objective, cold.objective, 1e-2 * cold.objective);
}

TEST_F(JointFit, ThreadCountDoesNotChangeBits) {
  const JointProblem p = class_problem(700, 6, 6, 2, 20, 5, 17);
  JointOptions o = options_for(0.5);
  o.outer_steps = 2;
  o.svr.tolerance = 1e-3;
  ThreadPool one(1), three(3);
  const JointResult a = solve(p, o, one), b = solve(p, o, three);
  EXPECT_TRUE(test::same_bits(a.networks, b.networks));
  EXPECT_EQ(a.bias, b.bias);
  EXPECT_EQ(a.objective, b.objective);
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) EXPECT_EQ(a.steps[i].objective, b.steps[i].objective);
}

struct StopAt : ProgressObserver {
  bool on_progress(const ProgressEvent& e) override { return e.stage != "joint fit" || e.done < 1; }
};

TEST_F(JointFit, CanBeCancelledBetweenSteps) {
  const JointProblem p = class_problem(80, 5, 4, 2, 4, 4, 18);
  StopAt stop;
  EXPECT_EQ(code_of([&] { solve(p, options_for(0.5), pool, &stop); }), ErrorCode::cancelled);
}

}  // namespace
}  // namespace parsnets
