// The multi-output SVR solver against LIBSVM and against a slow reference in double, and its promises: bounds, equal
// forms, equal bits for any number of threads and after a resume, memory limit.

#include "train/svr.hpp"

#include <gtest/gtest.h>
#include <libsvm/svm.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>

#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "temp_dir.hpp"

namespace parsnets {
namespace {

struct Problem {
  Matrix<float> z, targets;
  Matrix<std::uint16_t> open;
  std::size_t networks = 0;
  GatedSamples samples() const { return {z.view(), open.view(), networks}; }
  std::size_t n() const { return z.rows(); }
  std::size_t m() const { return targets.cols(); }
};

Problem make_problem(std::size_t n, std::size_t h, std::size_t networks, std::size_t k, std::size_t m,
                     std::uint64_t seed) {
  Rng rng(seed);
  Problem p;
  p.networks = networks;
  p.z = Matrix<float>(n, h);
  p.open = Matrix<std::uint16_t>(n, k);
  p.targets = Matrix<float>(n, m);
  Matrix<float> w(h, m);
  for (float& v : w.values()) v = static_cast<float>(rng.normal());
  for (std::size_t i = 0; i < n; ++i) {
    for (float& v : p.z.row(i)) v = static_cast<float>(rng.normal() / std::sqrt(static_cast<double>(h)));
    auto gates = rng.permutation(networks);
    gates.resize(k);
    std::sort(gates.begin(), gates.end());
    for (std::size_t j = 0; j < k; ++j) p.open(i, j) = static_cast<std::uint16_t>(gates[j]);
    for (std::size_t j = 0; j < m; ++j) {
      double v = 0.4 * rng.normal() + 0.3 * static_cast<double>(j) + (gates[0] % 2 == 0 ? 0.5 : 0.0);
      for (std::size_t c = 0; c < h; ++c) v += p.z(i, c) * w(c, j);
      p.targets(i, j) = static_cast<float>(v);
    }
  }
  return p;
}

Matrix<double> kernel_of(const Problem& p) {
  Matrix<double> t(p.n(), p.n());
  for (std::size_t i = 0; i < p.n(); ++i)
    for (std::size_t j = 0; j < p.n(); ++j) {
      double dot = 1;
      for (std::size_t c = 0; c < p.z.cols(); ++c) dot += static_cast<double>(p.z(i, c)) * p.z(j, c);
      int shared = 0;
      for (std::uint16_t a : p.open.row(i))
        for (std::uint16_t b : p.open.row(j)) shared += a == b;
      t(i, j) = dot * shared;
    }
  return t;
}

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

// The objectives as the header states them, from β and bias alone.
double primal_of(const Problem& p, const SvrOptions& o, const SvrResult& r) {
  const Matrix<double> t = kernel_of(p);
  double total = 0;
  for (std::size_t j = 0; j < p.m(); ++j)
    for (std::size_t i = 0; i < p.n(); ++i) {
      double f = 0;
      for (std::size_t l = 0; l < p.n(); ++l) f += t(i, l) * r.beta(l, j);
      total += 0.5 * r.beta(i, j) * f + o.c * std::max(0.0, std::fabs(p.targets(i, j) - f - r.bias[j]) - o.epsilon);
    }
  return total;
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
  SvrOptions o;
  o.c = k.c;
  o.epsilon = k.epsilon;
  o.block = 32;
  o.max_passes = 3000;
  o.tolerance = 5e-5;
  return o;
}

TEST(Svr, WithoutBiasReachesTheOptimumOfCoordinateDescentInDouble) {
  ThreadPool pool(2);
  for (const Case& k : kCases) {
    SCOPED_TRACE(testing::Message() << "N " << k.n << " K " << k.networks << " k " << k.k << " C " << k.c);
    const Problem p = make_problem(k.n, k.h, k.networks, k.k, 3, 11);
    SvrOptions o = options_of(k);
    o.global_bias = false;
    const Reference reference = reference_without_bias(p, k.c, k.epsilon);
    const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
    EXPECT_TRUE(r.converged);
    expect_certified(p, o, r, reference);
    EXPECT_NEAR(r.primal, reference.dual, 1e-4 * reference.dual);
    EXPECT_NEAR(r.primal, primal_of(p, o, r), 1e-5 * r.primal);
    for (float b : r.bias) EXPECT_EQ(b, 0.0f);
    for (int passes : {0, 1, 2, 4}) {  // bounds hold wherever it stops
      o.max_passes = passes;
      const SvrResult early = solve_svr(p.samples(), p.targets.view(), o, pool);
      EXPECT_NEAR(early.primal, primal_of(p, o, early), 1e-5 * early.primal);
      expect_certified(p, o, early, reference);
    }
  }
}

TEST(Svr, WithBiasReachesTheOptimumOfLibsvm) {
  ThreadPool pool(2);
  for (const Case& k : kCases) {
    SCOPED_TRACE(testing::Message() << "N " << k.n << " K " << k.networks << " k " << k.k << " C " << k.c);
    const Problem p = make_problem(k.n, k.h, k.networks, k.k, 3, 12);
    SvrOptions o = options_of(k);
    const Reference reference = reference_with_bias(p, k.c, k.epsilon);
    const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
    EXPECT_TRUE(r.converged);
    expect_certified(p, o, r, reference);
    EXPECT_NEAR(r.primal, reference.dual, 1e-4 * reference.dual);
    EXPECT_NEAR(r.primal, primal_of(p, o, r), 1e-5 * r.primal);
    for (int passes : {0, 1, 2, 4}) {
      o.max_passes = passes;
      const SvrResult early = solve_svr(p.samples(), p.targets.view(), o, pool);
      EXPECT_NEAR(early.primal, primal_of(p, o, early), 1e-5 * early.primal);
      expect_certified(p, o, early, reference);
    }
  }
}

// There β is so large that its own rounding to float shows in C·Σ loss; the dual value does not suffer.
TEST(Svr, WithVeryLargeCTheBoundsHoldAndTheDualIsClose) {
  ThreadPool pool(2);
  const Problem p = make_problem(60, 6, 10, 3, 3, 12);
  SvrOptions o = options_of({60, 6, 10, 3, 100.0, 0.1});
  o.max_passes = 300;
  const Reference reference = reference_with_bias(p, o.c, o.epsilon);
  const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
  expect_certified(p, o, r, reference, 1e-5);
  EXPECT_NEAR(r.dual, reference.dual, 1e-3 * reference.dual);
}

TEST(Svr, AllFormsReachTheSameOptimum) {
  ThreadPool pool(2);
  for (const bool bias : {true, false})
    for (const double c : {0.02, 5.0}) {
      const Problem p = make_problem(110, 12, 10, 3, 20, 13);
      SvrOptions o = options_of({110, 12, 10, 3, c, 0.05});
      o.global_bias = bias;
      const Reference reference = bias ? reference_with_bias(p, c, 0.05) : reference_without_bias(p, c, 0.05);
      for (const SvrForm form : {SvrForm::stored_kernel, SvrForm::recomputed_kernel, SvrForm::primal}) {
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

bool same_bits(const SvrResult& a, const SvrResult& b) {
  return a.beta.size() == b.beta.size() && a.bias == b.bias && a.primal == b.primal && a.dual == b.dual &&
         std::memcmp(a.beta.data(), b.beta.data(), a.beta.size() * sizeof(float)) == 0;
}

bool used_splitting(const SvrResult& r) {  // its checks leave gaps in the pass numbers
  for (std::size_t i = 1; i < r.passes.size(); ++i)
    if (r.passes[i].pass > r.passes[i - 1].pass + 1) return true;
  return false;
}

TEST(Svr, ResultsAreBitwiseEqualForAnyNumberOfThreads) {
  const Problem p = make_problem(700, 30, 12, 4, 90, 14);
  ThreadPool one(1), two(2), five(5);
  bool split = false;
  for (const double c : {0.01, 10.0})
    for (const SvrForm form : {SvrForm::stored_kernel, SvrForm::recomputed_kernel, SvrForm::primal}) {
      SvrOptions o;
      o.c = c;
      o.epsilon = 0.05;
      o.block = 96;
      o.form = form;
      o.max_passes = form == SvrForm::stored_kernel ? 60 : 12;
      const SvrResult a = solve_svr(p.samples(), p.targets.view(), o, one);
      EXPECT_TRUE(same_bits(a, solve_svr(p.samples(), p.targets.view(), o, two)));
      EXPECT_TRUE(same_bits(a, solve_svr(p.samples(), p.targets.view(), o, five)));
      split = split || used_splitting(a);
    }
  EXPECT_TRUE(split);  // or half of the solver went untested
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

TEST(Svr, ResumedSolveEqualsTheUninterruptedOneBitForBit) {
  const Problem p = make_problem(400, 20, 12, 4, 40, 15);
  ThreadPool pool(2);
  const test::TempDir dir;
  for (const SvrForm form : {SvrForm::stored_kernel, SvrForm::primal})
    for (const double c : {0.01, 10.0}) {
      SvrOptions o;
      o.c = c;
      o.epsilon = 0.05;
      o.block = 64;
      o.form = form;
      o.tolerance = 1e-4;
      o.max_passes = 80;
      const SvrResult whole = solve_svr(p.samples(), p.targets.view(), o, pool);
      const int last = whole.passes.back().pass;
      ASSERT_GT(last, 4);
      for (const int stop : {3, last / 2, last - 1}) {
        SCOPED_TRACE(testing::Message() << "form " << static_cast<int>(form) << " C " << c << " stop at " << stop);
        SvrOptions part = o;
        part.checkpoint = dir / "svr.ckpt";
        part.checkpoint_passes = 2;
        std::filesystem::remove(part.checkpoint);
        CancelAt cancel(static_cast<std::uint64_t>(stop), 1);
        try {
          solve_svr(p.samples(), p.targets.view(), part, pool, &cancel);
          FAIL() << "was not cancelled";
        } catch (const Error& e) {
          EXPECT_EQ(e.code(), ErrorCode::cancelled);
        }
        ASSERT_TRUE(std::filesystem::exists(part.checkpoint));
        part.resume = true;
        const SvrResult rest = solve_svr(p.samples(), p.targets.view(), part, pool);
        EXPECT_TRUE(same_bits(whole, rest));
        EXPECT_EQ(rest.passes.size(), whole.passes.size());
        EXPECT_EQ(rest.passes.back().pass, last);
      }
    }
}

TEST(Svr, CheckpointOfAnotherProblemOrADamagedOneIsRefused) {
  const Problem p = make_problem(60, 5, 6, 2, 4, 16), other = make_problem(60, 5, 6, 2, 4, 17);
  ThreadPool pool(1);
  const test::TempDir dir;
  SvrOptions o;
  o.max_passes = 2;
  o.tolerance = 1e-9;
  o.checkpoint = dir / "svr.ckpt";
  o.checkpoint_passes = 1;
  solve_svr(p.samples(), p.targets.view(), o, pool);
  o.resume = true;
  const auto refusal = [&](const Problem& q, const SvrOptions& options) -> std::string {
    try {
      solve_svr(q.samples(), q.targets.view(), options, pool);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input);
      return e.what();
    }
    return "";
  };
  EXPECT_NE(refusal(other, o).find("another problem"), std::string::npos);
  SvrOptions changed = o;
  changed.c = 2;
  EXPECT_NE(refusal(p, changed).find("another problem"), std::string::npos);
  EXPECT_EQ(refusal(p, o), "");

  std::string bytes;
  {
    std::ifstream in(o.checkpoint, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const auto put = [&](const std::string& content) {
    std::ofstream(o.checkpoint, std::ios::binary | std::ios::trunc) << content;
  };
  for (std::size_t length = 0; length < bytes.size(); length += length < 200 ? 1 : 97) {
    put(bytes.substr(0, length));
    EXPECT_NE(refusal(p, o), "") << "cut to " << length;
  }
  for (std::size_t at = 0; at < bytes.size(); at += at < 200 ? 1 : 101) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    put(flipped);
    EXPECT_NE(refusal(p, o), "") << "flipped at " << at;
  }
}

TEST(Svr, ResumeWithoutACheckpointStartsAfresh) {
  const Problem p = make_problem(60, 5, 6, 2, 4, 16);
  ThreadPool pool(1);
  const test::TempDir dir;
  SvrOptions o;
  const SvrResult plain = solve_svr(p.samples(), p.targets.view(), o, pool);
  o.checkpoint = dir / "svr.ckpt";
  o.resume = true;
  EXPECT_TRUE(same_bits(plain, solve_svr(p.samples(), p.targets.view(), o, pool)));
}

TEST(Svr, WarmStartAlongCNeedsFewerPassesThanColdStarts) {
  const Problem p = make_problem(500, 20, 12, 4, 12, 18);
  ThreadPool pool(2);
  for (const SvrForm form : {SvrForm::recomputed_kernel, SvrForm::primal}) {
    int cold = 0, warm = 0;
    Matrix<float> beta;
    for (const double c : {0.01, 0.014, 0.02, 0.028, 0.04}) {
      SvrOptions o;
      o.c = c;
      o.epsilon = 0.05;
      o.form = form;
      o.block = 64;
      cold += solve_svr(p.samples(), p.targets.view(), o, pool).passes.back().pass;
      SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool, nullptr, beta.view());
      EXPECT_TRUE(r.converged);
      warm += r.passes.back().pass;
      beta = std::move(r.beta);
    }
    EXPECT_LT(warm, cold);
  }
}

TEST(Svr, WarmStartOutsideTheBoxIsMadeFeasible) {
  const Problem p = make_problem(80, 5, 6, 2, 4, 19);
  ThreadPool pool(1);
  SvrOptions o;
  o.c = 0.1;
  o.max_passes = 0;
  const Matrix<float> start(80, 4, 3.0f);
  const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool, nullptr, start.view());
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

TEST(Svr, MemoryLimitChoosesTheFormAndNamesTheLeastThatWorks) {
  const Problem p = make_problem(600, 60, 12, 10, 8, 20);
  ThreadPool pool(2);
  SvrOptions o;
  o.c = 0.05;
  o.epsilon = 0.05;
  const SvrResult free = solve_svr(p.samples(), p.targets.view(), o, pool);
  EXPECT_EQ(free.form, SvrForm::stored_kernel);
  o.memory_limit = 1'200'000;  // less than the 1.44 MB of the kernel
  const SvrResult tight = solve_svr(p.samples(), p.targets.view(), o, pool);
  EXPECT_NE(tight.form, SvrForm::stored_kernel);
  EXPECT_TRUE(tight.converged);
  EXPECT_NEAR(tight.primal, free.primal, 2e-3 * free.primal);

  o.memory_limit = 1000;
  std::uint64_t least = 0;
  try {
    solve_svr(p.samples(), p.targets.view(), o, pool);
    FAIL() << "1000 bytes cannot be enough";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
    const std::string text = e.what(), mark = "at least ";
    ASSERT_NE(text.find(mark), std::string::npos) << text;
    least = std::stoull(text.substr(text.find(mark) + mark.size()));
  }
  o.memory_limit = least;
  EXPECT_TRUE(solve_svr(p.samples(), p.targets.view(), o, pool).converged);
  o.memory_limit = least - 1;
  EXPECT_THROW(solve_svr(p.samples(), p.targets.view(), o, pool), Error);
}

TEST(Svr, OutputsOfDifferentDifficultyAreAllSolved) {
  Problem p = make_problem(300, 10, 8, 3, 40, 21);
  for (std::size_t i = 0; i < p.n(); ++i)
    for (std::size_t j = 0; j < 30; ++j) p.targets(i, j) = 0.01f * p.targets(i, j) + 2;  // inside the tube around b
  ThreadPool pool(2);
  SvrOptions o;
  o.c = 1;
  o.epsilon = 0.1;
  o.block = 64;
  o.tolerance = 1e-4;
  const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
  EXPECT_TRUE(r.converged);
  EXPECT_LE(r.passes.back().active_outputs, 10);
  EXPECT_NEAR(r.primal, primal_of(p, o, r), 1e-4 * r.primal);
  for (std::size_t i = 0; i < p.n(); ++i) EXPECT_EQ(r.beta(i, 0), 0.0f);
  EXPECT_NEAR(r.bias[0], 2, 0.2);
}

TEST(Svr, NetworksReproduceTheDualPrediction) {
  const Problem p = make_problem(150, 9, 7, 3, 5, 22);
  ThreadPool pool(2);
  Rng rng(3);
  Matrix<float> beta(150, 5);
  for (float& v : beta.values()) v = static_cast<float>(rng.normal());
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

TEST(Svr, ImpossibleOptionsAndArraysAreRefusedWithTheirNames) {
  Problem p = make_problem(40, 4, 6, 2, 3, 23);
  ThreadPool pool(1);
  const auto refusal = [&](const SvrOptions& o, MatrixView<const float> targets, ErrorCode code) -> std::string {
    try {
      solve_svr(p.samples(), targets, o, pool);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code);
      return e.what();
    }
    return "";
  };
  const auto with = [](auto change) {
    SvrOptions o;
    change(o);
    return o;
  };
  const MatrixView<const float> targets = p.targets.view();
  EXPECT_NE(refusal(with([](SvrOptions& o) { o.c = 0; }), targets, ErrorCode::usage).find("c must"), std::string::npos);
  EXPECT_NE(refusal(with([](SvrOptions& o) { o.c = NAN; }), targets, ErrorCode::usage), "");
  EXPECT_NE(refusal(with([](SvrOptions& o) { o.epsilon = -1; }), targets, ErrorCode::usage).find("epsilon"),
            std::string::npos);
  EXPECT_NE(refusal(with([](SvrOptions& o) { o.tolerance = 0; }), targets, ErrorCode::usage).find("tolerance"),
            std::string::npos);
  EXPECT_NE(refusal(with([](SvrOptions& o) { o.block = 1; }), targets, ErrorCode::usage).find("block"),
            std::string::npos);
  EXPECT_NE(refusal(with([](SvrOptions& o) { o.resume = true; }), targets, ErrorCode::usage).find("checkpoint"),
            std::string::npos);
  EXPECT_NE(refusal({}, {targets.data(), 39, 3}, ErrorCode::bad_input).find("targets"), std::string::npos);
  p.targets(5, 1) = NAN;
  EXPECT_NE(refusal({}, targets, ErrorCode::bad_input).find("finite"), std::string::npos);
  p.targets(5, 1) = 0;
  p.open(7, 1) = 6;
  EXPECT_NE(refusal({}, targets, ErrorCode::bad_input).find("row 7"), std::string::npos);
  p.open(7, 1) = p.open(7, 0);
  EXPECT_NE(refusal({}, targets, ErrorCode::bad_input).find("row 7"), std::string::npos);
}

TEST(Svr, ReportsALinePerPass) {
  const Problem p = make_problem(100, 6, 6, 2, 4, 24);
  ThreadPool pool(1);
  CancelAt watch(1u << 30, 1);
  SvrOptions o;
  o.max_passes = 3;
  o.tolerance = 1e-9;
  solve_svr(p.samples(), p.targets.view(), o, pool, &watch);
  const auto has = [&](const std::string& text) {
    return std::any_of(watch.lines.begin(), watch.lines.end(),
                       [&](const std::string& l) { return l.find(text) != std::string::npos; });
  };
  for (const char* text : {"pass 1 ", "pass 2 ", "pass 3 ", "primal", "dual", "gap", "outputs 4/4"})
    EXPECT_TRUE(has(text)) << text;
}

}  // namespace
}  // namespace parsnets
