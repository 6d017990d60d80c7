#include "train/refinement.hpp"

#include <algorithm>

#include "base/memory_limit.hpp"
#include "data/rows.hpp"
#include "train/fit_checkpoint.hpp"
#include "train/fit_prototypes.hpp"
#include "train/place_classes.hpp"

namespace parsnets {

namespace {

std::vector<ObjectiveStep> trace_of(const std::vector<DescentStep>& steps) {
  std::vector<ObjectiveStep> trace;
  trace.reserve(steps.size());
  for (const auto& step : steps)
    trace.push_back({step.objective, std::nullopt, step.loss, step.mmg, step.step, step.slope});
  return trace;
}

DescentSamples descent_samples(Stages& stages, const TrainOptions& o, const Model& model,
                               MatrixView<const float> classes_as) {
  DescentSamples s;
  s.labels = stages.labels;
  s.semantics = classes_as;
  s.group = stages.place.group;
  const bool gated = !is_one_linear_map(model);
  if (stages.place.streamed) {
    s.blocks = stages.blocks(o, gated);
    return s;
  }
  s.x = stages.inputs(o).x.view();
  if (!gated) return s;
  const GatedSamples samples = stages.gated_samples(o);
  s.z = samples.z;
  s.open = samples.open;
  return s;
}

/// Descent holds the samples, their outputs a few times and one matrix per preconditioner; it has no smaller form.
void check_memory(const Stages& stages, const TrainOptions& o, const Model& model) {
  if (o.run.memory_limit == 0 || stages.by_sums()) return;  // train() has seen to it
  const auto n = static_cast<double>(stages.rows.size()), d = static_cast<double>(stages.data.features.cols()),
             q = static_cast<double>(model.outputs()), side = std::min(n, d);
  double bytes = 4 * n * d + 12 * side * side + 20 * n * q + 12 * d * q;
  if (!is_one_linear_map(model)) {
    const auto z = static_cast<double>(model.z_dimensions()), networks = static_cast<double>(model.gates.networks);
    bytes += 4 * n * z + 4 * networks * (z + 1) * (z + 1) + 12 * networks * (z + 1) * q;
  }
  require_memory(o.run.memory_limit, bytes, "refinement", "raise the limit or use fewer networks");
}

}  // namespace

void join_fit_and_mmg(Stages& stages, const TrainOptions& o, Model& model) {
  const Matrix<float>& semantics = stages.targets(o).vectors;
  check_memory(stages, o, model);
  DescentSamples s = descent_samples(stages, o, model, semantics.view());
  const Matrix<float> outputs_wanted = stages.sample_semantics(o);
  DescentOptions options;
  options.loss = DescentLoss::squared;
  options.steps = *o.geometry.joint_steps;
  options.lambda = *o.fit.lambda;
  options.gate_weight = std::max(*o.refinement.gate_weight, 1e-9);
  options.mmg = *o.geometry.weight;
  options.mmg_floor = o.geometry.floor;
  // The ridge weight in units of the scaled loss.
  options.decay = *o.fit.lambda * stages.inputs(o).scale /
                  (mean_eigenvalue(outputs_wanted.view()) * static_cast<double>(outputs_wanted.cols()));
  s.preconditioner = &stages.preconditioner(o, *o.fit.lambda);
  model.record.joint = trace_of(descend(model, s, options, stages.pool, stages.progress));
}

void refine(Stages& stages, const TrainOptions& o, Model& model, const DescentObserver& observer,
            const std::filesystem::path& checkpoint) {
  const bool in_class_space = model.targets == Targets::classes;
  if (*o.refinement.steps == 0 && *o.class_space.prototype_width == 0 && !observer && !in_class_space) return;
  if (model.direction != Direction::forward) {
    if (observer) observer(0, model, {{}, {}});
    return;
  }
  if (*o.class_space.prototype_width > 0 && !in_class_space) stages.require_all_samples("prototype-width");
  const Matrix<float> vectors = in_class_space ? Matrix<float>() : model.class_vectors();
  Matrix<float> last;
  ClassMeans means;
  const std::string fingerprint = checkpoint.empty() ? "" : fit_fingerprint(stages.data, stages.all_rows, o);
  const bool writes = !checkpoint.empty() && (stages.place.group == nullptr || stages.place.group->rank() == 0);
  const auto watch = [&](int step, Model& moved, const DescentOutputs& outputs) {
    if (in_class_space) {
      means = {outputs.means.classes, outputs.means.samples, Matrix<double>::copy_of(outputs.means.means.view())};
      place_classes(moved, means, o.class_space);
    } else if (*o.class_space.prototype_width > 0) {
      last = Matrix<float>::copy_of(outputs.f);
    }
    if (writes && outputs.place.steps > 0) save_refinement(checkpoint, fingerprint, outputs.place, moved);
    return !observer || observer(step, moved, outputs);
  };
  DescentOptions options;
  options.steps = *o.refinement.steps;
  options.lambda = o.refinement.lambda > 0 ? o.refinement.lambda : *o.fit.lambda;
  options.step = *o.refinement.rate;
  options.sharpness = *o.refinement.sharpness;
  options.gate_weight = *o.refinement.gate_weight;
  options.mmg = *o.geometry.weight;
  options.mmg_floor = o.geometry.floor;
  options.balance = *o.refinement.balance;
  options.classes_follow = in_class_space;
  if (*o.refinement.steps > 0 || (stages.by_sums() && in_class_space && *o.fit.kind == Fit::svr)) {
    check_memory(stages, o, model);
    DescentSamples s = descent_samples(stages, o, model, vectors.view());
    if (is_one_linear_map(model) || !model.shared.empty()) s.preconditioner = &stages.preconditioner(o, options.lambda);
    if (!checkpoint.empty() && o.run.resume && first_process_has(checkpoint, stages.place.group))
      options.start = load_refinement(checkpoint, fingerprint, model);
    const auto steps = descend(model, s, options, stages.pool, stages.progress, watch);
    if (*o.refinement.steps > 0) model.record.refinement = trace_of(steps);
  } else if (stages.by_sums()) {
    ClassMeans of_closed_form;  // the gated networks are still zero
    if (in_class_space)
      of_closed_form = {stages.classes, stages.class_space(o).weights(),
                        Matrix<double>::copy_of(stages.class_map(o).means.view())};
    watch(0, model, {of_closed_form, {}});
  } else {
    Matrix<float> f;  // of the training samples: prototypes alone need it
    if (*o.class_space.prototype_width > 0 || in_class_space)
      f = model.predict(gather_rows(stages.data.features.view(), stages.rows).view(), stages.pool);
    watch(0, model, {class_means(f.view(), stages.labels), f.view()});
  }
  if (in_class_space)
    fit_attribute_head(model, means);
  else if (!last.empty())
    model.prototypes = fit_prototypes(last.view(), stages.labels, vectors.view(), model.semantic_centre,
                                      *o.class_space.prototype_width, *o.class_space.prototype_lambda);
}

}  // namespace parsnets
