// The model file: safetensors with a metadata profile (docs/format.md). One function visits every field, for saving and
// for loading; loading validates every field against every other.

#include "store/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/json_file.hpp"
#include "formats/file_kind.hpp"
#include "model/names.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "parsnets/version.hpp"
#include "store/profile_reader.hpp"
#include "store/train_record_json.hpp"

namespace parsnets {

static_assert(std::endian::native == std::endian::little, "model files are little-endian and mapped as they are");

namespace {

constexpr const char* kFormat = "parsnets-model";
constexpr const char* kFormatVersion = "2";

constexpr std::size_t kMost = std::size_t{1} << 31;

template <class T>
constexpr const char* kTensorType = std::same_as<T, float>           ? "F32"
                                    : std::same_as<T, std::uint32_t> ? "U32"
                                                                     : "U8";

using Shape = std::vector<std::uint64_t>;

template <class T>
T& made(std::optional<T>& value) {
  return value ? *value : value.emplace();
}
template <class T>
const T& made(const std::optional<T>& value) {
  return *value;
}

/// Whether a field may be missing.
enum class Need { always, if_any };

/// All values of a table, row by row.
template <std::size_t R, std::size_t C>
std::span<float> flat(std::array<std::array<float, C>, R>& table) {
  static_assert(sizeof table == R * C * sizeof(float));
  return {table[0].data(), R * C};
}
template <std::size_t R, std::size_t C>
std::span<const float> flat(const std::array<std::array<float, C>, R>& table) {
  return {table[0].data(), R * C};
}

/// Every field of a model file. `io` is a ModelWriter or a ModelReader, which calls this with an empty model. A size of
/// 0 means that there is no such tensor.
void visit_fields(auto& io, auto& model) {
  auto& classes = model.classes;
  auto& semantics = model.semantic_preprocess;
  std::size_t m = model.attributes(), h = model.encoder.weights.rows(), support = model.prototypes.support.rows(),
              o = model.outputs(), axes = semantics.whitening.empty() ? 0 : model.semantic_outputs();
  io.names("classes", classes.names);
  io.names("attributes", model.attribute_names);
  io.names("features", model.feature_names, Need::if_any);
  io.options(model.options);
  io.record(model.record);

  io.count("features", model.dimensions, 1, kMost);
  io.count("attributes", m, 1, kMost);
  io.choice("feature_scaling", model.feature_preprocess.scaling, feature_scaling_names());
  io.flag("feature_centre", model.feature_preprocess.centre);
  io.choice("semantic_scaling", semantics.scaling, semantic_scaling_names());
  io.count("encoding", h, 0, model.dimensions);
  io.number("reconstruction_error", model.encoder.reconstruction_error, 0, 2);
  io.flag("networks_see_encoding", model.networks_see_encoding);
  io.choice("gates", model.gates.kind,
            {{"always", GateKind::always}, {"energy", GateKind::energy}, {"anchor", GateKind::anchor}});
  io.count("networks", model.gates.networks, 1, 65535);
  io.count("open_networks", model.gates.open, 1, model.gates.networks);
  io.flag("relu", model.relu);
  io.count("whitening_axes", axes, 0, m);
  io.count("prototype_support", support, 0, kMost);
  io.number("prototype_width", model.prototypes.width, 0, 1e6);
  io.number("prototype_ridge", model.prototypes.ridge, 0, 1e12, Need::if_any);
  io.choice("direction", model.direction, {{"forward", Direction::forward}, {"reverse", Direction::reverse}});
  io.choice("similarity", model.similarity, similarity_names());
  io.choice("targets", model.targets, {{"semantics", Targets::semantics}, {"classes", Targets::classes}});
  io.count("outputs", o, 1, kMost);
  const bool class_space = model.targets == Targets::classes, forward = model.direction == Direction::forward;
  if (class_space) {
    io.number("prior_samples", model.prior_samples, 1e-9, 1e12);
    io.number("example_prior", model.field.example_prior, 1e-6, 1e9);
    io.number("adapt_strength", model.field.strength, 1e-6, 1e9);
    io.number("adapt_sharpness", model.field.sharpness, 1e-6, 1e6);
    io.number("adapt_certainty", model.field.certainty, 0.5, 0.999999);
    io.number("adapt_gamma_shift", model.field.gamma_shift, -1e6, 1e6);
    io.number("adapt_strong", model.field.strong, 1e-6, 1e9, Need::if_any);
    io.number("adapt_strong_gamma_shift", model.field.strong_gamma_shift, -1e6, 1e6, Need::if_any);
    io.number("adapt_least_length", model.field.least_length, 0, 1e6, Need::if_any);
    io.number("gamma_before", classes.gamma_before, -1e40, 1e40, Need::if_any);
  }
  io.number("gamma", model.gamma, -1e40, 1e40);  // in units of scores, which are floats
  io.number("temperature", model.temperature, 1e-45, 1e45);
  const bool rejects = io.has("rejection_weights", !model.rejection.empty());
  if (rejects) io.number("false_accept", model.rejection.false_accept, std::numeric_limits<double>::min(), 1);

  const std::size_t d = model.dimensions, q = axes > 0 ? axes : m, e = h > 0 ? h : d,
                    z = model.networks_see_encoding ? e : d, networks = model.gates.networks, c = classes.names.size();
  io.matrix("encoder", model.encoder.weights, h, d);
  io.matrix("anchors", model.gates.anchors, model.gates.kind == GateKind::anchor ? networks : 0, e);
  io.matrix("networks", model.networks, forward ? networks * (z + 1) : 0, o);
  io.matrix("shared", model.shared, forward ? d : 0, o, Need::if_any);
  io.vector("bias", model.bias, forward ? o : 0);
  io.matrix("reverse", model.reverse, forward ? 0 : q + 1, z);
  io.vector("feature_mean", model.feature_preprocess.mean, d, Need::if_any);
  io.vector("feature_factor", model.feature_preprocess.factor, d, Need::if_any);
  io.vector("semantic_mean", semantics.mean, m, Need::if_any);
  io.vector("semantic_factor", semantics.factor, m, Need::if_any);
  io.vector("semantic_centre", model.semantic_centre, o, Need::if_any);
  io.list("semantic_tables", semantics.tables);
  io.vector("whitening_centre", semantics.whitening_centre, axes > 0 ? m : 0);
  io.rows("whitening", semantics.whitening, axes, m);
  io.matrix("prototype_support", model.prototypes.support, support, q);
  io.matrix("prototype_weights", model.prototypes.weights, support, o);
  io.matrix("attribute_head", model.attribute_head, class_space ? o + 1 : 0, m);
  io.matrix("class_semantics", classes.semantics, c, m);
  io.vector("class_samples", classes.samples, class_space ? c : 0);
  io.matrix("class_means", classes.means, class_space ? c : 0, o);
  io.vector("taught_samples", classes.taught.samples, class_space ? c : 0, Need::if_any);
  io.matrix("taught_sums", classes.taught.sums, classes.taught.samples.size(), o);
  io.vector("adapted_samples", classes.adapted.samples, class_space ? c : 0, Need::if_any);
  io.matrix("adapted_sums", classes.adapted.sums, classes.adapted.samples.size(), o);
  if (rejects) {
    constexpr std::size_t evidence = Evidence::kCount;
    io.values("rejection_weights", flat(model.rejection.weights), {2, evidence + 1});
    io.values("rejection_range", flat(model.rejection.range), {2, evidence});
    io.values("rejection_thresholds", std::span(model.rejection.thresholds), {2});
    if (io.has("rejection_typical", model.rejection.typical.has_value()))
      io.values("rejection_typical", flat(made(model.rejection.typical)), {2, evidence});
  }
  io.list("set_confidences", model.sets.seen);
  io.vector("set_classes", model.sets.seen_classes, model.sets.seen.size());
  io.list("set_unseen", model.sets.unseen);
  io.vector("class_described", classes.described, class_space ? c : 0, Need::if_any);
  io.vector("class_seen", classes.seen, c);
}

class ModelWriter {
 public:
  explicit ModelWriter(const Model& model) {
    visit_fields(*this, model);
    metadata.insert({{"format", kFormat},
                     {"format_version", kFormatVersion},
                     {"producer", "parsnets " PARSNETS_VERSION},
                     {"model", json_.dump()},
                     {"payload_crc32", payload_checksum(tensors)}});
  }

