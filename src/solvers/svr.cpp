#include "solvers/svr.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "base/finite.hpp"
#include "base/rng.hpp"
#include "parsnets/error.hpp"
#include "solvers/gated_kernel.hpp"
#include "solvers/svr_active_set.hpp"
#include "solvers/svr_engine.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kSmallestBlock = 16;
constexpr double kMostStored = 8e9;      // bytes of a kernel that is stored without being asked for
constexpr std::size_t kGathered = 2048;  // samples whose part of a network is computed together

[[noreturn]] void bad_array(std::string field, std::string expected, std::string found) {
  throw Error(BadInput{"SVR input", std::move(field), std::move(expected), std::move(found),
                       "check the shapes of the samples, gates and targets"});
}

std::string shape(std::size_t rows, std::size_t cols) { return fmt::format("{} x {}", rows, cols); }

void require_finite(MatrixView<const float> x, const char* field) {
  if (!all_finite(x.values())) bad_array(field, "finite values", "inf or nan");
}

struct Plan {
  SvrForm form;
  std::size_t block;
  bool active_sets;
};

// The kernel is stored if it fits the limit, else recomputed; blocks shrink when nothing fits otherwise. Active sets
// need the inverse of a stored kernel beside it.
Plan make_plan(const GatedSamples& s, std::size_t m, const SvrOptions& o) {
  const std::size_t n = s.z.rows(), whole = std::min(o.block == 0 ? kBlock : static_cast<std::size_t>(o.block), n);
  const double limit =
      o.memory_limit == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(o.memory_limit);
  std::vector<SvrForm> forms{o.form};
  if (o.form == SvrForm::automatic) {
    forms = {SvrForm::stored_kernel, SvrForm::recomputed_kernel};
    if (4 * static_cast<double>(n) * static_cast<double>(n) > kMostStored) forms.erase(forms.begin());
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t halvings = 0;; ++halvings) {
    const std::size_t block = halvings == 0 ? whole : std::max(whole >> halvings, kSmallestBlock);
    for (SvrForm form : forms) {
      const double need =
          GatedKernel::bytes_needed(n, s.z.cols(), s.networks, block, form) + SvrEngine::bytes_needed(n, m, block);
      least = std::min(least, need);
      const double all = need + SvrActiveSet::bytes_needed(n, m);
      if (need <= limit) return {form, block, form == SvrForm::stored_kernel && all <= std::min(limit, kMostStored)};
    }
    if (block <= kSmallestBlock) break;
  }
  throw Error(ErrorCode::usage,
              fmt::format("{}: expected at least {:.0f} bytes for an SVR of {} samples and {} outputs, found {}",
                          option_name("memory-limit"), std::ceil(least), n, m, o.memory_limit));
}

}  // namespace

void check_samples(const GatedSamples& s) {
  const std::size_t n = s.z.rows(), k = s.open.cols();
  const auto largest = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (n == 0 || n > largest / 2 || s.z.cols() >= largest / 2)
    bad_array("z", "at least one sample and dimensions below 2^30", shape(n, s.z.cols()));
  if (s.open.rows() != n)
    bad_array("open", fmt::format("{} rows, one per sample", n), fmt::format("{}", s.open.rows()));
  if (s.networks == 0 || s.networks > 65536 || k == 0 || k > s.networks)
    bad_array("open", fmt::format("1 to {} active networks per sample, at most 65536 networks", s.networks),
              fmt::format("{}", k));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j)
      if (s.open(i, j) >= s.networks || (j > 0 && s.open(i, j) <= s.open(i, j - 1)))
        bad_array(fmt::format("open, row {}", i), fmt::format("ascending network numbers below {}", s.networks),
                  fmt::format("{} at position {}", s.open(i, j), j));
  require_finite(s.z, "z");
}

SvrResult solve_svr(const GatedSamples& samples, MatrixView<const float> targets, const SvrOptions& options,
                    ThreadPool& pool, ProgressObserver* progress, MatrixView<const float> start) {
  check_samples(samples);
  const std::size_t n = samples.z.rows(), m = targets.cols();
  require_finite(targets, "targets");

  const Plan plan = make_plan(samples, m, options);
  report_message(progress, fmt::format("svr: {} samples, {} outputs, {} kernel, blocks of {}", n, m,
                                       plan.form == SvrForm::stored_kernel ? "stored" : "recomputed", plan.block));

  const std::vector<std::size_t> order = Rng(options.seed).permutation(n);
  GatedKernel kernel(samples, order, plan.block, plan.form, pool, progress);
  SvrEngine engine(kernel, targets, order, options, plan.active_sets, pool, progress);
  engine.begin(start);
  for (;; engine.advance()) {
    const bool last = engine.state().counters.pass >= options.max_passes;
    if ((engine.converged() || last) && (engine.certify() || last)) break;
  }

  SvrState& state = engine.state();
  return {std::move(state.result),
          std::move(state.bias),
          engine.total_primal(),
          engine.total_dual(),
          engine.gap(),
          engine.converged(),
          std::move(state.passes),
          plan.form,
          kernel.flops(),
          kernel.bytes()};
}

