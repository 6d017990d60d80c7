#include "solvers/svr_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "parsnets/error.hpp"

namespace parsnets {

namespace {

[[noreturn]] void impossible(const std::string& what) { throw Error(ErrorCode::usage, "SVR options: " + what); }

[[noreturn]] void bad_array(std::string field, std::string expected, std::string found) {
  throw Error(BadInput{"SVR input", std::move(field), std::move(expected), std::move(found),
                       "check the shapes of the samples, gates and targets"});
}

std::string shape(std::size_t rows, std::size_t cols) { return fmt::format("{} x {}", rows, cols); }

void check_finite(ThreadPool& pool, MatrixView<const float> x, const char* field) {
  std::vector<char> bad(ThreadPool::chunk_count(x.rows(), 256), 0);
  pool.parallel_for(x.rows(), 256, [&](std::size_t first, std::size_t last, std::size_t chunk) {
    for (std::size_t i = first * x.cols(); i < last * x.cols(); ++i)
      if (!std::isfinite(x.data()[i])) bad[chunk] = 1;
  });
  if (std::any_of(bad.begin(), bad.end(), [](char b) { return b != 0; }))
    bad_array(field, "finite values", "inf or nan");
}

}  // namespace

void check_svr_options(const SvrOptions& o) {
  if (!(o.c > 0) || !std::isfinite(static_cast<float>(o.c)) || !(static_cast<float>(o.c) > 0))
    impossible(fmt::format("c must be a positive number, found {}", o.c));
  if (!(o.epsilon >= 0) || !std::isfinite(static_cast<float>(o.epsilon)))
    impossible(fmt::format("epsilon must be a number >= 0, found {}", o.epsilon));
  if (!(o.tolerance > 0)) impossible(fmt::format("tolerance must be > 0, found {}", o.tolerance));
  if (o.max_passes < 0) impossible(fmt::format("max_passes must be >= 0, found {}", o.max_passes));
  if (o.block != 0 && o.block < static_cast<int>(kSmallestSvrBlock))
    impossible(fmt::format("block must be 0 or at least {}, found {}", kSmallestSvrBlock, o.block));
  if (o.checkpoint_passes < 1) impossible(fmt::format("checkpoint_passes must be >= 1, found {}", o.checkpoint_passes));
  if (o.resume && o.checkpoint.empty()) impossible("resume needs a checkpoint path");
}

void check_svr_samples(const GatedSamples& s, ThreadPool& pool) {
  const std::size_t n = s.z.rows(), k = s.open.cols();
  const auto largest = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (n == 0 || n > largest / 2 || s.z.cols() >= largest / 2)
    bad_array("z", "at least one sample and dimensions below 2^30", shape(n, s.z.cols()));
  if (s.open.rows() != n)
    bad_array("open", fmt::format("{} rows, one per sample", n), fmt::format("{}", s.open.rows()));
  if (s.networks == 0 || s.networks > 65536 || k == 0 || k > s.networks)
    bad_array("open", fmt::format("1 to {} open networks per sample, at most 65536 networks", s.networks),
              fmt::format("{}", k));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j)
      if (s.open(i, j) >= s.networks || (j > 0 && s.open(i, j) <= s.open(i, j - 1)))
        bad_array(fmt::format("open, row {}", i), fmt::format("ascending network numbers below {}", s.networks),
                  fmt::format("{} at position {}", s.open(i, j), j));
  check_finite(pool, s.z, "z");
}

void check_svr_targets(const GatedSamples& samples, MatrixView<const float> targets, MatrixView<const float> start,
                       ThreadPool& pool) {
  const std::size_t n = samples.z.rows(), m = targets.cols();
  if (targets.rows() != n || m == 0 || m > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    bad_array("targets", fmt::format("{} rows (one per sample) and at least one column", n), shape(targets.rows(), m));
  if (!start.empty() && (start.rows() != n || start.cols() != m))
    bad_array("start", shape(n, m), shape(start.rows(), start.cols()));
  check_finite(pool, targets, "targets");
  check_finite(pool, start, "start");
}

void check_svr_beta(const GatedSamples& samples, MatrixView<const float> beta) {
  if (beta.rows() != samples.z.rows() || beta.cols() == 0)
    bad_array("beta", fmt::format("{} rows", samples.z.rows()), shape(beta.rows(), beta.cols()));
}

}  // namespace parsnets
