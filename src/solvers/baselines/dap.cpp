// DAP: per attribute min_w,b Σ log(1 + exp(f)) − t·f + ½λ‖w‖², f = wᵀ(x − x̄) + b, t ∈ {0, 1} the attribute of x's
// class. The Hessian is at most ¼ZᵀZ + λI for w and n/4 for b (Böhning & Lindsay 1988); with centred samples Z the two
// do not mix. One Cholesky factor of this bound thus serves all attributes and iterations:
//   w ← w − (¼ZᵀZ + λI)⁻¹(Zᵀr + λw),  b ← b − (4/n)Σr,  r = σ(f) − t,
// with Nesterov's momentum, restarted per attribute where it points uphill (O'Donoghue & Candès 2015). For d > n the
// unknowns are α with w = Zᵀα: α ← α − (¼ZZᵀ + λI)⁻¹(r + λα), and r + λα counts as the gradient.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/linalg.hpp"
#include "parsnets/error.hpp"
#include "solvers/baselines/moments.hpp"

namespace parsnets {

namespace {

constexpr double kTolerance = 1e-4;
constexpr int kMaxIterations = 1000;
constexpr double kRarestPrior = 0.01;
constexpr std::size_t kSampleGrain = 64, kColumnGrain = 256;

/// One column per attribute: p unknowns (d weights or n coefficients) and a bias.
struct Columns {
  Matrix<double> v;       // p x a
  std::vector<double> b;  // a
};

template <class T>
void keep_entries(std::vector<T>& values, const std::vector<std::size_t>& keep) {
  for (std::size_t k = 0; k < keep.size(); ++k) values[k] = values[keep[k]];
  values.resize(keep.size());
}

void keep_columns(Columns& columns, const std::vector<std::size_t>& keep) {
  Matrix<double> kept(columns.v.rows(), keep.size());
  for (std::size_t i = 0; i < kept.rows(); ++i)
    for (std::size_t k = 0; k < keep.size(); ++k) kept(i, k) = columns.v(i, keep[k]);
  columns.v = std::move(kept);
  keep_entries(columns.b, keep);
}

double logit(double p) { return std::log(p / (1 - p)); }

class Problem {
 public:
  Problem(const SummedSamples& samples, MatrixView<const float> x, std::span<const std::int32_t> labels, double lambda,
          ThreadPool& pool)
      : x_(x),
        labels_(labels),
        semantics_(samples.semantics),
        lambda_(lambda),
        pool_(pool),
        moments_(samples),
        primal_(x_.cols() <= x_.rows()) {
    for (const double t : moments_.semantics.values())
      if (t != 0 && t != 1)
        throw Error(BadInput{"training samples", "semantics", "0 or 1 for every attribute", fmt::format("{}", t),
                             "binarise the semantics"});
    Matrix<double> gram = centred_gram();
    if (!primal_) kernel_ = to_float(gram.view());
    for (auto& value : gram.values()) value /= 4;
    bound_.emplace(pool, std::move(gram), lambda);
  }

  const ClassMoments& moments() const { return moments_; }
  std::size_t unknowns() const { return primal_ ? x_.cols() : x_.rows(); }

  /// Gradient at `at`, whose columns belong to `attributes`.
  Columns gradient(const Columns& at, const std::vector<std::size_t>& attributes) const {
    const std::size_t n = x_.rows(), p = unknowns(), a = attributes.size();
    std::vector<double> shift = at.b;
    if (primal_)
      for (std::size_t i = 0; i < p; ++i)
        for (std::size_t j = 0; j < a; ++j) shift[j] -= moments_.mean[i] * at.v(i, j);
    Matrix<float> residual(n, a);
    multiply(pool_, Trans::no, primal_ ? x_ : kernel_.view(), Trans::no, to_float(at.v.view()).view(), residual.view());
    Matrix<double> chunk_sums(ThreadPool::chunk_count(n, kSampleGrain), a, 0.0);
    pool_.parallel_for(n, kSampleGrain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
      for (std::size_t l = begin; l < end; ++l) {
        const auto target = semantics_.row(static_cast<std::size_t>(labels_[l]));
        for (std::size_t j = 0; j < a; ++j) {
          const float f = residual(l, j) + static_cast<float>(shift[j]);
          residual(l, j) = 1 / (1 + std::exp(-f)) - target[attributes[j]];
          chunk_sums(chunk, j) += static_cast<double>(residual(l, j));
        }
      }
    });
    Columns result{Matrix<double>(p, a), std::vector<double>(a, 0.0)};
    for (std::size_t c = 0; c < chunk_sums.rows(); ++c)
      for (std::size_t j = 0; j < a; ++j) result.b[j] += chunk_sums(c, j);

