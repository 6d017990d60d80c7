#include "features/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "base/finite.hpp"
#include "base/linalg.hpp"
#include "base/simd.hpp"
#include "data/feature_source.hpp"
#include "features/preprocess.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kPrepared = 2048;  ///< samples scaled at a time

void add_to(std::span<double> sum, std::span<const double> what) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += what[i];
}

/// sum += factor·row
PARSNETS_SIMD void add_scaled_row(double* sum, const float* row, double factor, std::size_t count) {
  for (std::size_t j = 0; j < count; ++j) sum[j] += factor * row[j];
}

/// Part of the file format: group and order of kept rows depend on it.
std::uint64_t hash_step(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

std::uint64_t hash_of(std::span<const float> values) {
  std::uint64_t hash = values.size();
  for (const float v : values) hash = hash_step(hash, std::bit_cast<std::uint32_t>(v));
  return hash_step(hash, 0);
}

bool before(const KeptRow& a, const KeptRow& b) {
  return a.hash != b.hash ? a.hash < b.hash
                          : std::ranges::lexicographical_compare(a.values, b.values, [](float x, float y) {
                              return std::bit_cast<std::uint32_t>(x) < std::bit_cast<std::uint32_t>(y);
                            });
}

[[noreturn]] void refuse(const std::string& field, const std::string& expected, const std::string& found) {
  throw Error(BadInput{"statistics", field, expected, found, ""});
}

void require_finite(MatrixView<const float> features, std::size_t r) {
  const auto row = features.row(r);
  if (all_finite(row)) return;
  const auto bad = std::ranges::find_if_not(row, [](float v) { return std::isfinite(v); });
  refuse("features", "finite numbers", fmt::format("{} in row {}, column {}", *bad, r, bad - row.begin()));
}

}  // namespace

Statistics::Statistics(const StatisticsOptions& options, std::vector<std::string> class_names, std::size_t dimensions) {
  const std::size_t count = class_names.size();
  p_.options = options;
  p_.class_names = std::move(class_names);
  p_.class_weights.assign(count, 0.0);
  p_.class_sums = Matrix<double>(count, dimensions, 0.0);
  p_.kept.resize(count);
  for (std::size_t g = 0; g < options.groups; ++g) p_.products.emplace_back(dimensions, dimensions, 0.0);
  if (options.scaling == FeatureScaling::standardize)
    throw Error(ErrorCode::usage, "statistics: expected a scaling of each sample on its own, found standardize");
  if (options.groups == 0) throw Error(ErrorCode::usage, "statistics: expected at least one group, found 0");
}

void Statistics::accumulate(MatrixView<const float> features, std::span<const std::int32_t> labels,
                            std::span<const std::int32_t> rows, std::span<const double> weights, double sign,
                            ThreadPool& pool) {
  if (features.cols() != dimensions() || labels.size() != features.rows() ||
      (!weights.empty() && weights.size() != rows.size()))
    refuse("features", fmt::format("{} dimensions, a label per sample", dimensions()),
           fmt::format("{} dimensions, {} labels for {} samples", features.cols(), labels.size(), features.rows()));
  struct Sample {
    std::int32_t row;
    double weight;
  };
  std::vector<std::vector<Sample>> groups(p_.options.groups);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto r = static_cast<std::size_t>(rows[i]);
    if (labels[r] < 0 || static_cast<std::size_t>(labels[r]) >= p_.class_names.size())
      refuse("labels", fmt::format("classes 0 to {}", p_.class_names.size() - 1),
             fmt::format("{} for sample {}", labels[r], r));
    const double weight = weights.empty() ? 1 : weights[i];
    if (!(weight >= 0 && std::isfinite(weight)))
      refuse("weights", "numbers that are finite and not negative", fmt::format("{} for sample {}", weight, r));
    if (weight > 0)
      groups[group_of(p_.class_names[static_cast<std::size_t>(labels[r])], p_.options.groups)].push_back(
          {rows[i], weight});
  }
  pool.parallel_for(rows.size(), 64, [&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i) require_finite(features, static_cast<std::size_t>(rows[i]));
  });
  FeaturePreprocess scale;
  scale.scaling = p_.options.scaling;
  scale.centre = false;
  std::vector<std::int32_t> block;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t begin = 0; begin < groups[g].size(); begin += kPrepared) {
      const std::span<const Sample> samples(groups[g].data() + begin, std::min(kPrepared, groups[g].size() - begin));
      block.clear();
      for (const Sample& sample : samples) block.push_back(sample.row);
      // Neighbouring samples that are neither scaled nor weighed are read where they are.
      const bool in_place = scale.scaling == FeatureScaling::none &&
                            block.back() - block.front() + 1 == std::ssize(block) && std::ranges::is_sorted(block) &&
                            std::ranges::all_of(samples, [](const Sample& sample) { return sample.weight == 1; });
      Matrix<float> prepared = in_place ? Matrix<float>() : preprocessed_rows(scale, features, block, pool);
      const MatrixView<const float> x =
          in_place ? MatrixView<const float>(features.row(static_cast<std::size_t>(block[0])).data(), block.size(),
                                             features.cols())
                   : prepared.view();
      for (std::size_t i = 0; i < block.size(); ++i) {
        const auto r = static_cast<std::size_t>(block[i]), label = static_cast<std::size_t>(labels[r]);
        const double weight = samples[i].weight;
        p_.class_weights[label] = std::max(0.0, p_.class_weights[label] + sign * weight);
        if (p_.options.kept_rows == 0) continue;
        const auto raw = features.row(r);
        const auto& kept = p_.kept[label];
        const std::uint64_t hash = hash_of(raw);
        if (kept.size() < p_.options.kept_rows || hash <= kept.back().hash)  // else it is one of many that are not kept
          keep(label, {hash, weight, {raw.begin(), raw.end()}}, sign);
      }
      pool.parallel_for(x.cols(), 256, [&](std::size_t first, std::size_t last, std::size_t) {
        for (std::size_t i = 0; i < block.size(); ++i) {
          double* sum = p_.class_sums.row(static_cast<std::size_t>(labels[static_cast<std::size_t>(block[i])])).data();
          const double weight = samples[i].weight, root = std::sqrt(weight);
          add_scaled_row(sum + first, x.row(i).data() + first, sign * weight, last - first);
          if (weight != 1)
            for (float& v : prepared.row(i).subspan(first, last - first)) v = static_cast<float>(v * root);
        }
      });
      add_gram_lower(pool, x, sign, p_.products[g].view());
      if (begin + samples.size() == groups[g].size()) mirror_lower(pool, p_.products[g].view());
      p_.samples =
          sign > 0 ? p_.samples + block.size() : p_.samples - std::min<std::uint64_t>(p_.samples, block.size());
    }
}

