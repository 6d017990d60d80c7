#include "train/fit_networks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/linalg.hpp"
#include "base/machine.hpp"
#include "solvers/joint.hpp"

namespace parsnets {

namespace {

/// At most about 100 passes, the first and the last among them.
std::vector<std::size_t> traced_passes(const std::vector<SvrPass>& passes) {
  std::vector<std::size_t> chosen;
  const std::size_t every = passes.size() / 100 + 1;
  for (std::size_t i = 0; i < passes.size(); ++i)
    if (i % every == 0 || i + 1 == passes.size()) chosen.push_back(i);
  return chosen;
}

/// Without times, which would make the bytes of a model differ from run to run.
nlohmann::ordered_json svr_trace(const std::vector<SvrPass>& passes) {
  auto json = nlohmann::ordered_json::array();
  for (const std::size_t i : traced_passes(passes))
    json.push_back({{"pass", passes[i].pass},
                    {"primal", passes[i].primal},
                    {"dual", passes[i].dual},
                    {"gap", passes[i].relative_gap}});
  return json;
}

nlohmann::ordered_json svr_json(const TrainOptions& o, double spread, double relative_gap, bool converged) {
  return {{"c", *o.fit.c},
          {"epsilon", o.fit.epsilon},
          {"target_scale", spread},
          {"relative_gap", relative_gap},
          {"converged", converged}};
}

void set_gates(Stages& stages, const TrainOptions& o, Model& model, nlohmann::ordered_json& record) {
  const Encoding& coded = stages.encoding(o);
  const Gating& gated = stages.gating(o);
  const GateUsage usage = gate_usage(gated.open.view(), gated.gates.networks);
  record["encoder"] = {{"dimensions", *o.encoder.dimensions},
                       {"reconstruction_error", coded.encoder.reconstruction_error}};
  record["gates"] = {{"usage_min", usage.minimum},
                     {"usage_median", usage.median},
                     {"usage_max", usage.maximum},
                     {"usage_entropy", usage.entropy},
                     {"samples_per_network", usage.samples}};

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

void NetworkFitter::fit_svr(const TrainOptions& o, Model& model, nlohmann::ordered_json& record,
                            const std::filesystem::path& checkpoint, TrainRun* run) {
  set_gates(stages_, o, model, record);
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
  const double spread = std::sqrt(mean_eigenvalue(scaled.view()) / static_cast<double>(scaled.rows()));
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
  svr.resume = o.run.resume && !checkpoint.empty() && std::filesystem::exists(checkpoint);
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
    record["svr"] = svr_json(o, spread, joint.relative_gap, joint.converged);
    auto& steps = record["joint"] = nlohmann::ordered_json::array();
    steps.push_back({{"objective", joint.start_objective}, {"mmg", joint.start_mmg}, {"step", 0}});
    for (const auto& step : joint.steps)
      if (step.accepted)
        steps.push_back({{"objective", step.objective}, {"fit", step.fit}, {"mmg", step.mmg}, {"step", step.step}});
    record["orthogonality"] = joint.orthogonality;
    if (run != nullptr) {
      run->flops += joint.flops;
      run->bytes += joint.bytes;
    }
    set_networks(model, std::move(joint.networks), joint.bias, spread);
    warm_beta_ = std::move(joint.start_beta);
  } else {
    SvrResult solved = solve_svr(gated, scaled.view(), svr, stages_.pool, stages_.progress, start);
    record["svr"] = svr_json(o, spread, solved.relative_gap, solved.converged);
    record["svr"]["primal"] = solved.primal;
    record["svr"]["dual"] = solved.dual;
    record["svr"]["passes"] = solved.passes.size();
    record["svr"]["trace"] = svr_trace(solved.passes);
    if (run != nullptr) {
      run->flops += solved.flops;
      run->bytes += solved.bytes;
      run->svr_seconds.clear();
      for (const std::size_t i : traced_passes(solved.passes)) run->svr_seconds.push_back(solved.passes[i].seconds);
    }
    set_networks(model, networks_from_dual(gated, solved.beta.view(), stages_.pool), solved.bias, spread);
    warm_beta_ = std::move(solved.beta);
  }
  warm_key_ = key;
}

void NetworkFitter::fit_shared(const TrainOptions& o, Model& model, nlohmann::ordered_json& record) {
  LinearMap map = solve_ridge(stages_, o);
  if (*o.gates.kind == GateKind::always && !o.fit.relu) return set_linear_map(model, std::move(map));
  set_gates(stages_, o, model, record);
  model.relu = o.fit.relu;
  model.shared = std::move(map.weights);
  model.bias = std::move(map.bias);
  model.networks =
      Matrix<float>(model.gates.networks * (stages_.gated_samples(o).z.cols() + 1), model.bias.size(), 0.0f);
}

}  // namespace parsnets