  std::map<std::string, std::string> metadata;
  std::vector<TensorView> tensors;  ///< refer to the model

  void names(const char* key, const std::vector<std::string>& list, Need need = Need::always) {
    if (need == Need::always || !list.empty()) metadata[key] = nlohmann::json(list).dump();
  }
  void options(const std::string& text) { metadata["options"] = text.empty() ? "{}" : text; }
  void record(const TrainRecord& record) { metadata["record"] = to_json(record).dump(); }

  void count(const char* key, std::size_t value, std::size_t, std::size_t) { json_[key] = value; }
  void flag(const char* key, bool value) { json_[key] = value; }
  void number(const char* key, double value, double, double) { json_[key] = value; }
  void number(const char* key, const std::optional<double>& value, double, double, Need) {
    if (value) json_[key] = *value;
  }
  void number(const char* key, const double& value, double, double, Need) {
    if (value != 0) json_[key] = value;
  }
  template <class Enum>
  void choice(const char* key, Enum value, const Names<Enum>& names) {
    json_[key] = name_of(names, value);
  }

  bool has(const char*, bool set) const { return set; }
  template <class T, std::size_t N>
  void values(const char* name, std::span<const T, N> data, Shape shape) {
    if (!data.empty())
      tensors.push_back(
          {name, kTensorType<T>, std::move(shape), reinterpret_cast<const std::byte*>(data.data()), data.size_bytes()});
  }
  void matrix(const char* name, const Matrix<float>& data, std::size_t, std::size_t, Need = Need::always) {
    values(name, data.values(), {data.rows(), data.cols()});
  }
  template <class T>
  void list(const char* name, const std::vector<T>& data) {
    values(name, std::span(data), {data.size()});
  }
  template <class T>
  void vector(const char* name, const std::vector<T>& data, std::size_t, Need = Need::always) {
    list(name, data);
  }
  void rows(const char* name, const std::vector<float>& data, std::size_t rows, std::size_t cols) {
    values(name, std::span(data), {rows, cols});
  }

