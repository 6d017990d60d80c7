// Default training beside the paper's network in PyTorch, trained by Adam until it is as good on the validation classes
// of the split as the default model is there, or until its time is up. Test classes are not read.

#include <fmt/format.h>

#include <cstdio>

#include "data/sample_set.hpp"
#include "features/preprocess.hpp"
#include "formats/npy.hpp"
#include "parsnets/training.hpp"
#include "problem.hpp"
#include "train/fitter.hpp"
#include "train/validation.hpp"

namespace bench {

using namespace parsnets;

json measure_pytorch(const Settings& settings) {
  const Workspace work;
  const DataSource source = cub(settings);
  const Dataset data = load_dataset(source.folder, source.load);
  ThreadPool pool;
  std::vector<double> whole, once;
  double accuracy = 0;
  const Fold fold = validation_folds(data, 1, 1).front();
  for (int i = 0; i < (settings.quick ? 1 : 3); ++i) {
    whole.push_back(seconds_of([&] { train(data, {}, pool); }));
    Model model;
    once.push_back(seconds_of([&] { model = refit(resolve_options({}, data), data, fold.fit, pool, nullptr); }));
    accuracy = evaluate_fold(model, data, fold, pool).zsl;
  }
  const auto preprocess = fit_feature_preprocess(FeatureScaling::sqrt_l2, data.features.view(), fold.fit, pool);
  const auto prepared = [&](const std::vector<std::int32_t>& rows) {
    return preprocessed_rows(preprocess, data.features.view(), rows, pool);
  };
  write_npy(work / "x.npy", prepared(fold.fit).view());
  write_npy(work / "labels.npy", labels_of(data, fold.fit));
  write_npy(work / "held.npy", prepared(fold.unseen).view());
  write_npy(work / "held_labels.npy", labels_of(data, fold.unseen));
  write_npy(work / "semantics.npy", data.semantics.values.view());
  fmt::print(
      "\nPyTorch on CUB, {} threads: the default model reaches {:.2f} % on validation classes; training {:.2f} s, "
      "of which a fit of that fold {:.2f} s\n",
      pool.size(), accuracy, median(whole), median(once));
  std::fflush(stdout);
  json networks = json::array();
  for (const char* loss : {"softmax", "squared"}) {
    json peer = run_peer(settings, work, "torch_network.py",
                         {"--folder", (work / "").string(), "--loss", loss, "--target", fmt::format("{}", accuracy),
                          "--seconds", settings.quick ? "20" : "120", "--threads", std::to_string(pool.size()),
                          "--networks", "200", "--open", std::to_string(source.open), "--encoding", "400"});
    if (!peer.contains("missing")) {
      peer["times_ours"] = peer["seconds"].get<double>() / median(whole);
      fmt::print("  loss {}: {:.2f} % after {:.0f} s and {} epochs{}\n", loss, peer["accuracy"].get<double>(),
                 peer["seconds"].get<double>(), peer["epochs"].get<int>(),
                 peer["reached"].get<bool>() ? "" : " (its time was up: a lower bound)");
      std::fflush(stdout);
    }
    networks.push_back({{"loss", loss}, {"peer", peer}});
  }
  return {{"data", sizes_of(source, data)},
          {"threads", pool.size()},
          {"fit_samples", fold.fit.size()},
          {"validation_classes", fold.held_classes.size()},
          {"ours_samples", whole},
          {"ours", median(whole)},
          {"fit_of_the_fold_samples", once},
          {"fit_of_the_fold", median(once)},
          {"accuracy", accuracy},
          {"networks", networks}};
}

}  // namespace bench
