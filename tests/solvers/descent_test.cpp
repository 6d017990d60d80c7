// Descent against its promises: gradients by finite differences, J never rises, ridge as a fixed point, same bits.

#include "solvers/descent.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/linalg.hpp"
#include "base/random_matrix.hpp"
#include "expect.hpp"
#include "largest_difference.hpp"
#include "model/composite.hpp"
#include "pool_test.hpp"
#include "solvers/baselines/small_problem.hpp"
#include "solvers/descent_loss.hpp"
#include "solvers/preconditioner.hpp"
#include "thread_processes.hpp"

namespace parsnets {
namespace {

using Descent = test::PoolTest;

/// A small problem with d features, K gated networks on the first h of them, and C classes.
struct DescentProblem {
  static constexpr std::size_t n = 120, d = 14, h = 6, m = 5, classes = 6, networks = 4, k = 2;
  Matrix<float> x{n, d}, z{n, h}, semantics{classes, m};
  std::optional<Cholesky<float>> preconditioner;
  Matrix<std::uint16_t> open{n, k};
  std::vector<std::int32_t> labels;
  Model model;

  explicit DescentProblem(bool gated, bool relu = false, std::uint64_t seed = 7) {
    Rng rng(seed);
    for (float& v : semantics.values()) v = static_cast<float>(rng.normal());
    Matrix<float> hidden(m, d);
    for (float& v : hidden.values()) v = static_cast<float>(rng.normal());
    for (std::size_t l = 0; l < n; ++l) {
      labels.push_back(static_cast<std::int32_t>(l % (l < 60 ? 2 : classes)));
      for (std::size_t c = 0; c < d; ++c) {
        double sum = 1.5 * rng.normal();
        for (std::size_t j = 0; j < m; ++j) sum += semantics(static_cast<std::size_t>(labels[l]), j) * hidden(j, c);
        x(l, c) = static_cast<float>(sum);
      }
      std::copy_n(x.row(l).begin(), h, z.row(l).begin());
      open(l, 0) = static_cast<std::uint16_t>(l % 3);
      open(l, 1) = 3;
    }
    ThreadPool pool(1);
    preconditioner.emplace(ridge_preconditioner(gram_of_columns(pool, x.view()).view(), 1, pool));
    model.dimensions = d;
    model.semantic_centre.assign(m, 0.1f);
    model.bias.assign(m, 0.05f);
    model.relu = relu;
    if (gated) {
      model.gates.kind = GateKind::anchor;
      model.gates.networks = networks;
      model.gates.open = k;
      model.networks_see_encoding = true;
      model.shared = Matrix<float>(d, m);
      model.networks = Matrix<float>(networks * (h + 1), m);
    } else {
      model.networks = Matrix<float>(d + 1, m);
    }
    for (auto* weights : {&model.shared, &model.networks})
      for (float& v : weights->values()) v = static_cast<float>(0.1 * rng.normal());
  }

