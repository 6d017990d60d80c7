// The multi-output SVR solver against LIBLINEAR (L2R_L1LOSS_SVR_DUAL on the expanded sparse features, no bias) on one
// problem: seconds, objectives, flops, share of the machine's matrix-product peak. LIBLINEAR solves one output at a
// time; it is timed on a sample of them and scaled to all.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "data/rows.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "model/fit_gates.hpp"
#include "parsnets/error.hpp"
#include "parsnets/threads.hpp"
#include "solvers/svr.hpp"

#ifdef PARSNETS_HAVE_LIBLINEAR
#include <linear.h>
#endif

namespace {

using namespace parsnets;

struct Problem {
  Matrix<float> z, targets;
  Matrix<std::uint16_t> open;
  std::size_t networks = 0;
  GatedSamples samples() const { return {z.view(), open.view(), networks}; }
};

// The trainval samples of a data set as `train --method scln --preset paper` sees them: sqrt-l2 features, h = 400,
// energy gates with K = 200 and k = 40, semantics scaled to zero mean and unit variance per attribute over the samples.
Problem load_problem(const std::string& folder, const std::string& features, ThreadPool& pool) {
  LoadOptions load;
  load.features = features;
  const Dataset data = load_dataset(folder, load);
  const auto& rows = data.split.trainval;
  const auto preprocess = fit_feature_preprocess(FeatureScaling::sqrt_l2, true, data.features.view(), rows, pool);
  const Matrix<float> x = preprocessed_rows(preprocess, data.features.view(), rows, pool);
  const Encoder encoder = fit_encoder({}, x.view(), pool);
  const Gates gates = fit_gates({}, encoded(encoder, x.view(), pool).view(), pool);
  Problem p;
  p.z = encoded(encoder, x.view(), pool);
  p.open = open_networks(gates, p.z.view(), pool);
  p.networks = gates.networks;
  p.targets = gather_rows(data.semantics.values.view(), labels_of(data, rows));
  for (std::size_t j = 0; j < p.targets.cols(); ++j) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < p.targets.rows(); ++i) mean += p.targets(i, j);
    mean /= static_cast<double>(p.targets.rows());
    for (std::size_t i = 0; i < p.targets.rows(); ++i) square += std::pow(p.targets(i, j) - mean, 2);
    const double sd = std::max(1e-12, std::sqrt(square / static_cast<double>(p.targets.rows())));
    for (std::size_t i = 0; i < p.targets.rows(); ++i)
      p.targets(i, j) = static_cast<float>((p.targets(i, j) - mean) / sd);
  }
  return p;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double measured_peak(ThreadPool& pool) {
  const std::size_t n = 1536;
  const Matrix<float> a(n, n, 0.5f), b(n, n, 0.25f);
  Matrix<float> c(n, n, 0.0f);
  double best = 0;
  for (int i = 0; i < 12; ++i) {
    const auto start = std::chrono::steady_clock::now();
    multiply(pool, Trans::no, a.view(), Trans::no, b.view(), c.view());
    best = std::max(best, 2.0 * static_cast<double>(n * n * n) / seconds_since(start));
  }
  return best;
}

// ½‖w‖² + C Σ max(0, |a − Φw| − ε) for one output; w has K·(h+1) weights.
[[maybe_unused]] double primal_of(const Problem& p, std::size_t output, const std::vector<double>& w, double c,
                                  double epsilon) {
  const std::size_t width = p.z.cols() + 1;
  double value = 0;
  for (double v : w) value += 0.5 * v * v;
  for (std::size_t i = 0; i < p.z.rows(); ++i) {
    double f = 0;
    for (std::uint16_t g : p.open.row(i)) {
      const double* t = w.data() + g * width;
      f += t[0];
      for (std::size_t j = 1; j < width; ++j) f += t[j] * p.z(i, j - 1);
    }
    value += c * std::max(0.0, std::fabs(p.targets(i, output) - f) - epsilon);
  }
  return value;
}

#ifdef PARSNETS_HAVE_LIBLINEAR
class Liblinear {
 public:
  explicit Liblinear(const Problem& p) : p_(p) {
    set_print_string_function([](const char*) {});
    const std::size_t n = p.z.rows(), width = p.z.cols() + 1, row = p.open.cols() * width + 1;
    nodes_.reserve(n * row);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::uint16_t g : p.open.row(i))
        for (std::size_t j = 0; j < width; ++j)
          nodes_.push_back({static_cast<int>(g * width + j + 1), j == 0 ? 1.0 : p.z(i, j - 1)});
      nodes_.push_back({-1, 0});
    }
    for (std::size_t i = 0; i < n; ++i) rows_.push_back(nodes_.data() + i * row);
  }

  /// Weights of one output; adds the time of training to `seconds`.
  std::vector<double> train_output(std::size_t output, double c, double epsilon, double tolerance, double& seconds) {
    std::vector<double> y(rows_.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = p_.targets(i, output);
    problem prob{};
    prob.l = static_cast<int>(rows_.size());
    prob.n = static_cast<int>(p_.networks * (p_.z.cols() + 1));
    prob.y = y.data();
    prob.x = rows_.data();
    prob.bias = -1;
    parameter param{};
    param.solver_type = L2R_L1LOSS_SVR_DUAL;
    param.C = c;
    param.eps = tolerance;
    param.p = epsilon;
    const auto start = std::chrono::steady_clock::now();
    model* m = train(&prob, &param);
    seconds += seconds_since(start);
    std::vector<double> w(m->w, m->w + prob.n);
    free_and_destroy_model(&m);
    return w;
  }

 private:
  const Problem& p_;
  std::vector<feature_node> nodes_;
  std::vector<feature_node*> rows_;
};
#endif

