// The SVR over a group of processes against the SVR of one process on the union of their samples.

#include "solvers/svr_shards.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "parsnets/error.hpp"
#include "solvers/svr_problem.hpp"
#include "temp_dir.hpp"
#include "thread_processes.hpp"

namespace parsnets {
namespace {

using test::make_problem;
using test::primal_of;
using Problem = test::SvrProblem;

template <class T>
MatrixView<const T> rows_of(const Matrix<T>& x, const Share& s) {
  return {x.data() + s.first * x.cols(), s.count, x.cols()};
}

Share even_share(const Problem& p, const Processes& group) { return group.share(p.n()); }

// Process 0 has one sample, the others share the rest.
Share uneven_share(const Problem& p, const Processes& group) {
  if (group.rank() == 0) return {0, 1};
  const std::size_t each = (p.n() - 1) / (group.size() - 1), first = 1 + (group.rank() - 1) * each;
  return {first, group.rank() + 1 == group.size() ? p.n() - first : each};
}

struct GroupResult {
  std::vector<SvrResult> of;         ///< by rank
  std::vector<std::uint64_t> bytes;  ///< by rank
  std::vector<Matrix<float>> networks;
};

GroupResult solve(std::size_t size, const Problem& p, const SvrOptions& o,
                  Share (*share)(const Problem&, const Processes&) = even_share, bool networks = false,
                  ProgressObserver* progress = nullptr, unsigned threads = 1) {
  GroupResult result;
  result.of.resize(size);
  result.bytes.resize(size);
  result.networks.resize(size);
  run_as_processes(size, [&](Processes& group) {
    ThreadPool pool(threads);
    const Share own = share(p, group);
    const GatedSamples samples{rows_of(p.z, own), rows_of(p.open, own), p.networks};
    SvrResult r = solve_svr(samples, rows_of(p.targets, own), o, group, pool, progress);
    result.bytes[group.rank()] = group.bytes();
    if (networks) result.networks[group.rank()] = networks_from_dual(samples, r.beta.view(), group, pool);
    result.of[group.rank()] = std::move(r);
  });
  return result;
}

SvrResult joined(const Problem& p, const GroupResult& g) {
  SvrResult r;
  r.beta = Matrix<float>(p.n(), p.m());
  float* to = r.beta.data();
  for (const SvrResult& part : g.of) to = std::copy_n(part.beta.data(), part.beta.size(), to);
  r.bias = g.of[0].bias;
  return r;
}

void expect_same_on_all(const GroupResult& g) {
  for (const SvrResult& r : g.of) {
    EXPECT_EQ(r.bias, g.of[0].bias);
    EXPECT_EQ(r.primal, g.of[0].primal);
    EXPECT_EQ(r.dual, g.of[0].dual);
    EXPECT_EQ(r.converged, g.of[0].converged);
    ASSERT_EQ(r.passes.size(), g.of[0].passes.size());
    for (std::size_t i = 0; i < r.passes.size(); ++i) EXPECT_EQ(r.passes[i].primal, g.of[0].passes[i].primal);
  }
}

void expect_feasible(const Problem& p, const SvrOptions& o, const SvrResult& r) {
  for (std::size_t j = 0; j < p.m(); ++j) {
    double sum = 0, size = 0;
    for (std::size_t i = 0; i < p.n(); ++i) {
      ASSERT_LE(std::fabs(r.beta(i, j)), static_cast<float>(o.c));
      sum += r.beta(i, j);
      size += std::fabs(r.beta(i, j));
    }
    if (o.global_bias) {
      EXPECT_LE(std::fabs(sum), 1e-6 * size + 1e-7 * o.c * std::sqrt(static_cast<double>(p.n())));
    }
  }
}

SvrOptions small_options(double c, double epsilon, bool bias) {
  SvrOptions o;
  o.c = c;
  o.epsilon = epsilon;
  o.global_bias = bias;
  o.block = 32;
  return o;
}

// Both certificates hold: each primal value lies above each dual value, so that they differ by at most the larger gap.
void expect_same_optimum(const Problem& p, const SvrOptions& o, const GroupResult& g, const SvrResult& whole) {
  const SvrResult& r = g.of[0];
  const double rounding = 1e-5 * r.primal + 1e-9;
  EXPECT_TRUE(r.converged);
  EXPECT_LE(r.relative_gap, o.tolerance);
  EXPECT_NEAR(r.relative_gap, (r.primal - r.dual) / r.primal, 1e-12);
  EXPECT_GE(r.primal, whole.dual - rounding);
  EXPECT_LE(r.dual, whole.primal + rounding);
  EXPECT_LE(std::fabs(r.primal - whole.primal), std::max(r.primal - r.dual, whole.primal - whole.dual) + rounding);
  const SvrResult all = joined(p, g);
  EXPECT_NEAR(r.primal, primal_of(p, o, all), 3e-5 * r.primal);
  expect_feasible(p, o, all);
  expect_same_on_all(g);
}

TEST(SvrShards, AnyNumberOfProcessesReachesTheOptimumOfOne) {
  const Problem p = make_problem(160, 10, 12, 4, 5, 31);
  ThreadPool pool(1);
  for (const bool bias : {true, false})
    for (const double c : {0.01, 0.1, 1.0})
      for (const double epsilon : {0.0, 0.1}) {
        const SvrOptions o = small_options(c, epsilon, bias);
        const SvrResult whole = solve_svr(p.samples(), p.targets.view(), o, pool);
        for (const std::size_t size : {1u, 2u, 4u}) {
          SCOPED_TRACE(testing::Message()
                       << size << " processes, C " << c << ", epsilon " << epsilon << ", bias " << bias);
          expect_same_optimum(p, o, solve(size, p, o), whole);
        }
      }
}

TEST(SvrShards, UnevenSharesAndAllFormsReachTheSameOptimum) {
  const Problem p = make_problem(120, 8, 10, 3, 4, 32);
  ThreadPool pool(1);
  for (const bool bias : {true, false}) {
    SvrOptions o = small_options(0.1, 0.05, bias);
    const SvrResult whole = solve_svr(p.samples(), p.targets.view(), o, pool);
    for (const SvrForm form : {SvrForm::stored_kernel, SvrForm::recomputed_kernel, SvrForm::primal}) {
      SCOPED_TRACE(testing::Message() << "form " << static_cast<int>(form) << ", bias " << bias);
      o.form = form;
      for (const std::size_t size : {2u, 4u}) {
        const GroupResult g = solve(size, p, o, uneven_share);
        ASSERT_EQ(g.of[0].beta.rows(), 1u);
        EXPECT_EQ(g.of[1].form, form);
        expect_same_optimum(p, o, g, whole);
      }
    }
  }
}

TEST(SvrShards, ResultsAreBitwiseEqualForAnyNumberOfThreads) {
  const Problem p = make_problem(600, 12, 10, 3, 20, 33);
  for (const SvrForm form : {SvrForm::stored_kernel, SvrForm::primal}) {
    SvrOptions o = small_options(0.05, 0.05, true);
    o.form = form;
    o.max_passes = 3;
    o.tolerance = 1e-9;
    const SvrResult one = joined(p, solve(2, p, o)), three = joined(p, solve(2, p, o, even_share, false, nullptr, 3));
    EXPECT_EQ(one.bias, three.bias);
    EXPECT_EQ(std::memcmp(one.beta.data(), three.beta.data(), one.beta.size() * sizeof(float)), 0);
  }
}

TEST(SvrShards, BytesAreThoseOfTheFormula) {
  const Problem p = make_problem(90, 6, 8, 3, 4, 34);
  const test::TempDir dir;
  const std::uint64_t weights = p.networks * (p.z.cols() + 1), m = p.m();
  for (const bool bias : {true, false})
    for (const std::uint64_t size : {2u, 4u})
      for (const bool checkpoints : {false, true}) {
        SvrOptions o = small_options(0.1, 0.05, bias);
        o.max_passes = 5;
        o.tolerance = 1e-9;
        if (checkpoints) o.checkpoint = dir / "svr.ckpt";
        o.checkpoint_passes = 2;
        const GroupResult g = solve(size, p, o);
        const auto rounds = static_cast<std::uint64_t>(g.of[0].passes.back().pass);
        ASSERT_EQ(rounds, 5u);
        const std::uint64_t once = bias ? 544 : 32, each = bias ? 864 : 48;
        const std::uint64_t expected = 64 * size + 4 * weights + once * m + rounds * (4 * weights * m + each * m + 16);
        for (std::size_t rank = 0; rank < size; ++rank) {
          const std::uint64_t written = 2 * (8 * size + 4 * g.of[rank].beta.rows() * m) + 8;
          EXPECT_EQ(g.bytes[rank], expected + (checkpoints ? written : 0)) << "process " << rank << " of " << size;
        }
      }
}

TEST(SvrShards, NetworksAreThoseOfTheUnionAndEqualOnAllProcesses) {
  const Problem p = make_problem(100, 7, 9, 3, 4, 35);
  ThreadPool pool(1);
  const GroupResult g = solve(4, p, small_options(0.1, 0.05, true), even_share, true);
  const Matrix<float> whole = networks_from_dual(p.samples(), joined(p, g).beta.view(), pool);
  for (const Matrix<float>& networks : g.networks) {
    ASSERT_EQ(networks.size(), whole.size());
    EXPECT_EQ(std::memcmp(networks.data(), g.networks[0].data(), whole.size() * sizeof(float)), 0);
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(networks.data()[i], whole.data()[i], 1e-5);
  }
}

class CancelAt : public ProgressObserver {
 public:
  explicit CancelAt(std::uint64_t round) : round_(round) {}
  bool on_progress(const ProgressEvent& e) override { return e.done < round_; }