    Matrix<float> products(primal_ ? p : 0, a);  // Xᵀr
    if (primal_) multiply(pool_, Trans::yes, x_, Trans::no, residual.view(), products.view());
    const Matrix<float>& combined = primal_ ? products : residual;
    for (std::size_t i = 0; i < p; ++i) {
      const double centre = primal_ ? moments_.mean[i] : 1 / static_cast<double>(n);
      for (std::size_t j = 0; j < a; ++j)
        result.v(i, j) = static_cast<double>(combined(i, j)) - centre * result.b[j] + lambda_ * at.v(i, j);
    }
    return result;
  }

  /// Divides a gradient by the bound of the Hessian.
  Columns step(const Columns& gradient) const {
    Columns result{Matrix<double>::copy_of(gradient.v.view()), gradient.b};
    bound_->solve(pool_, result.v.view());
    for (auto& b : result.b) b *= 4 / static_cast<double>(x_.rows());
    return result;
  }

  /// Weights (d x m) for x − x̄: the unknowns themselves, or Zᵀα.
  Matrix<double> weights(Matrix<double> unknowns) const {
    if (primal_) return unknowns;
    Matrix<double> result(x_.cols(), unknowns.cols());
    pool_.parallel_for(x_.cols(), kColumnGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
      Matrix<double> block(x_.rows(), end - begin);
      for (std::size_t l = 0; l < x_.rows(); ++l)
        for (std::size_t j = begin; j < end; ++j)
          block(l, j - begin) = static_cast<double>(x_(l, j)) - moments_.mean[j];
      multiply(pool_, Trans::yes, block.view(), Trans::no, unknowns.view(),
               MatrixView<double>(result.row(begin).data(), end - begin, unknowns.cols()));
    });
    return result;
  }

 private:
  /// ZᵀZ or ZZᵀ. Centred before it is multiplied, a block of Z or Zᵀ at a time: nothing cancels.
  Matrix<double> centred_gram() const {
    constexpr std::size_t kBlock = 4096;
    const std::size_t length = primal_ ? x_.rows() : x_.cols(), size = unknowns();
    Matrix<double> gram(size, size, 0.0);
    for (std::size_t start = 0; start < length; start += kBlock) {
      Matrix<float> block(std::min(kBlock, length - start), size);
      pool_.parallel_for(block.rows(), kSampleGrain, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t r = begin; r < end; ++r)
          for (std::size_t c = 0; c < size; ++c) {
            const std::size_t l = primal_ ? start + r : c, j = primal_ ? c : start + r;
            block(r, c) = static_cast<float>(static_cast<double>(x_(l, j)) - moments_.mean[j]);
          }
      });
      const Matrix<float> part = gram_of_columns(pool_, block.view());
      for (std::size_t i = 0; i < gram.size(); ++i) gram.data()[i] += static_cast<double>(part.data()[i]);
    }
    return gram;
  }

  MatrixView<const float> x_;
  std::span<const std::int32_t> labels_;
  MatrixView<const float> semantics_;
  double lambda_;
  ThreadPool& pool_;
  ClassMoments moments_;
  bool primal_;
  Matrix<float> kernel_;  // ZZᵀ, d > n only
  std::optional<Cholesky<double>> bound_;
};

std::vector<double> column_products(const Columns& x, const Columns& y) {
  std::vector<double> result(x.b.size());
  for (std::size_t j = 0; j < result.size(); ++j) result[j] = x.b[j] * y.b[j];
  for (std::size_t i = 0; i < x.v.rows(); ++i)
    for (std::size_t j = 0; j < result.size(); ++j) result[j] += x.v(i, j) * y.v(i, j);
  return result;
}

