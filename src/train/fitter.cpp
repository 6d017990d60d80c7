#include "train/fitter.hpp"

#include <algorithm>

#include "base/memory_limit.hpp"
#include "eval/score_source.hpp"
#include "train/fit_networks.hpp"
#include "train/join_heads.hpp"
#include "train/refinement.hpp"
#include "train/stages.hpp"

namespace parsnets {

namespace {

double sum_of_squares(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * v;
  return sum;
}

/// A model without networks: preprocessing, class bank and what classes have in common.
Model start(Stages& stages, const TrainOptions& o) {
  Model model;
  model.dimensions = stages.data.features.cols();
  model.feature_preprocess = stages.inputs(o).preprocess;
  model.semantic_preprocess = stages.targets(o).preprocess;
  model.targets = *o.class_space.targets;
  const Matrix<float>& prepared = stages.targets(o).vectors;
  model.semantic_centre.assign(prepared.cols(), 0.0f);
  for (std::size_t a = 0; a < prepared.cols(); ++a) {
    double sum = 0;
    for (const auto c : stages.classes) sum += prepared(static_cast<std::size_t>(c), a);
    model.semantic_centre[a] = static_cast<float>(sum / static_cast<double>(stages.classes.size()));
  }
  model.similarity = *o.class_space.similarity;
  model.classes.names = stages.data.class_names;
  model.classes.semantics = Matrix<float>::copy_of(stages.data.semantics.values.view());
  model.classes.seen.assign(stages.data.classes(), 0);
  for (const auto c : stages.classes) model.classes.seen[static_cast<std::size_t>(c)] = 1;
  model.attribute_names = stages.data.semantics.attribute_names;
  return model;
}

/// A reverse map with its offset as the last row.
void set_reverse_map(Model& model, const LinearMap& map) {
  model.direction = Direction::reverse;
  model.reverse = Matrix<float>(map.weights.rows() + 1, map.weights.cols());
  std::ranges::copy(map.weights.values(), model.reverse.data());
  std::ranges::copy(map.bias, model.reverse.row(map.weights.rows()).begin());
}

/// Closed forms hold the prepared samples, sums over classes and a few matrices of the smaller side.
void check_memory(const Stages& stages, const TrainOptions& o) {
  const std::size_t classes = stages.data.classes(), attributes = stages.data.semantics.values.cols();
  const auto n = static_cast<double>(stages.rows.size()), d = static_cast<double>(stages.data.features.cols()),
             p = static_cast<double>(stages.classes.size()), m = static_cast<double>(attributes), side = std::min(n, d);
  if (stages.by_sums()) return;  // train() has seen to it
  double bytes = 4 * n * d + 8 * n + 16 * p * d + 24 * p * m + 28 * side * side + 16 * d * m;
  if (o.method != Method::ridge && o.method != Method::eszsl) bytes += 8 * n * m;
  require_memory(o.run.memory_limit, bytes + scoring_bytes(classes, attributes, stages.data.features.cols()),
                 "training", "raise the limit or use fewer samples or features");
}

void fit_eszsl(Stages& stages, const TrainOptions& o, Model& model) {
  Eszsl& eszsl = stages.eszsl(o);
  const auto semantics = stages.targets(o).vectors.view();
  double squares = 0;
  for (const auto c : stages.classes) squares += sum_of_squares(semantics.row(static_cast<std::size_t>(c)));
  set_linear_map(model, eszsl.solve(*o.fit.lambda * stages.inputs(o).scale,
                                    *o.fit.semantic_lambda * squares / static_cast<double>(semantics.cols())));
  // Its products know no centre, so that a cosine measures its outputs from zero.
  if (*o.class_space.similarity == Similarity::cosine) model.bias = model.semantic_centre;
}

void fit_sae(Stages& stages, const TrainOptions& o, Model& model) {
  Sae& sae = stages.sae(o);
  // At lambda = 1 both terms of the objective weigh the same relative to their data.
  double squares = stages.inputs(o).scale * static_cast<double>(stages.data.features.cols()), targets = 0;
  if (stages.by_sums()) {
    const Statistics& sums = stages.sums(o);
    for (const auto c : stages.classes)
      targets += sums.class_weights()[static_cast<std::size_t>(c)] *
                 sum_of_squares(stages.targets(o).vectors.row(static_cast<std::size_t>(c)));
  } else {
    squares = sum_of_squares(stages.samples(o).x.values());
    targets = sum_of_squares(stages.sample_semantics(o).values());
  }
  const double balance = squares / std::max(1e-12, targets);
  SaeMaps maps = sae.solve(*o.fit.lambda * balance);
  if (o.method == Method::sae)
    set_linear_map(model, std::move(maps.forward));
  else
    set_reverse_map(model, maps.reverse);
}

void fit_dap(Stages& stages, const TrainOptions& o, Model& model) {
  DapResult dap =
      solve_dap(stages.samples(o), *o.fit.lambda * stages.inputs(o).scale / 4, stages.pool, stages.progress);
  model.record.dap = {static_cast<std::size_t>(dap.iterations), dap.relative_gradient};
  set_linear_map(model, std::move(dap.map));
}

}  // namespace

struct Fitter::State {
  Stages stages;
  NetworkFitter networks{stages};

