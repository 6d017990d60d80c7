// The model file: safetensors with a metadata profile (docs/format.md). Loading validates every field against every
// other.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/json_file.hpp"
#include "formats/device_magic.hpp"
#include "formats/safetensors.hpp"
#include "model/names.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "parsnets/version.hpp"
#include "store/train_record_json.hpp"

namespace parsnets {

static_assert(std::endian::native == std::endian::little, "model files are little-endian and mapped as they are");

namespace {

constexpr const char* kFormat = "parsnets-model";
constexpr const char* kFormatVersion = "2";

TensorView float_tensor(const std::string& name, const float* data, std::vector<std::uint64_t> shape) {
  std::uint64_t count = 1;
  for (const auto n : shape) count *= n;
  return {name, "F32", std::move(shape), reinterpret_cast<const std::byte*>(data), count * 4};
}

/// Reads the parts of one file, remembering which tensors were asked for.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : file_(path) {
    if (text("format") != kFormat)
      fail("format", fmt::format("'{}'", kFormat), "'" + text("format") + "'", "this is not a ParsNets model");
    if (text("format_version") != kFormatVersion)
      fail("format_version", kFormatVersion, text("format_version"),
           "it was written by another version of ParsNets; use that one");
    if (const auto sum = payload_checksum(file_.payload()); text("payload_crc32") != sum)
      fail("payload_crc32", text("payload_crc32"), sum, "the file is damaged: copy or download it again");
    model_ = parse_json(text("model"), name() + ", model");
    if (!model_.is_object()) fail("model", "a JSON object", model_.type_name(), "");
  }

  const std::string& name() const { return file_.name(); }

  [[noreturn]] void fail(const std::string& field, const std::string& expected, const std::string& found,
                         const std::string& advice) const {
    throw Error(BadInput{name(), field, expected, found, advice});
  }