  DescentSamples samples() const {
    return {one_block(x.view(), z.view(), open.view(), labels), true, labels, semantics.view(), &*preconditioner};
  }
};

TEST_F(Descent, GradientsOfBothLossesMatchFiniteDifferences) {
  const DescentProblem p(true);
  Matrix<float> f = test::random_matrix<float>(DescentProblem::n, DescentProblem::m, 3);
  for (const auto loss : {DescentLoss::softmax, DescentLoss::squared}) {
    const DescentOptions options{.loss = loss, .mmg = 0.4};
    const LossOfOutputs objective(p.samples(), p.model.semantic_centre, options, pool);
    Matrix<float> gradient(f.rows(), f.cols());
    objective.evaluate(f.view(), gradient.view());
    double scale = 0;
    for (const float g : gradient.values()) scale = std::max(scale, static_cast<double>(std::fabs(g)));
    for (std::size_t probe = 0; probe < 40; ++probe) {
      const std::size_t i = probe * 13 % f.size();
      const float kept = f.data()[i];
      constexpr float step = 2e-2f;
      const auto at = [&](float value) {
        f.data()[i] = value;
        return objective.evaluate(f.view(), {}).objective(options.mmg);
      };
      const double slope =
          (8 * (at(kept + step) - at(kept - step)) - (at(kept + 2 * step) - at(kept - 2 * step))) / (12 * step);
      f.data()[i] = kept;
      EXPECT_NEAR(gradient.data()[i], slope, 0.02 * scale) << "value " << i;
    }
  }
}

TEST_F(Descent, SoftmaxLossEqualsItsFormula) {
  const DescentProblem p(true);
  const Matrix<float> f = test::random_matrix<float>(DescentProblem::n, DescentProblem::m, 4);
  const LossOfOutputs objective(p.samples(), p.model.semantic_centre, {}, pool);
  double expected = 0;
  for (std::size_t l = 0; l < DescentProblem::n; ++l) {
    double sum = 0, own = 0;
    for (std::size_t c = 0; c < DescentProblem::classes; ++c) {
      double product = 0, ff = 0, aa = 0;
      for (std::size_t j = 0; j < DescentProblem::m; ++j) {
        const double v = f(l, j) - 0.1f, a = p.semantics(c, j);
        product += v * a;
        ff += v * v;
        aa += a * a;
      }
      const double logit = 10 * product / std::sqrt(ff * aa);
      sum += std::exp(logit);
      if (static_cast<std::int32_t>(c) == p.labels[l]) own = logit;
    }
    expected += (std::log(sum) - own) / DescentProblem::n;
  }
  EXPECT_NEAR(objective.evaluate(f.view(), {}).loss, expected, 1e-5 * expected);
}

TEST_F(Descent, NeverRisesWhateverTheModelAndTheStep) {
  for (const bool gated : {false, true})
    for (const bool relu : {false, true})
      for (const double step : {1.0, 50.0})
        for (const auto loss : {DescentLoss::softmax, DescentLoss::squared}) {
          if (relu && !gated) continue;
          DescentProblem p(gated, relu);
          const double decay = loss == DescentLoss::squared ? 0.01 : 0;
          const DescentOptions options{
              .loss = loss, .steps = 12, .step = step, .lambda = 1, .mmg = 0.2, .decay = decay};
          const auto steps = descend(p.model, p.samples(), options, pool);
          ASSERT_GT(steps.size(), 3u) << gated << relu << step;
          for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_LT(steps[i].objective, steps[i - 1].objective);
        }
}

TEST_F(Descent, ReportsTheObjectiveOfTheModelItLeavesBehind) {
  for (const bool relu : {false, true}) {
    DescentProblem p(true, relu);
    const DescentOptions options{.steps = 5, .lambda = 1};
    const auto steps = descend(p.model, p.samples(), options, pool);
    Matrix<float> f =
        compose(p.z.view(), p.open.view(), DescentProblem::networks, p.model.networks.view(), p.model.bias, relu, pool);
    for (std::size_t l = 0; l < DescentProblem::n; ++l)
      for (std::size_t j = 0; j < DescentProblem::m; ++j)
        for (std::size_t c = 0; c < DescentProblem::d; ++c) f(l, j) += p.x(l, c) * p.model.shared(c, j);
    const LossOfOutputs objective(p.samples(), p.model.semantic_centre, options, pool);
    EXPECT_NEAR(objective.evaluate(f.view(), {}).loss, steps.back().objective, 1e-5);
  }
}

TEST_F(Descent, SquaredLossWithDecayEndsAtTheRidgeSolution) {
  const test::SummedProblem given(120, 14, 6, 5);
  DescentProblem p(false);
  DescentSamples s = p.samples();
  s.labels = given.labels;
  s.blocks = one_block(given.x.view(), {}, {}, s.labels);
  s.semantics = given.semantics.view();
  const double lambda = 3;
  // The ridge of the library has a free bias: take its solution's and compare what is left.
  const LinearMap expected = solve_ridge(given.samples(), lambda, pool);
  p.model.bias = expected.bias;
  const Eigen::MatrixXd targets = test::per_sample(given.semantics, given.labels);
  const double decay = lambda / (targets.rowwise() - targets.colwise().mean()).squaredNorm();
  const DescentOptions options{.loss = DescentLoss::squared, .steps = 400, .decay = decay};
  const auto steps = descend(p.model, s, options, pool);
  EXPECT_LT(*steps.back().slope, 1e-5 * *steps[0].slope) << "the slope is the certificate";
  for (std::size_t c = 0; c < DescentProblem::d; ++c)
    for (std::size_t j = 0; j < DescentProblem::m; ++j)
      EXPECT_NEAR(p.model.networks(c + 1, j), expected.weights(c, j), 3e-3);
}

TEST_F(Descent, ThreadCountDoesNotChangeBits) {
  DescentProblem a(true), b(true);
  ThreadPool one(1), two(2);
  const DescentOptions options{.mmg = 0.1};
  descend(a.model, a.samples(), options, one);
  descend(b.model, b.samples(), options, two);
  EXPECT_TRUE(test::same_bits(a.model.networks, b.model.networks));
  EXPECT_TRUE(test::same_bits(a.model.shared, b.model.shared));
}

TEST_F(Descent, ObserverSeesEveryStepAndCanStop) {
  DescentProblem p(true);
  std::vector<int> seen;
  descend(p.model, p.samples(), {.steps = 10}, pool, nullptr, [&](int step, Model&, const DescentOutputs& outputs) {
    EXPECT_EQ(outputs.means.classes.size(), DescentProblem::classes);
    seen.push_back(step);
    return step < 4;
  });
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4}));
}

