#include "train/fit_networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/linalg.hpp"
#include "base/machine.hpp"
#include "solvers/joint.hpp"
#include "solvers/svr_fingerprint.hpp"
#include "solvers/svr_shards.hpp"
#include "train/fit_checkpoint.hpp"

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

SvrCertificate certificate(const TrainOptions& o, double spread, double relative_gap, bool converged) {
  SvrCertificate made;
  made.c = *o.fit.c;
  made.epsilon = o.fit.epsilon;
  made.target_scale = spread;
  made.relative_gap = relative_gap;
  made.converged = converged;
  return made;
}

/// Root mean square deviation of the values of x from the mean of their column, over the rows of all processes.
double spread_of(MatrixView<const float> x, Processes* group) {
  if (group == nullptr || group->size() == 1) return std::sqrt(mean_eigenvalue(x) / static_cast<double>(x.rows()));
  std::vector<double> sums(x.cols() + 2, 0.0);  // of each column, of all squares, rows
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t c = 0; c < x.cols(); ++c) {
      sums[c] += x(r, c);
      sums[x.cols()] += static_cast<double>(x(r, c)) * x(r, c);
    }
  sums[x.cols() + 1] = static_cast<double>(x.rows());
  group->sum(std::span<double>(sums));
  const double rows = sums[x.cols() + 1];
  double squares = sums[x.cols()];
  for (std::size_t c = 0; c < x.cols(); ++c) squares -= sums[c] * sums[c] / rows;
  return std::sqrt(std::max(squares, 1e-12) / static_cast<double>(x.cols()) / rows);
}

void set_gates(Stages& stages, const TrainOptions& o, Model& model) {
  const Encoding& coded = stages.encoding(o);
  const Gating& gated = stages.gating(o);
  model.record.encoder = {static_cast<std::size_t>(*o.encoder.dimensions), coded.encoder.reconstruction_error};
  model.encoder.weights = Matrix<float>::copy_of(coded.encoder.weights.view());
  model.encoder.reconstruction_error = coded.encoder.reconstruction_error;
  model.networks_see_encoding = o.fit.input == NetworkInput::encoding;
  model.gates.kind = gated.gates.kind;
  model.gates.networks = gated.gates.networks;
  model.gates.open = gated.gates.open;
  model.gates.anchors = Matrix<float>::copy_of(gated.gates.anchors.view());
}

/// Networks that were fitted to targets divided by `spread`.
void set_networks(Model& model, Matrix<float> networks, const std::vector<float>& bias, double spread) {
  model.networks = std::move(networks);
  for (float& v : model.networks.values()) v = static_cast<float>(v * spread);
  model.bias.resize(bias.size(), 0.0f);
  for (std::size_t j = 0; j < bias.size(); ++j) model.bias[j] = static_cast<float>(model.bias[j] + bias[j] * spread);
}

}  // namespace

void set_linear_map(Model& model, LinearMap map) {
  model.networks = Matrix<float>(map.weights.rows() + 1, map.weights.cols());
  std::ranges::fill(model.networks.row(0), 0.0f);
  std::ranges::copy(map.weights.values(), model.networks.row(1).data());
  model.bias = std::move(map.bias);
}

LinearMap solve_ridge(Stages& stages, const TrainOptions& o) {
  if (*o.class_space.targets == Targets::classes) {
    const Matrix<float>& weights = stages.class_map(o).weights;
    return {Matrix<float>::copy_of(weights.view()), std::vector<float>(weights.cols(), 0.0f)};
  }
  return stages.ridge(o).solve(*o.fit.lambda * stages.inputs(o).scale, stages.targets(o).vectors.view());
}

