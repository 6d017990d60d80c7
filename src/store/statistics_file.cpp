// The statistics file: safetensors with a metadata profile (docs/format.md). Of the symmetric products only the upper
// triangle is stored.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/json_file.hpp"
#include "data/feature_source.hpp"
#include "features/statistics.hpp"
#include "formats/safetensors.hpp"
#include "model/names.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"

namespace parsnets {

static_assert(std::endian::native == std::endian::little, "statistics files are little-endian");

namespace {

constexpr const char* kStatisticsFormat = "parsnets-statistics";
constexpr const char* kStatisticsVersion = "1";
constexpr std::uint64_t kMostStatistics = std::uint64_t{1} << 31;
constexpr const char* kDamaged = "the file is damaged: copy it again";

std::size_t triangle(std::size_t d) { return d * (d + 1) / 2; }

template <class T>
TensorView tensor(const char* name, const char* dtype, std::vector<std::uint64_t> shape, const std::vector<T>& values) {
  return {name, dtype, std::move(shape), reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
}

class StatisticsReader {
 public:
  explicit StatisticsReader(const std::filesystem::path& path) : file_(path) {
    if (text("format") != kStatisticsFormat)
      fail("format", fmt::format("'{}'", kStatisticsFormat), "'" + text("format") + "'", "give a file of statistics");
    if (text("format_version") != kStatisticsVersion)
      fail("format_version", kStatisticsVersion, text("format_version"),
           "it was written by another version of ParsNets; use that one");
    if (const auto sum = payload_checksum(file_.payload()); text("payload_crc32") != sum)
      fail("payload_crc32", text("payload_crc32"), sum, kDamaged);
    facts_ = parse_json(text("statistics"), file_.name() + ", statistics");
    if (!facts_.is_object()) fail("statistics", "a JSON object", facts_.type_name(), kDamaged);
  }

  [[noreturn]] void fail(const std::string& field, const std::string& expected, const std::string& found,
                         const std::string& advice) const {
    throw Error(BadInput{file_.name(), field, expected, found, advice});
  }

  const std::string& name() const { return file_.name(); }

  std::uint64_t count(const char* key, std::uint64_t low, std::uint64_t high) const {
    const auto found = facts_.find(key);
    if (found == facts_.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() < low ||
        found->get<std::uint64_t>() > high)
      fail(std::string("statistics.") + key, fmt::format("an integer from {} to {}", low, high),
           found == facts_.end() ? "none" : found->dump().substr(0, 40), kDamaged);
    return found->get<std::uint64_t>();
  }

  FeatureScaling scaling() const {
    const auto found = facts_.find("feature_scaling");
    if (found != facts_.end() && found->is_string())
      for (const auto& [text, value] : feature_scaling_names())
        if (found->get<std::string>() == text && value != FeatureScaling::standardize) return value;
    fail("statistics.feature_scaling", "none, l2 or sqrt-l2",
         found == facts_.end() ? "none" : found->dump().substr(0, 40), kDamaged);
  }

  std::optional<FeatureSource> source() const {
    const auto found = facts_.find("source");
    if (found == facts_.end()) return std::nullopt;
    return feature_source_from_json(*found, file_.name(), "statistics.source");
  }

  std::vector<std::string> class_names() const {
    const auto list = parse_json(text("classes"), file_.name() + ", classes");
    if (!list.is_array() || list.empty()) fail("classes", "a list of names", list.dump().substr(0, 40), kDamaged);
    std::vector<std::string> names;
    for (const auto& item : list) {
      if (!item.is_string()) fail("classes", "names as strings", item.dump().substr(0, 40), kDamaged);
      names.push_back(item.get<std::string>());
    }
    return names;
  }

  /// The values of a tensor of exactly this type and shape.
  template <class T>
  std::vector<T> values(const std::string& tensor, const char* dtype, const std::vector<std::uint64_t>& shape) const {
    const TensorView* found = file_.find(tensor);
    const std::string expected = fmt::format("{} of shape [{}]", dtype, fmt::join(shape, ", "));
    if (found == nullptr) fail("tensor '" + tensor + "'", expected, "none", kDamaged);
    if (found->dtype != dtype || found->shape != shape)
      fail("tensor '" + tensor + "'", expected,
           fmt::format("{} of shape [{}]", found->dtype, fmt::join(found->shape, ", ")), kDamaged);
    std::vector<T> values(found->bytes / sizeof(T));
    std::memcpy(values.data(), found->data, found->bytes);
    return values;
  }

  void refuse_unknown(const std::vector<std::string>& known) const {
    for (const auto& t : file_.tensors())
      if (std::ranges::find(known, t.name) == known.end())
        fail("tensor '" + t.name + "'", "a tensor that the format defines", "an unknown one",
             "it may come from a newer version of ParsNets");
  }

 private:
  std::string text(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end())
      fail("__metadata__." + key, "a value", "none", "this is not a statistics file, or it is damaged");
    return found->second;
  }

  SafetensorsFile file_;
  nlohmann::json facts_;
};

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
void read_kept_rows(const StatisticsReader& in, std::size_t d, Statistics::Parts& parts) {
  const std::size_t count = parts.class_names.size(), most = count * parts.options.kept_rows,
                    rows = in.count("kept", 0, most);
  std::vector<std::string> known{"class_weights", "class_sums", "products"};
  if (rows > 0) known.insert(known.end(), {"kept_rows", "kept_classes", "kept_weights"});
  in.refuse_unknown(known);
  if (rows == 0) return;
  const auto values = in.values<float>("kept_rows", "F32", {rows, d});
  const auto classes = in.values<std::int32_t>("kept_classes", "I32", {rows});
  const auto weights = in.values<double>("kept_weights", "F64", {rows});
  for (std::size_t r = 0; r < rows; ++r) {
    if (classes[r] < 0 || static_cast<std::size_t>(classes[r]) >= count || (r > 0 && classes[r] < classes[r - 1]))
      in.fail("tensor 'kept_classes'", fmt::format("ascending classes from 0 to {}", count - 1),
              fmt::format("{} in row {}", classes[r], r), kDamaged);
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
  const StatisticsReader in(path);
  Statistics::Parts parts;
  parts.class_names = in.class_names();
  parts.options.scaling = in.scaling();
  parts.options.groups = in.count("groups", 1, 1024);
  parts.options.kept_rows = in.count("kept_rows", 0, 1u << 20);
  parts.source = in.source();
  parts.samples = in.count("samples", 0, std::uint64_t{1} << 62);
  const std::size_t count = parts.class_names.size(), d = in.count("features", 1, kMostStatistics);
  parts.class_weights = in.values<double>("class_weights", "F64", {count});
  parts.class_sums = matrix_of(in.values<double>("class_sums", "F64", {count, d}), count, d);
  const auto products = in.values<double>("products", "F64", {parts.options.groups, triangle(d)});
  for (std::size_t g = 0; g < parts.options.groups; ++g)
    parts.products.push_back(from_triangle(std::span(products).subspan(g * triangle(d), triangle(d)), d));
  parts.kept.resize(count);
  read_kept_rows(in, d, parts);
  try {
    return Statistics::from_parts(std::move(parts));
  } catch (const Error& error) {
    const BadInput what = error.parts();
    in.fail(what.field, what.expected, what.found, kDamaged);
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
