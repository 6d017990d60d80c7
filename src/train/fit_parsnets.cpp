#include <algorithm>

#include "base/machine.hpp"
#include "train/fit_checkpoint.hpp"
#include "train/fitter.hpp"
#include "train/place_classes.hpp"

namespace parsnets {

namespace {

/// Refinement holds the samples, their outputs a few times and one matrix per preconditioner.
void check_memory(const Stages& stages, const TrainOptions& options, const Model& model) {
  if (options.run.memory_limit == 0 || !stages.place.kept) return;
  const auto n = static_cast<double>(stages.rows.size()), d = static_cast<double>(stages.data.features.cols()),
             q = static_cast<double>(model.outputs());
  double bytes = 4 * n * d + 12 * d * d + 20 * n * q + 12 * d * q;
  if (!is_one_linear_map(model)) {
    const auto z = static_cast<double>(model.z_dimensions()), networks = static_cast<double>(model.gates.networks);
    bytes += 4 * n * z + 4 * networks * (z + 1) * (z + 1) + 12 * networks * (z + 1) * q;
  }
  require_memory(options.run.memory_limit, bytes, "refinement", "raise the limit or use fewer networks");
}

}  // namespace

void set_linear_map(Model& model, LinearMap map) {
  model.networks = Matrix<float>(map.weights.rows() + 1, map.weights.cols());
  std::ranges::fill(model.networks.row(0), 0.0f);
  std::ranges::copy(map.weights.values(), model.networks.row(1).data());
  model.bias = std::move(map.bias);
}

void set_shared_map(Model& model, LinearMap map) {
  model.shared = std::move(map.weights);
  model.bias = std::move(map.bias);
  model.networks = Matrix<float>(model.gates.networks * (model.z_dimensions() + 1), model.bias.size(), 0.0f);
}

void set_gates(Stages& stages, const GateRequest& request, bool networks_see_encoding, Model& model) {
  const Encoder& encoder = stages.encoding(request.encoder).encoder;
  const Gates& gates = stages.gating(request).gates;
  model.record.encoder = {static_cast<std::size_t>(request.encoder.dimensions), encoder.reconstruction_error};
  model.encoder = {Matrix<float>::copy_of(encoder.weights.view()), encoder.reconstruction_error};
  model.networks_see_encoding = networks_see_encoding;
  model.gates = {gates.kind, gates.networks, gates.open, Matrix<float>::copy_of(gates.anchors.view())};
}

void fit_parsnets(Stages& stages, const TrainOptions& options, Model& model, const DescentObserver& observer,
                  const std::filesystem::path& checkpoint) {
  const auto& o = std::get<ParsNetsOptions>(options.method);
  const FeatureScaling scaling = o.feature_scaling;
  const ClassMap& map = stages.class_map(scaling, o.shrinkage);
  ClassMeans means{stages.classes, stages.class_space(scaling).weights(), Matrix<double>::copy_of(map.means.view())};
  model.targets = Targets::classes;
  model.feature_preprocess = stages.inputs(scaling).preprocess;
  model.semantic_preprocess = fit_place_semantics(o, stages.data.semantics, means);
  LinearMap shared{Matrix<float>::copy_of(map.weights.view()), std::vector<float>(map.weights.cols(), 0.0f)};
  const std::uint64_t seed = options.run.seed;
  const GateRequest gates{{scaling, o.encoding, false, seed}, {GateKind::anchor, o.networks, o.active, seed}};
  if (o.networks == 0) {
    set_linear_map(model, std::move(shared));
  } else {
    set_gates(stages, gates, true, model);
    set_shared_map(model, std::move(shared));
  }
  place_classes(model, means, o);

  const std::string fingerprint = checkpoint.empty() ? "" : fit_fingerprint(stages.data, stages.all_rows, options);
  const bool writes = !checkpoint.empty() && (stages.place.group == nullptr || stages.place.group->rank() == 0);
  const auto watch = [&](int step, Model& moved, const DescentOutputs& outputs) {
    means = {outputs.means.classes, outputs.means.samples, Matrix<double>::copy_of(outputs.means.means.view())};
    place_classes(moved, means, o);
    if (writes && outputs.place.steps > 0) save_refinement(checkpoint, fingerprint, outputs.place, moved);
    return !observer || observer(step, moved, outputs);
  };
  if (o.refine_steps > 0) {
    check_memory(stages, options, model);
    DescentOptions descent;
    descent.steps = o.refine_steps;
    descent.lambda = 1;
    descent.step = o.refine_rate;
    descent.sharpness = o.sharpness;
    descent.gate_weight = o.gate_weight;
    descent.classes_follow = true;
    if (!checkpoint.empty() && options.run.resume && first_process_has(checkpoint, stages.place.group))
      descent.start = load_refinement(checkpoint, fingerprint, model);
    const DescentSamples samples{
        stages.blocks(scaling, o.networks > 0 ? &gates : nullptr), stages.place.kept, stages.labels, {},
        &stages.class_preconditioner(scaling, o.shrinkage),        stages.place.group};
    model.record.refinement = descend(model, samples, descent, stages.pool, stages.progress, watch);
  } else if (observer) {
    observer(0, model, {means});
  }
  fit_attribute_head(model, means);
  if (o.networks > 0) model.record.gates = stages.usage(gates);
}

}  // namespace parsnets
