#include "train/fitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/machine.hpp"
#include "data/rows.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "model/fit_gates.hpp"
#include "model/names.hpp"
#include "parsnets/error.hpp"
#include "train/baselines/linear_map.hpp"
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

  Inputs& prepare_inputs(const TrainOptions& o) {
    return inputs.get(input_key(o), [&] {
      report(progress, {"prepare features", 0, 0, ""});
      Inputs made;
      made.preprocess = fit_feature_preprocess(o.feature_scaling, o.centre, data.features.view(), rows, pool);
      made.x = preprocessed_rows(made.preprocess, data.features.view(), rows, pool);
      made.scale = mean_eigenvalue(made.x.view());
      return made;
    });
  }

  Targets& prepare_targets(const TrainOptions& o) {
    return targets.get(std::to_string(static_cast<int>(o.semantic_scaling)), [&] {
      Targets made;
      made.preprocess = fit_semantic_preprocess(o.semantic_scaling, data.semantics.values.view(), classes);
      made.semantics = preprocessed_semantics(made.preprocess, data.semantics.values.view());
      return made;
    });
  }

  static std::string both_keys(const TrainOptions& o) {
    return fmt::format("{} {}", input_key(o), static_cast<int>(o.semantic_scaling));
  }

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

  void fit_scln(const TrainOptions& o, Model& model, nlohmann::ordered_json& record,
                const std::filesystem::path& checkpoint, TrainRun* run);
};

void Fitter::State::fit_scln(const TrainOptions& o, Model& model, nlohmann::ordered_json& record,
                             const std::filesystem::path& checkpoint, TrainRun* run) {
  const std::string encoding_key =
      fmt::format("{} {} {} {}", input_key(o), o.encoding, static_cast<int>(o.rotation), o.seed);
  Encoding& coded = encoding.get(encoding_key, [&] {
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
  const std::string gate_key = fmt::format("{} {} {} {} {}", encoding_key, static_cast<int>(o.gates), o.networks,
                                           o.open, static_cast<int>(o.anchors));
  Gating& gated = gating.get(gate_key, [&] {
    GateOptions options;
    options.kind = o.gates;
    options.networks = o.gates == GateKind::always ? 1 : o.networks;
    options.open = o.gates == GateKind::always ? 1 : o.open;
    options.anchors = o.anchors;
    options.seed = o.seed;
    Gating made;
    made.gates = fit_gates(options, coded.e.view(), pool);
    made.open = open_networks(made.gates, coded.e.view(), pool);
    return made;
  });
  const GateUsage usage = gate_usage(gated.open.view(), gated.gates.networks);
  record["encoder"] = {{"dimensions", o.encoding}, {"reconstruction_error", coded.encoder.reconstruction_error}};
  record["gates"] = {{"usage_min", usage.minimum},
                     {"usage_median", usage.median},
                     {"usage_max", usage.maximum},
                     {"usage_entropy", usage.entropy},
                     {"samples_per_network", usage.samples}};

  // Targets of unit variance make C and epsilon mean the same for every semantics.
  Matrix<float> scaled = sample_semantics(o);
  const std::size_t m = scaled.cols();
  const double spread = std::sqrt(mean_eigenvalue(scaled.view()) / static_cast<double>(scaled.rows()));
  for (float& v : scaled.values()) v = static_cast<float>(v / spread);

  if (o.memory_limit > 0 && o.input == NetworkInput::encoding) inputs.drop();
  const MatrixView<const float> z = o.input == NetworkInput::encoding ? coded.e.view() : prepare_inputs(o).x.view();
  const GatedSamples gated_samples{z, gated.open.view(), gated.gates.networks};
  SvrOptions svr;
  svr.c = o.c;
  svr.epsilon = o.epsilon;
  svr.tolerance = o.tolerance;
  svr.max_passes = o.max_passes;
  svr.seed = o.seed;
  svr.checkpoint = checkpoint;
  svr.resume = o.resume && !checkpoint.empty() && std::filesystem::exists(checkpoint);
  if (o.memory_limit > 0) {
    const std::uint64_t used = resident_memory() + gated.gates.networks * (z.cols() + 1) * m * 4;
    svr.memory_limit = o.memory_limit > used ? o.memory_limit - used : 1;
  }
  const std::string key =
      fmt::format("{} {} {} {}", gate_key, static_cast<int>(o.input), static_cast<int>(o.semantic_scaling), o.epsilon);
  const bool warm = key == warm_key && !warm_beta.empty();
  SvrResult solved = solve_svr(gated_samples, scaled.view(), svr, pool, progress,
                               warm ? MatrixView<const float>(warm_beta.view()) : MatrixView<const float>());
  record["svr"] = {{"c", o.c},
                   {"epsilon", o.epsilon},
                   {"target_scale", spread},
                   {"primal", solved.primal},
                   {"dual", solved.dual},
                   {"relative_gap", solved.relative_gap},
                   {"converged", solved.converged},
                   {"passes", solved.passes.size()}};
  if (run != nullptr) {
    run->flops += solved.flops;
    run->bytes += solved.bytes;
  }
  model.networks = networks_from_dual(gated_samples, solved.beta.view(), pool);
  for (float& v : model.networks.values()) v = static_cast<float>(v * spread);
  model.bias = std::move(solved.bias);
  for (float& v : model.bias) v = static_cast<float>(v * spread);
  model.encoder.weights = copy(coded.encoder.weights);
  model.encoder.reconstruction_error = coded.encoder.reconstruction_error;
  model.networks_see_encoding = o.input == NetworkInput::encoding;
  model.gates.kind = gated.gates.kind;
  model.gates.networks = gated.gates.networks;
  model.gates.open = gated.gates.open;
  model.gates.anchors = copy(gated.gates.anchors);
  warm_key = key;
  warm_beta = std::move(solved.beta);
}

Fitter::Fitter(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress)
    : state_(std::make_unique<State>(data, std::move(rows), pool, progress)) {}

Fitter::~Fitter() = default;

Model Fitter::fit(const TrainOptions& o, nlohmann::ordered_json& record, const std::filesystem::path& checkpoint,
                  TrainRun* run) {
  State& s = *state_;
  Model model = s.start(o);
  switch (o.method) {
    case Method::scln: s.fit_scln(o, model, record, checkpoint, run); break;
    case Method::ridge: {
      auto& ridge = s.ridge.get(State::input_key(o), [&] { return std::make_unique<Ridge>(s.samples(o), s.pool); });
      s.set_forward(model, ridge->solve(o.lambda * s.prepare_inputs(o).scale, s.prepare_targets(o).semantics.view()));
      break;
    }
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
  return model;
}

}  // namespace parsnets
