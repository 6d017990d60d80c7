#include <algorithm>

#include "base/machine.hpp"
#include "data/sample_set.hpp"
#include "eval/scoring.hpp"
#include "train/fitter.hpp"

namespace parsnets {

namespace {

double sum_of_squares(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * v;
  return sum;
}

/// A reverse map with its offset as the last row.
void set_reverse_map(Model& model, const LinearMap& map) {
  model.direction = Direction::reverse;
  model.reverse = Matrix<float>(map.weights.rows() + 1, map.weights.cols());
  std::ranges::copy(map.weights.values(), model.reverse.data());
  std::ranges::copy(map.bias, model.reverse.row(map.weights.rows()).begin());
}

/// Closed forms hold the prepared samples, sums over classes and a few matrices of d x d; some need n x m beside them.
void check_memory(const Stages& stages, const TrainOptions& options, Baseline kind) {
  if (!stages.place.kept) return;  // place_samples() has seen to it
  const std::size_t classes = stages.data.classes(), attributes = stages.data.semantics.values.cols();
  const auto n = static_cast<double>(stages.rows.size()), d = static_cast<double>(stages.data.features.cols()),
             p = static_cast<double>(stages.classes.size()), m = static_cast<double>(attributes);
  double bytes = 4 * n * d + 8 * n + 16 * p * d + 24 * p * m + 28 * d * d + 16 * d * m;
  if (kind == Baseline::dap || kind == Baseline::reverse_ridge) bytes += 8 * n * m;
  require_memory(options.run.memory_limit, bytes + scoring_bytes(classes, attributes, stages.data.features.cols()),
                 "training", "raise the limit or use fewer samples or features");
}

}  // namespace

std::span<const char* const> baseline_names() {
  static constexpr const char* kNames[] = {"ridge", "reverse-ridge", "eszsl", "sae", "sae-reverse", "dap"};
  return kNames;
}

void fit_baseline(Stages& stages, const TrainOptions& options, Model& model) {
  const auto& o = std::get<BaselineOptions>(options.method);
  check_memory(stages, options, o.kind);
  const Inputs& in = stages.inputs(o.feature_scaling);
  SemanticOptions semantics = o.semantics;
  if (o.kind == Baseline::dap) semantics.scaling = SemanticScaling::binary;  // its attributes are yes or no
  const TargetVectors targets = stages.targets(semantics);
  model.feature_preprocess = in.preprocess;
  model.semantic_preprocess = targets.preprocess;
  model.semantic_centre = targets.centre;
  const SummedSamples sums = stages.sums(o.feature_scaling, targets);
  switch (o.kind) {
    case Baseline::ridge: set_linear_map(model, solve_ridge(sums, o.lambda * in.scale, stages.pool)); break;
    case Baseline::reverse_ridge: {
      stages.require_all_samples("method", "reverse-ridge");
      const double scale = mean_eigenvalue(gather_rows(targets.vectors.view(), stages.labels).view());
      set_reverse_map(model, solve_reverse_ridge(sums, o.lambda * scale, stages.pool));
      break;
    }
    case Baseline::eszsl: {
      model.similarity = Similarity::dot;  // its scores are products with the class vector by construction
      double squares = 0;
      for (const auto c : stages.classes) squares += sum_of_squares(targets.vectors.row(static_cast<std::size_t>(c)));
      const double semantic = o.semantic_lambda * squares / static_cast<double>(targets.vectors.cols());
      set_linear_map(model, solve_eszsl(sums, o.lambda * in.scale, semantic, stages.pool));
      break;
    }
    case Baseline::sae:
    case Baseline::sae_reverse: {
      SaeMaps maps = solve_sae(sums, o.lambda, stages.pool);
      if (o.kind == Baseline::sae)
        set_linear_map(model, std::move(maps.forward));
      else
        set_reverse_map(model, maps.reverse);
      break;
    }
    case Baseline::dap: {
      stages.require_all_samples("method", "dap");
      model.similarity = Similarity::dot;
      DapResult dap =
          solve_dap(sums, in.x.view(), stages.labels, o.lambda * in.scale / 4, stages.pool, stages.progress);
      model.record.dap = {static_cast<std::size_t>(dap.iterations), dap.relative_gradient};
      set_linear_map(model, std::move(dap.map));
      break;
    }
  }
}

}  // namespace parsnets