/// Rows first, …, first + count − 1 of the problem in blocks of `size`.
SampleBlocks in_blocks(const DescentProblem& p, Share own, std::size_t size) {
  return [&p, own, size](const auto& take) {
    for (std::size_t at = 0; at < own.count; at += size) {
      const std::size_t rows = std::min(size, own.count - at), first = own.first + at;
      take({at,
            {p.x.row(first).data(), rows, DescentProblem::d},
            {p.z.row(first).data(), rows, DescentProblem::h},
            {p.open.row(first).data(), rows, p.open.cols()},
            std::span<const std::int32_t>(p.labels).subspan(first, rows)});
    }
  };
}

TEST_F(Descent, SamplesInBlocksAndOverProcessesGiveTheSameNetworksForTheBytesOfTheFormula) {
  DescentProblem whole(true);
  const DescentOptions options{.steps = 4};
  const auto expected = descend(whole.model, whole.samples(), options, pool);
  for (const std::size_t processes : {1u, 2u, 4u})
    for (const std::size_t size : {7u, 1000u})
      run_as_processes(processes, [&](Processes& group) {
        DescentProblem p(true);
        ThreadPool own_pool(1);
        const Share own = group.share(DescentProblem::n);
        DescentSamples s = p.samples();
        s.kept = false;
        s.labels = s.labels.subspan(own.first, own.count);
        s.blocks = in_blocks(p, own, size);
        s.group = &group;
        const auto steps = descend(p.model, s, options, own_pool);
        ASSERT_EQ(steps.size(), expected.size());
        for (std::size_t i = 0; i < steps.size(); ++i) {
          EXPECT_NEAR(steps[i].objective, expected[i].objective, 1e-5 * expected[i].objective);
          EXPECT_NEAR(*steps[i].slope, *expected[i].slope, 1e-4 * std::fabs(*expected[i].slope));
        }
        EXPECT_LT(largest_difference(whole.model.shared, p.model.shared), 1e-5);
        EXPECT_LT(largest_difference(whole.model.networks, p.model.networks), 1e-5);
        const std::size_t width = DescentProblem::h + 1, k = DescentProblem::networks, m = DescentProblem::m,
                          d = DescentProblem::d, classes = DescentProblem::classes, taken = steps.size() - 1;
        std::size_t tried = taken;
        for (std::size_t i = 1; i < steps.size(); ++i)  // each halving is another try
          tried += static_cast<std::size_t>(std::lround(
              std::log2(std::min(options.step, i == 1 ? options.step : 2 * steps[i - 1].step) / steps[i].step)));
        const std::size_t bytes = 4 * k * width * width + 16 + 8 * k        // products of the networks, once
                                  + 2 * 8 * classes + 8 * classes * m       // classes and their means at the start
                                  + taken * (4 * m * (d + k * width) + 16)  // moments and loss
                                  + tried * 8 * (classes * m + 1);
        EXPECT_EQ(group.bytes(), processes == 1 ? 0 : bytes);
      });
}

TEST_F(Descent, ImpossibleRequestsAreRefused) {
  using Change = void (*)(DescentOptions&, DescentProblem&);
  const auto refused = [&](Change change) {
    DescentOptions options;
    DescentProblem q(true);
    change(options, q);
    return test::thrown_by([&] { descend(q.model, q.samples(), options, pool); }).has_value();
  };
  const std::pair<const char*, Change> cases[] = {
      {"lambda", [](auto& o, auto&) { o.lambda = 0; }},
      {"steps", [](auto& o, auto&) { o.steps = -1; }},
      {"step", [](auto& o, auto&) { o.step = 0; }},
      {"direction", [](auto&, auto& q) { q.model.direction = Direction::reverse; }},
      {"similarity", [](auto&, auto& q) { q.model.similarity = Similarity::dot; }},
      {"labels", [](auto&, auto& q) { q.labels.pop_back(); }},
  };
  for (const auto& [name, change] : cases) EXPECT_TRUE(refused(change)) << name;
  EXPECT_FALSE(refused([](auto&, auto&) {}));
}

}  // namespace
}  // namespace parsnets
