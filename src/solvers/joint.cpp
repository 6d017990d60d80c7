#include "solvers/joint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/linalg.hpp"
#include "solvers/gated_kernel.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kJointRows = 512;  // samples whose values are computed together
constexpr int kJointHalvings = 6;        // of η in one outer step
constexpr double kNoGeometry = 1e-6;     // g/Σ_v, below which g is rounding

// ΘᵀΦ(x) of samples [first, last) in double, rows x m; one product per network.
Matrix<double> values_of(const GatedSamples& s, MatrixView<const float> networks, std::size_t first, std::size_t last,
                         ThreadPool& pool) {
  const std::size_t width = s.z.cols() + 1, m = networks.cols();
  std::vector<std::vector<std::size_t>> members(s.networks);
  for (std::size_t l = first; l < last; ++l)
    for (const std::uint16_t i : s.open.row(l)) members[i].push_back(l);
  Matrix<double> f(last - first, m, 0.0);
  for (std::size_t i = 0; i < s.networks; ++i) {
    if (members[i].empty()) continue;
    const Matrix<double> z = network_inputs<double>(s.z, members[i]);
    const Matrix<double> theta = to_double({networks.data() + i * width * m, width, m});
    const Matrix<double> values = product(pool, Trans::no, z, Trans::no, theta);
    for (std::size_t r = 0; r < z.rows(); ++r)
      for (std::size_t j = 0; j < m; ++j) f(members[i][r] - first, j) += values(r, j);
  }
  return f;
}

// F(Θ,b), summed in double.
double fit_objective(const GatedSamples& samples, MatrixView<const float> targets, MatrixView<const float> networks,
                     std::span<const float> bias, const SvrOptions& options, ThreadPool& pool) {
  const std::size_t n = samples.z.rows(), m = targets.cols();
  std::vector<double> loss(ThreadPool::chunk_count(n, kJointRows), 0.0);
  pool.parallel_for(n, kJointRows, [&](std::size_t first, std::size_t last, std::size_t chunk) {
    const Matrix<double> f = values_of(samples, networks, first, last, pool);
    for (std::size_t l = first; l < last; ++l)
      for (std::size_t j = 0; j < m; ++j)
        loss[chunk] += std::max(0.0, std::fabs(targets(l, j) - f(l - first, j) - bias[j]) - options.epsilon);
  });
  double total = 0;
  for (const double part : loss) total += part;
  return 0.5 * dot(networks.values(), networks.values()) + options.c * total;
}

struct Point : ProximalFit {
  double fit = 0, mmg = 0, objective = 0;
};

// The state of one call of solve_joint.
class Joint {
 public:
  Joint(const GatedSamples& samples, std::span<const std::int32_t> labels, MatrixView<const float> targets,
        const JointOptions& options, ThreadPool& pool, ProgressObserver* progress)
      : samples_(samples), labels_(labels), targets_(targets), options_(options), pool_(pool), progress_(progress) {}

  JointResult run(MatrixView<const float> start_beta) {
    start(start_beta);
    for (int outer = 0; outer < options_.outer_steps && weight_ > 0; ++outer)
      if (!outer_step(outer)) break;
    result_.objective = now_.objective;
    result_.mmg = now_.mmg;
    result_.weight = weight_;
    result_.relative_gap = now_.relative_gap;
    result_.converged = now_.converged;
    result_.orthogonality = network_orthogonality(now_.networks.view(), samples_.networks, pool_);
    result_.networks = std::move(now_.networks);
    result_.bias = std::move(now_.bias);
    return std::move(result_);
  }

 private:
  void start(MatrixView<const float> start_beta) {
    SvrResult svr = solve_svr(samples_, targets_, options_.svr, pool_, progress_, start_beta);
    count(svr.flops, svr.bytes);
    now_ = {{networks_from_dual(samples_, svr.beta.view(), pool_), std::move(svr.bias),
             Matrix<float>::copy_of(svr.beta.view()), svr.relative_gap, svr.converged}};
    evaluate_fit(now_);
    if (options_.mmg > 0) {
      const NetworkMmg g = geometry(now_, false);
      now_.mmg = g.value;
      if (g.value > kNoGeometry * g.classes) weight_ = options_.mmg * now_.fit / g.value;
    }
    now_.objective = now_.fit + weight_ * now_.mmg;
    result_.start_objective = now_.objective;
    result_.start_mmg = now_.mmg;
    result_.start_beta = std::move(svr.beta);
  }

  // False when no attempt was accepted.
  bool outer_step(int outer) {
    const NetworkMmg g = geometry(now_, true);
    const double slope = weight_ * std::sqrt(dot(g.gradient.values(), g.gradient.values())),
                 size = std::sqrt(dot(now_.networks.values(), now_.networks.values()));
    if (!(slope > 0)) return false;
    const double first = std::min(1.0, size / slope);
    for (const int last = halvings_ + kJointHalvings; halvings_ <= last; ++halvings_) {
      report(progress_, {"joint fit", static_cast<std::uint64_t>(outer),
                         static_cast<std::uint64_t>(options_.outer_steps), "steps"});
      const double eta = std::ldexp(first, -halvings_);
      double tau = std::ldexp(1.0, -2 * halvings_);
      Point next = attempt(g.gradient, eta, tau);
      const JointStep step{next.objective, next.fit, next.mmg, eta, tau, next.objective <= now_.objective};
      result_.steps.push_back(step);
      report_message(progress_, fmt::format("joint fit: step {}, eta {:.3g}, J {:.6g} -> {:.6g}, g {:.4g}, {}",
                                            outer + 1, step.step, now_.objective, step.objective, step.mmg,
                                            step.accepted ? "accepted" : "rejected"));
      if (step.accepted) {
        now_ = std::move(next);
        return true;
      }
      // A step of half the length moves Θ by at most ½η·slope, and w·g falls, to first order, by at most ½η·slope²: not
      // worth a solve where the fit itself is known less exactly.
      if (0.5 * step.step * slope * slope < options_.svr.tolerance * now_.fit) break;
    }
    return false;
  }

