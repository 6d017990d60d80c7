// Every stage from files to predictions, each by the engine's own function, with the flops and bytes that its sizes ask
// for. Flops are those of the algorithm, a multiply-add counting 2; bytes are those of inputs and results, each once.

#include <numeric>
#include <set>

#include "base/linalg.hpp"
#include "data/sample_set.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "model/fit_gates.hpp"
#include "model/prediction.hpp"
#include "model/scoring.hpp"
#include "parsnets/device.hpp"
#include "parsnets/field.hpp"
#include "parsnets/predictor.hpp"
#include "parsnets/training.hpp"
#include "problem.hpp"
#include "solvers/class_space.hpp"
#include "solvers/descent.hpp"
#include "solvers/mmg.hpp"
#include "solvers/preconditioner.hpp"

namespace bench {

namespace {

using namespace parsnets;

constexpr Repeats kOnce{0, 1, 3, 10};  // stages of seconds: again only while that takes little
constexpr Repeats kShort{2, 5, 50, 1};

double as_double(std::size_t n) { return static_cast<double>(n); }

/// The sizes that costs are counted from.
struct Sizes {
  double n, d, m, classes, seen, networks, open, h;
};

void measure_files(Stages& stages, const DataSource& source, const Dataset& data) {
  const double values = as_double(data.features.size());
  const auto file = static_cast<double>(std::filesystem::file_size(data.features_file));
  double sum = 0;
  stages.measure_serial("load", {0, file + 4 * values}, [&] {
    const Dataset loaded = load_dataset(source.folder, source.load);
    for (std::size_t i = 0; i < loaded.features.size(); i += 1024)  // mapped files are read when they are looked at
      sum += loaded.features.data()[i];
  });
  if (!std::isfinite(sum)) throw Error(ErrorCode::failure, "features are not finite");
}

void measure_features(Stages& stages, const Dataset& data, const Problem& p, const Sizes& s) {
  const auto& rows = data.split.trainval;
  // Twice (for the mean, then to apply it) a root, a square to add, a factor and a sum for each value.
  stages.measure("preprocess", {10 * s.n * s.d, 12 * s.n * s.d}, [&](ThreadPool& pool) {
    const auto fitted = fit_feature_preprocess(FeatureScaling::sqrt_l2, data.features.view(), rows, pool);
    preprocessed_rows(fitted, data.features.view(), rows, pool);
  });

  std::vector<std::int32_t> all(rows.size());
  std::iota(all.begin(), all.end(), 0);
  Statistics sums;
  // One half of the symmetric product of n samples.
  stages.measure("statistics", {s.n * s.d * (s.d + 1), 4 * s.n * s.d + 8 * s.d * s.d}, [&](ThreadPool& pool) {
    sums = Statistics(FeatureScaling::none, data.class_names, data.features.cols());
    sums.add(p.x.view(), p.labels, all, pool);
  });

  // Covariance within classes, Cholesky factor, P solutions, products and eigenvectors of P x P.
  const double rho = 10 * s.d / s.n, c = s.seen;
  stages.measure("closed form, class space",
                 {c * s.d * (s.d + 1) + s.d * s.d * s.d / 3 + 2 * s.d * s.d * c + 4 * s.d * c * c + 9 * c * c * c,
                  24 * s.d * s.d + 20 * s.d * c, true},
                 [&](ThreadPool& pool) { ClassSpace(sums, pool).solve(rho, pool); });

  // Gram matrix, four powers of a range of h + 20 axes with their QR, the products on h axes, then the samples.
  const double l = s.h + 20;
  EncoderOptions randomized;
  randomized.method = EncoderMethod::randomized;
  stages.measure("encode",
                 {s.n * s.d * (s.d + 1) + 4 * (2 * s.d * s.d * l + 4 * s.d * l * l) + 2 * s.d * s.d * l +
                      4 * s.d * s.h * l + 2 * s.d * s.d * s.h + 2 * s.n * s.d * s.h,
                  8 * s.n * s.d + 4 * s.n * s.h + 8 * s.d * s.d},
                 [&](ThreadPool& pool) {
                   const Matrix<float> products = gram_of_columns(pool, p.x.view());
                   encoded(fit_encoder(randomized, p.x.rows(), products.view(), pool), p.x.view(), pool);
                 },
                 {0, 2, 3, 4});

  // A difference, a square and a sum for each value; then the k largest of K.
  GateOptions energy;
  energy.open = static_cast<int>(s.open);
  stages.measure("gates, energy", {4 * s.n * s.h + s.n * s.networks, 4 * s.n * s.h + 2 * s.n * s.open},
                 [&](ThreadPool& pool) { open_networks(gates_of(energy, p.z, pool), p.z.view(), pool); });
  GateOptions anchor = energy;
  anchor.kind = GateKind::anchor;
  stages.measure("gates, anchors", {2 * s.n * s.h * s.networks + 2 * s.n * s.h, 4 * s.n * s.h + 2 * s.n * s.open},
                 [&](ThreadPool& pool) { open_networks(gates_of(anchor, p.z, pool), p.z.view(), pool); });
}

/// The SVR, and MMG of the networks that it gives.
void measure_networks(Stages& stages, const Problem& p, const Sizes& s) {
  SvrOptions options;
  options.c = 0.01;
  options.epsilon = 0.1;
  SvrResult solved;
  Cost cost;  // counted by the solvers: passes and groups of samples depend on the data
  stages.measure(
      "SVR, C 0.01", cost,
      [&](ThreadPool& pool) {
        solved = solve_svr(p.samples(), p.targets.view(), options, pool);
        cost = {solved.flops, solved.bytes};
      },
      kOnce);

  const Matrix<float> networks = networks_from_dual(p.samples(), solved.beta.view(), stages.fastest());
  stages.measure(
      "MMG of networks", cost,
      [&](ThreadPool& pool) {
        cost = {mmg_of_networks(p.samples(), p.labels, networks.view(), true, pool).flops,
                8 * s.networks * (s.h + 1) * s.m + 4 * s.n * s.open * (s.h + s.m)};
      },
      kOnce);
}

/// Three steps of refinement from zero: a shared network on x and K gated ones on an encoding of 64.
void measure_refinement(Stages& stages, const Dataset& data, const Problem& p, const Sizes& s) {
  constexpr std::size_t kEncoding = 64;
  constexpr int kSteps = 3;
  ThreadPool& fastest = stages.fastest();
  EncoderOptions encoder;
  encoder.dimensions = kEncoding;
  encoder.random_rotation = false;
  const Matrix<float> products = gram_of_columns(fastest, p.x.view()),
                      e = encoded(fit_encoder(encoder, p.x.rows(), products.view(), fastest), p.x.view(), fastest);
  GateOptions kind;
  kind.kind = GateKind::anchor;
  kind.open = static_cast<int>(s.open);
  const Gates gates = gates_of(kind, e, fastest);
  const Matrix<std::uint16_t> open = open_networks(gates, e.view(), fastest);
  const SemanticPreprocess semantics =
      fit_semantic_preprocess(SemanticScaling::l2, data.semantics.values.view(), data.seen_classes());
  const Matrix<float> vectors = preprocessed_semantics(semantics, data.semantics.values.view());
  const double w = kEncoding + 1, pairs = s.n * s.open, o = as_double(vectors.cols());
  DescentOptions options;
  options.steps = kSteps;
  DescentSamples samples;
  samples.blocks = one_block(p.x.view(), e.view(), open.view(), p.labels);
  samples.labels = p.labels;
  samples.semantics = vectors.view();
  // Preconditioners: a Cholesky factor of d x d, products and inverses of K times w x w. A step: XᵀG, its direction,
  // the change of f, for both kinds of networks; cosines with all classes for the value and for the gradient.
  const double once = s.d * s.d * s.d / 3 + pairs * w * (w + 1) + s.networks * w * w * w,
               step = 4 * s.n * s.d * o + 2 * s.d * s.d * o + 4 * pairs * w * o + 2 * s.networks * w * w * o +
                      6 * s.n * o * s.seen;
  stages.measure("refine, 3 steps",
                 {once + kSteps * step, 4 * (s.n * s.d + s.n * o) * (1 + 2 * kSteps) + 4 * s.d * s.d},
                 [&](ThreadPool& pool) {
                   Model model;
                   model.dimensions = p.x.cols();
                   model.gates.kind = gates.kind;
                   model.gates.networks = gates.networks;
                   model.gates.open = gates.open;
                   model.networks_see_encoding = true;
                   model.networks = Matrix<float>(gates.networks * (kEncoding + 1), vectors.cols(), 0.0f);
                   model.shared = Matrix<float>(p.x.cols(), vectors.cols(), 0.0f);
                   model.bias.assign(vectors.cols(), 0.01f);
                   const Cholesky<float> preconditioner = ridge_preconditioner(products.view(), options.lambda, pool);
                   samples.preconditioner = &preconditioner;
                   descend(model, samples, options, pool);
                 },
                 {0, 2, 3, 4});
}

/// Scores of the data set's training samples, and export, prediction and adaptation with the default model.
void measure_predictions(Stages& stages, const Dataset& data, const Problem& p, const Sizes& s) {
  Model bank;
  bank.semantic_preprocess.scaling = SemanticScaling::none;
  bank.classes.names = data.class_names;
  bank.classes.semantics = Matrix<float>::copy_of(data.semantics.values.view());
  const Predictor comparer(bank, stages.fastest());
  Matrix<float> scores(p.targets.rows(), data.classes());
  stages.measure("score",
                 {2 * s.n * s.m * s.classes + 2 * s.n * s.m, 4 * (s.n * s.m + s.classes * s.m + s.n * s.classes)},
                 [&](ThreadPool& pool) {
                   comparer.compare(p.targets.view(), pool, [&](std::size_t first, const auto& some) {
                     std::ranges::copy(some.values(), scores.row(first).begin());
                   });
                 });
  const Model model = train(data, {}, stages.fastest());
  const Ranking ranking(model);
  std::vector<RankedClass> best(5);
  // Gamma, a comparison and an exponential for each class.
  stages.measure_serial("rank, top 5", {3 * s.n * s.classes, 4 * s.n * s.classes + 12 * s.n * 5}, [&] {
    for (std::size_t l = 0; l < scores.rows(); ++l) ranking.best(scores.row(l), best);
  });

  const double weights = as_double(model.networks.size() + model.shared.size() + model.encoder.weights.size() +
                                   model.gates.anchors.size());
  std::vector<std::byte> file = device_file(model, Precision::int8, 0, stages.fastest());
  // The largest weight of a row, then every weight scaled and rounded.
  stages.measure("export, int8", {3 * weights, 4 * weights + as_double(file.size())},
                 [&](ThreadPool& pool) { device_file(model, Precision::int8, 0, pool); });

  const Predictor predictor(model, stages.fastest());
  const double d = s.d, h = as_double(model.encoder.weights.rows()), o = as_double(model.outputs()),
               z = as_double(model.z_dimensions()), k = as_double(model.gates.open),
               anchors = as_double(model.gates.anchors.size()),
               // scaling, encoding, gates, open networks, shared network, comparison with every class
      flops = 5 * d + 2 * d * h + 2 * anchors + 2 * k * (z + 1) * o + (model.shared.empty() ? 0 : 2 * d * o) +
              2 * o * s.classes,
               touched = 4 * (d * h + anchors + k * (z + 1) * o + as_double(model.shared.size()) + o * s.classes);
  const Matrix<float> x = gather_rows(data.features.view(), data.split.trainval);
  stages.measure("predict, all samples", {s.n * flops, 4 * s.n * (d + s.classes) + 4 * weights}, [&](ThreadPool& pool) {
    predictor.visit_scores(x.view(), pool, [&](std::size_t, MatrixView<const float> rows) {
      for (std::size_t r = 0; r < rows.rows(); ++r) ranking.winner(rows.row(r));
    });
  });

  std::set<std::string> movable;  // the classes of validation play the unseen ones: test samples are not read
  for (const auto r : data.split.val)
    movable.insert(data.class_names[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(r)])]);
  AdaptOptions options;
  options.classes.assign(movable.begin(), movable.end());
  Cost cost;
  stages.measure("adaptation", cost, [&](ThreadPool& pool) {
    Model copy = shared_copy(model);
    const Adaptation done = adapt(copy, x.view(), options, pool);
    // Prediction and scores of all classes; each further round scores those that may move and adds up their samples.
    cost = {s.n * flops + 2 * o * done.rounds * (s.n * as_double(movable.size()) + as_double(done.convincing)),
            4 * s.n * d + 4 * weights + 8 * o * s.classes};
  });

