// What people would use instead, on the validation fold of CUB: its classes are fitted, and the validation classes are
// told apart. Test classes are not read. Arrays are handed over as .npy files of float32.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "data/sample_set.hpp"
#include "features/preprocess.hpp"
#include "formats/npy.hpp"
#include "parsnets/training.hpp"
#include "problem.hpp"
#include "train/fitter.hpp"
#include "train/validation.hpp"

namespace bench {

namespace {

using namespace parsnets;

template <class Work>
std::vector<double> samples_of(int count, Work&& work) {
  std::vector<double> seconds;
  for (int i = 0; i < count; ++i) seconds.push_back(seconds_of(work));
  return seconds;
}

/// One of our learners on the fold.
struct Learner {
  std::vector<double> samples;
  double accuracy = 0;
  double seconds() const { return *std::ranges::min_element(samples); }
};

class Comparison {
 public:
  Comparison(const Settings& settings, const Dataset& data, ThreadPool& pool)
      : settings_(settings), data_(data), pool_(pool), fold_(validation_folds(data, 1, 1).front()) {
    const auto preprocess = fit_feature_preprocess(FeatureScaling::sqrt_l2, data.features.view(), fold_.fit, pool);
    const auto prepared = [&](const std::vector<std::int32_t>& rows) {
      return preprocessed_rows(preprocess, data.features.view(), rows, pool);
    };
    write_npy(work_ / "x.npy", prepared(fold_.fit).view());
    write_npy(work_ / "labels.npy", labels_of(data, fold_.fit));
    write_npy(work_ / "held.npy", prepared(fold_.unseen).view());
    write_npy(work_ / "held_labels.npy", labels_of(data, fold_.unseen));
    write_npy(work_ / "semantics.npy", data.semantics.values.view());
  }

  /// Fits our method to the fold, from the features as they are.
  const Learner& fit(const std::string& name, const MethodOptions& method, int samples) {
    TrainOptions options;
    options.method = method;
    options = resolve_options(options, data_);
    Learner& learner = ours_[name];
    Model model;
    learner.samples = samples_of(samples, [&] { model = refit(options, data_, fold_.fit, pool_, nullptr); });
    learner.accuracy = evaluate_fold(model, data_, fold_, pool_).zsl;
    fmt::print("  ours, {}: {:.3f} s, {:.2f} %\n", name, learner.seconds(), learner.accuracy);
    return learner;
  }

  /// Our time becomes that of the whole default training, with the folds of its calibration.
  void fit_whole(const std::string& name, const std::string& like, int samples) {
    ours_[name] = {samples_of(samples, [&] { train(data_, {}, pool_); }), ours_.at(like).accuracy};
  }

  json run(const std::string& script, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--folder", (work_ / "").string()});
    return run_peer(settings_, work_, script, std::move(arguments));
  }

  /// `peer`: seconds, accuracy, and reached where its time was limited.
  void add(const std::string& program, const std::string& ours, const json& peer) {
    json row{{"program", program}, {"ours", ours}, {"peer", peer}};
    if (!peer.contains("missing")) {
      row["times_ours"] = peer["seconds"].get<double>() / ours_.at(ours).seconds();
      row["is_bound"] = !peer.value("reached", true);
      fmt::print("  {}: {:.2f} s, {:.1f} times ours{}, {:.2f} %\n", program, peer["seconds"].get<double>(),
                 row["times_ours"].get<double>(), row["is_bound"].get<bool>() ? " at least" : "",
                 peer["accuracy"].get<double>());
    }
    std::fflush(stdout);
    rows_.push_back(std::move(row));
  }

  double seconds_of_ours(const std::string& name) const { return ours_.at(name).seconds(); }
  double accuracy_of_ours(const std::string& name) const { return ours_.at(name).accuracy; }

  json results() const {
    json ours;
    for (const auto& [name, learner] : ours_)
      ours[name] = {{"samples", learner.samples}, {"seconds", learner.seconds()}, {"accuracy", learner.accuracy}};
    return {{"fit_samples", fold_.fit.size()},
            {"validation_classes", fold_.held_classes.size()},
            {"ours", ours},
            {"rows", rows_}};
  }
  double shrinkage() const { return default_shrinkage(data_.features.cols(), static_cast<double>(fold_.fit.size())); }

 private:
  const Settings& settings_;
  const Dataset& data_;
  ThreadPool& pool_;
  Fold fold_;
  Workspace work_;
  std::map<std::string, Learner> ours_;
  json rows_ = json::array();
};

std::string text_of(double value) { return fmt::format("{}", value); }

}  // namespace

json measure_peers(const Settings& settings) {
  const DataSource source = cub(settings);
  const Dataset data = load_dataset(source.folder, source.load);
  ThreadPool pool;
  fmt::print("\nWhat people would use instead, on CUB, {} threads\n", pool.size());
  Comparison compared(settings, data, pool);
  const int samples = settings.quick ? 1 : 3;

  const ParsNetsOptions own;
  ParsNetsOptions closed;
  closed.shrinkage = compared.shrinkage();
  closed.attribute_steps = closed.networks = closed.refine_steps = 0;
  PaperOptions svr;
  svr.part = PaperPart::scln;
  svr.c = 0.01;
  compared.fit("closed form", closed, samples);
  compared.fit("default, one fit", own, samples);
  compared.fit("ridge", BaselineOptions{}, samples);
  if (!settings.quick) compared.fit("SVR", svr, 1);
  compared.fit_whole("default training", "default, one fit", samples);

  const std::vector<std::string> places{"--width", text_of(own.prototype_width), "--ridge",
                                        text_of(own.prototype_lambda)};
  auto arguments = places;
  arguments.insert(arguments.end(),
                   {"--rho", text_of(closed.shrinkage), "--whitening", text_of(own.semantics.whitening)});
  compared.add("numpy with the same formulas", "closed form", compared.run("numpy_closed_form.py", arguments));

  arguments = places;
  arguments.insert(arguments.end(), {"--shrinkage", text_of(closed.shrinkage / (1 + closed.shrinkage)), "--alpha",
                                     text_of(BaselineOptions{}.lambda)});
  const json learners = compared.run("sklearn_learners.py", arguments);
  for (const auto& [name, ours] : {std::pair("LDA + KernelRidge", "closed form"),
                                   {"LDA + KernelRidge", "default, one fit"},
                                   {"Ridge", "ridge"},
                                   {"KernelRidge", "ridge"},
                                   {"RidgeCV", "ridge"},
                                   {"RidgeCV", "default, one fit"}})
    compared.add(std::string("scikit-learn, ") + name, ours,
                 learners.contains("missing") ? learners : learners["learners"][name]);

  // Twelve times ours decide the goal of ten, whatever else runs.
  const double limit = std::max(10.0, 12 * compared.seconds_of_ours("default training"));
  for (const char* loss : {"softmax", "squared"})
    compared.add(
        fmt::format("PyTorch, the paper's network, {} loss", loss), "default training",
        compared.run("torch_network.py",
                     {"--loss", loss, "--target", text_of(compared.accuracy_of_ours("default training")), "--seconds",
                      text_of(settings.quick ? 10 : limit), "--threads", std::to_string(pool.size()), "--networks",
                      "200", "--open", std::to_string(source.open), "--encoding", "400"}));
  json result = compared.results();
  result["data"] = sizes_of(source, data);
  result["threads"] = pool.size();
  return result;
}

}  // namespace bench
