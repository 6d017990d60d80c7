// scikit-learn on the same problems as three solvers of the engine: the SVR, ridge regression and the closed form of
// class space. Arrays are handed over as .npy files of float32.

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/linalg.hpp"
#include "base/rng.hpp"
#include "data/sample_set.hpp"
#include "features/preprocess.hpp"
#include "formats/npy.hpp"
#include "model/composite.hpp"
#include "problem.hpp"
#include "solvers/baselines/linear_map.hpp"
#include "solvers/class_space.hpp"
#include "solvers/svr.hpp"
#include "train/validation.hpp"

namespace bench {

namespace {

using namespace parsnets;

/// How often the median of our short solvers is taken.
constexpr int kSamples = 5;
constexpr double kGap = 1e-3;

template <class Work>
std::vector<double> samples_of(int count, Work&& work) {
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(seconds_of(work));
  return seconds;
}

/// MultiOutputRegressor(LinearSVR) on the expanded features, without bias, to a relative gap of 1e-3 to our dual value.
json compare_svr(const Settings& settings, const Problem& p, ThreadPool& pool) {
  const Workspace work;
  const std::size_t m = p.targets.cols(), outputs = settings.quick ? 1 : 2;
  SvrOptions options;
  options.c = 0.01;
  options.epsilon = 0.1;
  options.global_bias = false;
  SvrResult solved;
  const auto seconds = samples_of(2, [&] { solved = solve_svr(p.samples(), p.targets.view(), options, pool); });
  auto sample = Rng(1).permutation(m);
  sample.resize(outputs);
  Matrix<float> targets(p.targets.rows(), outputs), beta(p.targets.rows(), outputs);
  for (std::size_t i = 0; i < targets.rows(); ++i)
    for (std::size_t j = 0; j < outputs; ++j) {
      targets(i, j) = p.targets(i, sample[j]);
      beta(i, j) = solved.beta(i, sample[j]);
    }
  std::vector<double> primal(outputs), dual(outputs);
  std::vector<float> bias(outputs);
  const Matrix<float> theta = networks_from_dual(p.samples(), beta.view(), pool);
  const Matrix<float> f = compose(p.z.view(), p.open.view(), p.gates.networks, theta.view(), bias, false, pool);
  evaluate_svr(pool, targets.view(), f.view(), beta.view(), options.c, options.epsilon, false, {primal, dual, bias});
  std::vector<double> needed;  // what makes a solution as good as ours
  for (std::size_t j = 0; j < outputs; ++j) needed.push_back(std::max(kGap, (primal[j] - dual[j]) / primal[j]));
  write_npy(work / "z.npy", p.z.view());
  write_npy(work / "open.npy", std::vector<std::int32_t>(p.open.values().begin(), p.open.values().end()));
  write_npy(work / "targets.npy", targets.view());
  json peer = run_peer(settings, work, "sklearn_svr.py",
                       {"--folder", (work / "").string(), "--networks", std::to_string(p.gates.networks), "--c",
                        std::to_string(options.c), "--epsilon", std::to_string(options.epsilon), "--duals",
                        fmt::format("{}", fmt::join(dual, ",")), "--gaps", fmt::format("{}", fmt::join(needed, ","))});
  json result{{"c", options.c},
              {"outputs", m},
              {"sampled_outputs", sample},
              {"ours_samples", seconds},
              {"ours", median(seconds)},
              {"relative_gap", kGap},
              {"peer", peer}};
  if (!peer.contains("missing")) {
    const double all = peer["seconds"].get<double>() / static_cast<double>(outputs) * static_cast<double>(m);
    result["peer_seconds_of_all"] = all;
    result["times_ours"] = all / median(seconds);
    fmt::print("  LinearSVR, C {}: {:.0f} s for all {} outputs, ours {:.2f} s: {:.0f} times\n", options.c, all, m,
               median(seconds), all / median(seconds));
  }
  return result;
}

/// KernelRidge with the linear kernel on centred features and targets: the map of our ridge, found through n x n.
json compare_ridge(const Settings& settings, const Dataset& data, const Problem& p, ThreadPool& pool) {
  const Workspace work;
  double squares = 0;
  for (const float v : p.x.values()) squares += static_cast<double>(v) * v;
  const double lambda = squares / static_cast<double>(p.x.cols());  // the mean eigenvalue of XᵀX
  LinearMap map;
  std::vector<std::int32_t> all(p.x.rows());
  std::iota(all.begin(), all.end(), 0);
  const auto seconds = samples_of(kSamples, [&] {
    Statistics sums(FeatureScaling::none, data.class_names, p.x.cols());
    sums.add(p.x.view(), p.labels, all, pool);
    map = solve_ridge({sums, data.semantics.values.view()}, lambda, pool);
  });
  write_npy(work / "x.npy", p.x.view());
  write_npy(work / "targets.npy", gather_rows(data.semantics.values.view(), p.labels).view());
  write_npy(work / "weights.npy", map.weights.view());
  json peer = run_peer(settings, work, "sklearn_ridge.py",
                       {"--folder", (work / "").string(), "--alpha", fmt::format("{}", lambda)});
  json result{{"lambda", lambda}, {"ours_samples", seconds}, {"ours", median(seconds)}, {"peer", peer}};
  if (!peer.contains("missing")) {
    result["times_ours"] = peer["seconds"].get<double>() / median(seconds);
    fmt::print("  KernelRidge: {:.2f} s, ours {:.3f} s: {:.0f} times; weights differ by {:.1e} of their length\n",
               peer["seconds"].get<double>(), median(seconds), result["times_ours"].get<double>(),
               peer["relative_difference"].get<double>());
  }
  return result;
}

/// Mean over the classes of the share of samples whose nearest class mean on the axes is their own, in percent.
double nearest_mean_accuracy(const ClassMap& map, const std::vector<std::int32_t>& classes, MatrixView<const float> f,
                             const std::vector<std::int32_t>& labels) {
  std::vector<double> right(classes.size(), 0), count(classes.size(), 0);
  for (std::size_t l = 0; l < f.rows(); ++l) {
    std::size_t best = 0;
    double least = INFINITY;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      double distance = 0;
      for (std::size_t j = 0; j < f.cols(); ++j) distance += std::pow(f(l, j) - map.means(c, j), 2);
      if (distance < least) {
        least = distance;
        best = c;
      }
    }
    const auto own = static_cast<std::size_t>(std::ranges::find(classes, labels[l]) - classes.begin());
    ++count[own];
    right[own] += best == own ? 1 : 0;
  }
  double sum = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) sum += count[c] > 0 ? right[c] / count[c] : 0;
  return 100 * sum / static_cast<double>(classes.size());
}

