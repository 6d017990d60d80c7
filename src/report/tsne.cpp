// t-SNE (van der Maaten and Hinton 2008) with Barnes-Hut repulsion (van der Maaten 2014), written by hand because the
// same bits for any number of threads need sums in an order of our own. It minimises over points y_i in the plane
//
//   KL(P || Q) = Σ_{i≠j} p_ij·log(p_ij / q_ij),   q_ij = w_ij / Z,   w_ij = 1 / (1 + |y_i - y_j|²),   Z = Σ_{k≠l} w_kl
//
// with p_ij of symmetric_affinities() on the 3·perplexity nearest neighbours, by descent with momentum along
//
//   ∂KL/∂y_i = 4·(Σ_j p_ij·w_ij·(y_i - y_j)  -  Σ_j w_ij²·(y_i - y_j) / Z),
//
// where P counts 12-fold at first, so that clusters form before they spread.

#include "report/tsne.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kComponents = 50, kRowChunk = 128;
constexpr double kExaggeration = 12;

void check(MatrixView<const float> x) {
  if (x.empty() || x.rows() > std::numeric_limits<std::int32_t>::max())
    throw Error(BadInput{"t-SNE input", "rows", "1 to 2^31 - 1 rows of at least one column",
                         fmt::format("{} x {}", x.rows(), x.cols()), "choose other rows to draw"});
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x.data()[i]))
      throw Error(BadInput{"t-SNE input", fmt::format("row {}, column {}", i / x.cols(), i % x.cols()),
                           "finite numbers", fmt::format("{}", x.data()[i]), "remove the row or correct the value"});
}

/// Columns moved to mean 0 and everything scaled to magnitude 1 at most, which t-SNE does not see and which keeps
/// squares in range. Deviations from the first row are averaged, so that equal rows become 0 exactly.
Matrix<float> centred_and_scaled(MatrixView<const float> x, ThreadPool& pool) {
  const std::size_t n = x.rows(), d = x.cols(), chunks = ThreadPool::chunk_count(n, kRowChunk);
  const auto deviation = [&](std::size_t i, std::size_t j) { return static_cast<double>(x(i, j)) - x(0, j); };
  Matrix<double> sums(chunks, d, 0.0);
  pool.parallel_for(n, kRowChunk, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t j = 0; j < d; ++j) sums(chunk, j) += deviation(i, j);
  });
  std::vector<double> mean(d, 0.0), largest(chunks, 0.0);
  for (std::size_t c = 0; c < chunks; ++c)
    for (std::size_t j = 0; j < d; ++j) mean[j] += sums(c, j) / static_cast<double>(n);
  pool.parallel_for(n, kRowChunk, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t j = 0; j < d; ++j)
        largest[chunk] = std::max(largest[chunk], std::abs(deviation(i, j) - mean[j]));
  });
  const double scale = *std::max_element(largest.begin(), largest.end());
  Matrix<float> out(n, d, 0.0f);
  if (scale == 0) return out;
  pool.parallel_for(n, kRowChunk, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i)
      for (std::size_t j = 0; j < d; ++j) out(i, j) = static_cast<float>((deviation(i, j) - mean[j]) / scale);
  });
  return out;
}

/// The first two principal coordinates with spread 1e-4 along the first, and a jitter so that no two points coincide.
Matrix<double> start_of(MatrixView<const double> rows, std::uint64_t seed) {
  constexpr double kSpread = 1e-4, kJitter = 0.01;
  double squares = 0;
  for (std::size_t i = 0; i < rows.rows(); ++i) squares += rows(i, 0) * rows(i, 0);
  const double deviation = std::sqrt(squares / static_cast<double>(rows.rows()));
  Rng rng(seed);
  Matrix<double> y(rows.rows(), 2);
  for (std::size_t i = 0; i < y.rows(); ++i)
    for (std::size_t c = 0; c < 2; ++c) {
      const double noise = rng.normal();
      if (deviation > 0)
        y(i, c) = kSpread * ((c < rows.cols() ? rows(i, c) / deviation : 0.0) + kJitter * noise);
      else
        y(i, c) = kSpread * noise;
    }
  return y;
}