  constexpr std::size_t kSingles = 200;
  const auto singles = [&](auto&& scores_of) {
    for (std::size_t l = 0; l < kSingles; ++l) ranking.winner(scores_of({x.data() + l * x.cols(), 1, x.cols()}).row(0));
  };
  stages.measure(
      "predict, batch 1", {flops, 4 * (d + s.classes) + touched},
      [&](ThreadPool& pool) {
        singles([&](MatrixView<const float> one) { return model.scores(one, predictor.classes(), pool); });
      },
      kShort, kSingles);
  const DeviceModel device(std::move(file), "int8");
  stages.measure(
      "predict, C runtime, int8", {flops, 4 * (d + s.classes) + touched / 4},
      [&](ThreadPool& pool) { singles([&](MatrixView<const float> one) { return device.scores(one, pool); }); }, kShort,
      kSingles);
}

json measure_data(const DataSource& source, const Settings& settings) {
  const Dataset data = load_dataset(source.folder, source.load);
  Stages stages(source.name, settings);
  const Problem p = paper_problem(data, data.split.trainval, source.open, stages.fastest());
  const Sizes s{as_double(p.x.rows()),
                as_double(p.x.cols()),
                as_double(p.targets.cols()),
                as_double(data.classes()),
                as_double(data.seen_classes().size()),
                as_double(p.gates.networks),
                as_double(p.gates.open),
                as_double(p.z.cols())};
  measure_files(stages, source, data);
  measure_features(stages, data, p, s);
  measure_networks(stages, p, s);
  measure_refinement(stages, data, p, s);
  measure_predictions(stages, data, p, s);
  json result = stages.results();
  result["data"] = sizes_of(source, data);
  result["data"]["networks"] = p.gates.networks;
  result["data"]["open"] = p.gates.open;
  result["data"]["encoding"] = p.z.cols();
  return result;
}

}  // namespace

json measure_stages(const Settings& settings) {
  json sets = json::array({measure_data(cub(settings), settings)});
  if (settings.quick) return {{"sets", sets}};
  const Workspace work;
  sets.push_back(measure_data(awa2_sized(settings, work), settings));
  return {{"sets", sets}};
}

}  // namespace bench
