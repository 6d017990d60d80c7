// The SVR of all outputs on CUB beside LIBLINEAR and LIBSVM, which solve one output at a time. They are timed on a
// sample of outputs, and their time is scaled to all of them.
//
// Each problem is solved to a relative duality gap of 1e-3 over all outputs. A peer stops by a rule of its own, so it
// is called with eps = 0.1, 0.01, 0.001, 0.0001 until its gap is at most 1e-3; the time is that of the last call alone.
// LIBLINEAR gives weights alone, and its gap is taken to our dual value, which bounds the optimum from below; where our
// own gap of that output is above 1e-3, that is enough. LIBSVM gives its own dual variables.

#include "solvers/svr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "model/composite.hpp"
#include "svr_peers.hpp"

namespace bench {

namespace {

using namespace parsnets;

constexpr double kEpsilon = 0.1, kGap = 1e-3;
constexpr double kBounds[] = {0.01, 0.1, 1};
constexpr double kPeerSeconds = 10;      // after which no further output of a sample is begun
constexpr double kLongestSeconds = 100;  // after which an output is not tried with a smaller eps: a lower bound
constexpr double kCriteria[] = {0.1, 0.01, 0.001, 0.0001};

/// T of all samples, n x n.
Matrix<float> gated_kernel(const Problem& p, ThreadPool& pool) {
  const std::size_t n = p.z.rows();
  Matrix<float> open(n, p.gates.networks, 0.0f), shared(n, n), kernel(n, n, 1.0f);
  for (std::size_t i = 0; i < n; ++i)
    for (const auto g : p.open.row(i)) open(i, g) = 1;
  multiply(pool, Trans::no, open.view(), Trans::yes, open.view(), shared.view());
  multiply(pool, Trans::no, p.z.view(), Trans::yes, p.z.view(), kernel.view(), 1, 1);
  for (std::size_t i = 0; i < kernel.size(); ++i) kernel.data()[i] *= shared.data()[i];
  return kernel;
}

/// Primal and dual values of some columns of β, with f = Tβ.
struct Values {
  std::vector<double> primal, dual;
};
Values values_of(MatrixView<const float> targets, MatrixView<const float> f, MatrixView<const float> beta, double c,
                 bool bias, ThreadPool& pool) {
  const std::size_t m = targets.cols();
  Values v{std::vector<double>(m), std::vector<double>(m)};
  std::vector<float> biases(m);
  evaluate_svr(pool, targets, f, beta, c, kEpsilon, bias, {v.primal, v.dual, biases});
  return v;
}

Matrix<float> column(MatrixView<const float> a, std::size_t j) {
  Matrix<float> out(a.rows(), 1);
  for (std::size_t i = 0; i < a.rows(); ++i) out(i, 0) = a(i, j);
  return out;
}

Matrix<float> outputs_of(const Problem& p, MatrixView<const float> theta, ThreadPool& pool) {
  return compose(p.z.view(), p.open.view(), p.gates.networks, theta, std::vector<float>(theta.cols(), 0.0f), false,
                 pool);
}

double half_square(const std::vector<double>& w) { return std::inner_product(w.begin(), w.end(), w.begin(), 0.0) / 2; }

/// Relative duality gap of a peer's solution, and the one that makes it as good as ours.
struct Gap {
  double found = 0, needed = kGap;
};

/// Calls the peer with its criteria in turn until `gap_of` its solution is small enough; from `first` on, which becomes
/// the one that was: the next output needs no less.
template <class GapOf>
json solve_with(SvrPeer& peer, std::size_t output, double c, double& first, GapOf&& gap_of) {
  json tried = json::array();
  double spent = 0;
  for (const double eps : kCriteria) {
    if (eps > first) continue;
    first = eps;
    const PeerSolution solution = peer.solve(output, c, kEpsilon, eps);
    const Gap gap = gap_of(solution);
    tried.push_back({{"eps", eps},
                     {"seconds", solution.seconds},
                     {"cpu_seconds", solution.cpu},
                     {"relative_gap", gap.found},
                     {"needed_gap", gap.needed},
                     {"reached", gap.found <= gap.needed}});
    spent += solution.seconds;
    if (gap.found <= gap.needed || spent > kLongestSeconds) break;
  }
  json result = tried.back();
  result["output"] = output;
  result["tried"] = std::move(tried);
  return result;
}

struct Ours {
  SvrResult result;
  std::vector<double> samples, cpu;
  double seconds() const { return median(samples); }
};

json scaled(json outputs, std::size_t all, const Ours& ours) {
  double seconds = 0, cpu = 0;
  const double factor = static_cast<double>(all) / static_cast<double>(outputs.size());
  for (const auto& one : outputs) {
    seconds += factor * one["seconds"].get<double>();
    cpu += factor * one["cpu_seconds"].get<double>();
  }
  return {{"outputs", outputs},
          {"seconds_of_all", seconds},
          {"cpu_seconds_of_all", cpu},
          {"times_ours", seconds / ours.seconds()},
          {"times_our_cpu", cpu / median(ours.cpu)}};
}

Ours solve(const Problem& p, double c, bool bias, int samples, ThreadPool& pool) {
  SvrOptions options;
  options.c = c;
  options.epsilon = kEpsilon;
  options.tolerance = kGap;
  options.global_bias = bias;
  Ours ours;
  for (int i = 0; i < samples; ++i) {
    const double before = cpu_seconds();
    ours.samples.push_back(seconds_of([&] { ours.result = solve_svr(p.samples(), p.targets.view(), options, pool); }));
    ours.cpu.push_back(cpu_seconds() - before);
  }
  return ours;
}

json record_of(const Ours& ours, double peak) {
  return {{"samples", ours.samples},
          {"seconds", ours.seconds()},
          {"cpu_samples", ours.cpu},
          {"cpu_seconds", median(ours.cpu)},
          {"relative_gap", ours.result.relative_gap},
          {"passes", ours.result.passes.size()},
          {"flops", ours.result.flops},
          {"bytes", ours.result.bytes},
          {"of_gemm_peak", ours.result.flops / ours.seconds() / peak}};
}

/// Solves the sampled outputs one after the other until that has taken long enough.
template <class GapOf>
json compare(SvrPeer& peer, const std::vector<std::size_t>& sample, double c, const Ours& ours, GapOf&& gap_of) {
  json outputs = json::array();
  double first = kCriteria[0], spent = 0;
  for (const std::size_t j : sample) {
    spent += seconds_of(
        [&] { outputs.push_back(solve_with(peer, j, c, first, [&](const PeerSolution& s) { return gap_of(j, s); })); });
    if (spent > kPeerSeconds) break;
  }
  return scaled(std::move(outputs), ours.result.beta.cols(), ours);
}

json compare_liblinear(SvrPeer& peer, const Problem& p, const std::vector<std::size_t>& sample, double c,
                       const Ours& ours, ThreadPool& pool) {
  return compare(peer, sample, c, ours, [&](std::size_t j, const PeerSolution& s) {
    const Matrix<float> beta = column(ours.result.beta.view(), j), a = column(p.targets.view(), j);
    const Matrix<float> theta = networks_from_dual(p.samples(), beta.view(), pool);
    const Values bound = values_of(a.view(), outputs_of(p, theta.view(), pool).view(), beta.view(), c, false, pool);
    Matrix<float> w(s.weights.size(), 1);
    std::ranges::transform(s.weights, w.data(), [](double v) { return static_cast<float>(v); });
    const Matrix<float> f = outputs_of(p, w.view(), pool);
    double primal = half_square(s.weights);
    for (std::size_t i = 0; i < f.rows(); ++i)
      primal += c * std::max(0.0, std::fabs(static_cast<double>(a(i, 0)) - f(i, 0)) - kEpsilon);
    return Gap{(primal - bound.dual[0]) / primal, std::max(kGap, (bound.primal[0] - bound.dual[0]) / bound.primal[0])};
  });
}

json compare_libsvm(SvrPeer& peer, const Problem& p, const Matrix<float>& kernel,
                    const std::vector<std::size_t>& sample, double c, const Ours& ours, ThreadPool& pool) {
  return compare(peer, sample, c, ours, [&](std::size_t j, const PeerSolution& s) {
    Matrix<float> beta(s.beta.size(), 1), f(s.beta.size(), 1);
    std::ranges::copy(s.beta, beta.data());
    multiply(pool, Trans::no, kernel.view(), Trans::no, beta.view(), f.view());
    const Values v = values_of(column(p.targets.view(), j).view(), f.view(), beta.view(), c, true, pool);
    return Gap{(v.primal[0] - v.dual[0]) / v.primal[0], kGap};
  });
}

void print_peer(const char* name, const json& peer) {
  fmt::print("          {} {:.0f} s for all outputs, {:.0f} times ours ({:.0f} times in CPU time)\n", name,
             peer["seconds_of_all"].get<double>(), peer["times_ours"].get<double>(),
             peer["times_our_cpu"].get<double>());
  std::fflush(stdout);
}

}  // namespace

json measure_svr(const Settings& settings) {
  const DataSource source = cub(settings);
  const Dataset data = load_dataset(source.folder, source.load);
  ThreadPool pool;
  const Problem p = paper_problem(data, compared_rows(settings, data), source.open, pool);
  auto sample = Rng(1).permutation(p.targets.cols());
  sample.resize(settings.quick ? 1 : 3);
  const auto linear = liblinear_peer(p);
  const Matrix<float> kernel = gated_kernel(p, pool);
  const auto kernel_machine = libsvm_peer(p, kernel);
  json result{{"data", sizes_of(source, data)},
              {"samples", p.z.rows()},
              {"encoding", p.z.cols()},
              {"networks", p.gates.networks},
              {"open", p.gates.open},
              {"outputs", p.targets.cols()},
              {"epsilon", kEpsilon},
              {"relative_gap", kGap},
              {"threads", pool.size()},
              {"bounds", json::array()}};
  if (!linear) result["liblinear"] = missing_peer("LIBLINEAR", "liblinear-dev was not there when the suite was built");
  if (!kernel_machine) result["libsvm"] = missing_peer("LIBSVM", "libsvm-dev was not there when the suite was built");
  fmt::print("\nSVR on CUB: {} samples, h {}, K {}, k {}, {} outputs, relative gap {}, {} threads\n", p.z.rows(),
             p.z.cols(), p.gates.networks, p.gates.open, p.targets.cols(), kGap, pool.size());
  for (const double c : kBounds) {
    MachinePeaks peaks;
    peaks.sample(pool);
    const Ours plain = solve(p, c, false, settings.quick ? 1 : 2, pool), biased = solve(p, c, true, 1, pool);
    peaks.sample(pool);
    json entry{
        {"c", c}, {"ours", record_of(plain, peaks.gemm32(2))}, {"ours_with_bias", record_of(biased, peaks.gemm32(2))}};
    fmt::print("  C {:<5} ours {:.2f} s ({:.0f} % of the GEMM peak), with a bias {:.2f} s\n", c, plain.seconds(),
               100 * entry["ours"]["of_gemm_peak"].get<double>(), biased.seconds());
    std::fflush(stdout);
    if (linear) {
      entry["liblinear"] = compare_liblinear(*linear, p, sample, c, plain, pool);
      print_peer("LIBLINEAR", entry["liblinear"]);
    }
    if (kernel_machine) {
      entry["libsvm"] = compare_libsvm(*kernel_machine, p, kernel, sample, c, biased, pool);
      print_peer("LIBSVM", entry["libsvm"]);
    }
    result["bounds"].push_back(std::move(entry));
  }
  return result;
}

}  // namespace bench