void centre(MatrixView<double> y) {
  double sum[2] = {0, 0};
  for (std::size_t i = 0; i < y.rows(); ++i)
    for (std::size_t c = 0; c < 2; ++c) sum[c] += y(i, c);
  for (std::size_t i = 0; i < y.rows(); ++i)
    for (std::size_t c = 0; c < 2; ++c) y(i, c) -= sum[c] / static_cast<double>(y.rows());
}

void descend(const Affinities& p, const TsneOptions& options, ThreadPool& pool, ProgressObserver* progress,
             MatrixView<double> y) {
  constexpr int kReportEvery = 10;
  constexpr double kGainStep = 0.2, kGainFactor = 0.8, kSmallestGain = 0.01;
  const int exaggerated = std::min(250, options.iterations / 3);
  Matrix<double> gradient(y.rows(), 2), velocity(y.rows(), 2, 0.0), gain(y.rows(), 2, 1.0);
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    if (iteration % kReportEvery == 0)
      report(progress, {"t-SNE", static_cast<std::uint64_t>(iteration), static_cast<std::uint64_t>(options.iterations),
                        "iterations"});
    const bool early = iteration < exaggerated;
    const double momentum = early ? 0.5 : 0.8, exaggeration = early ? kExaggeration : 1;
    // A row of P adds up to about 1/n: from larger steps on, attraction overshoots.
    const double rate = static_cast<double>(y.rows()) / (4 * exaggeration);
    tsne_gradient(p, y, exaggeration, options.theta, pool, gradient.view());
    for (std::size_t i = 0; i < y.size(); ++i) {
      double &v = velocity.data()[i], &g = gain.data()[i];
      const double slope = gradient.data()[i];
      g = slope * v < 0 ? g + kGainStep : std::max(kSmallestGain, g * kGainFactor);
      v = momentum * v - rate * g * slope;
      y.data()[i] += v;
    }
    centre(y);
  }
  report(progress, {"t-SNE", static_cast<std::uint64_t>(options.iterations),
                    static_cast<std::uint64_t>(options.iterations), "iterations"});
}

}  // namespace

Matrix<double> principal_coordinates(MatrixView<const float> x, std::size_t components, ThreadPool& pool) {
  const std::size_t n = x.rows(), d = x.cols(), kept = std::min({n, d, components});
  const Matrix<float> centred = centred_and_scaled(x, pool);
  Matrix<double> out(n, kept);
  if (n < d) {  // XXᵀ = U·Λ·Uᵀ, and the coordinates are U·√Λ
    const Matrix<double> rows = to_double(centred.view());
    Matrix<double> gram(n, n);
    multiply(pool, Trans::no, rows.view(), Trans::yes, rows.view(), gram.view());
    const EigenPairs pairs = largest_eigenpairs(gram.view(), kept);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < kept; ++c)
        out(i, c) = pairs.vectors(c, i) * std::sqrt(std::max(0.0, pairs.values[c]));
    return out;
  }
  const EigenPairs pairs = largest_eigenpairs(to_double(gram_of_columns(pool, centred.view()).view()).view(), kept);
  pool.parallel_for(n, kRowChunk, [&](std::size_t begin, std::size_t end, std::size_t) {
    const auto block = to_double(MatrixView<const float>(centred.data() + begin * d, end - begin, d));
    multiply(pool, Trans::no, block.view(), Trans::yes, pairs.vectors.view(),
             MatrixView<double>(out.data() + begin * kept, end - begin, kept));
  });
  return out;
}

namespace {

constexpr std::size_t kAffinityRows = 64;

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

/// The k smallest of |x_j|² - 2·x_i·x_j, which is |x_i - x_j|² up to a constant, as a heap.
void select_nearest(std::span<const double> products, const std::vector<double>& norms, std::size_t self, std::size_t k,
                    std::vector<std::pair<double, std::uint32_t>>& heap) {
  heap.clear();
  for (std::size_t j = 0; j < norms.size(); ++j) {
    const double key = norms[j] - 2 * products[j];
    if (j == self || (heap.size() == k && key >= heap.front().first)) continue;
    if (heap.size() == k) {
      std::pop_heap(heap.begin(), heap.end());
      heap.pop_back();
    }
    heap.emplace_back(key, static_cast<std::uint32_t>(j));
    std::push_heap(heap.begin(), heap.end());
  }
}

}  // namespace

