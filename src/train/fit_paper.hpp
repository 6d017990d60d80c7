#pragma once
// Fits the paper's networks, f(x) = Σ_{i active} σ(Θ_iᵀz + b_i) + b with targets a (class descriptions):
//   svr    by the epsilon-SVR on the gated kernel (solvers/svr.hpp), jointly with MMG where its weight is positive
//          (solvers/joint.hpp)
//   ridge  a shared linear map by ridge, then descent of the squared loss and MMG over all networks, which start at
//   zero
//          (solvers/descent.hpp)

#include <optional>

#include "train/stages.hpp"

namespace parsnets {

class PaperFitter {
 public:
  /// Refers to the stages.
  explicit PaperFitter(Stages& stages) : stages_(stages) {}

  /// Fits `model`, which has its classes already. Along a path of C, the SVR starts from its last solution. Throws
  /// usage unless all samples are in the memory of this process.
  void fit(const TrainOptions& options, Model& model, const std::filesystem::path& checkpoint, TrainRun* run);

 private:
  /// What a solution of the SVR depends on, but for C and how precise it is.
  struct Problem {
    GateRequest gates;
    bool sees_encoding = true;
    double epsilon = 0;
    Matrix<float> targets;  ///< n x m
  };

  void fit_svr(const TrainOptions& options, const GateRequest& gates, const TargetVectors& targets, Model& model,
               const std::filesystem::path& checkpoint, TrainRun* run);
  void fit_ridge(const TrainOptions& options, const GateRequest& gates, const TargetVectors& targets, Model& model);

  Stages& stages_;
  Problem last_;
  Matrix<float> last_beta_;
};

}  // namespace parsnets