 private:
  nlohmann::ordered_json json_;
};

class ModelReader : public ProfileReader {
 public:
  ModelReader(const std::filesystem::path& path, const std::string& sha256)
      : ProfileReader(path, kFormat, kFormatVersion, "model", "a ParsNets model", sha256) {
    visit_fields(*this, model);
    refuse_unknown();
  }

  Model model;

  void names(const char* key, std::vector<std::string>& list, Need need = Need::always) const {
    if (need == Need::always || file_.metadata().contains(key)) list = ProfileReader::names(key);
  }
  void options(std::string& out) const {
    out = text("options");
    parse_json(out, file_.name() + ", options");
  }
  void record(TrainRecord& out) const { out = train_record_from_json(text("record"), file_.name() + ", record"); }

  void count(const char* key, std::size_t& out, std::size_t low, std::size_t high) const {
    out = ProfileReader::count(key, low, high);
  }
  void flag(const char* key, bool& out) const {
    if (!facts_.contains(key) || !facts_.at(key).is_boolean()) fail_fact(key, "true or false");
    out = facts_.at(key).get<bool>();
  }
  void number(const char* key, double& out, double low, double high) const {
    out = facts_.contains(key) && facts_.at(key).is_number() ? facts_.at(key).get<double>() : std::nan("");
    if (!(out >= low && out <= high)) fail_fact(key, fmt::format("a number from {} to {}", low, high));
  }
  void number(const char* key, std::optional<double>& out, double low, double high, Need) const {
    if (facts_.contains(key)) number(key, out.emplace(), low, high);
  }
  void number(const char* key, double& out, double low, double high, Need) const {
    if (facts_.contains(key)) number(key, out, low, high);
  }
  template <class Enum>
  void choice(const char* key, Enum& out, const Names<Enum>& names) const {
    for (const auto& [text, value] : names)
      if (facts_.contains(key) && facts_.at(key) == text) {
        out = value;
        return;
      }
    fail_fact(key, "a known choice", "it may come from a newer version of ParsNets");
  }