Neighbours nearest_neighbours(MatrixView<const double> rows, std::size_t k, ThreadPool& pool,
                              ProgressObserver* progress) {
  constexpr std::size_t kRowsPerReport = 32 * kAffinityRows;
  constexpr double kEqual = 1e-20;  // of the largest squared norm: below it, a squared distance is rounding
  const std::size_t n = rows.rows();
  std::vector<double> norms(n);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (const double v : rows.row(i)) sum += v * v;
    norms[i] = sum;
  }
  const double equal = kEqual * *std::max_element(norms.begin(), norms.end());

  Neighbours result{Matrix<std::uint32_t>(n, k), Matrix<double>(n, k)};
  for (std::size_t first = 0; first < n; first += kRowsPerReport) {
    report(progress, {"t-SNE neighbours", first, n, "rows"});
    pool.parallel_for(
        std::min(kRowsPerReport, n - first), kAffinityRows, [&](std::size_t from, std::size_t to, std::size_t) {
          const MatrixView<const double> block(rows.data() + (first + from) * rows.cols(), to - from, rows.cols());
          Matrix<double> products(block.rows(), n);
          multiply(pool, Trans::no, block, Trans::yes, rows, products.view());
          std::vector<std::pair<double, std::uint32_t>> nearest;
          nearest.reserve(k);
          for (std::size_t r = 0; r < block.rows(); ++r) {
            const std::size_t i = first + from + r;
            select_nearest(products.row(r), norms, i, k, nearest);
            for (auto& [key, j] : nearest) {  // again by differences, which are exact where products cancel
              key = squared_distance(rows.row(i), rows.row(j));
              if (key <= equal) key = 0;
            }
            std::sort(nearest.begin(), nearest.end());
            for (std::size_t c = 0; c < k; ++c) {
              result.squared_distance(i, c) = nearest[c].first;
              result.index(i, c) = nearest[c].second;
            }
          }
        });
  }
  return result;
}

void calibrate_row(std::span<const double> squared_distances, double perplexity, std::span<double> p) {
  constexpr double kTolerance = 1e-8;  // of the entropy
  constexpr int kMaxSteps = 200;
  // Distances are shifted and scaled to minimum 0 and mean 1: p stays in range and the search starts near its end.
  const double nearest = *std::min_element(squared_distances.begin(), squared_distances.end());
  double mean = 0;
  for (const double d : squared_distances) mean += (d - nearest) / static_cast<double>(squared_distances.size());
  if (!(mean > 0)) {
    std::fill(p.begin(), p.end(), 1 / static_cast<double>(p.size()));
    return;
  }
  const double wanted = std::log(perplexity);
  double beta = 1, low = 0, high = std::numeric_limits<double>::infinity(), sum = 0;
  for (int step = 0; step < kMaxSteps; ++step) {
    double moment = 0;
    sum = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      const double scaled = beta * ((squared_distances[j] - nearest) / mean);
      p[j] = std::exp(-scaled);
      sum += p[j];
      moment += scaled * p[j];
    }
    const double entropy = std::log(sum) + moment / sum;
    if (std::abs(entropy - wanted) < kTolerance) break;
    (entropy > wanted ? low : high) = beta;
    if (std::isfinite(high))
      beta = (low + high) / 2;
    else
      beta *= 2;
  }
  for (double& v : p) v /= sum;
}

