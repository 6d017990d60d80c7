#pragma once
// TrainOptions: everything that decides what training does, in the order in which data flows through it.
//
// A field that is left empty is chosen by training: by the method, the preset and the size of the data (see
// resolve_options), or by a search on validation classes. A field that is set is obeyed, whatever its value.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "parsnets/encoder.hpp"
#include "parsnets/gates.hpp"
#include "parsnets/model.hpp"
#include "parsnets/preprocess.hpp"

namespace parsnets {

/// What is trained: the method, parts of it, or a baseline.
enum class Method { parsnets, scln, mmg, ridge, reverse_ridge, eszsl, sae, sae_reverse, dap };
/// Where the values of empty fields come from.
enum class Preset {
  none,
  automatic,  ///< every empty field is searched on validation classes, from plain ridge upwards
  paper       ///< the paper's settings: K = 200, h = 400, energy gates, k by data set (30, 40 or 80)
};
/// What the gated networks see.
enum class NetworkInput { encoding, features };
/// The loss of the networks.
enum class Fit {
  ridge,  ///< squared loss
  svr     ///< epsilon-insensitive loss, with a certificate
};

/// Scaling of features and semantics.
struct PreprocessingOptions {
  std::optional<FeatureScaling> feature_scaling;    ///< sqrt_l2
  bool centre = true;                               ///< subtract the training mean from the scaled features
  std::optional<SemanticScaling> semantic_scaling;  ///< l2; dap: binary
  std::optional<double> semantic_whitening;         ///< exponent of partial whitening; parsnets, mmg: 0.25; else 0
  /// Of the tables of semantics, positive, any sum; one table: 1; several: chosen on validation classes.
  std::optional<std::vector<double>> semantic_weights;
};

/// The encoder.
struct EncodingOptions {
  std::optional<int> dimensions;     ///< h; at most 128 and a quarter of the samples; scln, paper: 400
  std::optional<Rotation> rotation;  ///< parsnets, mmg: identity; else random
};

/// The gates.
struct GatingOptions {
  std::optional<GateKind> kind;                  ///< parsnets, mmg: anchor; scln, paper: energy
  std::optional<int> networks;                   ///< K; 200, but at most one per eight samples; mmg: 32
  std::optional<int> open;                       ///< k; 20; scln: 40; mmg: all
  AnchorChoice anchors = AnchorChoice::samples;  ///< of anchor gates
};

/// The fit of the networks.
struct FitOptions {
  std::optional<Fit> kind;                      ///< ridge; scln, paper: svr
  std::optional<double> lambda;                 ///< ridge weight in units of the mean eigenvalue of XᵀX; parsnets: 20
  std::optional<double> semantic_lambda;        ///< eszsl: the same for the semantics; 1
  NetworkInput input = NetworkInput::encoding;  ///< z
  std::optional<bool> shared;                   ///< an always-open network on x beside the gated ones
  bool relu = false;                            ///< gated networks give max(0, Θᵀz + b); trained in the primal
  std::optional<double> c;                      ///< SVR box bound, for targets scaled to unit variance; 0.1
  double epsilon = 0.1;                         ///< SVR tube, for targets scaled to unit variance
  double tolerance = 1e-3;                      ///< relative duality gap to stop at
  int max_passes = 1000;                        ///< of the SVR solver, at most
};

/// Maximal margin geometry (MMG).
struct GeometryOptions {
  std::optional<double> weight;       ///< of the maximal margin geometry; parsnets, mmg: 0.1; else 0
  double floor = 0;                   ///< Δ: classes with a smaller nuclear norm get no gradient
  std::optional<MmgSamples> samples;  ///< active; mmg: all
  std::optional<int> joint_steps;     ///< steps on fit + weight·MMG; 10 without refinement, paper: 3, else 0
};

/// Discriminative refinement after the fit.
struct RefinementOptions {
  std::optional<int> steps;           ///< of discriminative refinement; parsnets, mmg: 15; else 0
  double lambda = 0;                  ///< of its preconditioner; 0: that of the fit
  std::optional<double> rate;         ///< length of a step; 1
  std::optional<double> sharpness;    ///< τ of its softmax; 10
  std::optional<double> gate_weight;  ///< step length of gated networks relative to the shared one; 0.3
  std::optional<double> balance;      ///< samples are weighted by (size of their class)^−balance; 0
};

/// How predictions are compared with classes.
struct ClassSpaceOptions {
  std::optional<Similarity> similarity;  ///< cosine; dap and unrefined eszsl: dot
  std::optional<Targets> targets;        ///< parsnets: classes; else semantics
  std::optional<double> shrinkage;       ///< ρ: ridge of the covariance within classes, in mean eigenvalues; 10·d/n
  /// w of the kernel of semantics; targets classes: 1.2; parsnets, mmg: 1.4; else 0
  std::optional<double> prototype_width;
  std::optional<double> prototype_lambda;  ///< of that kernel's ridge; targets classes: 0.3; else 0.1
  std::optional<int> attribute_steps;      ///< of learning weights of attributes; one per 10 seen classes, at most 8
  std::optional<double> prior_samples;     ///< κ: samples that the place predicted from semantics counts as; 300
  std::optional<double> semantic_head;     ///< ω: weight of a second head that predicts semantics; 0: none
};

/// The choice of gamma and temperature.
struct CalibrationOptions {
  bool enabled = true;      ///< choose gamma and temperature on validation classes
  double false_accept = 0;  ///< share of unknown samples that rejection may accept (open_set.hpp); 0: no rejection
};

/// The search on validation classes.
struct SearchOptions {
  bool select = false;       ///< search the method's grid, leaving fields that are set as they are
  std::string grid;          ///< "name=v1,v2;name=…" instead of the method's own grid
  int folds = 0;             ///< validation folds; 0: by the split and the cost of a fit
  double time_budget = 420;  ///< seconds the automatic search may take; 0: no limit
};

/// What does not belong to the method.
struct RunOptions {
  std::uint64_t seed = 1;            ///< of everything random
  std::uint64_t memory_limit = 0;    ///< bytes for the whole process; 0: none
  std::filesystem::path checkpoint;  ///< of the SVR solver; empty: none
  bool resume = false;               ///< continue from the checkpoint
};

/// All options of training, by stage.
struct TrainOptions {
  Method method = Method::parsnets;    ///< what is trained
  Preset preset = Preset::none;        ///< where empty fields come from
  PreprocessingOptions preprocessing;  ///< scaling
  EncodingOptions encoder;             ///< x to e
  GatingOptions gates;                 ///< e to open networks
  FitOptions fit;                      ///< of the networks
  GeometryOptions geometry;            ///< MMG
  RefinementOptions refinement;        ///< after the fit
  ClassSpaceOptions class_space;       ///< similarity and prototypes
  CalibrationOptions calibration;      ///< gamma and temperature
  SearchOptions search;                ///< on validation classes
  RunOptions run;                      ///< seed, memory, checkpoint
};

struct Dataset;

/// The options with every empty field filled in for this data set: what train() uses when it does not search. Only the
/// weights of several tables of semantics stay empty: training chooses them. Resolving again changes nothing.
TrainOptions resolve_options(const TrainOptions& options, const Dataset& data);

}  // namespace parsnets