  std::string text(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end())
      fail("__metadata__." + key, "a value", "none", "this is not a ParsNets model, or it is damaged");
    return found->second;
  }

  bool has_text(const std::string& key) const { return file_.metadata().contains(key); }

  nlohmann::json json(const std::string& key) const { return parse_json(text(key), name() + ", " + key); }

  std::vector<std::string> strings(const std::string& key) const {
    const auto list = json(key);
    if (!list.is_array()) fail(key, "a list of names", list.type_name(), "");
    std::vector<std::string> names;
    for (const auto& item : list) {
      if (!item.is_string()) fail(key, "names as strings", item.dump().substr(0, 30), "");
      names.push_back(item.get<std::string>());
    }
    return names;
  }

  std::size_t count(const char* key, std::size_t low, std::size_t high) const {
    if (!model_.contains(key) || !model_.at(key).is_number_unsigned() || model_.at(key).get<std::uint64_t>() < low ||
        model_.at(key).get<std::uint64_t>() > high)
      fail(std::string("model.") + key, fmt::format("an integer from {} to {}", low, high), value_text(key), "");
    return model_.at(key).get<std::size_t>();
  }

  bool flag(const char* key) const {
    if (!model_.contains(key) || !model_.at(key).is_boolean())
      fail(std::string("model.") + key, "true or false", value_text(key), "");
    return model_.at(key).get<bool>();
  }

  double number(const char* key, double low, double high) const {
    if (!model_.contains(key) || !model_.at(key).is_number())
      fail(std::string("model.") + key, "a number", value_text(key), "");
    const double value = model_.at(key).get<double>();
    if (!(value >= low && value <= high))
      fail(std::string("model.") + key, fmt::format("a number from {} to {}", low, high), value_text(key), "");
    return value;
  }

  template <class Enum>
  Enum choice(const char* key, const Names<Enum>& names) const {
    if (model_.contains(key) && model_.at(key).is_string())
      for (const auto& [text, value] : names)
        if (model_.at(key).get<std::string>() == text) return value;
    fail(std::string("model.") + key, "a known choice", value_text(key),
         "it may come from a newer version of ParsNets");
  }

  bool has_number(const char* key) const { return model_.contains(key); }
  bool has(const std::string& tensor) const { return file_.find(tensor) != nullptr; }

  /// A float tensor of exactly this shape with finite values, mapped where its alignment allows.
  Matrix<float> floats(const std::string& tensor, std::size_t rows, std::size_t cols) const {
    const TensorView& t = require(tensor, "F32", rows, cols);
    Matrix<float> values;
    if (reinterpret_cast<std::uintptr_t>(t.data) % alignof(float) == 0) {
      // The mapping is private, so handing out a writable pointer cannot change the file.
      auto* data = reinterpret_cast<float*>(const_cast<std::byte*>(t.data));
      values = Matrix<float>::adopt(data, rows, cols, [mapping = file_.mapping()](float*) {});
    } else {
      values = Matrix<float>(rows, cols);
      std::memcpy(values.data(), t.data, t.bytes);
    }
    require_finite(tensor, values.values());
    return values;
  }

  void require_finite(const std::string& tensor, std::span<const float> values) const {
    for (const float v : values)
      if (!std::isfinite(v))
        fail("tensor '" + tensor + "'", "finite values", fmt::format("{}", v), "train the model again");
  }

  std::vector<float> vector(const std::string& tensor, std::size_t size) const {
    if (!has(tensor)) return {};
    std::vector<float> values(size);
    std::memcpy(values.data(), require(tensor, "F32", 0, size).data, size * sizeof(float));
    require_finite(tensor, values);
    return values;
  }

  /// Of a vector; 0: there is no such tensor.
  std::size_t length(const std::string& tensor) const {
    const TensorView* found = file_.find(tensor);
    if (found == nullptr) return 0;
    if (found->shape.size() != 1 || found->shape[0] == 0)
      fail("tensor '" + tensor + "'", "a vector", fmt::format("shape [{}]", fmt::join(found->shape, ", ")), "");
    return found->shape[0];
  }

  /// Columns of each table of semantics, `attributes` in all; none for one table.
  std::vector<std::uint32_t> tables(std::size_t attributes) const {
    const TensorView* found = file_.find("semantic_tables");
    if (found == nullptr) return {};
    const std::size_t count = found->shape.size() == 1 ? found->shape[0] : 0;
    if (count < 2 || count > attributes)
      fail("tensor 'semantic_tables'", fmt::format("2 to {} values", attributes),
           fmt::format("shape [{}]", fmt::join(found->shape, ", ")), "");
    std::vector<std::uint32_t> columns(count);
    std::memcpy(columns.data(), require("semantic_tables", "U32", 0, count).data, count * sizeof(std::uint32_t));
    std::uint64_t sum = 0;
    for (const std::uint32_t n : columns) sum += n;
    if (sum != attributes || std::ranges::count(columns, 0u) > 0)
      fail("tensor 'semantic_tables'", fmt::format("positive numbers that sum to {}, the attributes", attributes),
           fmt::format("{}", fmt::join(columns, ", ")), "");
    return columns;
  }

  const TensorView& require(const std::string& tensor, const char* dtype, std::size_t rows, std::size_t cols) const {
    const TensorView* found = file_.find(tensor);
    if (found == nullptr)
      fail("tensor '" + tensor + "'", "a tensor of that name", "none",
           "the file is incomplete: copy or download it again");
    const std::vector<std::uint64_t> shape =
        rows == 0 ? std::vector<std::uint64_t>{cols} : std::vector<std::uint64_t>{rows, cols};
    if (found->dtype != dtype || found->shape != shape)
      fail("tensor '" + tensor + "'", fmt::format("{} of shape [{}]", dtype, fmt::join(shape, ", ")),
           fmt::format("{} of shape [{}]", found->dtype, fmt::join(found->shape, ", ")),
           "the file is damaged: copy or download it again");
    return *found;
  }

  void refuse_unknown(const std::vector<std::string>& known) const {
    for (const auto& t : file_.tensors())
      if (std::find(known.begin(), known.end(), t.name) == known.end())
        fail("tensor '" + t.name + "'", "a tensor that the format defines", "an unknown one",
             "it may come from a newer version of ParsNets");
  }

 private:
  std::string value_text(const char* key) const {
    return model_.contains(key) ? model_.at(key).dump().substr(0, 40) : "none";
  }

  SafetensorsFile file_;
  nlohmann::json model_;
};

