// Writes the device file (docs/device.md).

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/half.hpp"
#include "base/linalg.hpp"
#include "data/feature_source.hpp"
#include "device/device_reader.hpp"
#include "device/mix_networks.hpp"
#include "model/evidence.hpp"
#include "model/prediction.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

constexpr std::size_t kSizeAt = 12, kChecksumAt = 16, kTypesAt = 88, kTablesAt = 120, kMostValues = 65536;
enum : std::uint8_t { kF32 = 1, kF16 = 2, kI8 = 3, kBytes = 4 };

/// Appends sections in their order and keeps their types.
class Writer {
 public:
  Writer(Precision precision, std::size_t header_bytes) : precision_(precision), out_(header_bytes) {}

  void put_u32(std::size_t at, std::size_t value) {
    for (std::size_t i = 0; i < 4; ++i) out_[at + i] = static_cast<std::byte>(value >> (8 * i));
  }
  void put_u16(std::size_t at, std::size_t value) {
    for (std::size_t i = 0; i < 2; ++i) out_[at + i] = static_cast<std::byte>(value >> (8 * i));
  }
  void put_f32(std::size_t at, double value) { put_u32(at, std::bit_cast<std::uint32_t>(static_cast<float>(value))); }
  void put_u8(std::size_t at, unsigned value) { out_[at] = static_cast<std::byte>(value); }

  void vector(DevicePart part, std::span<const float> values) {
    if (values.empty()) return;
    begin(part, kF32);
    append(values.data(), values.size_bytes());
    pad();
  }

  void bytes(DevicePart part, std::span<const std::byte> values) {
    if (values.empty()) return;
    bytes(static_cast<std::size_t>(part), values);
  }

  /// `type`: which of the header's types is that of the section.
  void bytes(std::size_t type, std::span<const std::byte> values) {
    put_u8(kTypesAt + type, kBytes);
    append(values.data(), values.size());
    pad();
  }

  /// `unit`: int8 scales are such that the rounded rows keep length 1.
  void matrix(DevicePart part, MatrixView<const float> values, bool unit = false) {
    matrix(part, values, unit, precision_);
  }

  /// A matrix that no precision rounds: its rows are worth too little at lower ones.
  void exact_matrix(DevicePart part, MatrixView<const float> values) {
    matrix(part, values, false, Precision::float32);
  }

  /// Attributes of one class may differ by orders of magnitude, which one scale per class would round away: int8 files
  /// hold them as float16, or as float32 if they are too large.
  void attributes(DevicePart part, MatrixView<const float> values) {
    const bool fit = std::ranges::all_of(values.values(), [](float v) { return std::abs(v) < 65000; });
    const Precision exact = fit ? Precision::float16 : Precision::float32;
    matrix(part, values, false, precision_ == Precision::int8 ? exact : precision_);
  }

  std::vector<std::byte> finish() {
    if (out_.size() > 0x7fffffff)
      throw Error(ErrorCode::usage, fmt::format("export: the device file would exceed 2 GB; use {} or a lower {}",
                                                option_name("precision", "int8"), option_name("rank")));
    put_u32(kSizeAt, out_.size());
    put_u32(kChecksumAt, ::crc32_z(0, reinterpret_cast<const Bytef*>(out_.data()) + 20, out_.size() - 20));
    return std::move(out_);
  }

 private:
  void matrix(DevicePart part, MatrixView<const float> values, bool unit, Precision precision) {
    if (values.empty()) return;
    begin(part, precision == Precision::float32 ? kF32 : precision == Precision::float16 ? kF16 : kI8);
    if (precision == Precision::float32) append(values.data(), values.size() * 4);
    if (precision == Precision::float16) append_halves(part, values);
    if (precision == Precision::int8) append_rounded(values, unit);
    pad();
  }
  void begin(DevicePart part, std::uint8_t type) { put_u8(kTypesAt + static_cast<std::size_t>(part), type); }
  void append(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    out_.insert(out_.end(), first, first + size);
  }
  void pad() { out_.resize((out_.size() + 15) / 16 * 16); }

  void append_halves(DevicePart part, MatrixView<const float> values) {
    for (const float v : values.values()) {
      const std::uint16_t half = float_to_half(v);
      if ((half & 0x7c00u) == 0x7c00u)
        throw Error(BadInput{"the model", fmt::format("device section {}", static_cast<int>(part)),
                             "values that a float16 can hold (below 65504)", fmt::format("{}", v),
                             "export it as float32 or int8"});
      append(&half, 2);
    }
  }