  bool has(const char* tensor, bool) const { return file_.find(tensor) != nullptr; }
  template <class T, std::size_t N>
  void values(const char* name, std::span<T, N> out, const Shape& shape) {
    std::memcpy(out.data(), tensor(name, kTensorType<T>, shape).data, out.size_bytes());
    if constexpr (std::same_as<T, float>) require_finite(name, out);
  }
  /// In place where its alignment allows.
  void matrix(const char* name, Matrix<float>& out, std::size_t rows, std::size_t cols, Need need = Need::always) {
    if (is_left_out(name, rows, need)) return;
    const TensorView& t = tensor(name, "F32", {rows, cols});
    if (reinterpret_cast<std::uintptr_t>(t.data) % alignof(float) == 0) {
      // They are a copy of the file: writing to them does not change it.
      auto* data = reinterpret_cast<float*>(const_cast<std::byte*>(t.data));
      out = Matrix<float>::adopt(data, rows, cols, [mapping = file_.mapping()](float*) {});
    } else {
      out = Matrix<float>(rows, cols);
      std::memcpy(out.data(), t.data, t.bytes);
    }
    require_finite(name, out.values());
  }
  template <class T>
  void vector(const char* name, std::vector<T>& out, std::size_t size, Need need = Need::always) {
    if (is_left_out(name, size, need)) return;
    tensor(name, kTensorType<T>, {size});
    out.resize(size);
    values(name, std::span(out), {size});
    if (std::same_as<T, std::uint8_t> && std::ranges::any_of(out, [](T v) { return v > 1; }))
      fail(fmt::format("tensor '{}'", name), "0 or 1", "others");
  }
  /// Of any length.
  template <class T>
  void list(const char* name, std::vector<T>& out) {
    const TensorView* found = file_.find(name);
    if (found != nullptr) vector(name, out, found->shape.size() == 1 && found->shape[0] > 0 ? found->shape[0] : 1);
  }
  void rows(const char* name, std::vector<float>& out, std::size_t rows, std::size_t cols) {
    if (rows == 0) return;
    tensor(name, "F32", {rows, cols});
    out.resize(rows * cols);
    values(name, std::span(out), {rows, cols});
  }

 private:
  bool is_left_out(const char* name, std::size_t size, Need need) const {
    return size == 0 || (need == Need::if_any && !has(name, true));
  }

