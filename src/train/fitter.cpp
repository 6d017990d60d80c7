#include "train/fitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/linalg.hpp"
#include "base/machine.hpp"
#include "base/options.hpp"
#include "data/rows.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "model/fit_gates.hpp"
#include "model/names.hpp"
#include "parsnets/error.hpp"
#include "train/baselines/linear_map.hpp"
#include "train/fit_prototypes.hpp"
#include "train/joint.hpp"
#include "train/preconditioner.hpp"
#include "train/svr.hpp"

namespace parsnets {

namespace {

/// A value that is remade only when its key changes.
template <class T>
class Stage {
 public:
  template <class Make>
  T& get(const std::string& key, Make make) {
    if (!value_ || key != key_) {
      value_.reset();  // free the old one first
      value_.emplace(make());
      key_ = key;
    }
    return *value_;
  }
  void drop() { value_.reset(); }

 private:
  std::string key_;
  std::optional<T> value_;
};

struct Inputs {
  FeaturePreprocess preprocess;
  Matrix<float> x;   ///< n x d
  double scale = 1;  ///< mean eigenvalue of the centred XᵀX
};

struct Encoding {
  Encoder encoder;
  Matrix<float> e;  ///< n x h
};

struct Gating {
  Gates gates;
  Matrix<std::uint16_t> open;  ///< n x k
};

struct Targets {
  SemanticPreprocess preprocess;
  Matrix<float> semantics;  ///< C x m
};

/// Mean eigenvalue of the centred second moment: Σ‖x − x̄‖² / d.
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

double sum_of_squares(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * v;
  return sum;
}

Matrix<float> copy(const Matrix<float>& m) { return Matrix<float>::copy_of(m.view()); }

/// A linear map as the one network of a composite model: its bias is the global one.
Matrix<float> as_network(const LinearMap& map) {
  Matrix<float> network(map.weights.rows() + 1, map.weights.cols());
  std::fill(network.row(0).begin(), network.row(0).end(), 0.0f);
  std::copy(map.weights.values().begin(), map.weights.values().end(), network.row(1).data());
  return network;
}

nlohmann::ordered_json trace_json(const std::vector<DescentStep>& steps) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& step : steps)
    json.push_back({{"objective", step.objective},
                    {"loss", step.loss},
                    {"mmg", step.mmg},
                    {"step", step.step},
                    {"slope", step.slope}});
  return json;
}

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
  return {{"c", o.c},
          {"epsilon", o.epsilon},
          {"target_scale", spread},
          {"relative_gap", relative_gap},
          {"converged", converged}};
}

/// A reverse map with its offset as the last row.
Matrix<float> as_reverse(const LinearMap& map) {
  Matrix<float> reverse(map.weights.rows() + 1, map.weights.cols());
  std::copy(map.weights.values().begin(), map.weights.values().end(), reverse.data());
  std::copy(map.bias.begin(), map.bias.end(), reverse.row(map.weights.rows()).begin());
  return reverse;
}

}  // namespace

struct Fitter::State {
  const Dataset& data;
  std::vector<std::int32_t> rows, labels, classes;
  ThreadPool& pool;
  ProgressObserver* progress;
  Stage<Inputs> inputs;
  Stage<Encoding> encoding;
  Stage<Gating> gating;
  Stage<Targets> targets;
  Stage<RidgePreconditioner> preconditioner;
  Stage<std::unique_ptr<Ridge>> ridge;
  Stage<std::unique_ptr<Eszsl>> eszsl;
  Stage<std::unique_ptr<Sae>> sae;
  std::string warm_key;
  Matrix<float> warm_beta;

  State(const Dataset& d, std::vector<std::int32_t> r, ThreadPool& p, ProgressObserver* o)
      : data(d), rows(std::move(r)), pool(p), progress(o) {
    labels = labels_of(data, rows);
    classes = distinct(labels);
    if (classes.size() < 2)
      throw Error(BadInput{data.name, "split", "training samples of at least two classes",
                           fmt::format("{} samples of {} classes", rows.size(), classes.size()),
                           "check the split with 'parsnets data inspect'"});
  }

