// Fills in the training options that were left empty.

#include <fmt/format.h>

#include <algorithm>

#include "data/visit_rows.hpp"
#include "train/train_options.hpp"

namespace parsnets {

namespace {

constexpr int kPaperEncoding = 400;

template <class T>
void fill(std::optional<T>& field, std::type_identity_t<T> value) {
  if (!field) field = value;
}

/// The widest encoding that `networks` energy gates divide equally.
int divisible_encoding(int dimensions, int networks) { return networks * std::max(1, dimensions / networks); }

/// How many networks are active per sample in the paper.
int paper_open(const Dataset& data) {
  const std::string& name = data.known_as;
  return name.starts_with("AWA") || name == "APY" ? 30 : name == "SUN" ? 80 : 40;
}

void fill_scln(TrainOptions& o, const Dataset& data) {
  const auto d = static_cast<int>(data.features.cols());
  if (d < o.encoder.dimensions.value_or(kPaperEncoding) && o.preset != Preset::paper) {
    fill(o.gates.networks, std::min(most_networks(data), d));
    fill(o.encoder.dimensions, divisible_encoding(d, *o.gates.networks));
    fill(o.gates.open, std::min(40, *o.gates.networks));
  }
  fill(o.fit.kind, Fit::svr);
  if (*o.fit.kind == Fit::ridge) {
    fill(o.fit.shared, true);
    if (o.refinement.steps.value_or(0) == 0) fill(o.geometry.joint_steps, 10);
  }
}

/// Every network is active for every sample.
void fill_mmg(TrainOptions& o, const Dataset& data) {
  fill(o.gates.kind, GateKind::anchor);
  fill(o.gates.networks, std::min(32, most_networks(data)));
  fill(o.gates.open, *o.gates.networks);
  fill(o.geometry.samples, MmgSamples::all);
}

bool has_negative_features(const Dataset& data) {
  constexpr std::size_t kRows = 8192;
  bool negative = false;
  if (data.features.empty()) return negative;
  visit_row_blocks(data, data.split.trainval, kRows, [&](std::size_t, std::span<const std::int32_t> rows) {
    negative =
        negative || std::ranges::any_of(rows, [&](std::int32_t r) {
          return std::ranges::any_of(data.features.row(static_cast<std::size_t>(r)), [](float v) { return v < 0; });
        });
  });
  return negative;
}

/// Few and small networks do as well as many in class space. With few classes, each of them learns the classes near
/// its anchor by heart, and what is learned of classes does not carry over to others.
void fill_class_space(TrainOptions& o, const Dataset& data) {
  constexpr std::size_t kClassesForGates = 64;
  if (data.seen_classes().size() < kClassesForGates && !o.gates.networks && !o.gates.open)
    fill(o.gates.kind, GateKind::always);
  fill(o.preprocessing.feature_scaling, has_negative_features(data) ? FeatureScaling::l2 : FeatureScaling::sqrt_l2);
  fill(o.preprocessing.semantic_whitening, 0.35);
  fill(o.class_space.shrinkage, usual_shrinkage(data.features.cols(), static_cast<double>(data.split.trainval.size())));
  fill(o.class_space.prototype_width, 1.2);
  fill(o.class_space.attribute_steps, static_cast<int>(std::min<std::size_t>(data.seen_classes().size() / 10, 8)));
  fill(o.encoder.dimensions, std::min(64, most_encoding(data)));
  fill(o.gates.networks, std::min(100, most_networks(data)));
  fill(o.gates.open, std::min(10, *o.gates.networks));
  fill(o.refinement.steps, 3);
  fill(o.refinement.sharpness, 20);
  fill(o.refinement.gate_weight, 3);
  fill(o.geometry.weight, 0);
  fill(o.geometry.joint_steps, 0);
  fill(o.fit.lambda, 1);
}

void fill_parsnets(TrainOptions& o, const Dataset& data) {
  const bool paper = o.preset == Preset::paper;
  fill(o.fit.kind, paper ? Fit::svr : Fit::ridge);
  if (!paper && o.method == Method::parsnets && *o.fit.kind == Fit::ridge && !o.fit.relu &&
      o.class_space.similarity.value_or(Similarity::cosine) == Similarity::cosine)
    fill(o.class_space.targets, Targets::classes);
  if (o.class_space.targets == Targets::classes) fill_class_space(o, data);
  fill(o.geometry.weight, 0.1);
  if (!paper) {
    fill(o.fit.shared, true);
    fill(o.gates.kind, GateKind::anchor);
    const bool energy = *o.gates.kind == GateKind::energy;  // its parts are equal
    fill(o.gates.networks, energy ? std::min(most_networks(data), most_encoding(data)) : most_networks(data));
    fill(o.encoder.dimensions,
         energy ? divisible_encoding(most_encoding(data), *o.gates.networks) : most_encoding(data));
    fill(o.encoder.rotation, Rotation::identity);
    fill(o.gates.open, std::min(20, *o.gates.networks));
    fill(o.fit.lambda, 20);
    fill(o.preprocessing.semantic_whitening, 0.25);
    fill(o.refinement.steps, 15);
    fill(o.class_space.prototype_width, 1.4);
  }
  // The geometry is part of refinement; without that it is joined to the fit.
  fill(o.geometry.joint_steps, paper ? 3 : *o.refinement.steps == 0 ? 10 : 0);
}

/// What holds for every method, and for methods that do not use the option.
void fill_rest(TrainOptions& o, const Dataset& data) {
  fill(o.preprocessing.feature_scaling, FeatureScaling::sqrt_l2);
  fill(o.preprocessing.semantic_scaling, SemanticScaling::l2);
  fill(o.preprocessing.semantic_whitening, 0);
  if (data.semantics.tables.empty()) fill(o.preprocessing.semantic_weights, {1.0});
  fill(o.class_space.similarity, Similarity::cosine);
  fill(o.class_space.targets, Targets::semantics);
  fill(o.class_space.shrinkage, 3);
  fill(o.class_space.attribute_steps, 0);
  fill(o.class_space.prior_samples, 300);
  fill(o.class_space.semantic_head, 0);
  fill(o.class_space.prototype_width, *o.class_space.targets == Targets::classes ? 1.2 : 0);
  fill(o.class_space.prototype_lambda, *o.class_space.targets == Targets::classes ? 0.3 : 0.1);
  fill(o.encoder.dimensions, kPaperEncoding);
  fill(o.encoder.rotation, Rotation::random);
  fill(o.gates.kind, GateKind::energy);
  fill(o.gates.networks, 200);
  fill(o.gates.open, 40);
  fill(o.fit.kind, Fit::ridge);
  fill(o.fit.lambda, 1);
  fill(o.fit.semantic_lambda, 1);
  fill(o.fit.shared, false);
  fill(o.fit.c, 0.1);
  fill(o.geometry.weight, 0);
  fill(o.geometry.samples, MmgSamples::active);
  fill(o.geometry.joint_steps, 0);
  fill(o.refinement.steps, 0);
  fill(o.refinement.rate, 1);
  fill(o.refinement.sharpness, 10);
  fill(o.refinement.gate_weight, 0.3);
  fill(o.refinement.balance, 0);
}

}  // namespace

double usual_shrinkage(std::size_t dimensions, double samples) {
  return std::clamp(10 * static_cast<double>(dimensions) / samples, 0.1, 300.0);
}

int most_networks(const Dataset& data) {
  return static_cast<int>(std::clamp<std::size_t>(data.split.trainval.size() / 8, 2, 200));
}

int most_encoding(const Dataset& data) {
  return static_cast<int>(
      std::clamp<std::size_t>(std::min(data.features.cols(), data.split.trainval.size() / 4), 1, 128));
}

TrainOptions prescribed_options(const TrainOptions& options, const Dataset& data) {
  TrainOptions o = options;
  if (o.method == Method::dap) fill(o.preprocessing.semantic_scaling, SemanticScaling::binary);
  // Their scores are products with the class vector by construction.
  const bool unrefined = o.refinement.steps.value_or(0) == 0 && o.class_space.prototype_width.value_or(0) == 0;
  if (o.method == Method::dap || (o.method == Method::eszsl && unrefined))
    fill(o.class_space.similarity, Similarity::dot);
  if (o.preset == Preset::paper) {
    if (o.method == Method::mmg) fill_mmg(o, data);
    fill(o.gates.kind, GateKind::energy);
    const auto d = static_cast<int>(data.features.cols());
    const bool narrow = d < kPaperEncoding;
    fill(o.gates.networks, narrow ? std::min(most_networks(data), d) : 200);
    fill(o.encoder.dimensions, narrow ? divisible_encoding(d, *o.gates.networks) : kPaperEncoding);
    fill(o.gates.open, std::min(paper_open(data), *o.gates.networks));
  }
  return o;
}

std::string reduced_preset(const TrainOptions& resolved, const Dataset& data) {
  if (resolved.preset != Preset::paper || data.features.cols() >= kPaperEncoding) return "";
  return fmt::format(
      "preset paper: the features have {} dimensions, fewer than its encoding of {}: this model has encoding {}, {} "
      "networks, {} open, and is not comparable with the paper's",
      data.features.cols(), kPaperEncoding, *resolved.encoder.dimensions, *resolved.gates.networks,
      *resolved.gates.open);
}

TrainOptions resolve_options(const TrainOptions& options, const Dataset& data) {
  TrainOptions o = prescribed_options(options, data);
  if (o.preset == Preset::automatic) {
    fill(o.encoder.dimensions, most_encoding(data));
    fill(o.gates.networks, most_networks(data));
    fill(o.gates.open, std::min(20, *o.gates.networks));
  } else if (o.method == Method::scln) {
    fill_scln(o, data);
  } else if (o.method == Method::parsnets || o.method == Method::mmg) {
    if (o.method == Method::mmg) fill_mmg(o, data);
    fill_parsnets(o, data);
  }
  fill_rest(o, data);
  return o;
}

}  // namespace parsnets
