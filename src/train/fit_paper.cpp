#include <algorithm>
#include <cmath>

#include "base/machine.hpp"
#include "data/sample_set.hpp"
#include "solvers/descent.hpp"
#include "solvers/joint.hpp"
#include "solvers/preconditioner.hpp"
#include "solvers/svr.hpp"
#include "train/fitter.hpp"
#include "train/train_run.hpp"

namespace parsnets {

namespace {

/// At most about 100 passes, the first and the last among them.
std::vector<SvrPass> traced_passes(const std::vector<SvrPass>& passes) {
  std::vector<SvrPass> chosen;
  const std::size_t every = passes.size() / 100 + 1;
  for (std::size_t i = 0; i < passes.size(); ++i)
    if (i % every == 0 || i + 1 == passes.size()) chosen.push_back(passes[i]);
  return chosen;
}

/// Networks that were fitted to targets divided by `spread`.
void set_networks(Model& model, Matrix<float> networks, const std::vector<float>& bias, double spread) {
  model.networks = std::move(networks);
  for (float& v : model.networks.values()) v = static_cast<float>(v * spread);
  for (const float b : bias) model.bias.push_back(static_cast<float>(b * spread));
}

}  // namespace

void PaperFitter::fit(const TrainOptions& options, Model& model, TrainRun* run) {
  const auto& o = std::get<PaperOptions>(options.method);
  stages_.require_all_samples("method", "paper");
  const std::uint64_t seed = options.run.seed;
  const GateRequest gates{{o.feature_scaling, o.encoding, o.random_rotation, seed},
                          {o.gates, o.networks, o.active, seed}};
  const TargetVectors targets = stages_.targets(o.semantics);
  model.feature_preprocess = stages_.inputs(o.feature_scaling).preprocess;
  model.semantic_preprocess = targets.preprocess;
  model.semantic_centre = targets.centre;
  model.similarity = o.similarity;
  set_gates(stages_, gates, o.networks_see_encoding, model);
  if (!o.ridge)
    fit_svr(options, gates, targets, model, run);
  else
    fit_ridge(options, gates, targets, model);
  model.record.gates = stages_.usage(gates);
}

void PaperFitter::fit_svr(const TrainOptions& options, const GateRequest& gates, const TargetVectors& targets,
                          Model& model, TrainRun* run) {
  const auto& o = std::get<PaperOptions>(options.method);
  // Targets of unit variance make C and epsilon mean the same for every semantics.
  Matrix<float> scaled = gather_rows(targets.vectors.view(), stages_.labels);
  const double spread = std::sqrt(mean_eigenvalue(scaled.view()) / static_cast<double>(scaled.rows()));
  for (float& v : scaled.values()) v = static_cast<float>(v / spread);

  const bool sees_encoding = o.networks_see_encoding;
  if (options.run.memory_limit > 0 && sees_encoding) stages_.release_inputs();
  const Gating& gated = stages_.gating(gates);
  const GatedSamples samples{
      sees_encoding ? stages_.encoding(gates.encoder).e.view() : stages_.inputs(o.feature_scaling).x.view(),
      gated.active.view(), gated.gates.networks};
  SvrOptions svr{
      .c = o.c, .epsilon = o.epsilon, .tolerance = o.tolerance, .max_passes = o.max_passes, .seed = options.run.seed};
  if (options.run.memory_limit > 0) {
    const std::uint64_t used = resident_memory() + samples.networks * (samples.z.cols() + 1) * scaled.cols() * 4;
    svr.memory_limit = options.run.memory_limit > used ? options.run.memory_limit - used : 1;
  }
  const bool warm = !last_beta_.empty() && last_.gates == gates && last_.sees_encoding == o.networks_see_encoding &&
                    last_.epsilon == o.epsilon && std::ranges::equal(last_.targets.values(), scaled.values());
  const MatrixView<const float> start = warm ? MatrixView<const float>(last_beta_.view()) : MatrixView<const float>();
  if (o.joint_steps > 0 && o.mmg > 0) {
    const JointOptions joint_options{.svr = svr, .mmg = o.mmg, .outer_steps = o.joint_steps};
    JointResult joint =
        solve_joint(samples, stages_.labels, scaled.view(), joint_options, stages_.pool, stages_.progress, start);
    model.record.svr = {o.c, o.epsilon, spread, joint.relative_gap, joint.converged, {}, {}, 0, {}};
    constexpr auto none = std::nullopt;
    model.record.joint = {{joint.start_objective, none, none, joint.start_mmg, 0, none}};
    for (const auto& step : joint.steps)
      if (step.accepted) model.record.joint.push_back({step.objective, step.fit, none, step.mmg, step.step, none});
    model.record.orthogonality = joint.orthogonality;
    if (run != nullptr) {
      run->flops += joint.flops;
      run->bytes += joint.bytes;
    }
    set_networks(model, std::move(joint.networks), joint.bias, spread);
    last_beta_ = std::move(joint.start_beta);
  } else {
    SvrResult solved = solve_svr(samples, scaled.view(), svr, stages_.pool, stages_.progress, start);
    SvrCertificate made{
        o.c, o.epsilon, spread, solved.relative_gap, solved.converged, solved.primal, solved.dual, solved.passes.size(),
        {}};
    const auto traced = traced_passes(solved.passes);
    // Without times, which would make the bytes of a model differ from run to run.
    for (const SvrPass& p : traced)
      made.trace.push_back({static_cast<std::size_t>(p.pass), p.primal, p.dual, p.relative_gap});
    model.record.svr = std::move(made);
    if (run != nullptr) {
      run->flops += solved.flops;
      run->bytes += solved.bytes;
      run->svr_seconds.clear();
      for (const SvrPass& p : traced) run->svr_seconds.push_back(p.seconds);
    }
    set_networks(model, networks_from_dual(samples, solved.beta.view(), stages_.pool), solved.bias, spread);
    last_beta_ = std::move(solved.beta);
  }
  last_ = {gates, o.networks_see_encoding, o.epsilon, std::move(scaled)};
}

void PaperFitter::fit_ridge(const TrainOptions& options, const GateRequest& gates, const TargetVectors& targets,
                            Model& model) {
  const auto& o = std::get<PaperOptions>(options.method);
  const Inputs& in = stages_.inputs(o.feature_scaling);
  model.relu = o.relu;
  set_shared_map(model, solve_ridge(stages_.sums(o.feature_scaling, targets), o.lambda * in.scale, stages_.pool));
  if (o.joint_steps == 0) return;
  const Matrix<float> wanted = gather_rows(targets.vectors.view(), stages_.labels);
  const auto n = static_cast<double>(stages_.rows.size()), d = static_cast<double>(stages_.data.features.cols()),
             q = static_cast<double>(wanted.cols()), z = static_cast<double>(model.z_dimensions()),
             networks = static_cast<double>(model.gates.networks);
  require_memory(options.run.memory_limit,
                 4 * n * (d + z) + 12 * d * d + 20 * n * q + 12 * d * q + networks * (z + 1) * (4 * (z + 1) + 12 * q),
                 "the joint fit", "raise the limit or use fewer networks");
  DescentOptions descent;
  descent.loss = DescentLoss::squared;
  descent.steps = o.joint_steps;
  descent.lambda = o.lambda;
  descent.mmg = o.mmg;
  // The ridge weight in units of the scaled loss.
  descent.decay = o.lambda * in.scale / (mean_eigenvalue(wanted.view()) * q);
  const Cholesky<float> preconditioner = ridge_preconditioner(
      stages_.class_space(o.feature_scaling).products(stages_.pool).view(), o.lambda, stages_.pool);
  const DescentSamples samples{stages_.blocks(o.feature_scaling, &gates, !o.networks_see_encoding),
                               true,
                               stages_.labels,
                               targets.vectors.view(),
                               &preconditioner,
                               nullptr};
  model.record.joint = descend(model, samples, descent, stages_.pool, stages_.progress);
}

}  // namespace parsnets