  // Sets τ to 0 where there is no projection.
  Point attempt(const Matrix<float>& gradient, double eta, double& tau) {
    Matrix<float> centre(gradient.rows(), gradient.cols());
    const double scale = eta * weight_;
    for (std::size_t e = 0; e < centre.size(); ++e)
      centre.data()[e] = static_cast<float>(now_.networks.data()[e] - scale * gradient.data()[e]);
    if (const auto polar = orthonormal_networks(centre.view(), samples_.networks, pool_)) {
      const auto share = static_cast<float>(tau);
      for (std::size_t e = 0; e < centre.size(); ++e) centre.data()[e] += share * (polar->data()[e] - centre.data()[e]);
    } else {
      tau = 0;
    }
    Point next{
        solve_proximal_fit(samples_, targets_, centre.view(), eta, options_.svr, pool_, progress_, now_.beta.view())};
    count(next.flops, next.bytes);
    evaluate_fit(next);
    next.mmg = geometry(next, false).value;
    next.objective = next.fit + weight_ * next.mmg;
    return next;
  }

  void evaluate_fit(Point& p) {
    p.fit = fit_objective(samples_, targets_, p.networks.view(), p.bias, options_.svr, pool_);
    const double pairs = static_cast<double>(samples_.open.size()), h = static_cast<double>(samples_.z.cols() + 1),
                 m = static_cast<double>(targets_.cols());
    const double chunks = static_cast<double>(ThreadPool::chunk_count(samples_.z.rows(), kJointRows));
    count(2 * pairs * h * m, 8 * pairs * (h + m) + 12 * chunks * static_cast<double>(p.networks.size()));
  }

  NetworkMmg geometry(const Point& p, bool with_gradient) {
    NetworkMmg g = mmg_of_networks(samples_, labels_, p.networks.view(), with_gradient, pool_);
    count(g.flops, 0);
    return g;
  }

  void count(double flops, double bytes) {
    result_.flops += flops;
    result_.bytes += bytes;
  }

  const GatedSamples& samples_;
  std::span<const std::int32_t> labels_;
  MatrixView<const float> targets_;
  const JointOptions& options_;
  ThreadPool& pool_;
  ProgressObserver* progress_;
  Point now_;
  double weight_ = 0;
  int halvings_ = 0;  // so far: a step that was too long once is not tried again
  JointResult result_;
};

}  // namespace

ProximalFit solve_proximal_fit(const GatedSamples& samples, MatrixView<const float> targets,
                               MatrixView<const float> centre, double eta, const SvrOptions& options, ThreadPool& pool,
                               ProgressObserver* progress, MatrixView<const float> start) {
  const std::size_t n = samples.z.rows(), m = targets.cols();
  const double share = eta / (1 + eta);
  SvrOptions inner = options;
  inner.c = share * options.c;

  Matrix<float> shifted(n, m), warm(start.empty() ? 0 : n, m);
  pool.parallel_for(n, kJointRows, [&](std::size_t first, std::size_t last, std::size_t) {
    const Matrix<double> f = values_of(samples, centre, first, last, pool);
    for (std::size_t l = first; l < last; ++l)
      for (std::size_t j = 0; j < m; ++j)
        shifted(l, j) = static_cast<float>(targets(l, j) - f(l - first, j) / (1 + eta));
  });
  const auto scale = static_cast<float>(share);
  for (std::size_t e = 0; e < warm.size(); ++e) warm.data()[e] = scale * start.data()[e];

  SvrResult svr = solve_svr(samples, shifted.view(), inner, pool, progress, warm.view());
  ProximalFit result{networks_from_dual(samples, svr.beta.view(), pool),
                     std::move(svr.bias),
                     std::move(svr.beta),
                     svr.relative_gap,
                     svr.converged,
                     svr.flops,
                     svr.bytes};
  for (std::size_t e = 0; e < centre.size(); ++e)
    result.networks.data()[e] = static_cast<float>(result.networks.data()[e] + centre.data()[e] / (1 + eta));
  const auto box = static_cast<float>(options.c);
  for (float& b : result.beta.values()) b = std::clamp(static_cast<float>(b / share), -box, box);
  return result;
}

JointResult solve_joint(const GatedSamples& samples, std::span<const std::int32_t> labels,
                        MatrixView<const float> targets, const JointOptions& options, ThreadPool& pool,
                        ProgressObserver* progress, MatrixView<const float> start_beta) {
  return Joint(samples, labels, targets, options, pool, progress).run(start_beta);
}

}  // namespace parsnets