  static std::string input_key(const TrainOptions& o) {
    return fmt::format("{} {}", static_cast<int>(o.feature_scaling), o.centre);
  }

  void drop_what_sees_inputs() {
    ridge.drop();
    eszsl.drop();
    sae.drop();
    preconditioner.drop();
  }

  Inputs& prepare_inputs(const TrainOptions& o) {
    return inputs.get(input_key(o), [&] {
      drop_what_sees_inputs();
      report(progress, {"prepare features", 0, 0, ""});
      Inputs made;
      made.preprocess = fit_feature_preprocess(o.feature_scaling, o.centre, data.features.view(), rows, pool);
      made.x = preprocessed_rows(made.preprocess, data.features.view(), rows, pool);
      made.scale = mean_eigenvalue(made.x.view());
      return made;
    });
  }

  static std::string target_key(const TrainOptions& o) {
    return fmt::format("{} {}", static_cast<int>(o.semantic_scaling), o.semantic_whitening);
  }

  Targets& prepare_targets(const TrainOptions& o) {
    return targets.get(target_key(o), [&] {
      eszsl.drop();  // they look at the semantics
      sae.drop();
      Targets made;
      made.preprocess =
          fit_semantic_preprocess(o.semantic_scaling, data.semantics.values.view(), classes, o.semantic_whitening);
      made.semantics = preprocessed_semantics(made.preprocess, data.semantics.values.view());
      return made;
    });
  }

  static std::string both_keys(const TrainOptions& o) { return fmt::format("{} {}", input_key(o), target_key(o)); }

  /// The semantics of each training sample's class: n x m.
  Matrix<float> sample_semantics(const TrainOptions& o) {
    return gather_rows(prepare_targets(o).semantics.view(), labels);
  }

  TrainingSamples samples(const TrainOptions& o) {
    return {prepare_inputs(o).x.view(), labels, prepare_targets(o).semantics.view()};
  }

  Model start(const TrainOptions& o) {
    Model model;
    model.feature_dimensions = data.features.cols();
    model.feature_preprocess = prepare_inputs(o).preprocess;
    model.semantic_preprocess = prepare_targets(o).preprocess;
    const Matrix<float>& prepared = prepare_targets(o).semantics;
    model.semantic_centre.assign(prepared.cols(), 0.0f);
    for (std::size_t a = 0; a < prepared.cols(); ++a) {
      double sum = 0;
      for (const auto c : classes) sum += prepared(static_cast<std::size_t>(c), a);
      model.semantic_centre[a] = static_cast<float>(sum / static_cast<double>(classes.size()));
    }
    model.similarity = o.similarity;
    model.classes.names = data.class_names;
    model.classes.semantics = copy(data.semantics.values);
    model.classes.seen.assign(data.classes(), 0);
    for (const auto c : classes) model.classes.seen[static_cast<std::size_t>(c)] = 1;
    model.attribute_names = data.semantics.attribute_names;
    return model;
  }

  void set_forward(Model& model, LinearMap map) {
    model.networks = as_network(map);
    model.bias = std::move(map.bias);
  }

  void set_reverse(Model& model, const LinearMap& map) {
    model.direction = Direction::reverse;
    model.reverse = as_reverse(map);
  }

