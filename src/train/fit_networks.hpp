#pragma once
// The networks of a forward model: one linear map, or gated networks by the SVR, alone or beside a shared one.

#include <string>

#include "train/stages.hpp"

namespace parsnets {

/// Makes a linear map the one network of a composite model: its bias is the global one.
void set_linear_map(Model& model, LinearMap map);

/// The ridge map of the options' lambda.
LinearMap solve_ridge(Stages& stages, const TrainOptions& o);

/// Fits the networks of parsnets, scln and mmg. The model's record gets certificate and statistics.
class NetworkFitter {
 public:
  /// Refers to the stages.
  explicit NetworkFitter(Stages& stages) : stages_(stages) {}

  /// By the epsilon-SVR, with MMG where the options ask for joint steps. Starts from its last solution along a path of
  /// C.
  void fit_svr(const TrainOptions& o, Model& model, const std::filesystem::path& checkpoint, TrainRun* run);
  /// The shared network by ridge, the gated ones at zero: training moves them from there.
  void fit_shared(const TrainOptions& o, Model& model);

 private:
  Stages& stages_;
  std::string warm_key_;
  Matrix<float> warm_beta_;
};

}  // namespace parsnets