  void append_rounded(MatrixView<const float> values, bool unit) {
    std::vector<float> scales(values.rows());
    std::vector<std::int8_t> rounded(values.size());
    for (std::size_t r = 0; r < values.rows(); ++r) {
      float largest = 0;
      for (const float v : values.row(r)) largest = std::max(largest, std::abs(v));
      if (largest < 1e-30f) continue;
      double squares = 0;
      for (std::size_t c = 0; c < values.cols(); ++c) {
        const double integer = std::round(static_cast<double>(values(r, c)) * 127 / largest);
        rounded[r * values.cols() + c] = static_cast<std::int8_t>(integer);
        squares += integer * integer;
      }
      scales[r] = static_cast<float>(unit ? 1 / std::sqrt(squares) : static_cast<double>(largest) / 127);
    }
    append(scales.data(), scales.size() * 4);
    pad();
    append(rounded.data(), rounded.size());
  }

  Precision precision_;
  std::vector<std::byte> out_;
};

Matrix<float> transposed(MatrixView<const float> a) {
  Matrix<float> out(a.cols(), a.rows());
  for (std::size_t r = 0; r < a.rows(); ++r)
    for (std::size_t c = 0; c < a.cols(); ++c) out(c, r) = a(r, c);
  return out;
}

void check_fits(const Model& model, std::size_t rank) {
  if (model.direction != Direction::forward)
    throw Error(ErrorCode::usage,
                "export: expected a model that predicts semantics, not one that maps semantics to features "
                "(reverse-ridge, sae-reverse)");
  const SemanticScaling scaling = model.semantic_preprocess.scaling;
  if (!model.semantic_preprocess.tables.empty() && model.targets == Targets::semantics &&
      (scaling == SemanticScaling::l2 || scaling == SemanticScaling::centre_l2))
    throw Error(ErrorCode::usage,
                fmt::format("export: a device file cannot scale each of several tables of semantics to unit length for "
                            "{}; train with {} or with {}",
                            option_name("targets", "semantics"), option_name("targets", "classes"),
                            option_name("semantic-scaling", "standardize")));
  if (rank > model.gates.networks)
    throw Error(ErrorCode::usage, fmt::format("{}: expected at most {}, the number of networks, found {}",
                                              option_name("rank"), model.gates.networks, rank));
  const auto at_most = [](const char* field, std::size_t value, std::size_t most) {
    if (value > most)
      throw Error(
          BadInput{"the model", field, fmt::format("at most {} for a device file", most), std::to_string(value), ""});
  };
  at_most("features", model.dimensions, kMostValues);
  at_most("attributes", model.attributes(), kMostValues);
  at_most("outputs", model.outputs(), kMostValues);
  at_most("prototype support", model.prototypes.support.rows(), kMostValues);
  at_most("classes", model.classes.names.size(), 65535);
  for (const auto& name : model.classes.names)
    if (name.empty() || name.find('\0') != std::string::npos)
      throw Error(BadInput{"the model", "class names", "names without zero bytes", "'" + name + "'", "rename it"});
}

std::vector<std::byte> as_bytes(const std::vector<std::string>& names) {
  std::vector<std::byte> text;
  for (const auto& name : names)
    for (std::size_t i = 0; i <= name.size(); ++i) text.push_back(static_cast<std::byte>(name.c_str()[i]));
  return text;
}

void put_class_names(Writer& out, const std::vector<std::string>& names) {
  std::vector<std::uint16_t> order(names.size());
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  std::ranges::sort(order, [&](auto a, auto b) { return names[a] < names[b]; });
  std::vector<std::uint32_t> offsets;
  std::uint32_t at = 0;
  for (const auto& name : names) {
    offsets.push_back(at);
    at += static_cast<std::uint32_t>(name.size() + 1);
  }
  out.put_u32(56, at);
  out.bytes(DevicePart::class_order, std::as_bytes(std::span(order)));
  out.bytes(DevicePart::class_name_offsets, std::as_bytes(std::span(offsets)));
  out.bytes(DevicePart::class_names, as_bytes(names));
}

/// Stored networks as o x z blocks, and their biases.
void put_networks(Writer& out, const NetworkMixture& mixture, std::size_t stored, std::size_t z, std::size_t o) {
  Matrix<float> weights(stored * o, z), bias(stored, o);
  for (std::size_t b = 0; b < stored; ++b)
    for (std::size_t j = 0; j < o; ++j) {
      bias(b, j) = mixture.stored(b * (z + 1), j);
      for (std::size_t i = 0; i < z; ++i) weights(b * o + j, i) = mixture.stored(b * (z + 1) + 1 + i, j);
    }
  out.matrix(DevicePart::networks, weights.view());
  out.vector(DevicePart::network_bias, bias.values());
  out.vector(DevicePart::mixing, mixture.mixing.values());
}