  static std::string encoding_key(const TrainOptions& o);
  static std::string gate_key(const TrainOptions& o);
  Encoding& prepare_encoding(const TrainOptions& o);
  Gating& prepare_gating(const TrainOptions& o);
  RidgePreconditioner& precondition(const TrainOptions& o, double weight);
  GatedSamples gated_samples(const TrainOptions& o);
  DescentSamples descent_samples(const TrainOptions& o, const Model& model, MatrixView<const float> classes_as);
  LinearMap solve_ridge(const TrainOptions& o);
  void set_gates(const TrainOptions& o, Model& model, nlohmann::ordered_json& record);
  void set_networks(Model& model, Matrix<float> networks, const std::vector<float>& bias, double spread);
  void fit_svr(const TrainOptions& o, Model& model, nlohmann::ordered_json& record,
               const std::filesystem::path& checkpoint, TrainRun* run);
  void fit_shared(const TrainOptions& o, Model& model, nlohmann::ordered_json& record);
  void check_memory(const TrainOptions& o, const Model& model);
  void join(const TrainOptions& o, Model& model, nlohmann::ordered_json& record);
  void refine(const TrainOptions& o, Model& model, nlohmann::ordered_json& record, const DescentObserver& observer);
};

std::string Fitter::State::encoding_key(const TrainOptions& o) {
  return fmt::format("{} {} {} {}", input_key(o), o.encoding, static_cast<int>(o.rotation), o.seed);
}

std::string Fitter::State::gate_key(const TrainOptions& o) {
  return fmt::format("{} {} {} {} {}", encoding_key(o), static_cast<int>(o.gates), o.networks, o.open,
                     static_cast<int>(o.anchors));
}

Encoding& Fitter::State::prepare_encoding(const TrainOptions& o) {
  return encoding.get(encoding_key(o), [&] {
    report(progress, {"encode", 0, 0, ""});
    EncoderOptions options;
    options.dimensions = o.encoding;
    options.rotation = o.rotation;
    options.seed = o.seed;
    Encoding made;
    made.encoder = fit_encoder(options, prepare_inputs(o).x.view(), pool);
    made.e = encoded(made.encoder, prepare_inputs(o).x.view(), pool);
    return made;
  });
}

Gating& Fitter::State::prepare_gating(const TrainOptions& o) {
  return gating.get(gate_key(o), [&] {
    GateOptions options;
    options.kind = o.gates;
    options.networks = o.gates == GateKind::always ? 1 : o.networks;
    options.open = o.gates == GateKind::always ? 1 : o.open;
    options.anchors = o.anchors;
    options.seed = o.seed;
    Gating made;
    made.gates = fit_gates(options, prepare_encoding(o).e.view(), pool);
    made.open = open_networks(made.gates, prepare_encoding(o).e.view(), pool);
    return made;
  });
}

void Fitter::State::set_gates(const TrainOptions& o, Model& model, nlohmann::ordered_json& record) {
  const Encoding& coded = prepare_encoding(o);
  const Gating& gated = prepare_gating(o);
  const GateUsage usage = gate_usage(gated.open.view(), gated.gates.networks);
  record["encoder"] = {{"dimensions", o.encoding}, {"reconstruction_error", coded.encoder.reconstruction_error}};
  record["gates"] = {{"usage_min", usage.minimum},
                     {"usage_median", usage.median},
                     {"usage_max", usage.maximum},
                     {"usage_entropy", usage.entropy},
                     {"samples_per_network", usage.samples}};

  model.encoder.weights = copy(coded.encoder.weights);
  model.encoder.reconstruction_error = coded.encoder.reconstruction_error;
  model.networks_see_encoding = o.input == NetworkInput::encoding;
  model.gates.kind = gated.gates.kind;
  model.gates.networks = gated.gates.networks;
  model.gates.open = gated.gates.open;
  model.gates.anchors = copy(gated.gates.anchors);
}

GatedSamples Fitter::State::gated_samples(const TrainOptions& o) {
  const Gating& gated = prepare_gating(o);
  return {o.input == NetworkInput::encoding ? prepare_encoding(o).e.view() : prepare_inputs(o).x.view(),
          gated.open.view(), gated.gates.networks};
}

LinearMap Fitter::State::solve_ridge(const TrainOptions& o) {
  auto& solver = ridge.get(input_key(o), [&] { return std::make_unique<Ridge>(samples(o), pool); });
  return solver->solve(o.lambda * prepare_inputs(o).scale, prepare_targets(o).semantics.view());
}