void Statistics::keep(std::size_t label, KeptRow row, double sign) {
  auto& kept = p_.kept[label];
  const auto place = std::ranges::lower_bound(kept, row, before);
  if (place != kept.end() && !before(row, *place)) {
    place->weight += sign * row.weight;
    if (place->weight <= 1e-9 * row.weight) kept.erase(place);
    return;
  }
  if (sign < 0 || place == kept.begin() + static_cast<std::ptrdiff_t>(p_.options.kept_rows)) return;
  kept.insert(place, std::move(row));
  if (kept.size() > p_.options.kept_rows) kept.pop_back();
}

void Statistics::move_origin(std::span<const double> by, ThreadPool& pool) {
  for (std::size_t g = 0; g < p_.products.size(); ++g) {
    std::vector<double> sum(by.size(), 0.0);
    double weight = 0;
    for (std::size_t c = 0; c < p_.class_names.size(); ++c) {
      if (group_of(p_.class_names[c], p_.options.groups) != g) continue;
      const auto own = p_.class_sums.row(c);
      for (std::size_t j = 0; j < by.size(); ++j) {
        sum[j] += own[j];
        own[j] -= p_.class_weights[c] * by[j];
      }
      weight += p_.class_weights[c];
    }
    pool.parallel_for(by.size(), 64, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t i = first; i < last; ++i)
        for (std::size_t j = 0; j <= i; ++j) p_.products[g](i, j) -= sum[i] * by[j] + by[i] * (sum[j] - weight * by[j]);
    });
    mirror_lower(pool, p_.products[g].view());
  }
}

void Statistics::sum_over(Processes& processes) {
  if (p_.options.kept_rows > 0)
    throw Error(ErrorCode::usage, "statistics: expected no kept rows to sum over processes; merge them instead");
  processes.sum(std::span<std::uint64_t>(&p_.samples, 1));
  processes.sum(std::span<double>(p_.class_weights));
  processes.sum(p_.class_sums.values());
  for (auto& products : p_.products) processes.sum(products.values());
}

void Statistics::merge(const Statistics& other) {
  const auto require_same = [](const char* field, std::size_t own, std::size_t others) {
    if (own != others)
      throw Error(BadInput{"statistics", field, std::to_string(own), std::to_string(others),
                           "make both with the same options"});
  };
  require_same("dimensions", dimensions(), other.dimensions());
  require_same("groups", p_.options.groups, other.p_.options.groups);
  require_same("kept rows per class", p_.options.kept_rows, other.p_.options.kept_rows);
  if (other.p_.options.scaling != p_.options.scaling)
    throw Error(
        BadInput{"statistics", "feature scaling", "the same in both", "another", "make both with the same options"});
  require_same_source(p_.source, other.p_.source, "statistics");
  if (!p_.source) p_.source = other.p_.source;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t c = 0; c < p_.class_names.size(); ++c) places.emplace(p_.class_names[c], c);
  for (const auto& name : other.p_.class_names)
    if (places.emplace(name, p_.class_names.size()).second) p_.class_names.push_back(name);
  if (p_.class_names.size() > p_.class_sums.rows()) {
    Matrix<double> grown(p_.class_names.size(), dimensions(), 0.0);
    std::ranges::copy(p_.class_sums.values(), grown.data());
    p_.class_sums = std::move(grown);
    p_.class_weights.resize(p_.class_names.size(), 0.0);
    p_.kept.resize(p_.class_names.size());
  }
  for (std::size_t c = 0; c < other.p_.class_names.size(); ++c) {
    const std::size_t own = places.at(other.p_.class_names[c]);
    p_.class_weights[own] += other.p_.class_weights[c];
    add_to(p_.class_sums.row(own), other.p_.class_sums.row(c));
    for (const KeptRow& row : other.p_.kept[c]) keep(own, row, 1);
  }
  for (std::size_t g = 0; g < p_.products.size(); ++g) add_to(p_.products[g].values(), other.p_.products[g].values());
  p_.samples += other.p_.samples;
}