constexpr std::size_t kMost = std::size_t{1} << 31;

Experience read_experience(const Reader& in, const std::string& name, std::size_t classes, std::size_t outputs) {
  Experience experience;
  if (!in.has(name + "_samples")) return experience;
  in.require(name + "_samples", "F32", 0, classes);
  experience.samples = in.vector(name + "_samples", classes);
  experience.sums = in.floats(name + "_sums", classes, outputs);
  for (const float n : experience.samples)
    if (n < 0) in.fail("tensor '" + name + "_samples'", "numbers that are not negative", fmt::format("{}", n), "");
  return experience;
}

Rejection read_rejection(const Reader& in, const Model& model) {
  Rejection rejection;
  if (!in.has("rejection_weights")) return rejection;
  if (model.similarity != Similarity::cosine || model.direction != Direction::forward)
    in.fail("tensor 'rejection_weights'", "direction forward and similarity cosine", "others", "");
  rejection.false_accept = in.number("false_accept", std::numeric_limits<double>::min(), 1);
  const Matrix<float> weights = in.floats("rejection_weights", 2, Evidence::kCount + 1),
                      range = in.floats("rejection_range", 2, Evidence::kCount);
  in.require("rejection_thresholds", "F32", 0, 2);
  const std::vector<float> thresholds = in.vector("rejection_thresholds", 2);
  for (std::size_t i = 0; i < 2; ++i) {
    std::ranges::copy(weights.row(i), rejection.weights[i].begin());
    std::ranges::copy(range.row(i), rejection.range[i].begin());
  }
  std::ranges::copy(thresholds, rejection.thresholds.begin());
  if (in.has("rejection_typical")) {
    const Matrix<float> typical = in.floats("rejection_typical", 2, Evidence::kCount);
    rejection.typical.emplace();
    for (std::size_t i = 0; i < 2; ++i) std::ranges::copy(typical.row(i), (*rejection.typical)[i].begin());
  }
  if (model.record.rejection) rejection.price = model.record.rejection->price();
  for (std::size_t j = 0; j < Evidence::kCount; ++j)
    if (rejection.range[0][j] > rejection.range[1][j])
      in.fail("tensor 'rejection_range'", "highest values that are not below the lowest", "lower ones", "");
  return rejection;
}

PredictionSets read_sets(const Reader& in, std::size_t classes) {
  PredictionSets sets;
  const std::size_t seen = in.length("set_confidences"), unseen = in.length("set_unseen");
  const auto confidences = [&](const std::string& tensor, std::size_t count) {
    std::vector<float> values = in.vector(tensor, count);
    for (const float v : values)
      if (v < 0 || v > 1) in.fail("tensor '" + tensor + "'", "values from 0 to 1", fmt::format("{}", v), "");
    return values;
  };
  sets.unseen = confidences("set_unseen", unseen);
  if (!std::ranges::is_sorted(sets.unseen)) in.fail("tensor 'set_unseen'", "ascending values", "others", "");
  if (seen == 0) return sets;
  sets.seen = confidences("set_confidences", seen);
  sets.seen_classes.resize(seen);
  std::memcpy(sets.seen_classes.data(), in.require("set_classes", "U32", 0, seen).data, seen * sizeof(std::uint32_t));
  if (!std::ranges::is_sorted(sets.seen_classes) || sets.seen_classes.back() >= classes)
    in.fail("tensor 'set_classes'", fmt::format("ascending places below {}", classes), "others", "");
  return sets;
}

}  // namespace