void Fitter::State::fit_svr(const TrainOptions& o, Model& model, nlohmann::ordered_json& record,
                            const std::filesystem::path& checkpoint, TrainRun* run) {
  set_gates(o, model, record);
  // Targets of unit variance make C and epsilon mean the same for every semantics.
  Matrix<float> scaled = sample_semantics(o);
  const std::size_t m = scaled.cols();
  if (o.shared) {  // the gated networks are fitted to what the shared one leaves
    LinearMap map = solve_ridge(o);
    const MatrixView<const float> x = prepare_inputs(o).x.view();
    multiply(pool, Trans::no, x, Trans::no, map.weights.view(), scaled.view(), -1, 1);
    for (std::size_t l = 0; l < scaled.rows(); ++l)
      for (std::size_t j = 0; j < m; ++j) scaled(l, j) -= map.bias[j];
    model.shared = std::move(map.weights);
    model.bias = std::move(map.bias);
  }
  const double spread = std::sqrt(mean_eigenvalue(scaled.view()) / static_cast<double>(scaled.rows()));
  for (float& v : scaled.values()) v = static_cast<float>(v / spread);

  if (o.memory_limit > 0 && o.input == NetworkInput::encoding) {
    drop_what_sees_inputs();
    inputs.drop();
  }
  const GatedSamples gated = gated_samples(o);
  SvrOptions svr;
  svr.c = o.c;
  svr.epsilon = o.epsilon;
  svr.tolerance = o.tolerance;
  svr.max_passes = o.max_passes;
  svr.seed = o.seed;
  svr.checkpoint = checkpoint;
  svr.resume = o.resume && !checkpoint.empty() && std::filesystem::exists(checkpoint);
  if (o.memory_limit > 0) {
    const std::uint64_t used = resident_memory() + gated.networks * (gated.z.cols() + 1) * m * 4;
    svr.memory_limit = o.memory_limit > used ? o.memory_limit - used : 1;
  }
  const std::string key = fmt::format("{} {} {} {} {} {}", gate_key(o), static_cast<int>(o.input), target_key(o),
                                      o.epsilon, o.shared, o.shared ? o.lambda : 0);
  const bool warm = key == warm_key && !warm_beta.empty();
  const MatrixView<const float> start = warm ? MatrixView<const float>(warm_beta.view()) : MatrixView<const float>();
  if (o.joint_steps > 0 && o.mmg > 0) {
    JointOptions options;
    options.svr = svr;
    options.mmg = o.mmg;
    options.samples = o.mmg_samples;
    options.options.floor = o.mmg_floor;
    options.outer_steps = o.joint_steps;
    JointResult joint = solve_joint(gated, labels, scaled.view(), options, pool, progress, start);
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
    warm_beta = std::move(joint.start_beta);
  } else {
    SvrResult solved = solve_svr(gated, scaled.view(), svr, pool, progress, start);
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
    set_networks(model, networks_from_dual(gated, solved.beta.view(), pool), solved.bias, spread);
    warm_beta = std::move(solved.beta);
  }
  warm_key = key;
}

/// Networks that were fitted to targets divided by `spread`.
void Fitter::State::set_networks(Model& model, Matrix<float> networks, const std::vector<float>& bias, double spread) {
  model.networks = std::move(networks);
  for (float& v : model.networks.values()) v = static_cast<float>(v * spread);
  model.bias.resize(bias.size(), 0.0f);
  for (std::size_t j = 0; j < bias.size(); ++j) model.bias[j] = static_cast<float>(model.bias[j] + bias[j] * spread);
}

/// The shared network by ridge, the gated ones at zero: training moves them from there.
void Fitter::State::fit_shared(const TrainOptions& o, Model& model, nlohmann::ordered_json& record) {
  LinearMap map = solve_ridge(o);
  if (o.gates == GateKind::always && !o.relu) return set_forward(model, std::move(map));
  set_gates(o, model, record);
  model.relu = o.relu;
  model.shared = std::move(map.weights);
  model.bias = std::move(map.bias);
  model.networks = Matrix<float>(model.gates.networks * (gated_samples(o).z.cols() + 1), model.bias.size(), 0.0f);
}