Affinities symmetric_affinities(const Neighbours& neighbours, double perplexity, ThreadPool& pool) {
  const std::size_t n = neighbours.index.rows(), k = neighbours.index.cols();
  Matrix<double> conditional(n, k);
  pool.parallel_for(n, kAffinityRows, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i)
      calibrate_row(neighbours.squared_distance.row(i), perplexity, conditional.row(i));
  });

  // Every p_j|i goes into row i and into row j; then the at most two entries of each pair are added.
  std::vector<std::size_t> start(n + 1, 0), size(n, 0);
  for (std::size_t i = 0; i < n; ++i) start[i + 1] = k;
  for (const std::uint32_t j : neighbours.index.values()) ++start[j + 1];
  for (std::size_t i = 0; i < n; ++i) start[i + 1] += start[i];
  std::vector<std::pair<std::uint32_t, double>> entries(start[n]);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < k; ++c) {
      const std::uint32_t j = neighbours.index(i, c);
      const double half = conditional(i, c) / (2 * static_cast<double>(n));
      entries[start[i] + size[i]++] = {j, half};
      entries[start[j] + size[j]++] = {static_cast<std::uint32_t>(i), half};
    }
  pool.parallel_for(n, kAffinityRows, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto from = entries.begin() + static_cast<std::ptrdiff_t>(start[i]),
                 to = entries.begin() + static_cast<std::ptrdiff_t>(start[i + 1]);
      std::sort(from, to);
      auto last = from;
      for (auto e = from; e != to; ++e) {
        if (last != from && (last - 1)->first == e->first)
          (last - 1)->second += e->second;
        else if (e->second > 0)
          *last++ = *e;
      }
      size[i] = static_cast<std::size_t>(last - from);
    }
  });

  Affinities result;
  result.start.assign(1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t e = start[i]; e < start[i] + size[i]; ++e) {
      result.column.push_back(entries[e].first);
      result.value.push_back(entries[e].second);
    }
    result.start.push_back(result.column.size());
  }
  return result;
}

Affinities tsne_affinities(MatrixView<const double> rows, double perplexity, ThreadPool& pool,
                           ProgressObserver* progress) {
  const double others = static_cast<double>(rows.rows()) - 1;
  perplexity = std::min({perplexity, others, std::max(1.5, others / 3)});
  const double k = std::min(others, std::ceil(3 * perplexity));
  return symmetric_affinities(nearest_neighbours(rows, static_cast<std::size_t>(k), pool, progress), perplexity, pool);
}

double tsne_objective(const Affinities& p, MatrixView<const double> y, double theta, ThreadPool& pool) {
  Matrix<double> unused(y.rows(), 2);
  double sum = std::log(QuadTree(y).repulsion(theta, pool, unused.view()));  // Σ p_ij = 1
  for (std::size_t i = 0; i < y.rows(); ++i)
    for (std::size_t e = p.start[i]; e < p.start[i + 1]; ++e) {
      const double dx = y(i, 0) - y(p.column[e], 0), dy = y(i, 1) - y(p.column[e], 1);
      sum += p.value[e] * std::log(p.value[e] * (1 + dx * dx + dy * dy));
    }
  return sum;
}

void tsne_gradient(const Affinities& p, MatrixView<const double> y, double exaggeration, double theta, ThreadPool& pool,
                   MatrixView<double> gradient) {
  const double z = QuadTree(y).repulsion(theta, pool, gradient);
  pool.parallel_for(y.rows(), kRowChunk, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      double pull_x = 0, pull_y = 0;
      for (std::size_t e = p.start[i]; e < p.start[i + 1]; ++e) {
        const double dx = y(i, 0) - y(p.column[e], 0), dy = y(i, 1) - y(p.column[e], 1);
        const double pull = p.value[e] / (1 + dx * dx + dy * dy);
        pull_x += pull * dx;
        pull_y += pull * dy;
      }
      gradient(i, 0) = 4 * (exaggeration * pull_x - gradient(i, 0) / z);
      gradient(i, 1) = 4 * (exaggeration * pull_y - gradient(i, 1) / z);
    }
  });
}

Matrix<float> tsne(MatrixView<const float> x, const TsneOptions& options, ThreadPool& pool,
                   ProgressObserver* progress) {
  check(x);
  report(progress, {"t-SNE", 0, static_cast<std::uint64_t>(options.iterations), "iterations"});
  const Matrix<double> rows = principal_coordinates(x, kComponents, pool);
  Matrix<double> y = start_of(rows.view(), options.seed);
  // Q of one pair is what P is, wherever the two points lie: up to two rows stay where they start.
  if (x.rows() > 2)
    descend(tsne_affinities(rows.view(), options.perplexity, pool, progress), options, pool, progress, y.view());
  centre(y.view());
  return to_float(y.view());
}