Model load_model(const std::filesystem::path& path) {
  if (looks_like_device_file(MappedFile(path).bytes()))
    throw Error(BadInput{path.string(), "", "a model file (.safetensors)", "a device file",
                         "use the model file that it was exported from"});
  const Reader in(path);
  in.refuse_unknown({"feature_mean",
                     "feature_factor",
                     "semantic_mean",
                     "semantic_factor",
                     "semantic_centre",
                     "semantic_tables",
                     "whitening_centre",
                     "whitening",
                     "encoder",
                     "anchors",
                     "networks",
                     "shared",
                     "bias",
                     "reverse",
                     "prototype_support",
                     "prototype_weights",
                     "attribute_head",
                     "class_semantics",
                     "class_seen",
                     "class_samples",
                     "class_means",
                     "class_described",
                     "taught_samples",
                     "taught_sums",
                     "adapted_samples",
                     "adapted_sums",
                     "rejection_weights",
                     "rejection_range",
                     "rejection_thresholds",
                     "rejection_typical",
                     "set_confidences",
                     "set_classes",
                     "set_unseen"});
  Model model;
  model.classes.names = in.strings("classes");
  model.attribute_names = in.strings("attributes");
  model.options = in.text("options");
  parse_json(model.options, in.name() + ", options");
  model.record = train_record_from_json(in.text("record"), in.name() + ", record");

  const std::size_t d = model.dimensions = in.count("features", 1, kMost), m = in.count("attributes", 1, kMost),
                    c = model.classes.names.size();
  if (c == 0) in.fail("classes", "at least one class", "none", "");
  auto sorted = model.classes.names;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    in.fail("classes", "each class only once", "'" + *twice + "' twice", "");
  if (!model.attribute_names.empty() && model.attribute_names.size() != m)
    in.fail("attributes", fmt::format("{} names or none", m), std::to_string(model.attribute_names.size()), "");
  if (in.has_text("features")) model.feature_names = in.strings("features");
  if (!model.feature_names.empty() && model.feature_names.size() != d)
    in.fail("features", fmt::format("{} names or none", d), std::to_string(model.feature_names.size()), "");

  model.feature_preprocess.scaling = in.choice("feature_scaling", feature_scaling_names());
  model.feature_preprocess.centre = in.flag("feature_centre");
  model.feature_preprocess.mean = in.vector("feature_mean", d);
  model.feature_preprocess.factor = in.vector("feature_factor", d);
  model.semantic_preprocess.scaling = in.choice("semantic_scaling", semantic_scaling_names());
  model.semantic_preprocess.mean = in.vector("semantic_mean", m);
  model.semantic_preprocess.factor = in.vector("semantic_factor", m);
  model.semantic_preprocess.tables = in.tables(m);
  if (const std::size_t axes = in.count("whitening_axes", 0, m); axes > 0) {
    const Matrix<float> whitening = in.floats("whitening", axes, m);
    model.semantic_preprocess.whitening.assign(whitening.values().begin(), whitening.values().end());
    in.require("whitening_centre", "F32", 0, m);
    model.semantic_preprocess.whitening_centre = in.vector("whitening_centre", m);
    for (std::size_t i = 0; i < axes; ++i)
      if (std::ranges::all_of(whitening.row(i), [](float v) { return v == 0; }))
        in.fail("tensor 'whitening'", "non-zero axes", fmt::format("zeros in row {}", i), "");
  }
  const std::size_t q = model.semantic_preprocess.outputs(m);
  // Files of targets semantics do not say so, as those of version 0.1.
  if (in.has_number("outputs")) model.targets = Targets::classes;
  const std::size_t o = model.targets == Targets::classes ? in.count("outputs", 1, kMost) : q;
  if (in.has_number("head_weight")) {
    model.head_weight = in.number("head_weight", kLeastHeadWeight, kMostHeadWeight);
    if (model.targets != Targets::classes || o <= q)
      in.fail("model.head_weight", "targets classes and more outputs than prepared attributes", std::to_string(o), "");
  }
  const std::size_t placed = model.head_weight > 0 ? o - q : o;
  model.semantic_centre = in.vector("semantic_centre", o);
  if (const std::size_t support = in.count("prototype_support", 0, kMost); support > 0) {
    if (in.choice("similarity", similarity_names()) != Similarity::cosine)
      in.fail("model.prototype_support", "0 without similarity cosine", std::to_string(support), "");
    model.prototypes.support = in.floats("prototype_support", support, q);
    model.prototypes.weights = in.floats("prototype_weights", support, o);
    model.prototypes.width = in.number("prototype_width", 0, 1e6);
    if (model.prototypes.width < 1e-3 && (model.targets == Targets::semantics || model.prototypes.width > 0))
      in.fail("model.prototype_width", "at least 0.001", fmt::format("{}", model.prototypes.width), "");
    for (std::size_t r = 0; r < support; ++r) {
      double squares = 0;
      for (const float v : model.prototypes.support.row(r)) squares += static_cast<double>(v) * v;
      if (squares > 1.00002)
        in.fail("tensor 'prototype_support'", "rows of unit length",
                fmt::format("length {} in row {}", std::sqrt(squares), r), "");
    }
  }
  const std::size_t h = in.count("encoding", 0, d);
  if (h > 0) model.encoder.weights = in.floats("encoder", h, d);
  model.encoder.reconstruction_error = in.number("reconstruction_error", 0, 2);
  const std::size_t e = h > 0 ? h : d;
  model.networks_see_encoding = in.flag("networks_see_encoding");
  model.similarity = in.choice("similarity", similarity_names());
  model.gamma = in.number("gamma", -1e40, 1e40);  // in units of scores, which are floats
  model.temperature = in.number("temperature", 1e-45, 1e45);
  model.direction = in.choice("direction", direction_names());
  model.gates.kind = in.choice("gates", gate_names());
  model.gates.networks = in.count("networks", 1, 65535);
  model.gates.open = in.count("open_networks", 1, model.gates.networks);
  if (model.gates.kind == GateKind::always && model.gates.networks != 1)
    in.fail("model.networks", "1 for gates 'always'", std::to_string(model.gates.networks), "");
  if (model.gates.kind == GateKind::energy && e % model.gates.networks != 0)
    in.fail("model.networks", fmt::format("a divisor of the encoding's {} dimensions", e),
            std::to_string(model.gates.networks), "");
  if (model.gates.kind == GateKind::anchor) model.gates.anchors = in.floats("anchors", model.gates.networks, e);
  const std::size_t z = model.z_dimensions();
  if (model.direction == Direction::forward) {
    model.networks = in.floats("networks", model.gates.networks * (z + 1), o);
    model.bias = in.vector("bias", o);
    if (model.bias.empty()) model.bias.assign(o, 0.0f);
    model.relu = in.flag("relu");
    if (in.has("shared")) model.shared = in.floats("shared", d, o);
  } else {
    if (model.targets == Targets::classes) in.fail("model.direction", "forward for targets classes", "reverse", "");
    model.reverse = in.floats("reverse", q + 1, z);
  }
  model.classes.semantics = in.floats("class_semantics", c, m);
  const TensorView& seen = in.require("class_seen", "U8", 0, c);
  for (std::size_t i = 0; i < c; ++i) {
    model.classes.seen.push_back(std::to_integer<std::uint8_t>(seen.data[i]));
    if (model.classes.seen.back() > 1)
      in.fail("tensor 'class_seen'", "0 or 1", std::to_string(model.classes.seen.back()), "");
  }
  if (model.targets == Targets::classes) {
    if (model.prototypes.support.empty() || model.similarity != Similarity::cosine)
      in.fail("model.prototype_support", "at least 1, and similarity cosine, for targets classes", "others", "");
    model.prior_samples = in.number("prior_samples", 1e-9, 1e12);
    model.attribute_head = in.floats("attribute_head", placed + 1, m);
    in.require("class_samples", "F32", 0, c);
    model.classes.samples = in.vector("class_samples", c);
    model.classes.means = in.floats("class_means", c, placed);
    for (const float n : model.classes.samples)
      if (n < 0) in.fail("tensor 'class_samples'", "numbers that are not negative", fmt::format("{}", n), "");
    if (in.has_number("example_prior")) {  // older files have no settings of learning in the field
      model.field.example_prior = in.number("example_prior", 1e-6, 1e9);
      model.field.strength = in.number("adapt_strength", 1e-6, 1e9);
      model.field.sharpness = in.number("adapt_sharpness", 1e-6, 1e6);
      model.field.certainty = in.number("adapt_certainty", 0.5, 0.999999);
      model.field.gamma_shift = in.number("adapt_gamma_shift", -1e6, 1e6);
      if (in.has_number("gamma_before")) model.classes.gamma_before = in.number("gamma_before", -1e40, 1e40);
    }
    model.classes.taught = read_experience(in, "taught", c, placed);
    model.classes.adapted = read_experience(in, "adapted", c, placed);
    if (in.has("class_described")) {
      const TensorView& described = in.require("class_described", "U8", 0, c);
      for (std::size_t i = 0; i < c; ++i) {
        model.classes.described.push_back(std::to_integer<std::uint8_t>(described.data[i]));
        if (model.classes.described.back() > 1)
          in.fail("tensor 'class_described'", "0 or 1", std::to_string(model.classes.described.back()), "");
      }
    }
  }
  model.rejection = read_rejection(in, model);
  model.sets = read_sets(in, c);
  const Matrix<float> vectors = model.class_vectors();
  for (const float v : vectors.values())
    if (!std::isfinite(v))
      in.fail("class vectors", "finite values", fmt::format("{}", v), "the file is damaged: copy or download it again");
  return model;
}