void to_unit_length(Matrix<float>& rows) {
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const double length = std::sqrt(dot(rows.row(r), rows.row(r)));
    if (length > 0)
      for (float& v : rows.row(r)) v = static_cast<float>(v / length);
  }
}

/// What targets classes need beside: predicted attributes, and how class vectors came about.
void put_class_targets(Writer& out, const Model& model) {
  const std::size_t o = model.class_outputs(), m = model.attributes();
  std::vector<float> lengths;
  const Matrix<float> places = class_places(model);
  for (std::size_t c = 0; c < places.rows(); ++c) {
    const auto place = places.row(c).first(o);
    lengths.push_back(static_cast<float>(std::sqrt(dot(place, place))));
  }
  out.matrix(DevicePart::attribute_head, transposed({model.attribute_head.data(), o, m}).view());
  out.vector(DevicePart::attribute_offset, model.attribute_head.row(o));
  out.vector(DevicePart::class_lengths, lengths);
  std::vector<float> predicted;
  for (std::size_t c = 0; c < places.rows(); ++c) predicted.push_back(predicted_share(model, c));
  out.vector(DevicePart::class_predicted, predicted);
  const auto& tables = model.semantic_preprocess.tables;
  out.put_u32(kTablesAt, tables.size());
  out.bytes(DevicePart::semantic_tables, std::as_bytes(std::span(tables)));
}

static_assert(Evidence::kCount == kDeviceEvidence);

void put_rejection(Writer& out, const Model& model, ThreadPool& pool) {
  const Rejection& r = model.rejection;
  std::vector<float> values;
  for (const auto& part : r.weights) values.insert(values.end(), part.begin(), part.end());
  for (const auto& part : r.range) values.insert(values.end(), part.begin(), part.end());
  values.insert(values.end(), r.thresholds.begin(), r.thresholds.end());
  out.vector(DevicePart::rejection, values);
  const LinearSpan span(model, pool);
  const Matrix<float>& basis = span.basis();
  if (basis.empty()) return;
  Matrix<float> square(basis.cols(), basis.cols(), 0.0f);
  std::ranges::copy(basis.values(), square.data());
  out.exact_matrix(DevicePart::span, square.view());
  out.vector(DevicePart::span_offset, span.offset());
}

/// `version`: of the file if it had no source.
void put_source(Writer& out, const FeatureSource& source, std::size_t version) {
  feature_source_from_json(to_json(source), "the model", "source");  // checks it
  for (const std::string& text : {source.layer, source.backbone})
    if (text.find('\0') != std::string::npos)
      throw Error(BadInput{"the model", "source", "names without zero bytes", "'" + text + "'", "rename it"});
  std::vector<std::byte> contents;
  for (std::size_t i = 0; i < kDeviceHashBytes; ++i)
    contents.push_back(static_cast<std::byte>(std::stoul(source.sha256.substr(2 * i, 2), nullptr, 16)));
  const auto texts = as_bytes({source.layer, source.backbone});
  contents.insert(contents.end(), texts.begin(), texts.end());
  const std::size_t at = version > 1 ? kDeviceHeaderBytes : kDeviceHeaderBytes1;
  out.put_u32(at, contents.size());
  out.put_u32(at + 4, source.dimensions);
  out.put_u16(at + 8, source.input.width);
  out.put_u16(at + 10, source.input.height);
  const PixelPreset preset = source.input.preset;
  out.put_u8(at + 12, preset == PixelPreset::torchvision ? 0 : preset == PixelPreset::caffe ? 1 : 2);
  out.put_u8(at + 13, source.input.fit == ImageFit::centre ? 0 : 1);
  out.bytes(version == 3 ? kDeviceParts3 : version == 2 ? kDeviceParts2 : kDeviceParts1, contents);
}

}  // namespace

