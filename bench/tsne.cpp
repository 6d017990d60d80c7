// Seconds of a t-SNE map of Gaussian clusters in rectified features, by stage, and the objective it reaches.

#include "report/tsne.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "harness.hpp"

namespace bench {

namespace {

/// Class means of standard normal values, noise of deviation 2 around them, negative values cut off.
parsnets::Matrix<float> clusters(std::size_t rows, std::size_t columns, std::size_t classes) {
  parsnets::Matrix<float> means(classes, columns), x(rows, columns);
  parsnets::Rng rng(1);
  for (float& v : means.values()) v = static_cast<float>(rng.normal());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      x(i, j) = std::max(0.0f, means(i % classes, j) + 2 * static_cast<float>(rng.normal()));
  return x;
}

/// How often a point's nearest other point in the plane has its class.
double agreement(const parsnets::Matrix<float>& y, std::size_t classes) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    std::size_t nearest = i;
    float least = INFINITY;
    for (std::size_t j = 0; j < y.rows(); ++j) {
      const float dx = y(i, 0) - y(j, 0), dy = y(i, 1) - y(j, 1), distance = dx * dx + dy * dy;
      if (j != i && distance < least) {
        least = distance;
        nearest = j;
      }
    }
    same += i % classes == nearest % classes ? 1 : 0;
  }
  return static_cast<double>(same) / static_cast<double>(y.rows());
}

}  // namespace

json measure_tsne(const Settings& settings) {
  const std::size_t rows = settings.quick ? 2000 : 10000, columns = 2048, classes = 50;
  ThreadPool pool;
  const auto x = clusters(rows, columns, classes);
  const parsnets::TsneOptions options;
  parsnets::Matrix<double> reduced;
  parsnets::Affinities p;
  parsnets::Matrix<float> y;
  const double components = seconds_of([&] { reduced = parsnets::principal_coordinates(x.view(), 50, pool); });
  const double neighbours =
      seconds_of([&] { p = parsnets::tsne_affinities(reduced.view(), options.perplexity, pool); });
  const double whole = seconds_of([&] { y = parsnets::tsne(x.view(), options, pool); });
  parsnets::Matrix<double> points(rows, 2);
  std::copy(y.values().begin(), y.values().end(), points.values().begin());
  const double objective = parsnets::tsne_objective(p, points.view(), 0.2, pool), same = agreement(y, classes);
  fmt::print("\nt-SNE of {} x {}, {} threads: {:.2f} s, KL divergence {:.4f}, nearest point of the same class {:.4f}\n",
             rows, columns, pool.size(), whole, objective, same);
  return {{"rows", rows},
          {"columns", columns},
          {"classes", classes},
          {"threads", pool.size()},
          {"iterations", options.iterations},
          {"seconds", whole},
          {"seconds_of_components", components},
          {"seconds_of_neighbours", neighbours},
          {"kl_divergence", objective},
          {"nearest_of_same_class", same}};
}

}  // namespace bench
