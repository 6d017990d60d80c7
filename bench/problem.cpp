#include "problem.hpp"

#include <cmath>

#include "base/linalg.hpp"
#include "data/sample_set.hpp"
#include "data/synth.hpp"
#include "features/fit_encoder.hpp"
#include "features/preprocess.hpp"
#include "model/fit_gates.hpp"
#include "parsnets/error.hpp"

namespace bench {

using namespace parsnets;

DataSource cub(const Settings& settings) {
  DataSource source{"CUB", settings.data / "CUB", {}, 40};
  source.load.features = "res50";
  if (!std::filesystem::is_directory(source.folder))
    throw Error(BadInput{source.folder.string(), "folder", "the data set CUB", "no such folder",
                         "set PARSNETS_DATA to a folder that holds CUB and AWA2"});
  return source;
}

DataSource awa2_sized(const Settings& settings, const Workspace& work) {
  LoadOptions semantics;
  semantics.require_features = false;
  const Dataset awa2 = load_dataset(settings.data / "AWA2", semantics);
  DataSource source{"AWA2-sized", work / "AWA2-sized", {}, 30};
  save_dataset(synthesize({}, &awa2), source.folder, DataFormat::npy);
  return source;
}

std::vector<std::int32_t> compared_rows(const Settings& settings, const Dataset& data) {
  const auto& all = data.split.trainval;
  std::vector<std::int32_t> rows;
  for (std::size_t i = 0; i < all.size(); i += settings.quick ? 4 : 1) rows.push_back(all[i]);
  return rows;
}

json sizes_of(const DataSource& source, const Dataset& data) {
  return {{"name", source.name},
          {"features", data.features_name},
          {"generated", data.generated},
          {"samples", data.samples()},
          {"training_samples", data.split.trainval.size()},
          {"dimensions", data.features.cols()},
          {"attributes", data.semantics.values.cols()},
          {"classes", data.classes()},
          {"seen_classes", data.seen_classes().size()},
          {"split", data.split.version}};
}

Gates gates_of(const GateOptions& options, const Matrix<float>& e, ThreadPool& pool) {
  const auto encodings = [&](std::span<const std::size_t> samples) {
    return gather_rows(e.view(), std::vector<std::int32_t>(samples.begin(), samples.end()));
  };
  return fit_gates(options, e.rows(), e.cols(), encodings, pool);
}

Problem paper_problem(const Dataset& data, const std::vector<std::int32_t>& rows, int open, ThreadPool& pool) {
  Problem p;
  p.preprocess = fit_feature_preprocess(FeatureScaling::sqrt_l2, data.features.view(), rows, pool);
  p.x = preprocessed_rows(p.preprocess, data.features.view(), rows, pool);
  p.encoder = fit_encoder({}, p.x.rows(), gram_of_columns(pool, p.x.view()).view(), pool);
  p.z = encoded(p.encoder, p.x.view(), pool);
  GateOptions gates;
  gates.open = open;
  p.gates = gates_of(gates, p.z, pool);
  p.open = open_networks(p.gates, p.z.view(), pool);
  p.labels = labels_of(data, rows);
  p.targets = gather_rows(data.semantics.values.view(), p.labels);
  const auto n = static_cast<double>(p.targets.rows());
  for (std::size_t j = 0; j < p.targets.cols(); ++j) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < p.targets.rows(); ++i) mean += p.targets(i, j) / n;
    for (std::size_t i = 0; i < p.targets.rows(); ++i) square += std::pow(p.targets(i, j) - mean, 2);
    const double deviation = std::max(1e-12, std::sqrt(square / n));
    for (std::size_t i = 0; i < p.targets.rows(); ++i)
      p.targets(i, j) = static_cast<float>((p.targets(i, j) - mean) / deviation);
  }
  return p;
}

}  // namespace bench