std::vector<std::byte> device_file(const Model& model, Precision precision, std::size_t rank, ThreadPool& pool) {
  check_fits(model, rank);
  const auto& source = model.record.data.source;
  const bool placed = model.targets == Targets::classes, rejects = placed && !model.rejection.empty();
  const std::size_t d = model.dimensions, m = model.attributes(), o = model.outputs(), z = model.z_dimensions(),
                    networks = model.gates.networks, stored = rank == 0 ? networks : rank,
                    support = model.prototypes.support.rows();
  const std::size_t version = rejects ? 3 : placed ? 2 : 1;
  Writer out(precision, (placed ? kDeviceHeaderBytes : kDeviceHeaderBytes1) + (source ? kDeviceSourceHeaderBytes : 0));
  for (std::size_t i = 0; i < 8; ++i) out.put_u8(i, static_cast<unsigned char>("PARSNETS"[i]));
  out.put_u32(8, version + (source ? kDeviceVersions : 0));
  const std::size_t sizes[] = {
      d, m, o, model.encoder.weights.rows(), networks, model.gates.open, stored, model.classes.names.size(), support};
  for (std::size_t i = 0; i < std::size(sizes); ++i) out.put_u32(20 + 4 * i, sizes[i]);
  const auto& features = model.feature_preprocess;
  const auto& semantics = model.semantic_preprocess;
  out.put_u8(64, features.scaling == FeatureScaling::l2 ? 1 : features.scaling == FeatureScaling::sqrt_l2 ? 2 : 0);
  const bool unit = semantics.scaling == SemanticScaling::l2 || semantics.scaling == SemanticScaling::centre_l2;
  out.put_u8(65, unit ? 1 : semantics.scaling == SemanticScaling::binary ? 2 : 0);
  out.put_u8(66, model.gates.kind == GateKind::always ? 0 : model.gates.kind == GateKind::energy ? 1 : 2);
  out.put_u8(67, model.similarity == Similarity::cosine ? 0 : model.similarity == Similarity::dot ? 1 : 2);
  out.put_u32(68, (model.networks_see_encoding ? 1u : 0u) | (model.relu ? 2u : 0u));
  out.put_f32(72, model.gamma);
  out.put_f32(76, model.temperature);
  out.put_f32(80, support > 0 ? model.prototypes.width : 1);
  if (placed) {
    out.put_u32(84, model.semantic_outputs());
    out.put_f32(kDeviceHeadWeightAt, model.head_weight);
    const FieldSettings& field = model.field;
    const double settings[] = {field.example_prior, field.strength, field.sharpness, field.certainty};
    for (std::size_t i = 0; i < std::size(settings); ++i) out.put_f32(kDeviceFieldAt + 4 * i, settings[i]);
  }

  out.vector(DevicePart::feature_mean, features.mean);
  out.vector(DevicePart::feature_factor, features.factor);
  out.matrix(DevicePart::encoder, model.encoder.weights.view());
  out.matrix(DevicePart::anchors, model.gates.anchors.view());
  put_networks(out, mix_networks(model, rank, pool), stored, z, o);
  out.matrix(DevicePart::shared, transposed(model.shared.view()).view());
  out.vector(DevicePart::bias, model.bias);
  out.vector(DevicePart::semantic_mean, semantics.mean);
  out.vector(DevicePart::semantic_factor, semantics.factor);
  out.vector(DevicePart::whitening_centre, semantics.whitening_centre);
  out.matrix(DevicePart::whitening, {semantics.whitening.data(), semantics.whitening.size() / m, m});
  out.vector(DevicePart::semantic_centre, model.semantic_centre);
  out.matrix(DevicePart::prototype_support, model.prototypes.support.view());
  out.matrix(DevicePart::prototype_weights, transposed(model.prototypes.weights.view()).view());
  const bool cosine = model.similarity == Similarity::cosine;  // at unit length, so that a device need not divide
  Matrix<float> vectors = model.class_vectors();
  if (cosine) to_unit_length(vectors);
  out.matrix(DevicePart::class_vectors, vectors.view(), cosine);
  out.attributes(DevicePart::class_attributes, model.classes.semantics.view());
  out.bytes(DevicePart::class_seen, std::as_bytes(std::span(model.classes.seen)));
  put_class_names(out, model.classes.names);
  const bool named = std::ranges::none_of(model.attribute_names, [](const std::string& name) {
    return name.empty() || name.find('\0') != std::string::npos;
  });
  if (const auto text = as_bytes(model.attribute_names); named && !text.empty()) {
    out.put_u32(60, text.size());
    out.bytes(DevicePart::attribute_names, text);
  }
  if (placed) put_class_targets(out, model);
  if (rejects) put_rejection(out, model, pool);
  if (source) put_source(out, *source, version);
  return out.finish();
}

}  // namespace parsnets
