// Writes the device file by the tables of its layout (runtime/parsnets_rt.h, docs/device.md).

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/half.hpp"
#include "base/linalg.hpp"
#include "data/feature_source.hpp"
#include "device/device_reader.hpp"
#include "device/mix_networks.hpp"
#include "formats/file_kind.hpp"
#include "model/evidence.hpp"
#include "model/field_em.hpp"
#include "model/prediction.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

static_assert(std::endian::native == std::endian::little, "device files are little-endian");

namespace {

constexpr std::size_t kMostValues = 65536;

/// Collects sections, which the file has in the order of the table, whatever the order they come in.
class Writer {
 public:
  explicit Writer(Precision precision) : precision_(precision) {}

  DeviceHeader header{};

  void vector(DevicePart part, std::span<const float> values) { put(part, PNRT_F32, std::as_bytes(values)); }

  void bytes(DevicePart part, std::span<const std::byte> values) { put(part, PNRT_BYTES, values); }

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

  std::vector<std::byte> finish() const {
    Bytes out(kDeviceMagic.size());
    std::memcpy(out.data(), kDeviceMagic.data(), kDeviceMagic.size());
    const auto number = [&](auto value) {
      static_assert(sizeof value == 4 || sizeof value == 1);
      const auto bits = std::as_bytes(std::span(&value, 1));
      out.insert(out.end(), bits.begin(), bits.end());
    };
    for (const std::uint32_t field : {std::uint32_t{PNRT_FORMAT_VERSION}, 0u, 0u}) number(field);
#define PUT_FIELD(name, ...) number(header.name);
    PNRT_SIZES(PUT_FIELD)
    PNRT_NUMBERS(PUT_FIELD)
    PNRT_CHOICES(PUT_FIELD)
#undef PUT_FIELD
    for (const Section& section : sections_) number(section.type);
    out.resize(padded(out.size()));
    for (const Section& section : sections_) out.insert(out.end(), section.contents.begin(), section.contents.end());
    if (out.size() > 0x7fffffff)
      throw Error(ErrorCode::usage, fmt::format("export: the device file would exceed 2 GB; use {} or a lower {}",
                                                option_name("precision", "int8"), option_name("rank")));
    const auto set = [&](std::size_t at, std::size_t value) {
      const auto word = static_cast<std::uint32_t>(value);
      std::memcpy(&out[at], &word, sizeof word);
    };
    set(12, out.size());
    set(16, ::crc32_z(0, reinterpret_cast<const Bytef*>(out.data()) + PNRT_SIZES_AT, out.size() - PNRT_SIZES_AT));
    return out;
  }

 private:
  using Bytes = std::vector<std::byte>;
  struct Section {
    std::uint8_t type = PNRT_ABSENT;
    Bytes contents;
  };

  static std::size_t padded(std::size_t size) { return (size + 15) / 16 * 16; }

  /// Each of the two is padded.
  void put(DevicePart part, std::uint8_t type, std::span<const std::byte> first, std::span<const std::byte> rest = {}) {
    if (first.empty()) return;
    Section& section = sections_[static_cast<std::size_t>(part)];
    section.type = type;
    section.contents.resize(padded(first.size()) + padded(rest.size()));
    std::ranges::copy(first, section.contents.data());
    std::ranges::copy(rest, section.contents.data() + padded(first.size()));
  }

  void matrix(DevicePart part, MatrixView<const float> values, bool unit, Precision precision) {
    if (values.empty()) return;
    if (precision == Precision::float32) put(part, PNRT_F32, std::as_bytes(values.values()));
    if (precision == Precision::float16) put_halves(part, values);
    if (precision == Precision::int8) put_rounded(part, values, unit);
  }

  void put_halves(DevicePart part, MatrixView<const float> values) {
    std::vector<std::uint16_t> out;
    for (const float v : values.values()) {
      out.push_back(float_to_half(v));
      if ((out.back() & 0x7c00u) == 0x7c00u)
        throw Error(BadInput{"the model", fmt::format("device section {}", static_cast<int>(part)),
                             "values that a float16 can hold (below 65504)", fmt::format("{}", v),
                             "export it as float32 or int8"});
    }
    put(part, PNRT_F16, std::as_bytes(std::span(out)));
  }

