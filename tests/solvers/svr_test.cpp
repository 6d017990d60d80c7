// The multi-output SVR solver against LIBSVM and against a slow reference in double: optimum, bounds, equal forms.

#include "solvers/svr.hpp"

#include <gtest/gtest.h>
#include <libsvm/svm.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "pool_test.hpp"
#include "solvers/svr_problem.hpp"

namespace parsnets {
namespace {

using test::kernel_of;
using test::make_problem;
using test::primal_of;
using Problem = test::SvrProblem;
using Svr = test::PoolTest;

struct Reference {
  Matrix<double> beta;
  Matrix<double> f;  ///< Tβ
  double dual = 0;
};

void finish(const Problem& p, const Matrix<double>& t, double epsilon, Reference& r) {
  r.f = Matrix<double>(p.n(), p.m(), 0.0);
  for (std::size_t j = 0; j < p.m(); ++j)
    for (std::size_t i = 0; i < p.n(); ++i) {
      for (std::size_t l = 0; l < p.n(); ++l) r.f(i, j) += t(i, l) * r.beta(l, j);
      r.dual += r.beta(i, j) * (p.targets(i, j) - 0.5 * r.f(i, j)) - epsilon * std::fabs(r.beta(i, j));
    }
}

// Without a bias: plain coordinate descent in double until nothing moves.
Reference reference_without_bias(const Problem& p, double c, double epsilon) {
  const Matrix<double> t = kernel_of(p);
  Reference r;
  r.beta = Matrix<double>(p.n(), p.m(), 0.0);
  for (std::size_t j = 0; j < p.m(); ++j) {
    std::vector<double> g(p.n());
    for (std::size_t i = 0; i < p.n(); ++i) g[i] = -p.targets(i, j);
    for (int sweep = 0; sweep < 200000; ++sweep) {
      double largest = 0;
      for (std::size_t i = 0; i < p.n(); ++i) {
        const double u = r.beta(i, j) - g[i] / t(i, i), e = epsilon / t(i, i);
        const double v = std::clamp(u > e ? u - e : u < -e ? u + e : 0.0, -c, c), d = v - r.beta(i, j);
        if (d == 0) continue;
        r.beta(i, j) = v;
        for (std::size_t l = 0; l < p.n(); ++l) g[l] += t(i, l) * d;
        largest = std::max(largest, std::fabs(d));
      }
      if (largest < 1e-10 * c) break;
    }
  }
  finish(p, t, epsilon, r);
  return r;
}

Reference reference_with_bias(const Problem& p, double c, double epsilon) {
  const Matrix<double> t = kernel_of(p);
  svm_set_print_string_function([](const char*) {});
  Reference r;
  r.beta = Matrix<double>(p.n(), p.m(), 0.0);
  std::vector<std::vector<svm_node>> rows(p.n());
  std::vector<svm_node*> x;
  for (std::size_t i = 0; i < p.n(); ++i) {
    rows[i].push_back({0, static_cast<double>(i + 1)});
    for (std::size_t l = 0; l < p.n(); ++l) rows[i].push_back({static_cast<int>(l + 1), t(i, l)});
    rows[i].push_back({-1, 0});
    x.push_back(rows[i].data());
  }
  for (std::size_t j = 0; j < p.m(); ++j) {
    std::vector<double> y(p.n());
    for (std::size_t i = 0; i < p.n(); ++i) y[i] = p.targets(i, j);
    svm_problem problem{static_cast<int>(p.n()), y.data(), x.data()};
    svm_parameter options{};
    options.svm_type = EPSILON_SVR;
    options.kernel_type = PRECOMPUTED;
    options.C = c;
    options.p = epsilon;
    options.eps = 1e-7;
    options.cache_size = 16;
    svm_model* model = svm_train(&problem, &options);
    for (int s = 0; s < model->l; ++s)
      r.beta(static_cast<std::size_t>(model->sv_indices[s] - 1), j) = model->sv_coef[0][s];
    svm_free_and_destroy_model(&model);
  }
  finish(p, t, epsilon, r);
  return r;
}

// |β| ≤ C, Σβ = 0, the optimum between the bounds, and f within what the gap allows: ½‖θ − θ*‖² ≤ primal − optimum.
void expect_certified(const Problem& p, const SvrOptions& o, const SvrResult& r, const Reference& reference,
                      double relative_rounding = 3e-6) {
  const double rounding = relative_rounding * (std::fabs(r.primal) + std::fabs(reference.dual)) + 1e-9;
  EXPECT_LE(r.dual, reference.dual + rounding);
  EXPECT_GE(r.primal, reference.dual - rounding);
  EXPECT_NEAR(r.relative_gap, (r.primal - r.dual) / std::max(r.primal, 1e-300), 1e-12);
  const Matrix<double> t = kernel_of(p);
  const double reach = std::sqrt(2 * std::max(r.primal - reference.dual, 0.0) + 2 * rounding);
  for (std::size_t j = 0; j < p.m(); ++j) {
    double sum = 0, size = 0;
    for (std::size_t i = 0; i < p.n(); ++i) {
      ASSERT_LE(std::fabs(r.beta(i, j)), static_cast<float>(o.c));
      sum += r.beta(i, j);
      size += std::fabs(r.beta(i, j));
      double f = 0;
      for (std::size_t l = 0; l < p.n(); ++l) f += t(i, l) * r.beta(l, j);
      ASSERT_NEAR(f, reference.f(i, j), reach * std::sqrt(t(i, i)) + 1e-6) << "sample " << i << ", output " << j;
    }
    if (o.global_bias) {
      EXPECT_LE(std::fabs(sum), 1e-6 * size + 1e-7 * o.c * std::sqrt(static_cast<double>(p.n())));
    }
  }
}

struct Case {
  std::size_t n, h, networks, k;
  double c, epsilon;
};

const Case kCases[] = {
    {30, 4, 5, 1, 1.0, 0.1},     {30, 4, 5, 5, 0.05, 0.0},   {60, 6, 10, 3, 0.01, 0.1},   {60, 6, 10, 3, 5.0, 0.1},
    {60, 40, 8, 4, 2.0, 0.0},    {90, 8, 12, 12, 0.2, 0.05}, {120, 10, 20, 4, 1.0, 0.1},  {120, 10, 20, 10, 0.1, 0.3},
    {120, 60, 20, 20, 0.5, 0.2}, {80, 5, 1, 1, 0.5, 0.1},    {100, 10, 16, 6, 1e-4, 0.1},
};

SvrOptions options_of(const Case& k) {
  // With a large C the sums of a sweep in float end in a gap of about 8e-5.
  return {.c = k.c, .epsilon = k.epsilon, .tolerance = k.c > 2 ? 1e-4 : 5e-5, .max_passes = 3000, .block = 32};
}

/// Products are in float: up to 1.5e-5 with OpenBLAS's kernel for the Cortex-A72, 2e-6 with that for AVX-512.
constexpr double kFloatError = 3e-5;

Reference reference_of(const Problem& p, const SvrOptions& o) {
  return o.global_bias ? reference_with_bias(p, o.c, o.epsilon) : reference_without_bias(p, o.c, o.epsilon);
}

TEST_F(Svr, ReachesTheOptimumOfLibsvmAndWithoutBiasThatOfCoordinateDescentInDouble) {
  for (const bool bias : {true, false})
    for (const Case& k : kCases) {
      SCOPED_TRACE(testing::Message() << "bias " << bias << " N " << k.n << " K " << k.networks << " k " << k.k << " C "
                                      << k.c);
      const Problem p = make_problem(k.n, k.h, k.networks, k.k, 3, 11 + (bias ? 1 : 0));
      SvrOptions o = options_of(k);
      o.global_bias = bias;
      const Reference reference = reference_of(p, o);
      const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
      EXPECT_TRUE(r.converged);
      expect_certified(p, o, r, reference);
      EXPECT_NEAR(r.primal, reference.dual, 1e-4 * reference.dual);
      EXPECT_NEAR(r.primal, primal_of(p, o, r), kFloatError * r.primal);
      for (const float b : r.bias) EXPECT_TRUE(bias || b == 0.0f);
      for (const int passes : {0, 1, 2, 4}) {  // bounds hold wherever it stops
        o.max_passes = passes;
        const SvrResult early = solve_svr(p.samples(), p.targets.view(), o, pool);
        EXPECT_NEAR(early.primal, primal_of(p, o, early), kFloatError * early.primal);
        expect_certified(p, o, early, reference);
      }
    }
}

// There β is so large that its own rounding to float shows in C·Σ loss; the dual value does not suffer.
TEST_F(Svr, WithVeryLargeCTheBoundsHoldAndTheDualIsClose) {
  const Problem p = make_problem(60, 6, 10, 3, 3, 12);
  SvrOptions o = options_of({60, 6, 10, 3, 100.0, 0.1});
  o.max_passes = 300;
  const Reference reference = reference_of(p, o);
  const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
  expect_certified(p, o, r, reference, 1e-5);
  EXPECT_NEAR(r.dual, reference.dual, 1e-3 * reference.dual);
}

// The rounds of the active set show in the number of passes: sweeps alone do not get there with so few.
TEST_F(Svr, WhereMostAreFreeTheActiveSetIsFoundInFewPasses) {
  for (const bool bias : {true, false}) {
    const Problem p = make_problem(240, 20, 30, 8, 6, 31);
    SvrOptions o{.c = 3, .epsilon = 0.02, .global_bias = bias, .tolerance = 2e-5, .max_passes = 3000, .block = 32};
    const Reference reference = reference_of(p, o);
    const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
    o.form = SvrForm::recomputed_kernel;  // which sweeps alone solve
    const SvrResult swept = solve_svr(p.samples(), p.targets.view(), o, pool);
    EXPECT_TRUE(r.converged) << r.relative_gap;
    EXPECT_LT(r.passes.back().pass, swept.passes.back().pass / 2);
    expect_certified(p, o, r, reference);
    EXPECT_NEAR(r.dual, reference.dual, 2e-5 * reference.dual);
  }
}

// No β solves the equations of two equal samples that want different values: the step must not go astray for others.
TEST_F(Svr, EqualSamplesWithDifferentTargetsDoNoHarm) {
  for (const bool bias : {true, false}) {
    Problem p = make_problem(240, 20, 30, 8, 6, 32);
    for (std::size_t i = 0; i < 80; ++i) {  // pairs, and forty samples that are all the same
      const std::size_t twin = i < 40 ? i - i % 2 : 40;
      std::ranges::copy(p.z.row(twin), p.z.row(i).begin());
      std::ranges::copy(p.open.row(twin), p.open.row(i).begin());
    }
    const SvrOptions o{
        .c = 3, .epsilon = 0.02, .global_bias = bias, .tolerance = 1e-4, .max_passes = 3000, .block = 32};
    const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
    EXPECT_TRUE(r.converged) << r.relative_gap;
    expect_certified(p, o, r, reference_of(p, o));
  }
}

TEST_F(Svr, AllFormsReachTheSameOptimum) {
  for (const bool bias : {true, false})
    for (const double c : {0.02, 5.0}) {
      const Problem p = make_problem(110, 12, 10, 3, 20, 13);
      SvrOptions o = options_of({110, 12, 10, 3, c, 0.05});
      o.global_bias = bias;
      const Reference reference = reference_of(p, o);
      for (const SvrForm form : {SvrForm::stored_kernel, SvrForm::recomputed_kernel}) {
        o.form = form;
        const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
        SCOPED_TRACE(testing::Message() << "form " << static_cast<int>(form) << " C " << c << " bias " << bias);
        EXPECT_EQ(r.form, form);
        EXPECT_TRUE(r.converged);
        expect_certified(p, o, r, reference);
        EXPECT_GT(r.flops, 0);
      }
    }
}

}  // namespace
}  // namespace parsnets
