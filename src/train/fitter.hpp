#pragma once
// Fits models on fixed rows of a data set. Stages that two option sets have in common (prepared features, class space,
// encoder, gates) are kept.

#include <cstdint>
#include <span>
#include <vector>

#include "solvers/descent.hpp"
#include "train/stages.hpp"

namespace parsnets {

// Fits of the methods on the stages of one sample set: each fills in a model that has its classes already. They throw
// usage where a memory limit is too low, cancelled by the stages' observer.

/// A model without networks: the class set, `seen` set for `classes`.
Model start_model(const Dataset& data, std::size_t dimensions, const std::vector<std::int32_t>& classes);

/// Makes a linear map the one network of a model: its bias is the global one.
void set_linear_map(Model& model, LinearMap map);

/// Gives a model the encoder and the gates of these stages.
void set_gates(Stages& stages, const GateRequest& request, bool networks_see_encoding, Model& model);

/// Makes a linear map the shared network of a model beside gated ones, which start at zero.
void set_shared_map(Model& model, LinearMap map);

/// The default method. Features are mapped into class space in closed form (solvers/class_space.hpp); gated networks
/// beside that map start at zero; refinement moves all of them,
///   f(x) = Vᵀx + Σ_{i active} Θ_iᵀ[1, e],   min Σ_l −log softmax_c(τ·cos(f(x_l) − g, p_c))[y_l] (solvers/descent.hpp),
/// with the class prototypes p_c recomputed from the moved class means after every step (train/place_classes.hpp).
/// `observer` sees the model at 0 and after each step, with its prototypes. `checkpoint` (may be empty) keeps the last
/// step; options.run says whether to resume from it.
void fit_parsnets(Stages& stages, const TrainOptions& options, Model& model, const DescentObserver& observer,
                  const std::filesystem::path& checkpoint);

/// A baseline (solvers/baselines/linear_map.hpp): one linear map from features to class descriptions, or back. Throws
/// usage for methods that need all samples in the memory of one process where they are not.
void fit_baseline(Stages& stages, const TrainOptions& options, Model& model);

/// The names of the baselines, in the order of `Baseline`.
std::span<const char* const> baseline_names();

/// The paper's networks, f(x) = Σ_{i active} σ(Θ_iᵀz + b_i) + b with targets a (class descriptions):
///   svr    by the epsilon-SVR on the gated kernel (solvers/svr.hpp), jointly with MMG where its weight is positive
///          (solvers/joint.hpp)
///   ridge  a shared linear map by ridge, then descent of the squared loss and MMG over all networks, which start at
///          zero (solvers/descent.hpp)
class PaperFitter {
 public:
  /// Refers to the stages.
  explicit PaperFitter(Stages& stages) : stages_(stages) {}

  /// Along a path of C, the SVR starts from its last solution. Throws usage unless all samples are in the memory of
  /// this process.
  void fit(const TrainOptions& options, Model& model, TrainRun* run);

 private:
  /// What a solution of the SVR depends on, but for C and how precise it is.
  struct Problem {
    GateRequest gates;
    bool sees_encoding = true;
    double epsilon = 0;
    Matrix<float> targets;  ///< n x m
  };

  void fit_svr(const TrainOptions& options, const GateRequest& gates, const TargetVectors& targets, Model& model,
               TrainRun* run);
  void fit_ridge(const TrainOptions& options, const GateRequest& gates, const TargetVectors& targets, Model& model);

  Stages& stages_;
  Problem last_;
  Matrix<float> last_beta_;
};

class Fitter {
 public:
  /// Refers to everything it is given. `rows` are samples of `data`, those of all processes; `whole` as for Stages.
  Fitter(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress,
         SamplePlace place = {}, Stages* whole = nullptr)
      : stages_(data, std::move(rows), pool, progress, place, whole) {}

  /// A model whose class set holds all classes of the data set, `seen` set for those with rows; no calibration yet. Its
  /// record has the certificate and the statistics of the fit alone. `checkpoint` overrides the options' path; class
  /// space alone has one.
  /// `observer` sees a model of class space at 0 and after each step of refinement; other methods do not call it.
  /// Throws as train().
  Model fit(const TrainOptions& resolved, const std::filesystem::path& checkpoint = {}, TrainRun* run = nullptr,
            const DescentObserver& observer = {});

 private:
  Stages stages_;
  PaperFitter paper_{stages_};
};

/// The options and the seed that a model was trained with, without checkpoints. Throws bad_input for damaged ones.
TrainOptions options_of(const Model& model);

/// A model with these options, fitted to the given rows of `data` without calibration.
Model refit(const TrainOptions& options, const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool,
            ProgressObserver* progress);

}  // namespace parsnets
