#include "solvers/class_means.hpp"

#include <numeric>

namespace parsnets {

ClassSlots::ClassSlots(std::span<const std::int32_t> labels, std::size_t classes, Processes& group)
    : labels_(labels), places_(classes, 0) {
  std::vector<std::uint64_t> counts(classes, 0);
  for (const auto label : labels) ++counts.at(static_cast<std::size_t>(label));
  group.sum(std::span<std::uint64_t>(counts));
  for (std::size_t c = 0; c < classes; ++c)
    if (counts[c] > 0) {
      places_[c] = classes_.size();
      classes_.push_back(static_cast<std::int32_t>(c));
      samples_.push_back(static_cast<double>(counts[c]));
    }
}

double ClassSlots::total() const { return std::accumulate(samples_.begin(), samples_.end(), 0.0); }

void ClassSums::add(std::size_t first, MatrixView<const float> f, ThreadPool& pool) {
  pool.parallel_for(f.cols(), 16, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t l = 0; l < f.rows(); ++l) {
      double* sum = sums_.row(slots_.of(first + l)).data();
      const float* row = f.row(l).data();
      for (std::size_t j = begin; j < end; ++j) sum[j] += static_cast<double>(row[j]);
    }
  });
}

ClassMeans ClassSums::means(Processes& group) {
  group.sum(sums_.values());
  ClassMeans result{slots_.classes(), slots_.samples(), std::move(sums_)};
  sums_ = Matrix<double>(result.means.rows(), result.means.cols(), 0.0);
  for (std::size_t s = 0; s < result.samples.size(); ++s)
    for (double& v : result.means.row(s)) v /= result.samples[s];
  return result;
}

}  // namespace parsnets