int run(const std::map<std::string, std::string>& args) {
  ThreadPool pool(static_cast<unsigned>(std::stoul(args.at("threads"))));
  const Problem p = load_problem(args.at("data"), args.at("features"), pool);
  const double epsilon = std::stod(args.at("epsilon")), tolerance = std::stod(args.at("tolerance"));
  const std::size_t m = p.targets.cols();
  auto sample = Rng(std::stoull(args.at("seed"))).permutation(m);
  sample.resize(std::min<std::size_t>(m, std::stoul(args.at("sample"))));
  fmt::print("N {}  h {}  K {}  k {}  outputs {}  epsilon {}  gap {}  threads {}  sample {}\n", p.z.rows(), p.z.cols(),
             p.networks, p.open.cols(), m, epsilon, tolerance, pool.size(), sample.size());
  fmt::print("{:>8} {:>6} {:>8} {:>9} {:>8} {:>8} {:>7} {:>6} | {:>10} {:>12} {:>12} {:>8}\n", "C", "passes", "gap",
             "seconds", "GFLOP", "GB", "GFLOP/s", "peak", "LIBL. s", "P ours", "P LIBL.", "faster");
#ifdef PARSNETS_HAVE_LIBLINEAR
  Liblinear liblinear(p);
#endif
  std::stringstream list(args.at("c"));
  for (std::string item; std::getline(list, item, ',');) {
    SvrOptions o;
    o.c = std::stod(item);
    o.epsilon = epsilon;
    o.tolerance = tolerance;
    o.global_bias = args.at("bias") == "1";
    const double peak = measured_peak(pool);
    const auto start = std::chrono::steady_clock::now();
    const SvrResult r = solve_svr(p.samples(), p.targets.view(), o, pool);
    const double seconds = seconds_since(start), rate = r.flops / seconds;
    fmt::print("{:>8} {:>6} {:>8.1e} {:>9.2f} {:>8.0f} {:>8.1f} {:>7.0f} {:>5.0f}% |", item, r.passes.back().pass,
               r.relative_gap, seconds, r.flops * 1e-9, r.bytes * 1e-9, rate * 1e-9, 100 * rate / peak);
#ifdef PARSNETS_HAVE_LIBLINEAR
    if (!sample.empty() && !o.global_bias) {
      const Matrix<float> theta = networks_from_dual(p.samples(), r.beta.view(), pool);
      double ours = 0, theirs = 0, their_seconds = 0;
      for (std::size_t output : sample) {
        std::vector<double> w(theta.rows());
        for (std::size_t i = 0; i < w.size(); ++i) w[i] = theta(i, output);
        ours += primal_of(p, output, w, o.c, epsilon);
        theirs += primal_of(p, output, liblinear.train_output(output, o.c, epsilon, 1e-3, their_seconds), o.c, epsilon);
      }
      their_seconds *= static_cast<double>(m) / static_cast<double>(sample.size());
      fmt::print(" {:>10.0f} {:>12.5g} {:>12.5g} {:>7.0f}x", their_seconds, ours, theirs, their_seconds / seconds);
    }
#endif
    fmt::print("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> args{{"data", ""},       {"features", ""},      {"c", "0.01"},
                                          {"epsilon", "0.1"}, {"tolerance", "1e-3"}, {"threads", "0"},
                                          {"sample", "6"},    {"seed", "1"},         {"bias", "0"}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0 || args.count(name.substr(2)) == 0) {
      fmt::print(stderr, "unknown option {}\n", name);
      return 2;
    }
    args[name.substr(2)] = argv[i + 1];
  }
  if (args["data"].empty()) {
    fmt::print(
        stderr,
        "usage: {} --data DIR [--features NAME] [--c LIST] [--epsilon E] [--tolerance T] [--threads N] [--sample N] "
        "[--seed N] [--bias 0|1]\n",
        argv[0]);
    return 2;
  }
  try {
    return run(args);
  } catch (const parsnets::Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return static_cast<int>(e.code());
  }
}