DescentSamples Fitter::State::descent_samples(const TrainOptions& o, const Model& model,
                                              MatrixView<const float> classes_as) {
  DescentSamples s;
  s.x = prepare_inputs(o).x.view();
  if (!is_one_linear_map(model)) {
    const GatedSamples gated = gated_samples(o);
    s.z = gated.z;
    s.open = gated.open;
  }
  s.labels = labels;
  s.semantics = classes_as;
  return s;
}

/// fit + mmg·MMG with the squared loss, the geometry that of the whole output; with the SVR's, see joint.hpp.
void Fitter::State::join(const TrainOptions& o, Model& model, nlohmann::ordered_json& record) {
  const Matrix<float>& semantics = prepare_targets(o).semantics;
  check_memory(o, model);
  DescentSamples s = descent_samples(o, model, semantics.view());
  const Matrix<float> outputs_wanted = sample_semantics(o);
  DescentOptions options;
  options.loss = DescentLoss::squared;
  options.steps = o.joint_steps;
  options.lambda = o.lambda;
  options.gate_weight = std::max(o.gate_weight, 1e-9);
  options.mmg = o.mmg;
  options.mmg_floor = o.mmg_floor;
  // The ridge weight in units of the scaled loss.
  options.decay = o.lambda * prepare_inputs(o).scale /
                  (mean_eigenvalue(outputs_wanted.view()) * static_cast<double>(outputs_wanted.cols()));
  s.preconditioner = &precondition(o, o.lambda);
  record["joint"] = trace_json(descend(model, s, options, pool, progress));
}

RidgePreconditioner& Fitter::State::precondition(const TrainOptions& o, double weight) {
  return preconditioner.get(fmt::format("{} {}", input_key(o), weight),
                            [&] { return RidgePreconditioner(prepare_inputs(o).x.view(), weight, pool); });
}

/// Descent holds the samples, their outputs a few times and one matrix per preconditioner; it has no smaller form.
void Fitter::State::check_memory(const TrainOptions& o, const Model& model) {
  if (o.memory_limit == 0) return;
  const auto n = static_cast<double>(rows.size()), d = static_cast<double>(data.features.cols()),
             q = static_cast<double>(model.outputs()), side = std::min(n, d);
  double bytes = 4 * n * d + 12 * side * side + 20 * n * q + 12 * d * q;
  if (!is_one_linear_map(model)) {
    const auto z = static_cast<double>(model.z_dimensions()), networks = static_cast<double>(model.gates.networks);
    bytes += 4 * n * z + 4 * networks * (z + 1) * (z + 1) + 12 * networks * (z + 1) * q;
  }
  const double used = static_cast<double>(resident_memory());
  if (used + bytes > static_cast<double>(o.memory_limit))
    throw Error(
        ErrorCode::usage,
        fmt::format("--memory-limit: expected at least {} for refinement, found {}; give more, or fewer networks",
                    format_bytes(used + bytes), format_bytes(static_cast<double>(o.memory_limit))));
}

