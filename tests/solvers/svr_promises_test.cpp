// What the SVR solver promises beside the optimum: equal bits for any number of threads, warm starts, the memory
// limit, shrinking, messages, errors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/random_matrix.hpp"
#include "expect.hpp"
#include "pool_test.hpp"
#include "solvers/svr.hpp"
#include "solvers/svr_problem.hpp"

namespace parsnets {
namespace {

using test::kernel_of;
using test::make_problem;
using test::primal_of;
using Problem = test::SvrProblem;
using Svr = test::PoolTest;

SvrOptions options_with(double c, int block = 0, SvrForm form = SvrForm::automatic) {
  return {.c = c, .epsilon = 0.05, .block = block, .form = form};
}

SvrResult solve(const Problem& p, const SvrOptions& o, ThreadPool& pool, ProgressObserver* progress = nullptr) {
  return solve_svr(p.samples(), p.targets.view(), o, pool, progress);
}

bool same_bits(const SvrResult& a, const SvrResult& b) {
  return a.bias == b.bias && a.primal == b.primal && a.dual == b.dual && test::same_bits(a.beta, b.beta);
}

/// What a refusal says; empty: there was none.
std::string refusal(const Problem& p, const SvrOptions& o, MatrixView<const float> targets, ErrorCode code) {
  ThreadPool pool(1);
  const auto error = test::thrown_by([&] { solve_svr(p.samples(), targets, o, pool); });
  EXPECT_TRUE(!error || error->code() == code);
  return error ? error->what() : "";
}

TEST_F(Svr, ResultsAreBitwiseEqualForAnyNumberOfThreads) {
  const Problem p = make_problem(700, 30, 12, 4, 90, 14);
  ThreadPool one(1), two(2), five(5);
  for (const double c : {0.01, 10.0})
    for (const SvrForm form : {SvrForm::stored_kernel, SvrForm::recomputed_kernel}) {
      SvrOptions o = options_with(c, 96, form);
      o.max_passes = form == SvrForm::stored_kernel ? 60 : 12;
      const SvrResult a = solve(p, o, one);
      EXPECT_TRUE(same_bits(a, solve(p, o, two)));
      EXPECT_TRUE(same_bits(a, solve(p, o, five)));
    }
}

class CancelAt : public ProgressObserver {
 public:
  explicit CancelAt(std::uint64_t pass, int events) : pass_(pass), events_(events) {}
  bool on_progress(const ProgressEvent& e) override {
    if (e.stage == "svr" && e.done >= pass_) --events_;
    return events_ > 0;
  }
  void on_message(std::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;

 private:
  std::uint64_t pass_;
  int events_;
};

TEST_F(Svr, WarmStartAlongCNeedsFewerPassesThanColdStarts) {
  const Problem p = make_problem(500, 20, 12, 4, 12, 18);
  int cold = 0, warm = 0;
  Matrix<float> beta;
  for (const double c : {0.01, 0.014, 0.02, 0.028, 0.04}) {
    const SvrOptions o = options_with(c, 64, SvrForm::recomputed_kernel);
    cold += solve(p, o, pool).passes.back().pass;
    SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool, nullptr, beta.view());
    EXPECT_TRUE(r.converged);
    warm += r.passes.back().pass;
    beta = std::move(r.beta);
  }
  EXPECT_LT(warm, cold);
}

TEST_F(Svr, WarmStartOutsideTheBoxIsMadeFeasible) {
  const Problem p = make_problem(80, 5, 6, 2, 4, 19);
  const Matrix<float> start(80, 4, 3.0f);
  const SvrResult r =
      solve_svr(p.samples(), p.targets.view(), {.c = 0.1, .max_passes = 0}, pool, nullptr, start.view());
  for (std::size_t j = 0; j < 4; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < 80; ++i) {
      EXPECT_LE(std::fabs(r.beta(i, j)), 0.1f);
      sum += r.beta(i, j);
    }
    EXPECT_NEAR(sum, 0, 1e-6);
  }
  EXPECT_GE(r.primal, r.dual);
}

TEST_F(Svr, MemoryLimitChoosesTheFormAndNamesTheLeastThatWorks) {
  const Problem p = make_problem(600, 60, 12, 10, 8, 20);
  SvrOptions o = options_with(0.05);
  const SvrResult free = solve(p, o, pool);
  EXPECT_EQ(free.form, SvrForm::stored_kernel);
  o.memory_limit = 1'200'000;  // less than the 1.44 MB of the kernel
  const SvrResult tight = solve(p, o, pool);
  EXPECT_NE(tight.form, SvrForm::stored_kernel);
  EXPECT_TRUE(tight.converged);
  EXPECT_NEAR(tight.primal, free.primal, 2e-3 * free.primal);

  o.memory_limit = 1000;
  const std::string text = refusal(p, o, p.targets.view(), ErrorCode::usage), mark = "at least ";
  ASSERT_NE(text.find(mark), std::string::npos) << text;
  const std::uint64_t least = std::stoull(text.substr(text.find(mark) + mark.size()));
  o.memory_limit = least;
  EXPECT_TRUE(solve(p, o, pool).converged);
  o.memory_limit = least - 1;
  EXPECT_THROW(solve(p, o, pool), Error);
}

TEST_F(Svr, OutputsOfDifferentDifficultyAreAllSolved) {
  Problem p = make_problem(300, 10, 8, 3, 40, 21);
  for (std::size_t i = 0; i < p.n(); ++i)
    for (std::size_t j = 0; j < 30; ++j) p.targets(i, j) = 0.01f * p.targets(i, j) + 2;  // inside the tube around b
  SvrOptions o = options_with(1, 64);
  o.epsilon = 0.1;
  o.tolerance = 1e-4;
  const SvrResult r = solve(p, o, pool);
  EXPECT_TRUE(r.converged);
  EXPECT_LE(r.passes.back().active_outputs, 10);
  EXPECT_NEAR(r.primal, primal_of(p, o, r), 1e-4 * r.primal);
  for (std::size_t i = 0; i < p.n(); ++i) EXPECT_EQ(r.beta(i, 0), 0.0f);
  EXPECT_NEAR(r.bias[0], 2, 0.2);
}

TEST_F(Svr, NetworksReproduceTheDualPrediction) {
  const Problem p = make_problem(150, 9, 7, 3, 5, 22);
  const Matrix<float> beta = test::random_matrix<float>(150, 5, 3);
  const Matrix<float> theta = networks_from_dual(p.samples(), beta.view(), pool);
  ASSERT_EQ(theta.rows(), 7u * 10u);
  ASSERT_EQ(theta.cols(), 5u);
  const Matrix<double> t = kernel_of(p);
  for (std::size_t i = 0; i < p.n(); ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      double dual = 0, primal = 0;
      for (std::size_t l = 0; l < p.n(); ++l) dual += t(i, l) * beta(l, j);
      for (std::uint16_t g : p.open.row(i)) {
        primal += theta(g * 10u, j);
        for (std::size_t c = 0; c < 9; ++c) primal += static_cast<double>(p.z(i, c)) * theta(g * 10u + 1 + c, j);
      }
      EXPECT_NEAR(primal, dual, 1e-3);
    }
}

TEST_F(Svr, ImpossibleArraysAreRefusedWithTheirNames) {
  Problem p = make_problem(40, 4, 6, 2, 3, 23);
  const MatrixView<const float> targets = p.targets.view();
  const auto expect_bad = [&](MatrixView<const float> given, const char* name) {
    EXPECT_NE(refusal(p, {}, given, ErrorCode::bad_input).find(name), std::string::npos) << name;
  };
  p.targets(5, 1) = NAN;
  expect_bad(targets, "finite");
  p.targets(5, 1) = 0;
  p.open(7, 1) = 6;
  expect_bad(targets, "row 7");
  p.open(7, 1) = p.open(7, 0);
  expect_bad(targets, "row 7");
}

TEST_F(Svr, ReportsALinePerPass) {
  const Problem p = make_problem(100, 6, 6, 2, 4, 24);
  CancelAt watch(1u << 30, 1);
  solve(p, {.tolerance = 1e-9, .max_passes = 3}, pool, &watch);
  const auto has = [&](const std::string& text) {
    return std::any_of(watch.lines.begin(), watch.lines.end(),
                       [&](const std::string& l) { return l.find(text) != std::string::npos; });
  };
  for (const char* text : {"pass 1 ", "pass 2 ", "pass 3 ", "primal", "dual", "gap", "outputs 4/4"})
    EXPECT_TRUE(has(text)) << text;
}

}  // namespace
}  // namespace parsnets