 private:
  std::uint64_t round_;
};

TEST(SvrShards, ACheckpointOfFourProcessesIsContinuedByAnyNumber) {
  const Problem p = make_problem(160, 10, 12, 4, 5, 36);
  ThreadPool pool(1);
  const test::TempDir dir;
  for (const bool bias : {true, false}) {
    SvrOptions o = small_options(0.1, 0.05, bias);
    o.tolerance = 2e-4;
    const SvrResult whole = solve_svr(p.samples(), p.targets.view(), o, pool);
    const int rounds = solve(4, p, o).of[0].passes.back().pass;
    ASSERT_GT(rounds, 5);
    SvrOptions part = o;
    part.checkpoint = dir / (bias ? "bias.ckpt" : "plain.ckpt");
    part.checkpoint_passes = 2;
    CancelAt cancel(5);
    try {
      solve(4, p, part, even_share, false, &cancel);
      FAIL() << "was not cancelled";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::cancelled);
    }
    const auto saved = dir / "saved.ckpt";
    std::filesystem::copy_file(part.checkpoint, saved, std::filesystem::copy_options::overwrite_existing);
    part.resume = true;
    for (const std::size_t size : {4u, 2u, 1u}) {
      SCOPED_TRACE(testing::Message() << size << " processes, bias " << bias);
      std::filesystem::copy_file(saved, part.checkpoint, std::filesystem::copy_options::overwrite_existing);
      const GroupResult g = solve(size, p, part);
      expect_same_optimum(p, o, g, whole);
      const auto& passes = g.of[0].passes;
      ASSERT_GT(passes.size(), 5u);  // rounds 0 to 4 come from the file
      EXPECT_EQ(passes[4].pass, 4);
      EXPECT_EQ(passes[5].pass, 5);
      EXPECT_LT(passes[5].relative_gap, passes[2].relative_gap);
    }
  }
}

TEST(SvrShards, ACheckpointOfAnotherProblemOrADamagedOneIsRefusedByAll) {
  const Problem p = make_problem(60, 5, 6, 2, 4, 37), other = make_problem(60, 5, 6, 2, 4, 38);
  const test::TempDir dir;
  SvrOptions o = small_options(0.1, 0.05, true);
  o.max_passes = 1;
  o.tolerance = 1e-9;
  o.checkpoint = dir / "svr.ckpt";
  o.checkpoint_passes = 1;
  solve(2, p, o);
  o.resume = true;
  const auto refusal = [&](const Problem& q, const SvrOptions& options) -> std::string {
    std::vector<std::string> messages(2);
    run_as_processes(2, [&](Processes& group) {
      ThreadPool pool(1);
      const Share own = group.share(q.n());
      try {
        solve_svr({rows_of(q.z, own), rows_of(q.open, own), q.networks}, rows_of(q.targets, own), options, group, pool);
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::bad_input);
        messages[group.rank()] = e.what();
      }
    });
    EXPECT_EQ(messages[0].empty(), messages[1].empty());
    EXPECT_NE(messages[1].find(messages[0]), std::string::npos);
    return messages[0];
  };
  EXPECT_EQ(refusal(p, o), "");
  EXPECT_NE(refusal(other, o).find("a different problem"), std::string::npos);
  SvrOptions changed = o;
  changed.c = 2;
  EXPECT_NE(refusal(p, changed).find("a different problem"), std::string::npos);
  std::string bytes;
  {
    std::ifstream in(o.checkpoint, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto put = [&](const std::string& content) {
    std::ofstream(o.checkpoint, std::ios::binary | std::ios::trunc) << content;
  };
  for (std::size_t length = 0; length < bytes.size(); length += 37) {
    put(bytes.substr(0, length));
    EXPECT_NE(refusal(p, o), "") << "cut to " << length;
  }
  for (std::size_t at = 0; at < bytes.size(); at += at < 80 ? 1 : 41) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    put(flipped);
    EXPECT_NE(refusal(p, o), "") << "flipped at " << at;
  }
}

TEST(SvrShards, AnErrorOfOneProcessIsThrownByAll) {
  Problem p = make_problem(60, 5, 6, 2, 4, 39);
  p.targets(59, 1) = NAN;
  std::vector<std::string> messages(2);
  run_as_processes(2, [&](Processes& group) {
    ThreadPool pool(1);
    const Share own = group.share(p.n());
    try {
      solve_svr({rows_of(p.z, own), rows_of(p.open, own), p.networks}, rows_of(p.targets, own), {}, group, pool);
    } catch (const Error& e) {
      messages[group.rank()] = e.what();
    }
  });
  EXPECT_NE(messages[1].find("finite"), std::string::npos);
  EXPECT_EQ(messages[0], "process 1: " + messages[1]);
}

TEST(SvrShards, SharesOfDifferentProblemsAreRefused) {
  const Problem p = make_problem(60, 5, 6, 2, 4, 40), q = make_problem(60, 5, 6, 2, 3, 40);
  std::vector<std::string> messages(2);
  run_as_processes(2, [&](Processes& group) {
    ThreadPool pool(1);
    const Problem& mine = group.rank() == 0 ? p : q;
    try {
      solve_svr(mine.samples(), mine.targets.view(), {}, group, pool);
    } catch (const Error& e) {
      messages[group.rank()] = e.what();
    }
  });
  EXPECT_NE(messages[0].find("outputs of process 1"), std::string::npos) << messages[0];
  EXPECT_EQ(messages[0], messages[1]);
}

}  // namespace
}  // namespace parsnets