namespace {

/// What a model file holds. Refers to the model.
struct FileContents {
  std::map<std::string, std::string> metadata;
  std::vector<TensorView> tensors;
};

FileContents contents_of(const Model& model) {
  const std::uint64_t m = model.attributes(), d = model.dimensions;
  nlohmann::ordered_json model_json;
  model_json["features"] = d;
  model_json["attributes"] = m;
  model_json["feature_scaling"] = name_of(feature_scaling_names(), model.feature_preprocess.scaling);
  model_json["feature_centre"] = model.feature_preprocess.centre;
  model_json["semantic_scaling"] = name_of(semantic_scaling_names(), model.semantic_preprocess.scaling);
  model_json["encoding"] = model.encoder.weights.rows();
  model_json["reconstruction_error"] = model.encoder.reconstruction_error;
  model_json["networks_see_encoding"] = model.networks_see_encoding;
  model_json["gates"] = name_of(gate_names(), model.gates.kind);
  model_json["networks"] = model.gates.networks;
  model_json["open_networks"] = model.gates.open;
  model_json["relu"] = model.relu;
  model_json["whitening_axes"] = model.semantic_preprocess.whitening.size() / m;
  model_json["prototype_support"] = model.prototypes.support.rows();
  model_json["prototype_width"] = model.prototypes.width;
  model_json["direction"] = name_of(direction_names(), model.direction);
  model_json["similarity"] = name_of(similarity_names(), model.similarity);
  if (model.targets == Targets::classes) {
    model_json["targets"] = "classes";
    model_json["outputs"] = model.outputs();
    model_json["prior_samples"] = model.prior_samples;
    if (model.head_weight > 0) model_json["head_weight"] = model.head_weight;
    model_json["example_prior"] = model.field.example_prior;
    model_json["adapt_strength"] = model.field.strength;
    model_json["adapt_sharpness"] = model.field.sharpness;
    model_json["adapt_certainty"] = model.field.certainty;
    model_json["adapt_gamma_shift"] = model.field.gamma_shift;
    if (model.classes.gamma_before) model_json["gamma_before"] = *model.classes.gamma_before;
  }
  model_json["gamma"] = model.gamma;
  model_json["temperature"] = model.temperature;
  if (!model.rejection.empty()) model_json["false_accept"] = model.rejection.false_accept;

  FileContents file;
  auto& tensors = file.tensors;
  const auto add_vector = [&](const char* name, const std::vector<float>& values) {
    if (!values.empty()) tensors.push_back(float_tensor(name, values.data(), {values.size()}));
  };
  const auto add_matrix = [&](const char* name, const Matrix<float>& values) {
    if (!values.empty()) tensors.push_back(float_tensor(name, values.data(), {values.rows(), values.cols()}));
  };
  add_matrix("encoder", model.encoder.weights);
  add_matrix("anchors", model.gates.anchors);
  add_matrix("networks", model.networks);
  add_matrix("shared", model.shared);
  add_vector("bias", model.bias);
  add_matrix("reverse", model.reverse);
  add_vector("feature_mean", model.feature_preprocess.mean);
  add_vector("feature_factor", model.feature_preprocess.factor);
  add_vector("semantic_mean", model.semantic_preprocess.mean);
  add_vector("semantic_factor", model.semantic_preprocess.factor);
  add_vector("semantic_centre", model.semantic_centre);
  if (const auto& tables = model.semantic_preprocess.tables; !tables.empty())
    tensors.push_back({"semantic_tables",
                       "U32",
                       {tables.size()},
                       reinterpret_cast<const std::byte*>(tables.data()),
                       tables.size() * sizeof(std::uint32_t)});
  add_vector("whitening_centre", model.semantic_preprocess.whitening_centre);
  if (const auto& whitening = model.semantic_preprocess.whitening; !whitening.empty())
    tensors.push_back(float_tensor("whitening", whitening.data(), {whitening.size() / m, m}));
  add_matrix("prototype_support", model.prototypes.support);
  add_matrix("prototype_weights", model.prototypes.weights);
  add_matrix("attribute_head", model.attribute_head);
  add_matrix("class_semantics", model.classes.semantics);
  add_vector("class_samples", model.classes.samples);
  add_matrix("class_means", model.classes.means);
  add_vector("taught_samples", model.classes.taught.samples);
  add_matrix("taught_sums", model.classes.taught.sums);
  add_vector("adapted_samples", model.classes.adapted.samples);
  add_matrix("adapted_sums", model.classes.adapted.sums);
  if (const Rejection& rejection = model.rejection; !rejection.empty()) {
    static_assert(sizeof rejection.weights == 2 * (Evidence::kCount + 1) * sizeof(float));
    tensors.push_back(float_tensor("rejection_weights", rejection.weights[0].data(), {2, Evidence::kCount + 1}));
    tensors.push_back(float_tensor("rejection_range", rejection.range[0].data(), {2, Evidence::kCount}));
    tensors.push_back(float_tensor("rejection_thresholds", rejection.thresholds.data(), {2}));
    if (rejection.typical)
      tensors.push_back(float_tensor("rejection_typical", (*rejection.typical)[0].data(), {2, Evidence::kCount}));
  }
  add_vector("set_confidences", model.sets.seen);
  if (const auto& classes = model.sets.seen_classes; !classes.empty())
    tensors.push_back({"set_classes",
                       "U32",
                       {classes.size()},
                       reinterpret_cast<const std::byte*>(classes.data()),
                       classes.size() * sizeof(std::uint32_t)});
  add_vector("set_unseen", model.sets.unseen);
  if (!model.classes.described.empty())
    tensors.push_back({"class_described",
                       "U8",
                       {model.classes.described.size()},
                       reinterpret_cast<const std::byte*>(model.classes.described.data()),
                       model.classes.described.size()});
  tensors.push_back({"class_seen",
                     "U8",
                     {model.classes.seen.size()},
                     reinterpret_cast<const std::byte*>(model.classes.seen.data()),
                     model.classes.seen.size()});

  file.metadata = {{"format", kFormat},
                   {"format_version", kFormatVersion},
                   {"producer", "parsnets " PARSNETS_VERSION},
                   {"model", model_json.dump()},
                   {"classes", nlohmann::json(model.classes.names).dump()},
                   {"attributes", nlohmann::json(model.attribute_names).dump()},
                   {"options", model.options.empty() ? "{}" : model.options},
                   {"record", to_json(model.record).dump()},
                   {"payload_crc32", payload_checksum(tensors)}};
  if (!model.feature_names.empty()) file.metadata["features"] = nlohmann::json(model.feature_names).dump();
  return file;
}

}  // namespace

void save_model(const Model& model, const std::filesystem::path& path) {
  const FileContents file = contents_of(model);
  write_safetensors(path, file.metadata, file.tensors);
}

std::uint64_t model_file_bytes(const Model& model) {
  const FileContents file = contents_of(model);
  std::uint64_t bytes = safetensors_header(file.metadata, file.tensors).size();
  for (const auto& tensor : file.tensors) bytes += tensor.bytes;
  return bytes;
}

}  // namespace parsnets
