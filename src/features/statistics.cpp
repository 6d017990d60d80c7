#include "parsnets/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/linalg.hpp"
#include "features/preprocess.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kBlock = 1024;  ///< samples whose products are formed in float32

void add_scaled(std::span<double> to, double factor, std::span<const double> what) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * what[i];
}

}  // namespace

Statistics::Statistics(FeatureScaling scaling, std::vector<std::string> class_names, std::size_t dimensions)
    : scaling_(scaling),
      names_(std::move(class_names)),
      weights_(names_.size(), 0.0),
      sums_(names_.size(), dimensions, 0.0),
      products_(dimensions, dimensions, 0.0) {
  if (scaling == FeatureScaling::standardize)
    throw Error(ErrorCode::usage, "statistics: expected a scaling of each sample on its own, found standardize");
}

void Statistics::add(MatrixView<const float> features, std::span<const std::int32_t> labels,
                     std::span<const std::int32_t> rows, ThreadPool& pool, std::span<const double> weights) {
  accumulate(features, labels, rows, weights, 1, pool);
}

void Statistics::remove(MatrixView<const float> features, std::span<const std::int32_t> labels,
                        std::span<const std::int32_t> rows, ThreadPool& pool, std::span<const double> weights) {
  accumulate(features, labels, rows, weights, -1, pool);
}

void Statistics::accumulate(MatrixView<const float> features, std::span<const std::int32_t> labels,
                            std::span<const std::int32_t> rows, std::span<const double> weights, double sign,
                            ThreadPool& pool) {
  if (features.cols() != dimensions() || labels.size() != features.rows() ||
      (!weights.empty() && weights.size() != rows.size()))
    throw Error(BadInput{
        "statistics", "features", fmt::format("{} dimensions, a label per sample", dimensions()),
        fmt::format("{} dimensions, {} labels for {} samples", features.cols(), labels.size(), features.rows()), ""});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto r = static_cast<std::size_t>(rows[i]);
    if (labels[r] < 0 || static_cast<std::size_t>(labels[r]) >= names_.size())
      throw Error(BadInput{"statistics", "labels", fmt::format("classes 0 to {}", names_.size() - 1),
                           fmt::format("{} for sample {}", labels[r], r), ""});
    if (!weights.empty() && !(weights[i] >= 0 && std::isfinite(weights[i])))
      throw Error(BadInput{"statistics", "weights", "numbers that are finite and not negative",
                           fmt::format("{} for sample {}", weights[i], r), ""});
  }
  FeaturePreprocess scale;
  scale.scaling = scaling_;
  scale.centre = false;
  Statistics part(scaling_, names_, dimensions());
  for (std::size_t begin = 0; begin < rows.size(); begin += kBlock) {
    const auto block = rows.subspan(begin, std::min(kBlock, rows.size() - begin));
    Matrix<float> x = preprocessed_rows(scale, features, block, pool);
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto label = static_cast<std::size_t>(labels[static_cast<std::size_t>(block[i])]);
      const double weight = weights.empty() ? 1 : weights[begin + i];
      part.weights_[label] += weight;
      const auto sum = part.sums_.row(label);
      for (std::size_t j = 0; j < x.cols(); ++j) sum[j] += weight * x(i, j);
      if (weight != 1)
        for (float& v : x.row(i)) v = static_cast<float>(v * std::sqrt(weight));
    }
    const Matrix<float> gram = gram_of_columns(pool, x.view());
    pool.parallel_for(gram.rows(), 64, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t v = first * gram.cols(); v < last * gram.cols(); ++v) part.products_.data()[v] += gram.data()[v];
    });
  }
  accumulate(part, sign);
}

void Statistics::merge(const Statistics& other) { accumulate(other, 1); }

void Statistics::subtract(const Statistics& other) {
  for (std::size_t c = 0; c < other.names_.size(); ++c) {
    const auto own = std::ranges::find(names_, other.names_[c]);
    if (other.weights_[c] > 0 && (own == names_.end() || weights_[static_cast<std::size_t>(own - names_.begin())] <
                                                             other.weights_[c] * (1 - 1e-9)))
      throw Error(BadInput{"statistics", "class '" + other.names_[c] + "'", "no more samples than were added",
                           fmt::format("a weight of {} to subtract", other.weights_[c]), ""});
  }
  accumulate(other, -1);
}

void Statistics::accumulate(const Statistics& other, double sign) {
  if (other.scaling_ != scaling_ || other.dimensions() != dimensions())
    throw Error(BadInput{"statistics", "features", fmt::format("{} dimensions and the same scaling", dimensions()),
                         fmt::format("{} dimensions", other.dimensions()), "make both with the same options"});
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t c = 0; c < names_.size(); ++c) places.emplace(names_[c], c);
  for (const auto& name : other.names_)
    if (places.emplace(name, names_.size()).second) names_.push_back(name);
  if (names_.size() > sums_.rows()) {
    Matrix<double> grown(names_.size(), dimensions(), 0.0);
    std::ranges::copy(sums_.values(), grown.data());
    sums_ = std::move(grown);
    weights_.resize(names_.size(), 0.0);
  }
  for (std::size_t c = 0; c < other.names_.size(); ++c) {
    const std::size_t own = places.at(other.names_[c]);
    weights_[own] = std::max(0.0, weights_[own] + sign * other.weights_[c]);
    add_scaled(sums_.row(own), sign, other.sums_.row(c));
  }
  add_scaled(products_.values(), sign, other.products_.values());
}

double Statistics::weight() const { return std::accumulate(weights_.begin(), weights_.end(), 0.0); }

Statistics Statistics::copy() const {
  Statistics same;
  same.scaling_ = scaling_;
  same.names_ = names_;
  same.weights_ = weights_;
  same.sums_ = Matrix<double>::copy_of(sums_.view());
  same.products_ = Matrix<double>::copy_of(products_.view());
  return same;
}

Statistics Statistics::from_parts(FeatureScaling scaling, std::vector<std::string> class_names,
                                  std::vector<double> class_weights, Matrix<double> class_sums,
                                  Matrix<double> products) {
  Statistics made(scaling, {}, 0);
  const auto finite = [](std::span<const double> values) {
    return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
  };
  if (class_weights.size() != class_names.size() || class_sums.rows() != class_names.size() ||
      products.rows() != class_sums.cols() || products.cols() != class_sums.cols() || !finite(class_weights) ||
      !finite(class_sums.values()) || !finite(products.values()))
    throw Error(BadInput{"statistics", "sums", "finite sums of C classes and d dimensions", "others", ""});
  made.names_ = std::move(class_names);
  made.weights_ = std::move(class_weights);
  made.sums_ = std::move(class_sums);
  made.products_ = std::move(products);
  return made;
}

}  // namespace parsnets
