// The statistics file: safetensors with a metadata profile (docs/format.md). Of the symmetric products only the upper
// triangle is stored.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "data/feature_source.hpp"
#include "features/statistics.hpp"
#include "model/names.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"
#include "store/profile_reader.hpp"

namespace parsnets {

static_assert(std::endian::native == std::endian::little, "statistics files are little-endian");

namespace {

constexpr const char* kStatisticsFormat = "parsnets-statistics";
constexpr const char* kStatisticsVersion = "1";
constexpr std::uint64_t kMostStatistics = std::uint64_t{1} << 31;

std::size_t triangle(std::size_t d) { return d * (d + 1) / 2; }

template <class T>
TensorView tensor(const char* name, const char* dtype, std::vector<std::uint64_t> shape, const std::vector<T>& values) {
  return {name, dtype, std::move(shape), reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
}

FeatureScaling scaling_of(const ProfileReader& in) {
  for (const auto& [text, value] : feature_scaling_names())
    if (in.facts().value("feature_scaling", nlohmann::json()) == text && value != FeatureScaling::standardize)
      return value;
  in.fail_fact("feature_scaling", "none, l2 or sqrt-l2");
}

template <class T>
std::vector<T> values_of(ProfileReader& in, const char* name, const char* dtype,
                         const std::vector<std::uint64_t>& shape) {
  const TensorView& found = in.tensor(name, dtype, shape);
  std::vector<T> values(found.bytes / sizeof(T));
  std::memcpy(values.data(), found.data, found.bytes);
  return values;
}

Matrix<double> matrix_of(std::span<const double> values, std::size_t rows, std::size_t cols) {
  Matrix<double> made(rows, cols);
  std::ranges::copy(values, made.data());
  return made;
}

Matrix<double> from_triangle(std::span<const double> values, std::size_t d) {
  Matrix<double> full(d, d);
  std::size_t next = 0;
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = i; j < d; ++j) full(i, j) = full(j, i) = values[next++];
  return full;
}

/// Kept rows, stored class by class.
void read_kept_rows(ProfileReader& in, std::size_t d, Statistics::Parts& parts) {
  const std::size_t count = parts.class_names.size(), most = count * parts.options.kept_rows,
                    rows = in.count("kept", 0, most);
  if (rows == 0) return;
  const auto values = values_of<float>(in, "kept_rows", "F32", {rows, d});
  const auto classes = values_of<std::int32_t>(in, "kept_classes", "I32", {rows});
  const auto weights = values_of<double>(in, "kept_weights", "F64", {rows});
  for (std::size_t r = 0; r < rows; ++r) {
    if (classes[r] < 0 || static_cast<std::size_t>(classes[r]) >= count || (r > 0 && classes[r] < classes[r - 1]))
      in.fail("tensor 'kept_classes'", fmt::format("ascending classes from 0 to {}", count - 1),
              fmt::format("{} in row {}", classes[r], r));
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(r * d);
    parts.kept[static_cast<std::size_t>(classes[r])].push_back(
        {0, weights[r], {begin, begin + static_cast<std::ptrdiff_t>(d)}});
  }
}

}  // namespace

bool is_statistics_file(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  const auto found = file.metadata().find("format");
  return found != file.metadata().end() && found->second == kStatisticsFormat;
}

Statistics load_statistics(const std::filesystem::path& path) {
  ProfileReader in(path, kStatisticsFormat, kStatisticsVersion, "statistics", "a statistics file");
  Statistics::Parts parts;
  parts.class_names = in.names("classes");
  if (parts.class_names.empty()) in.fail("classes", "a list of names", "an empty one");
  parts.options.scaling = scaling_of(in);
  parts.options.groups = in.count("groups", 1, 1024);
  parts.options.kept_rows = in.count("kept_rows", 0, 1u << 20);
  if (const auto found = in.facts().find("source"); found != in.facts().end())
    parts.source = feature_source_from_json(*found, in.name(), "statistics.source");
  parts.samples = in.count("samples", 0, std::uint64_t{1} << 62);
  const std::size_t count = parts.class_names.size(), d = in.count("features", 1, kMostStatistics);
  parts.class_weights = values_of<double>(in, "class_weights", "F64", {count});
  parts.class_sums = matrix_of(values_of<double>(in, "class_sums", "F64", {count, d}), count, d);
  const auto products = values_of<double>(in, "products", "F64", {parts.options.groups, triangle(d)});
  for (std::size_t g = 0; g < parts.options.groups; ++g)
    parts.products.push_back(from_triangle(std::span(products).subspan(g * triangle(d), triangle(d)), d));
  parts.kept.resize(count);
  read_kept_rows(in, d, parts);
  in.refuse_unknown();
  try {
    return Statistics::from_parts(std::move(parts));
  } catch (const Error& error) {
    const BadInput what = error.parts();
    in.fail(what.field, what.expected, what.found);
  }
}

void save_statistics(const Statistics& statistics, const std::filesystem::path& path) {
  const std::size_t count = statistics.class_names().size(), d = statistics.dimensions(),
                    groups = statistics.options().groups;
  std::vector<double> products;
  products.reserve(groups * triangle(d));
  for (const auto& group : statistics.group_products())
    for (std::size_t i = 0; i < d; ++i) products.insert(products.end(), &group(i, i), &group(i, 0) + d);
  const std::vector<double> sums(statistics.class_sums().values().begin(), statistics.class_sums().values().end());
  std::vector<float> kept;
  std::vector<std::int32_t> kept_classes;
  std::vector<double> kept_weights;
  for (std::size_t c = 0; c < count; ++c)
    for (const KeptRow& row : statistics.kept_rows()[c]) {
      kept.insert(kept.end(), row.values.begin(), row.values.end());
      kept_classes.push_back(static_cast<std::int32_t>(c));
      kept_weights.push_back(row.weight);
    }
  std::vector<TensorView> tensors{tensor("class_weights", "F64", {count}, statistics.class_weights()),
                                  tensor("class_sums", "F64", {count, d}, sums),
                                  tensor("products", "F64", {groups, triangle(d)}, products)};
  if (!kept_classes.empty()) {
    tensors.push_back(tensor("kept_weights", "F64", {kept_weights.size()}, kept_weights));
    tensors.push_back(tensor("kept_rows", "F32", {kept_classes.size(), d}, kept));
    tensors.push_back(tensor("kept_classes", "I32", {kept_classes.size()}, kept_classes));
  }
  nlohmann::ordered_json facts{{"features", d},
                               {"feature_scaling", name_of(feature_scaling_names(), statistics.scaling())},
                               {"groups", groups},
                               {"kept_rows", statistics.options().kept_rows},
                               {"kept", kept_classes.size()},
                               {"samples", statistics.samples()}};
  if (statistics.source()) facts["source"] = to_json(*statistics.source());
  write_safetensors(path,
                    {{"format", kStatisticsFormat},
                     {"format_version", kStatisticsVersion},
                     {"producer", "parsnets " PARSNETS_VERSION},
                     {"statistics", facts.dump()},
                     {"classes", nlohmann::json(statistics.class_names()).dump()},
                     {"payload_crc32", payload_checksum(tensors)}},
                    tensors);
}

}  // namespace parsnets