  Model fit(const TrainOptions& o, const std::filesystem::path& checkpoint, TrainRun* run,
            const DescentObserver& observer);
};

Fitter::Fitter(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress,
               SamplePlace place)
    : state_(new State{Stages(data, std::move(rows), pool, progress, place)}) {}

Fitter::~Fitter() = default;

Model Fitter::fit(const TrainOptions& o, const std::filesystem::path& checkpoint, TrainRun* run,
                  const DescentObserver& observer) {
  Model model = state_->fit(o, checkpoint, run, observer);
  if (*o.class_space.targets != Targets::classes || *o.class_space.semantic_head == 0) return model;
  return join_heads(std::move(model), fit_head(o), *o.class_space.semantic_head);
}

const SemanticPreprocess& Fitter::semantics(const TrainOptions& o) { return state_->stages.targets(o).preprocess; }

Model Fitter::fit_head(const TrainOptions& o) {
  const TrainOptions head = semantic_head_options(o, state_->stages.data);
  const SemanticPreprocess shared = semantics(o);
  state_->stages.set_targets(head, shared);
  Model model = state_->fit(head, {}, nullptr, {});
  state_->stages.drop_targets();  // they are those of no other fit
  return model;
}

Model Fitter::State::fit(const TrainOptions& o, const std::filesystem::path& checkpoint, TrainRun* run,
                         const DescentObserver& observer) {
  const bool closed_form = o.method != Method::parsnets && o.method != Method::mmg && o.method != Method::scln;
  if (closed_form) check_memory(stages, o);
  Model model = start(stages, o);
  switch (o.method) {
    case Method::parsnets:
    case Method::mmg:
    case Method::scln:
      if (*o.fit.kind == Fit::svr) {
        networks.fit_svr(o, model, checkpoint, run);
      } else {
        networks.fit_shared(o, model);
        if (*o.geometry.joint_steps > 0) {
          stages.require_all_samples("joint-steps");
          join_fit_and_mmg(stages, o, model);
        }
      }
      break;
    case Method::ridge: set_linear_map(model, solve_ridge(stages, o)); break;
    case Method::reverse_ridge: {
      stages.require_all_samples("method", "reverse-ridge");
      const double scale = mean_eigenvalue(stages.sample_semantics(o).view());
      set_reverse_map(model, solve_reverse_ridge(stages.samples(o), *o.fit.lambda * scale, stages.pool));
      break;
    }
    case Method::eszsl: fit_eszsl(stages, o, model); break;
    case Method::sae:
    case Method::sae_reverse: fit_sae(stages, o, model); break;
    case Method::dap:
      stages.require_all_samples("method", "dap");
      fit_dap(stages, o, model);
      break;
  }
  refine(stages, o, model, observer,
         checkpoint.empty() ? checkpoint : std::filesystem::path(checkpoint.string() + ".steps"));
  if (model.record.encoder) model.record.gates = stages.usage(o);
  return model;
}

}  // namespace parsnets
