#pragma once
// Training: options in, a Model and its record out. Every choice that is not given is made on validation classes.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets/model.hpp"
#include "parsnets/progress.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

enum class Method { parsnets, scln, mmg, ridge, reverse_ridge, eszsl, sae, sae_reverse, dap };
enum class Preset {
  none,
  automatic,  ///< everything that is not pinned is searched on validation classes, from plain ridge upwards
  paper  ///< the paper's settings: K = 200, h = 400, energy gates, k by data set (AWA2 30, CUB 40, SUN 80, aPY 30; else
         ///< 40)
};
enum class NetworkInput { encoding, features };
enum class Fit {
  ridge,  ///< squared loss
  svr     ///< epsilon-insensitive loss, with a certificate
};
enum class MmgSamples {
  active,  ///< each network sees the samples it is open for
  all
};
/// Fields left as they are here take the value that suits the method (see docs/options.md); pin an option to keep it.
struct TrainOptions {
  Method method = Method::parsnets;
  Preset preset = Preset::none;  ///< sets what is not pinned
  FeatureScaling feature_scaling = FeatureScaling::sqrt_l2;
  bool centre = true;  ///< subtract the training mean from the scaled features
  SemanticScaling semantic_scaling = SemanticScaling::l2;
  double semantic_whitening = 0;  ///< exponent a of partial whitening, after the scaling; 0: none
  Similarity similarity = Similarity::cosine;
  double lambda = 1;           ///< ridge weight, in units of the mean eigenvalue of XᵀX
  double semantic_lambda = 1;  ///< eszsl: the same for the semantics
  int encoding = 400;          ///< h
  Rotation rotation = Rotation::random;
  GateKind gates = GateKind::energy;
  int networks = 200;  ///< K
  int open = 40;       ///< k
  AnchorChoice anchors = AnchorChoice::samples;
  NetworkInput input = NetworkInput::encoding;  ///< z
  bool shared = false;                          ///< an always-open network on x beside the gated ones
  bool relu = false;                            ///< gated networks give max(0, Θᵀz + b); trained in the primal
  Fit fit = Fit::ridge;                         ///< parsnets: what the networks are fitted by
  double mmg = 0;                               ///< weight of the maximal margin geometry
  double mmg_floor = 0;                         ///< Δ: nuclear norms of classes below it are left alone
  MmgSamples mmg_samples = MmgSamples::active;
  int joint_steps = 0;           ///< steps on fit + mmg·MMG before refinement
  int refine_steps = 0;          ///< steps of discriminative refinement
  double refine_lambda = 0;      ///< of its preconditioner; 0: lambda
  double refine_rate = 1;        ///< length of its steps
  double refine_sharpness = 10;  ///< τ of its softmax
  double gate_weight = 0.3;      ///< how far it moves the gated networks beside the shared one
  double balance = 0;            ///< its loss weighs samples by (size of their class)^−balance
  double prototype_width = 0;    ///< of the kernel that corrects class vectors; 0: no correction
  double prototype_lambda = 0.1;
  double c = 0.1;           ///< SVR box bound, for targets scaled to unit variance
  double epsilon = 0.1;     ///< SVR tube, for targets scaled to unit variance
  double tolerance = 1e-3;  ///< relative duality gap to stop at
  int max_passes = 1000;
  bool calibrate = true;  ///< choose gamma and temperature on validation classes
  bool select = false;    ///< search the method's grid on validation classes
  std::string grid;       ///< "name=v1,v2;name=…" in place of the method's own grid
  int folds = 0;  ///< validation folds; 0: one from the split's own validation classes (automatic: two), else by cost
  double time_budget = 420;        ///< seconds the automatic search may take; 0: no limit
  std::uint64_t memory_limit = 0;  ///< bytes for the whole process; 0: none
  std::uint64_t seed = 1;
  std::filesystem::path checkpoint;  ///< of the SVR solver; empty: none
  bool resume = false;
  std::vector<std::string> pinned;  ///< option names the user gave: selection leaves them alone
};

/// One candidate that selection looked at.
struct SelectionStep {
  std::string choice;                             ///< "lambda=3 semantic-scaling=l2"
  double zsl = 0;                                 ///< per-class top-1 on validation classes, mean over the folds
  double h = 0;                                   ///< harmonic mean at the best gamma on the same folds
  double merit() const { return (zsl + h) / 2; }  ///< what the choice is made by
};

/// What is said of a run but not stored in the model, since it differs between machines.
struct TrainRun {
  double seconds = 0;
  double flops = 0, bytes = 0;      ///< of the SVR's hot loops
  std::vector<double> svr_seconds;  ///< since the start of the last solve, one per entry of its trace in the record
  std::uint64_t peak_memory = 0;
};

/// Trains on the trainval samples of `data`. The same data, options and seed give the same bytes for any number of
/// threads (preset automatic: unless its time budget cuts the search). Throws usage for impossible options, bad_input
/// for unusable data, cancelled by `progress`.
Model train(const Dataset& data, const TrainOptions& options, ThreadPool& pool, ProgressObserver* progress = nullptr,
            TrainRun* run = nullptr);

/// Removes the files that training with this checkpoint has left. Never throws: left-over ones do no harm.
void remove_checkpoints(const std::filesystem::path& checkpoint);

/// How many test samples of class `label` were taken for class `predicted`; both are places in the data set's classes.
struct Confusion {
  std::int32_t label = 0, predicted = 0;
  std::uint32_t samples = 0;
};

/// Everything the protocol asks of a model on a data set's test samples.
struct TestReport {
  Accuracy zsl;  ///< unseen test samples among the unseen classes
  bool has_gzsl = false;
  Gzsl gzsl;                          ///< among all classes, at the model's gamma
  std::vector<Confusion> confusion;   ///< pairs that occur, by label: all test samples among all classes, with gamma
  std::vector<std::string> warnings;  ///< which figures mean nothing, and why
  std::int64_t trained_samples = 0;   ///< test samples that the model was trained on; -1: some, the number is not known
};
/// Classes are matched by name; throws bad_input when the model lacks a test class, when the data set was loaded with
/// other semantics than the model's, and when it was trained on test samples unless `allow_trained_samples`.
TestReport evaluate(const Model& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress = nullptr,
                    bool allow_trained_samples = false);

/// Sets gamma and temperature by samples (n x d, labels are places in the class bank) that training did not see, of
/// seen and of unseen classes: the best harmonic mean, then the best likelihood. Throws bad_input, and changes nothing
/// then, without samples of both kinds.
void calibrate(Model& model, MatrixView<const float> x, std::span<const std::int32_t> labels, ThreadPool& pool);

}  // namespace parsnets
