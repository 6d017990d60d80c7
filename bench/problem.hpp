#pragma once
// The data that the suite measures on: CUB, and a generated set of AWA2's size.

#include <filesystem>
#include <string>
#include <vector>

#include "harness.hpp"
#include "model/fit_gates.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/model_parts.hpp"
#include "parsnets/options.hpp"
#include "solvers/svr.hpp"

namespace bench {

/// A data set folder and the paper's sizes for it.
struct DataSource {
  std::string name;
  std::filesystem::path folder;
  parsnets::LoadOptions load;
  int open = 40;  ///< k; K is 200 and h is 400
};

DataSource cub(const Settings& settings);
/// AWA2's classes, attributes and split with features drawn by `parsnets data synth`, written to `work`.
DataSource awa2_sized(const Settings& settings, const Workspace& work);
/// The samples that solvers are compared on: all of training, or with --quick a quarter of them.
std::vector<std::int32_t> compared_rows(const Settings& settings, const parsnets::Dataset& data);
json sizes_of(const DataSource& source, const parsnets::Dataset& data);

/// Training samples as `train --method scln` sees them: sqrt-l2 features, h = 400 with a random
/// rotation, energy gates with K = 200.
struct Problem {
  parsnets::FeaturePreprocess preprocess;
  parsnets::Matrix<float> x, z;  ///< n x d, n x h
  parsnets::Encoder encoder;
  parsnets::Gates gates;
  parsnets::Matrix<std::uint16_t> open;  ///< n x k
  parsnets::Matrix<float> targets;       ///< n x m: attributes of each sample's class, mean 0 and variance 1
  std::vector<std::int32_t> labels;      ///< n

  parsnets::GatedSamples samples() const { return {z.view(), open.view(), gates.networks}; }
};
/// Gates of embeddings that are all in memory.
parsnets::Gates gates_of(const parsnets::GateOptions& options, const parsnets::Matrix<float>& e, ThreadPool& pool);
Problem paper_problem(const parsnets::Dataset& data, const std::vector<std::int32_t>& rows, int open, ThreadPool& pool);

}  // namespace bench