/// last ← now − step, now ← that plus momentum along (new last − old last).
void advance(const Columns& step, const Columns& gradient, std::vector<double>& momentum, Columns& now, Columns& last) {
  const std::size_t a = momentum.size();
  Columns change{Matrix<double>(now.v.rows(), a), std::vector<double>(a)};
  for (std::size_t i = 0; i < change.v.size(); ++i) {
    now.v.data()[i] -= step.v.data()[i];
    change.v.data()[i] = now.v.data()[i] - last.v.data()[i];
  }
  for (std::size_t j = 0; j < a; ++j) {
    now.b[j] -= step.b[j];
    change.b[j] = now.b[j] - last.b[j];
  }
  last = {Matrix<double>::copy_of(now.v.view()), now.b};
  std::vector<double> weight = column_products(gradient, change);
  for (std::size_t j = 0; j < a; ++j) {
    if (weight[j] > 0) momentum[j] = 1;  // uphill
    const double next = (1 + std::sqrt(1 + 4 * momentum[j] * momentum[j])) / 2;
    weight[j] = (momentum[j] - 1) / next;
    momentum[j] = next;
    now.b[j] += weight[j] * change.b[j];
  }
  for (std::size_t i = 0; i < now.v.rows(); ++i)
    for (std::size_t j = 0; j < a; ++j) now.v(i, j) += weight[j] * change.v(i, j);
}

}  // namespace

DapResult solve_dap(const SummedSamples& samples, MatrixView<const float> x, std::span<const std::int32_t> labels,
                    double lambda, ThreadPool& pool, ProgressObserver* progress) {
  check_positive(lambda, "lambda");
  const Problem problem(samples, x, labels, lambda, pool);
  const Matrix<double>& targets = problem.moments().semantics;
  const std::size_t classes = targets.rows(), m = targets.cols();
  std::vector<double> having(m, 0.0);  // classes with the attribute
  for (std::size_t c = 0; c < classes; ++c)
    for (std::size_t j = 0; j < m; ++j) having[j] += targets(c, j);

  std::vector<std::size_t> attributes;  // not yet done; the columns of `now` and `last` belong to them
  Columns last;
  for (std::size_t j = 0; j < m; ++j)
    if (having[j] > 0 && having[j] < static_cast<double>(classes)) {
      attributes.push_back(j);
      last.b.push_back(logit(problem.moments().mean_class[j]));
    }
  last.v = Matrix<double>(problem.unknowns(), attributes.size(), 0.0);
  Columns now{Matrix<double>::copy_of(last.v.view()), last.b};  // `last` plus momentum
  std::vector<double> start, momentum(attributes.size(), 1.0);

  DapResult result;
  Columns solution{Matrix<double>(problem.unknowns(), m, 0.0), std::vector<double>(m, 0.0)};
  for (int iteration = 0; !attributes.empty(); ++iteration) {
    report(progress, {"attributes", m - attributes.size(), m, "attributes"});
    Columns gradient = problem.gradient(now, attributes);
    std::vector<double> norm = column_products(gradient, gradient);
    for (auto& value : norm) value = std::sqrt(value);
    if (iteration == 0) start = norm;
    std::vector<std::size_t> keep;
    for (std::size_t k = 0; k < attributes.size(); ++k) {
      if (norm[k] > kTolerance * start[k] && iteration < kMaxIterations) {
        keep.push_back(k);
        continue;
      }
      for (std::size_t i = 0; i < now.v.rows(); ++i) solution.v(i, attributes[k]) = now.v(i, k);
      solution.b[attributes[k]] = now.b[k];
      if (start[k] > 0) result.relative_gradient = std::max(result.relative_gradient, norm[k] / start[k]);
      result.iterations = iteration;
    }
    if (keep.size() < attributes.size()) {
      for (Columns* columns : {&gradient, &now, &last}) keep_columns(*columns, keep);
      keep_entries(attributes, keep);
      keep_entries(start, keep);
      keep_entries(momentum, keep);
    }
    advance(problem.step(gradient), gradient, momentum, now, last);
  }

  const Matrix<double> weights = problem.weights(std::move(solution.v));
  for (std::size_t i = 0; i < weights.rows(); ++i)
    for (std::size_t j = 0; j < m; ++j) solution.b[j] -= weights(i, j) * problem.moments().mean[i];
  for (std::size_t j = 0; j < m; ++j)
    if (having[j] > 0 && having[j] < static_cast<double>(classes))
      solution.b[j] -= logit(std::clamp(having[j] / static_cast<double>(classes), kRarestPrior, 1 - kRarestPrior));
  result.map = {to_float(weights.view()), {solution.b.begin(), solution.b.end()}};
  return result;
}

}  // namespace parsnets