  /// Scales of the rows, then the rows.
  void put_rounded(DevicePart part, MatrixView<const float> values, bool unit) {
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
    put(part, PNRT_I8, std::as_bytes(std::span(scales)), std::as_bytes(std::span(rounded)));
  }

  Precision precision_;
  std::array<Section, PNRT_SECTION_COUNT> sections_;
};

void check_fits(const Model& model, std::size_t rank) {
  if (model.direction != Direction::forward)
    throw Error(ErrorCode::usage,
                "export: expected a model that predicts semantics, not one that maps semantics to features "
                "(reverse-ridge, sae-reverse)");
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
  out.header.class_name_bytes = at;
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
  out.matrix(DevicePart::network_weights, weights.view());
  out.vector(DevicePart::network_bias, bias.values());
  out.vector(DevicePart::mixing, mixture.mixing.values());
}

/// What class space needs beside: predicted attributes, and how class vectors came about.
void put_class_space(Writer& out, const Model& model) {
  const std::size_t o = model.outputs(), m = model.attributes();
  std::vector<float> lengths, predicted;
  const Matrix<float> prototypes = model.class_vectors();
  for (std::size_t c = 0; c < prototypes.rows(); ++c) {
    lengths.push_back(static_cast<float>(std::sqrt(dot(prototypes.row(c), prototypes.row(c)))));
    predicted.push_back(predicted_share(model, c));
  }
  out.matrix(DevicePart::attribute_head, transposed<float>({model.attribute_head.data(), o, m}).view());
  out.vector(DevicePart::attribute_offset, model.attribute_head.row(o));
  out.vector(DevicePart::class_lengths, lengths);
  out.vector(DevicePart::class_predicted, predicted);
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

void put_source(Writer& out, const FeatureSource& source) {
  feature_source_from_json(to_json(source), "the model", "source");  // checks it
  for (const std::string& text : {source.layer, source.backbone})
    if (text.find('\0') != std::string::npos)
      throw Error(BadInput{"the model", "source", "names without zero bytes", "'" + text + "'", "rename it"});
  std::vector<std::byte> contents;
  for (std::size_t i = 0; i < kDeviceHashBytes; ++i)
    contents.push_back(static_cast<std::byte>(std::stoul(source.sha256.substr(2 * i, 2), nullptr, 16)));
  const auto texts = as_bytes({source.layer, source.backbone});
  contents.insert(contents.end(), texts.begin(), texts.end());
  DeviceHeader& h = out.header;
  h.source_bytes = static_cast<std::uint32_t>(contents.size());
  h.source_dimensions = static_cast<std::uint32_t>(source.dimensions);
  h.source_width = static_cast<std::uint32_t>(source.input.width);
  h.source_height = static_cast<std::uint32_t>(source.input.height);
  const PixelPreset preset = source.input.preset;
  h.source_preset = preset == PixelPreset::torchvision ? 0 : preset == PixelPreset::caffe ? 1 : 2;
  h.source_fit = static_cast<std::uint8_t>((source.input.fit == ImageFit::centre ? 0 : 1) +
                                           (source.pool == FeatureSource::Pooling::both ? 2 : 0));
  out.bytes(DevicePart::source, contents);
}

void put_header(DeviceHeader& h, const Model& model, std::size_t stored) {
  const auto size = [](std::size_t value) { return static_cast<std::uint32_t>(value); };
  const auto number = [](double value) { return static_cast<float>(value); };
  const SemanticScaling scaling = model.semantic_preprocess.scaling;
  h.features = size(model.dimensions);
  h.attributes = size(model.attributes());
  h.outputs = size(model.outputs());
  h.semantics = size(model.semantic_outputs());
  h.encoding = size(model.encoder.weights.rows());
  h.networks = size(model.gates.networks);
  h.open = size(model.gates.open);
  h.basis = size(stored);
  h.classes = size(model.classes.names.size());
  h.support = size(model.prototypes.support.rows());
  h.tables = size(model.semantic_preprocess.tables.size());
  h.gamma = number(model.gamma);
  h.temperature = number(model.temperature);
  h.width = h.support > 0 ? number(model.prototypes.width) : 0;
  h.example_prior = number(model.field.example_prior);
  h.strength = number(model.field.strength);
  h.sharpness = number(model.field.sharpness);
  h.certainty = number(model.field.certainty);
  h.least_length = number(model.field.least_length);
  h.gamma_shift = number(remaining_gamma_shift(model));
  const FeatureScaling features = model.feature_preprocess.scaling;
  h.feature_scaling = features == FeatureScaling::l2 ? 1 : features == FeatureScaling::sqrt_l2 ? 2 : 0;
  const bool unit = scaling == SemanticScaling::l2 || scaling == SemanticScaling::centre_l2;
  h.semantic_scaling = unit ? 1 : scaling == SemanticScaling::binary ? 2 : 0;
  h.gates = model.gates.kind == GateKind::always ? 0 : model.gates.kind == GateKind::energy ? 1 : 2;
  h.similarity = model.similarity == Similarity::cosine ? 0 : model.similarity == Similarity::dot ? 1 : 2;
  h.sees_encoding = model.networks_see_encoding ? 1 : 0;
  h.relu = model.relu ? 1 : 0;
}

}  // namespace

std::vector<std::byte> device_file(const Model& model, Precision precision, std::size_t rank, ThreadPool& pool) {
  check_fits(model, rank);
  const std::size_t m = model.attributes(), stored = rank == 0 ? model.gates.networks : rank;
  const auto& features = model.feature_preprocess;
  const auto& semantics = model.semantic_preprocess;
  Writer out(precision);
  put_header(out.header, model, stored);
  out.vector(DevicePart::feature_mean, features.mean);
  out.vector(DevicePart::feature_factor, features.factor);
  out.matrix(DevicePart::encoder, model.encoder.weights.view());
  out.matrix(DevicePart::anchors, model.gates.anchors.view());
  put_networks(out, mix_networks(model, rank, pool), stored, model.z_dimensions(), model.outputs());
  out.matrix(DevicePart::shared, transposed(model.shared).view());
  out.vector(DevicePart::bias, model.bias);
  out.vector(DevicePart::semantic_mean, semantics.mean);
  out.vector(DevicePart::semantic_factor, semantics.factor);
  out.vector(DevicePart::whitening_centre, semantics.whitening_centre);
  out.matrix(DevicePart::whitening, {semantics.whitening.data(), semantics.whitening.size() / m, m});
  out.vector(DevicePart::semantic_centre, model.semantic_centre);
  out.matrix(DevicePart::prototype_support, model.prototypes.support.view());
  out.matrix(DevicePart::prototype_weights, transposed(model.prototypes.weights).view());
  const bool cosine = model.similarity == Similarity::cosine;  // at unit length, so that a device need not divide
  Matrix<float> vectors = model.class_vectors();
  if (cosine) unit_rows(vectors.view());
  out.matrix(DevicePart::class_vectors, vectors.view(), cosine);
  out.attributes(DevicePart::class_attributes, model.classes.semantics.view());
  out.bytes(DevicePart::class_seen, std::as_bytes(std::span(model.classes.seen)));
  put_class_names(out, model.classes.names);
  const bool named = std::ranges::none_of(model.attribute_names, [](const std::string& name) {
    return name.empty() || name.find('\0') != std::string::npos;
  });
  if (named) {
    const auto text = as_bytes(model.attribute_names);
    out.header.attribute_name_bytes = static_cast<std::uint32_t>(text.size());
    out.bytes(DevicePart::attribute_names, text);
  }
  out.bytes(DevicePart::table_attributes, std::as_bytes(std::span(semantics.tables)));
  if (model.targets == Targets::classes) {
    put_class_space(out, model);
    if (!model.rejection.empty()) put_rejection(out, model, pool);
  }
  if (const auto& source = model.record.data.source) put_source(out, *source);
  return out.finish();
}

}  // namespace parsnets