Statistics Statistics::without_group(std::size_t group) const {
  Statistics rest = copy();
  rest.p_.products[group] = Matrix<double>(dimensions(), dimensions(), 0.0);
  for (std::size_t c = 0; c < p_.class_names.size(); ++c) {
    if (group_of(p_.class_names[c], p_.options.groups) != group) continue;
    rest.p_.class_weights[c] = 0;
    std::ranges::fill(rest.p_.class_sums.row(c), 0.0);
    rest.p_.kept[c].clear();
  }
  return rest;
}

double Statistics::weight() const { return std::accumulate(p_.class_weights.begin(), p_.class_weights.end(), 0.0); }

Matrix<double> Statistics::products() const {
  if (p_.products.empty()) return {};
  Matrix<double> all = Matrix<double>::copy_of(p_.products[0].view());
  for (std::size_t g = 1; g < p_.products.size(); ++g) add_to(all.values(), p_.products[g].values());
  return all;
}

std::size_t Statistics::group_of(const std::string& class_name, std::size_t groups) {
  std::uint64_t hash = class_name.size();
  for (const char c : class_name) hash = hash_step(hash, static_cast<unsigned char>(c));
  return static_cast<std::size_t>(hash_step(hash, 0) % groups);
}

Statistics Statistics::copy() const {
  Statistics same;
  same.p_ = {p_.options, p_.samples, p_.class_names, p_.class_weights, Matrix<double>::copy_of(p_.class_sums.view()),
             {},         p_.kept,    p_.source};
  for (const auto& products : p_.products) same.p_.products.push_back(Matrix<double>::copy_of(products.view()));
  return same;
}

Statistics Statistics::from_parts(Parts parts) {
  Statistics made(parts.options, {}, 0);
  const std::size_t count = parts.class_names.size(), d = parts.class_sums.cols();
  if (parts.class_weights.size() != count || parts.class_sums.rows() != count || parts.kept.size() != count ||
      parts.products.size() != parts.options.groups ||
      std::ranges::any_of(parts.products, [d](const auto& p) { return p.rows() != d || p.cols() != d; }))
    refuse("sums", fmt::format("sums of {} classes and {} dimensions in {} groups", count, d, parts.options.groups),
           "others");
  std::vector<std::string_view> sorted(parts.class_names.begin(), parts.class_names.end());
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    refuse("classes", "each class only once", fmt::format("'{}' twice", *twice));
  if (!all_finite(parts.class_weights) || std::ranges::any_of(parts.class_weights, [](double w) { return w < 0; }))
    refuse("class_weights", "numbers that are finite and not negative", "others");
  if (!all_finite(parts.class_sums.values())) refuse("class_sums", "finite numbers", "others");
  for (const auto& products : parts.products)
    if (!all_finite(products.values())) refuse("products", "finite numbers", "others");
  for (std::size_t c = 0; c < count; ++c) {
    const std::string field = "kept rows of class '" + parts.class_names[c] + "'";
    if (parts.kept[c].size() > parts.options.kept_rows)
      refuse(field, fmt::format("at most {}", parts.options.kept_rows), std::to_string(parts.kept[c].size()));
    double weight = 0;
    for (KeptRow& row : parts.kept[c]) {
      if (row.values.size() != d || !all_finite(row.values))
        refuse(field, fmt::format("{} finite numbers each", d), "others");
      if (!(row.weight > 0) || !std::isfinite(row.weight))
        refuse(field, "positive weights", fmt::format("{}", row.weight));
      row.hash = hash_of(row.values);
      weight += row.weight;
    }
    if (std::ranges::adjacent_find(parts.kept[c], std::not_fn(before)) != parts.kept[c].end())
      refuse(field, "different rows in the order of their hashes", "another order");
    if (weight > parts.class_weights[c] * (1 + 1e-6) + 1e-9)
      refuse(field, fmt::format("a weight of at most {}, that of the class", parts.class_weights[c]),
             fmt::format("{}", weight));
  }
  made.p_ = std::move(parts);
  return made;
}

}  // namespace parsnets