namespace {

constexpr std::size_t kLeafPoints = 6, kPointChunk = 256;

/// A bound between two different values that puts at least one on either side of `value > bound`.
double split_between(double low, double high) {
  const double middle = low + (high - low) / 2;
  return middle < high ? middle : low;
}

}  // namespace

QuadTree::QuadTree(MatrixView<const double> points) {
  points_.reserve(points.rows());
  for (std::size_t i = 0; i < points.rows(); ++i)
    points_.push_back({points(i, 0), points(i, 1), static_cast<std::uint32_t>(i)});
  cells_.reserve(points.rows());
  if (!points_.empty()) add_cell(0, points_.size());
}

void QuadTree::add_cell(std::size_t begin, std::size_t end) {
  // The box is that of the points, not a quarter of the parent's: no cell is empty, no chain of cells holds the same
  // points, and cells know their true extent.
  double low_x = points_[begin].x, high_x = low_x, low_y = points_[begin].y, high_y = low_y, sum_x = 0, sum_y = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const Point& p = points_[i];
    low_x = std::min(low_x, p.x);
    high_x = std::max(high_x, p.x);
    low_y = std::min(low_y, p.y);
    high_y = std::max(high_y, p.y);
    sum_x += p.x;
    sum_y += p.y;
  }
  const double count = static_cast<double>(end - begin), extent = std::max(high_x - low_x, high_y - low_y);
  const std::size_t cell = cells_.size();
  cells_.push_back({sum_x / count, sum_y / count, count, extent * extent, 0, static_cast<std::uint32_t>(begin),
                    static_cast<std::uint32_t>(end)});
  if (end - begin > kLeafPoints && extent > 0) {
    cells_[cell].end = cells_[cell].begin;
    const double middle_x = split_between(low_x, high_x), middle_y = split_between(low_y, high_y);
    const auto at = [&](std::size_t i) { return points_.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto split = [&](std::size_t from, std::size_t to, auto&& before) {
      return static_cast<std::size_t>(std::partition(at(from), at(to), before) - points_.begin());
    };
    const auto is_left = [&](const Point& p) { return p.x <= middle_x; };
    const auto is_low = [&](const Point& p) { return p.y <= middle_y; };
    const std::size_t half = split(begin, end, is_left);
    const std::size_t bounds[] = {begin, split(begin, half, is_low), half, split(half, end, is_low), end};
    for (std::size_t quarter = 0; quarter < 4; ++quarter)
      if (bounds[quarter] < bounds[quarter + 1]) add_cell(bounds[quarter], bounds[quarter + 1]);
  }
  cells_[cell].next = static_cast<std::uint32_t>(cells_.size());
}

double QuadTree::repulsion(double theta, ThreadPool& pool, MatrixView<double> force) const {
  const double squared_theta = theta * theta;
  std::vector<double> weights(points_.size());
  // Points in the order of the tree: neighbours take the same way through it.
  pool.parallel_for(points_.size(), kPointChunk, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t i = begin; i < end; ++i) {
      const double x = points_[i].x, y = points_[i].y;
      double force_x = 0, force_y = 0, weight = -1;  // the point itself is met once, with weight 1 and no force
      const auto add = [&](double dx, double dy, double count) {
        const double w = 1 / (1 + dx * dx + dy * dy), counted = count * w, squared = counted * w;
        weight += counted;
        force_x += squared * dx;
        force_y += squared * dy;
      };
      for (std::size_t c = 0; c < cells_.size();) {
        const Cell& cell = cells_[c];
        const double dx = x - cell.x, dy = y - cell.y;
        if (cell.squared_extent <= squared_theta * (dx * dx + dy * dy)) {
          add(dx, dy, cell.count);
          c = cell.next;
        } else if (cell.begin < cell.end) {
          for (std::size_t j = cell.begin; j < cell.end; ++j) add(x - points_[j].x, y - points_[j].y, 1);
          c = cell.next;
        } else {
          ++c;
        }
      }
      const std::size_t index = points_[i].index;
      force(index, 0) = force_x;
      force(index, 1) = force_y;
      weights[index] = weight;
    }
  });
  double z = 0;
  for (const double w : weights) z += w;
  return z;
}

}  // namespace parsnets
