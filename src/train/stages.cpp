#include "train/stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/linalg.hpp"
#include "data/rows.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "parsnets/error.hpp"
#include "train/place_classes.hpp"

namespace parsnets {

namespace {

std::string input_key(const TrainOptions& o) {
  return fmt::format("{} {}", static_cast<int>(*o.preprocessing.feature_scaling), o.preprocessing.centre);
}

bool in_class_space(const TrainOptions& o) { return *o.class_space.targets == Targets::classes; }

std::string class_map_key(const TrainOptions& o) {
  return in_class_space(o) ? fmt::format("{} {}", input_key(o), *o.class_space.shrinkage) : "";
}

std::string target_key(const TrainOptions& o) {
  const ClassSpaceOptions& places = o.class_space;
  return fmt::format(
      "{} {} {} {}{}", static_cast<int>(*o.preprocessing.semantic_scaling), *o.preprocessing.semantic_whitening,
      fmt::join(o.preprocessing.semantic_weights.value_or(std::vector<double>()), ","), class_map_key(o),
      in_class_space(o) && *places.attribute_steps > 0
          ? fmt::format(" {} {} {}", *places.attribute_steps, *places.prototype_lambda, *places.prototype_width)
          : "");
}

std::string both_keys(const TrainOptions& o) { return fmt::format("{} {}", input_key(o), target_key(o)); }

std::string encoding_key(const TrainOptions& o) {
  return fmt::format("{} {} {} {}", input_key(o), *o.encoder.dimensions, static_cast<int>(*o.encoder.rotation),
                     o.run.seed);
}

std::string gate_key(const TrainOptions& o) {
  return fmt::format("{} {} {} {} {}", encoding_key(o), static_cast<int>(*o.gates.kind), *o.gates.networks,
                     *o.gates.open, static_cast<int>(o.gates.anchors));
}

}  // namespace

double mean_eigenvalue(MatrixView<const float> x) {
  std::vector<double> mean(x.cols(), 0.0);
  double squares = 0;
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t c = 0; c < x.cols(); ++c) {
      mean[c] += x(r, c);
      squares += static_cast<double>(x(r, c)) * x(r, c);
    }
  for (const double sum : mean) squares -= sum * sum / static_cast<double>(x.rows());
  return std::max(squares, 1e-12) / static_cast<double>(x.cols());
}

Stages::Stages(const Dataset& d, std::vector<std::int32_t> r, ThreadPool& p, ProgressObserver* o)
    : data(d), rows(std::move(r)), labels(labels_of(data, rows)), classes(distinct(labels)), pool(p), progress(o) {
  if (classes.size() < 2)
    throw Error(BadInput{data.name, "split", "training samples of at least two classes",
                         fmt::format("{} samples of {} classes", rows.size(), classes.size()), "check the split"});
}

std::string Stages::network_key(const TrainOptions& o) { return fmt::format("{} {}", gate_key(o), target_key(o)); }

void Stages::drop_what_sees_inputs() {
  class_space_.drop();
  ridge_.drop();
  eszsl_.drop();
  sae_.drop();
  preconditioner_.drop();
}

void Stages::release_inputs() {
  drop_what_sees_inputs();
  inputs_.drop();
}

Inputs& Stages::inputs(const TrainOptions& o) {
  return inputs_.get(input_key(o), [&] {
    drop_what_sees_inputs();
    report(progress, {"prepare features", 0, 0, ""});
    Inputs made;
    made.preprocess = fit_feature_preprocess(*o.preprocessing.feature_scaling, o.preprocessing.centre,
                                             data.features.view(), rows, pool);
    made.x = preprocessed_rows(made.preprocess, data.features.view(), rows, pool);
    made.scale = mean_eigenvalue(made.x.view());
    return made;
  });
}

TargetVectors& Stages::targets(const TrainOptions& o) {
  return targets_.get(target_key(o), [&] {
    eszsl_.drop();  // they look at the semantics
    sae_.drop();
    TargetVectors made;
    if (!in_class_space(o)) {
      made.preprocess = fit_semantic_preprocess(o.preprocessing, data.semantics, classes, false);
      made.vectors = preprocessed_semantics(made.preprocess, data.semantics.values.view());
      return made;
    }
    const ClassMap& map = class_map(o);
    made.preprocess = fit_place_semantics(
        o, data.semantics, {classes, class_space(o).weights(), Matrix<double>::copy_of(map.means.view())});
    const Matrix<float> means = to_float(map.means.view());
    made.vectors = Matrix<float>(data.classes(), means.cols(), 0.0f);
    for (std::size_t p = 0; p < classes.size(); ++p)
      std::ranges::copy(means.row(p), made.vectors.row(static_cast<std::size_t>(classes[p])).begin());
    return made;
  });
}

