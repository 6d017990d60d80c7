#include "report/tsne_affinity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/linalg.hpp"

namespace parsnets {

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

}  // namespace parsnets