/// Refinement and prototypes; `observer` sees the model after each step.
void Fitter::State::refine(const TrainOptions& o, Model& model, nlohmann::ordered_json& record,
                           const DescentObserver& observer) {
  if (o.refine_steps == 0 && o.prototype_width == 0 && !observer) return;
  const Matrix<float> vectors = model.class_vectors();
  if (model.direction != Direction::forward) {
    if (observer) observer(0, model, {});
    return;
  }
  Matrix<float> last;
  const auto watch = [&](int step, Model& moved, MatrixView<const float> f) {
    if (o.prototype_width > 0) last = Matrix<float>::copy_of(f);
    return !observer || observer(step, moved, f);
  };
  DescentOptions options;
  options.steps = o.refine_steps;
  options.lambda = o.refine_lambda > 0 ? o.refine_lambda : o.lambda;
  options.step = o.refine_rate;
  options.sharpness = o.refine_sharpness;
  options.gate_weight = o.gate_weight;
  options.mmg = o.mmg;
  options.mmg_floor = o.mmg_floor;
  options.balance = o.balance;
  if (o.refine_steps > 0) {
    check_memory(o, model);
    DescentSamples s = descent_samples(o, model, vectors.view());
    if (is_one_linear_map(model) || !model.shared.empty()) s.preconditioner = &precondition(o, options.lambda);
    const auto steps = descend(model, s, options, pool, progress, watch);
    record["refinement"] = trace_json(steps);
  } else {
    Matrix<float> f;  // of the training samples: prototypes alone need it
    if (o.prototype_width > 0) f = model.predict(gather_rows(data.features.view(), rows).view(), pool);
    watch(0, model, f.view());
  }
  if (o.prototype_width > 0 && !last.empty())
    model.prototypes = fit_prototypes(last.view(), labels, vectors.view(), model.semantic_centre, o.prototype_width,
                                      o.prototype_lambda);
}

Fitter::Fitter(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress)
    : state_(std::make_unique<State>(data, std::move(rows), pool, progress)) {}

Fitter::~Fitter() = default;

Model Fitter::fit(const TrainOptions& o, nlohmann::ordered_json& record, const std::filesystem::path& checkpoint,
                  TrainRun* run, const DescentObserver& observer) {
  State& s = *state_;
  Model model = s.start(o);
  switch (o.method) {
    case Method::parsnets:
    case Method::mmg:
    case Method::scln:
      if (o.fit == Fit::svr) {
        s.fit_svr(o, model, record, checkpoint, run);
      } else {
        s.fit_shared(o, model, record);
        if (o.joint_steps > 0) s.join(o, model, record);
      }
      break;
    case Method::ridge: s.set_forward(model, s.solve_ridge(o)); break;
    case Method::reverse_ridge:
      s.set_reverse(
          model, solve_reverse_ridge(s.samples(o), o.lambda * mean_eigenvalue(s.sample_semantics(o).view()), s.pool));
      break;
    case Method::eszsl: {
      auto& eszsl = s.eszsl.get(State::both_keys(o), [&] { return std::make_unique<Eszsl>(s.samples(o), s.pool); });
      const auto semantics = s.samples(o).semantics;
      double squares = 0;
      for (const auto c : s.classes) squares += sum_of_squares(semantics.row(static_cast<std::size_t>(c)));
      s.set_forward(model, eszsl->solve(o.lambda * s.prepare_inputs(o).scale,
                                        o.semantic_lambda * squares / static_cast<double>(semantics.cols())));
      // Its products know no centre, so that a cosine measures its outputs from zero.
      if (o.similarity == Similarity::cosine) model.bias = model.semantic_centre;
      break;
    }
    case Method::sae:
    case Method::sae_reverse: {
      auto& sae = s.sae.get(State::both_keys(o), [&] { return std::make_unique<Sae>(s.samples(o), s.pool); });
      // At lambda = 1 both terms of the objective weigh the same relative to their data.
      const double balance =
          sum_of_squares(s.samples(o).x.values()) / std::max(1e-12, sum_of_squares(s.sample_semantics(o).values()));
      SaeMaps maps = sae->solve(o.lambda * balance);
      if (o.method == Method::sae)
        s.set_forward(model, std::move(maps.forward));
      else
        s.set_reverse(model, maps.reverse);
      break;
    }
    case Method::dap: {
      DapResult dap = solve_dap(s.samples(o), o.lambda * s.prepare_inputs(o).scale / 4, s.pool);
      record["dap"] = {{"iterations", dap.iterations}, {"relative_gradient", dap.relative_gradient}};
      s.set_forward(model, std::move(dap.map));
      break;
    }
  }
  s.refine(o, model, record, observer);
  return model;
}

}  // namespace parsnets