void Stages::set_targets(const TrainOptions& o, const SemanticPreprocess& preprocess) {
  eszsl_.drop();
  sae_.drop();
  targets_.drop();
  beside_class_space_ = true;
  targets_.get(target_key(o), [&] {
    return TargetVectors{preprocess, preprocessed_semantics(preprocess, data.semantics.values.view())};
  });
}

const ClassSpace& Stages::class_space(const TrainOptions& o) {
  return class_space_.get(input_key(o), [&] {
    report(progress, {"statistics", 0, 0, ""});
    Statistics sums(FeatureScaling::none, data.class_names, data.features.cols());
    std::vector<std::int32_t> all(rows.size());
    std::iota(all.begin(), all.end(), 0);
    sums.add(inputs(o).x.view(), labels, all, pool);
    return ClassSpace(sums, pool);
  });
}

const ClassMap& Stages::class_map(const TrainOptions& o) {
  return class_map_.get(class_map_key(o), [&] { return class_space(o).solve(*o.class_space.shrinkage, pool); });
}

bool Stages::has_products(const TrainOptions& o) const {
  return (in_class_space(o) || beside_class_space_) && o.preprocessing.centre;
}

Encoding& Stages::encoding(const TrainOptions& o) {
  return encoding_.get(fmt::format("{} {}", encoding_key(o), has_products(o)), [&] {
    report(progress, {"encode", 0, 0, ""});
    EncoderOptions options;
    options.dimensions = *o.encoder.dimensions;
    options.rotation = *o.encoder.rotation;
    options.seed = o.run.seed;
    Encoding made;
    Matrix<float> products;
    if (has_products(o)) products = class_space(o).products(pool);
    made.encoder = fit_encoder(options, inputs(o).x.view(), pool, products.view());
    made.e = encoded(made.encoder, inputs(o).x.view(), pool);
    return made;
  });
}

Gating& Stages::gating(const TrainOptions& o) {
  return gating_.get(fmt::format("{} {}", gate_key(o), has_products(o)), [&] {
    GateOptions options;
    options.kind = *o.gates.kind;
    options.networks = *o.gates.kind == GateKind::always ? 1 : *o.gates.networks;
    options.open = *o.gates.kind == GateKind::always ? 1 : *o.gates.open;
    options.anchors = o.gates.anchors;
    options.seed = o.run.seed;
    Gating made;
    made.gates = fit_gates(options, encoding(o).e.view(), pool);
    made.open = open_networks(made.gates, encoding(o).e.view(), pool);
    return made;
  });
}

RidgePreconditioner& Stages::preconditioner(const TrainOptions& o, double weight) {
  return preconditioner_.get(fmt::format("{} {} {}", input_key(o), weight, class_map_key(o)), [&] {
    const MatrixView<const float> x = inputs(o).x.view();
    if (!in_class_space(o)) return RidgePreconditioner(x, weight, pool);
    return RidgePreconditioner(x, class_space(o).preconditioner(*o.class_space.shrinkage, pool));
  });
}

Ridge& Stages::ridge(const TrainOptions& o) {
  return *ridge_.get(input_key(o), [&] { return std::make_unique<Ridge>(samples(o), pool); });
}

Eszsl& Stages::eszsl(const TrainOptions& o) {
  return *eszsl_.get(both_keys(o), [&] { return std::make_unique<Eszsl>(samples(o), pool); });
}

Sae& Stages::sae(const TrainOptions& o) {
  return *sae_.get(both_keys(o), [&] { return std::make_unique<Sae>(samples(o), pool); });
}

TrainingSamples Stages::samples(const TrainOptions& o) {
  return {inputs(o).x.view(), labels, targets(o).vectors.view()};
}

GatedSamples Stages::gated_samples(const TrainOptions& o) {
  const Gating& gated = gating(o);
  return {o.fit.input == NetworkInput::encoding ? encoding(o).e.view() : inputs(o).x.view(), gated.open.view(),
          gated.gates.networks};
}

Matrix<float> Stages::sample_semantics(const TrainOptions& o) { return gather_rows(targets(o).vectors.view(), labels); }

}  // namespace parsnets