  void require_finite(const std::string& tensor, std::span<const float> values) const {
    for (const float v : values)
      if (!std::isfinite(v))
        fail("tensor '" + tensor + "'", "finite values", fmt::format("{}", v), "train the model again");
  }
};

void check_names(const ModelReader& in, const Model& model) {
  auto sorted = model.classes.names;
  if (sorted.empty()) in.fail("classes", "at least one class", "none");
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    in.fail("classes", "each class only once", "'" + *twice + "' twice");
  const auto all_or_none = [&](const char* field, const std::vector<std::string>& names, std::size_t count) {
    if (!names.empty() && names.size() != count)
      in.fail(field, fmt::format("{} names or none", count), std::to_string(names.size()));
  };
  all_or_none("attributes", model.attribute_names, model.attributes());
  all_or_none("features", model.feature_names, model.dimensions);
}

void check_semantics(const ModelReader& in, const Model& model) {
  const std::size_t m = model.attributes();
  const auto& semantics = model.semantic_preprocess;
  std::uint64_t sum = 0;
  for (const std::uint32_t n : semantics.tables) sum += n;
  if (const auto& t = semantics.tables; !t.empty() && (sum != m || t.size() == 1 || std::ranges::count(t, 0u) > 0))
    in.fail("tensor 'semantic_tables'", fmt::format("at least 2 positive numbers that sum to {}, the attributes", m),
            fmt::format("{}", fmt::join(t, ", ")));
  for (std::size_t at = 0; at < semantics.whitening.size(); at += m)
    if (std::ranges::all_of(std::span(semantics.whitening).subspan(at, m), [](float v) { return v == 0; }))
      in.fail("tensor 'whitening'", "non-zero axes", fmt::format("zeros in row {}", at / m));
}

void check_gates(const ModelReader& in, const Model& model) {
  const std::size_t e = model.encoder.is_identity() ? model.dimensions : model.encoder.weights.rows(),
                    networks = model.gates.networks;
  if (model.gates.kind == GateKind::always && networks != 1)
    in.fail("model.networks", "1 for gates 'always'", std::to_string(networks));
  if (model.gates.kind == GateKind::energy && e % networks != 0)
    in.fail("model.networks", fmt::format("a divisor of the encoding's {} dimensions", e), std::to_string(networks));
}

void check_class_space(const ModelReader& in, const Model& model) {
  const bool class_space = model.targets == Targets::classes;
  const Matrix<float>& support = model.prototypes.support;
  if (!class_space && model.outputs() != model.semantic_outputs())
    in.fail("model.outputs", fmt::format("{}, the prepared attributes", model.semantic_outputs()),
            std::to_string(model.outputs()));
  if (class_space && (model.similarity != Similarity::cosine || model.direction != Direction::forward))
    in.fail("model.targets", "direction forward and similarity cosine for targets classes", "others");
  if (class_space == support.empty())
    in.fail("model.prototype_support", "at least 1 for targets classes, 0 for others", std::to_string(support.rows()));
  if (const double width = model.prototypes.width; class_space && width > 0 && width < 1e-3)
    in.fail("model.prototype_width", "0, or at least 0.001", fmt::format("{}", width));
  for (std::size_t r = 0; r < support.rows(); ++r) {
    double squares = 0;
    for (const float v : support.row(r)) squares += static_cast<double>(v) * v;
    if (squares > 1.00002)
      in.fail("tensor 'prototype_support'", "rows of unit length",
              fmt::format("length {} in row {}", std::sqrt(squares), r));
  }
  for (const auto& [tensor, samples] : {std::pair{"class_samples", &model.classes.samples},
                                        {"taught_samples", &model.classes.taught.samples},
                                        {"adapted_samples", &model.classes.adapted.samples}})
    for (const float n : *samples)
      if (n < 0) in.fail(fmt::format("tensor '{}'", tensor), "numbers that are not negative", fmt::format("{}", n));
}

void check_calibration(const ModelReader& in, const Model& model) {
  const Rejection& rejection = model.rejection;
  if (!rejection.empty() && (model.similarity != Similarity::cosine || model.direction != Direction::forward))
    in.fail("tensor 'rejection_weights'", "direction forward and similarity cosine", "others");
  for (std::size_t j = 0; j < Evidence::kCount; ++j)
    if (rejection.range[0][j] > rejection.range[1][j])
      in.fail("tensor 'rejection_range'", "highest values that are not below the lowest", "lower ones");
  for (const auto& [tensor, confidences] :
       {std::pair{"set_confidences", &model.sets.seen}, {"set_unseen", &model.sets.unseen}})
    for (const float v : *confidences)
      if (v < 0 || v > 1) in.fail(fmt::format("tensor '{}'", tensor), "values from 0 to 1", fmt::format("{}", v));
  if (!std::ranges::is_sorted(model.sets.unseen)) in.fail("tensor 'set_unseen'", "ascending values", "others");
  const auto& of_classes = model.sets.seen_classes;
  if (!std::ranges::is_sorted(of_classes) || (!of_classes.empty() && of_classes.back() >= model.classes.names.size()))
    in.fail("tensor 'set_classes'", fmt::format("ascending indices below {}", model.classes.names.size()), "others");
}

}  // namespace

Model load_model(const std::filesystem::path& path) { return load_model(path, ""); }

Model load_model(const std::filesystem::path& path, const std::string& sha256) {
  if (looks_like_device_file(MappedFile(path).bytes()))
    throw Error(BadInput{path.string(), "", "a model file (.safetensors)", "a device file",
                         "use the model file that it was exported from"});
  ModelReader in(path, sha256);
  Model& model = in.model;
  check_names(in, model);
  check_semantics(in, model);
  check_gates(in, model);
  check_class_space(in, model);
  check_calibration(in, model);
  const Matrix<float> vectors = model.class_vectors();
  for (const float v : vectors.values())
    if (!std::isfinite(v)) in.fail("class vectors", "finite values", fmt::format("{}", v));
  return std::move(in.model);
}

void save_model(const Model& model, const std::filesystem::path& path) {
  const ModelWriter file(model);
  write_safetensors(path, file.metadata, file.tensors);
}

std::uint64_t model_file_bytes(const Model& model) {
  const ModelWriter file(model);
  std::uint64_t bytes = safetensors_header(file.metadata, file.tensors).size();
  for (const auto& tensor : file.tensors) bytes += tensor.bytes;
  return bytes;
}

}  // namespace parsnets