/// LinearDiscriminantAnalysis(solver="eigen") with the shrinkage that our ρ is, and the accuracy of both on the samples
/// of the fitted classes that the validation fold leaves out.
json compare_class_space(const Settings& settings, const Dataset& data, ThreadPool& pool) {
  const Workspace work;
  const Fold fold = validation_folds(data, 1, 1).front();
  const auto preprocess = fit_feature_preprocess(FeatureScaling::sqrt_l2, data.features.view(), fold.fit, pool);
  const Matrix<float> x = preprocessed_rows(preprocess, data.features.view(), fold.fit, pool),
                      held = preprocessed_rows(preprocess, data.features.view(), fold.seen, pool);
  const auto labels = labels_of(data, fold.fit), held_labels = labels_of(data, fold.seen);
  const double rho = 10 * static_cast<double>(x.cols()) / static_cast<double>(x.rows());
  std::vector<std::int32_t> all(x.rows()), classes;
  std::iota(all.begin(), all.end(), 0);
  ClassMap map;
  const auto seconds = samples_of(kSamples, [&] {
    Statistics sums(FeatureScaling::none, data.class_names, x.cols());
    sums.add(x.view(), labels, all, pool);
    const ClassSpace space(sums, pool);
    map = space.solve(rho, pool);
    classes = space.classes();
  });
  Matrix<float> f(held.rows(), map.weights.cols());
  multiply(pool, Trans::no, held.view(), Trans::no, map.weights.view(), f.view());
  const double accuracy = nearest_mean_accuracy(map, classes, f.view(), held_labels);
  write_npy(work / "x.npy", x.view());
  write_npy(work / "labels.npy", labels);
  write_npy(work / "held.npy", held.view());
  write_npy(work / "held_labels.npy", held_labels);
  json peer = run_peer(settings, work, "sklearn_lda.py",
                       {"--folder", (work / "").string(), "--shrinkage", fmt::format("{}", rho / (1 + rho))});
  json result{{"rho", rho},
              {"samples", x.rows()},
              {"classes", classes.size()},
              {"ours_samples", seconds},
              {"ours", median(seconds)},
              {"accuracy", accuracy},
              {"peer", peer}};
  if (!peer.contains("missing")) {
    result["times_ours"] = peer["seconds"].get<double>() / median(seconds);
    fmt::print(
        "  LinearDiscriminantAnalysis: {:.2f} s, ours {:.3f} s: {:.0f} times; accuracy {:.2f} %, ours {:.2f} %\n",
        peer["seconds"].get<double>(), median(seconds), result["times_ours"].get<double>(),
        peer["accuracy"].get<double>(), accuracy);
  }
  return result;
}

}  // namespace

json measure_scikit_learn(const Settings& settings) {
  const DataSource source = cub(settings);
  const Dataset data = load_dataset(source.folder, source.load);
  ThreadPool pool;
  fmt::print("\nscikit-learn on CUB, {} threads\n", pool.size());
  const Problem p = paper_problem(data, compared_rows(settings, data), source.open, pool);
  json result{{"data", sizes_of(source, data)}, {"samples", p.x.rows()}, {"threads", pool.size()}};
  result["class_space"] = compare_class_space(settings, data, pool);
  result["ridge"] = compare_ridge(settings, data, p, pool);
  result["svr"] = compare_svr(settings, p, pool);
  std::fflush(stdout);
  return result;
}

}  // namespace bench