Matrix<float> networks_from_dual(const GatedSamples& samples, MatrixView<const float> beta, ThreadPool& pool) {
  const std::size_t n = samples.z.rows(), width = samples.z.cols() + 1, m = beta.cols();
  std::vector<std::vector<std::size_t>> active(samples.networks);
  for (std::size_t i = 0; i < n; ++i)
    for (const std::uint16_t g : samples.open.row(i)) active[g].push_back(i);
  Matrix<float> theta(samples.networks * width, m, 0.0f);
  pool.parallel_for(samples.networks, 1, [&](std::size_t g, std::size_t, std::size_t) {
    const std::vector<std::size_t>& rows = active[g];
    for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {  // few at a time are gathered
      const std::size_t end = (rows[first] / kGathered + 1) * kGathered;
      while (last < rows.size() && rows[last] < end) ++last;
      const Matrix<float> z = network_inputs(samples.z, std::span(rows).subspan(first, last - first));
      Matrix<float> b(last - first, m);
      for (std::size_t r = first; r < last; ++r) std::ranges::copy(beta.row(rows[r]), b.row(r - first).begin());
      gemm(Trans::yes, Trans::no, width, m, last - first, 1, z.data(), width, b.data(), m, 1,
           theta.data() + g * width * m, m);
    }
  });
  return theta;
}

namespace {

constexpr std::size_t kColumns = 16;  // one cache line of each row
constexpr std::size_t kStride = 16;   // one point in so many brackets the median

/// A minimiser of Σ_l max(0, |r_l − b| − ε) over b. Since max(0,|x|−ε) = ½|x−ε| + ½|x+ε| − ε, it is the median of the
/// 2N points r_l ± ε (the middle of the two central ones). `points` is scratch for 2N + 1 values.
float tube_bias(std::span<const float> r, float epsilon, std::span<float> points) {
  const std::size_t n = r.size();
  // A sample brackets the middle, so that only the points between have to be put in order.
  float low = -std::numeric_limits<float>::infinity(), high = -low;
  if (n >= 16 * kStride) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < n; i += kStride) {
      points[taken++] = r[i] - epsilon;
      points[taken++] = r[i] + epsilon;
    }
    const auto begin = points.begin(), end = begin + static_cast<std::ptrdiff_t>(taken);
    const auto reach = static_cast<std::ptrdiff_t>(2 * std::sqrt(static_cast<double>(taken)));
    const auto below = begin + static_cast<std::ptrdiff_t>(taken / 2) - reach, above = below + 2 * reach;
    std::nth_element(begin, below, end);
    std::nth_element(below, above, end);
    low = *below;
    high = *above;
  }
  for (;;) {
    std::size_t smaller = 0, inside = 0;
    const auto take = [&](float p) {  // without branches: a point that does not count is overwritten by the next
      points[inside] = p;
      smaller += static_cast<std::size_t>(p < low);
      inside += static_cast<std::size_t>(p >= low) & static_cast<std::size_t>(p <= high);
    };
    for (std::size_t i = 0; i < n; ++i) {
      take(r[i] - epsilon);
      take(r[i] + epsilon);
    }
    if (smaller + 1 <= n && n < smaller + inside) {
      const auto middle = points.begin() + static_cast<std::ptrdiff_t>(n - smaller);
      std::nth_element(points.begin(), middle, points.begin() + static_cast<std::ptrdiff_t>(inside));
      const float upper = *middle, lower = *std::max_element(points.begin(), middle);
      return lower + 0.5f * (upper - lower);
    }
    low = -std::numeric_limits<float>::infinity();
    high = -low;
  }
}

}  // namespace

void evaluate_svr(ThreadPool& pool, MatrixView<const float> targets, MatrixView<const float> f,
                  MatrixView<const float> beta, double c, double epsilon, bool global_bias, const SvrValues& out) {
  const std::size_t n = targets.rows(), m = targets.cols();
  const float tube = static_cast<float>(epsilon);
  pool.parallel_for(m, kColumns, [&](std::size_t first, std::size_t last, std::size_t) {
    const std::size_t w = last - first;
    std::vector<float> r(w * n), points(global_bias ? 2 * n + 1 : 0);
    std::array<double, kColumns> quadratic{}, linear{}, absolute{};
    for (std::size_t i = 0; i < n; ++i) {
      const float *a = targets.data() + i * m + first, *v = f.data() + i * m + first, *b = beta.data() + i * m + first;
      for (std::size_t j = 0; j < w; ++j) {
        r[j * n + i] = a[j] - v[j];
        quadratic[j] += static_cast<double>(b[j]) * v[j];
        linear[j] += static_cast<double>(b[j]) * a[j];
        absolute[j] += std::fabs(b[j]);
      }
    }
    for (std::size_t j = 0; j < w; ++j) {
      const std::span<const float> residual(r.data() + j * n, n);
      const float bias = global_bias ? tube_bias(residual, tube, points) : 0.0f;
      double loss = 0;
      for (float x : residual) loss += std::max(0.0, std::fabs(static_cast<double>(x) - bias) - epsilon);
      out.bias[first + j] = bias;
      out.primal[first + j] = 0.5 * quadratic[j] + c * loss;
      out.dual[first + j] = linear[j] - 0.5 * quadratic[j] - epsilon * absolute[j];
    }
  });
}

}  // namespace parsnets