void NetworkFitter::fit_svr(const TrainOptions& o, Model& model, const std::filesystem::path& checkpoint,
                            TrainRun* run) {
  if (stages_.place.streamed) stages_.require_all_samples("fit", "svr");
  set_gates(stages_, o, model);
  // Targets of unit variance make C and epsilon mean the same for every semantics.
  Matrix<float> scaled = stages_.sample_semantics(o);
  const std::size_t m = scaled.cols();
  if (*o.fit.shared) {  // the gated networks are fitted to what the shared one leaves
    LinearMap map = solve_ridge(stages_, o);
    const MatrixView<const float> x = stages_.inputs(o).x.view();
    multiply(stages_.pool, Trans::no, x, Trans::no, map.weights.view(), scaled.view(), -1, 1);
    for (std::size_t l = 0; l < scaled.rows(); ++l)
      for (std::size_t j = 0; j < m; ++j) scaled(l, j) -= map.bias[j];
    model.shared = std::move(map.weights);
    model.bias = std::move(map.bias);
  }
  const double spread = spread_of(scaled.view(), stages_.place.group);
  for (float& v : scaled.values()) v = static_cast<float>(v / spread);

  if (o.run.memory_limit > 0 && o.fit.input == NetworkInput::encoding) {
    stages_.release_inputs();
  }
  const GatedSamples gated = stages_.gated_samples(o);
  SvrOptions svr;
  svr.c = *o.fit.c;
  svr.epsilon = o.fit.epsilon;
  svr.tolerance = o.fit.tolerance;
  svr.max_passes = o.fit.max_passes;
  svr.seed = o.run.seed;
  svr.checkpoint = checkpoint;
  if (!checkpoint.empty() && stages_.place.size() > 1) {  // encodings depend on the processes in their last digits
    Fingerprint problem;
    const std::string text = fit_fingerprint(stages_.data, stages_.all_rows, o);
    problem.add(text.data(), text.size());
    svr.problem = problem.get();
  }
  svr.resume = o.run.resume && !checkpoint.empty() && first_process_has(checkpoint, stages_.place.group);
  if (o.run.memory_limit > 0) {
    const std::uint64_t used = resident_memory() + gated.networks * (gated.z.cols() + 1) * m * 4;
    svr.memory_limit = o.run.memory_limit > used ? o.run.memory_limit - used : 1;
  }
  const std::string key = fmt::format("{} {} {} {} {}", Stages::network_key(o), static_cast<int>(o.fit.input),
                                      o.fit.epsilon, *o.fit.shared, *o.fit.shared ? *o.fit.lambda : 0);
  const bool warm = key == warm_key_ && !warm_beta_.empty();
  const MatrixView<const float> start = warm ? MatrixView<const float>(warm_beta_.view()) : MatrixView<const float>();
  if (*o.geometry.joint_steps > 0 && *o.geometry.weight > 0) {
    JointOptions options;
    options.svr = svr;
    options.mmg = *o.geometry.weight;
    options.samples = *o.geometry.samples;
    options.options.floor = o.geometry.floor;
    options.outer_steps = *o.geometry.joint_steps;
    JointResult joint =
        solve_joint(gated, stages_.labels, scaled.view(), options, stages_.pool, stages_.progress, start);
    model.record.svr = certificate(o, spread, joint.relative_gap, joint.converged);
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
    warm_beta_ = std::move(joint.start_beta);
  } else {
    Processes* group = stages_.place.size() > 1 ? stages_.place.group : nullptr;
    SvrResult solved = group != nullptr
                           ? solve_svr(gated, scaled.view(), svr, *group, stages_.pool, stages_.progress, start)
                           : solve_svr(gated, scaled.view(), svr, stages_.pool, stages_.progress, start);
    SvrCertificate& svr_record =
        model.record.svr.emplace(certificate(o, spread, solved.relative_gap, solved.converged));
    svr_record.primal = solved.primal;
    svr_record.dual = solved.dual;
    svr_record.passes = solved.passes.size();
    const auto traced = traced_passes(solved.passes);
    // Without times, which would make the bytes of a model differ from run to run.
    for (const SvrPass& p : traced)
      svr_record.trace.push_back({static_cast<std::size_t>(p.pass), p.primal, p.dual, p.relative_gap});
    if (run != nullptr) {
      run->flops += solved.flops;
      run->bytes += solved.bytes;
      run->svr_seconds.clear();
      for (const SvrPass& p : traced) run->svr_seconds.push_back(p.seconds);
    }
    set_networks(model,
                 group != nullptr ? networks_from_dual(gated, solved.beta.view(), *group, stages_.pool)
                                  : networks_from_dual(gated, solved.beta.view(), stages_.pool),
                 solved.bias, spread);
    warm_beta_ = std::move(solved.beta);
  }
  warm_key_ = key;
}

void NetworkFitter::fit_shared(const TrainOptions& o, Model& model) {
  LinearMap map = solve_ridge(stages_, o);
  if (*o.gates.kind == GateKind::always && !o.fit.relu) return set_linear_map(model, std::move(map));
  set_gates(stages_, o, model);
  model.relu = o.fit.relu;
  model.shared = std::move(map.weights);
  model.bias = std::move(map.bias);
  model.networks = Matrix<float>(model.gates.networks * (model.z_dimensions() + 1), model.bias.size(), 0.0f);
}

}  // namespace parsnets
