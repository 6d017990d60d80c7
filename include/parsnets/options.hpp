#pragma once
// Options of training. A method is a type with its own options; the value of a field here is what happens by default.
// A number that is kBySize follows from the size of the data, by the function that its comment names; resolve_options()
// puts it in.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "parsnets/model.hpp"
#include "parsnets/model_parts.hpp"

namespace parsnets {

inline constexpr int kBySize = -1;  ///< stands for a value that follows from the size of the data

/// How class descriptions become class vectors.
struct SemanticOptions {
  SemanticScaling scaling = SemanticScaling::l2;  ///< comes first
  double whitening = 0;                           ///< exponent of partial whitening; 0: none
  std::vector<double> weights;  ///< of several tables, positive, any sum; empty: chosen on validation classes
};

/// The default method: linear networks that map features into class space, where semantics place the classes.
struct ParsNetsOptions {
  FeatureScaling feature_scaling = FeatureScaling::by_sign;  ///< of samples
  double shrinkage = kBySize;  ///< ρ: ridge of the covariance within classes; default_shrinkage()
  SemanticOptions semantics{SemanticScaling::l2, 0.35, {}};  ///< class descriptions to class vectors
  double prototype_width = 1.2;   ///< w of the kernel that makes prototypes of these; 0: the cosine itself
  double prototype_lambda = 0.3;  ///< ridge of that kernel
  int attribute_steps = kBySize;  ///< of learning weights of attributes; default_attribute_steps()
  double prior_samples = 300;     ///< κ: samples that the prediction from the description counts as
  int networks = kBySize;         ///< K, gated networks beside the shared one; 0: none; default_networks()
  int active = kBySize;           ///< k of them per sample; 10, at most K
  int encoding = kBySize;         ///< h, what they see of a sample; 64, at most most_encoding()
  int refine_steps = 3;           ///< of discriminative refinement
  double refine_rate = 1;         ///< length of a step
  double sharpness = 20;          ///< τ of its softmax
  double gate_weight = 3;         ///< step length of gated networks relative to the shared one
};

/// The published method, or a part of it.
enum class PaperPart {
  whole,
  scln,  ///< gated networks alone
  mmg    ///< maximal margin geometry alone: every network is active for every sample
};

/// The paper's networks: encoder, gates, SVR and maximal margin geometry (MMG).
struct PaperOptions {
  PaperPart part = PaperPart::whole;                         ///< what is fitted
  FeatureScaling feature_scaling = FeatureScaling::sqrt_l2;  ///< of samples
  SemanticOptions semantics;                                 ///< what networks predict
  int encoding = kBySize;                                    ///< h; 400, or what features with fewer dimensions allow
  /// The encoder's axes are a seeded Haar rotation of the principal ones: same reconstruction, balanced parts.
  /// Otherwise they are these, by falling variance.
  bool random_rotation = true;
  GateKind gates = GateKind::energy;  ///< energy or anchor
  int networks = kBySize;             ///< K; 200, or what few features or samples allow; mmg: at most 32
  int active = kBySize;               ///< k; paper_active(); mmg: all
  bool networks_see_encoding = true;  ///< z = e; otherwise z = x
  /// Squared loss, beside a linear map that is always active; otherwise epsilon-insensitive loss, with a certificate.
  bool ridge = false;
  double lambda = 1;                           ///< of a ridge fit, in units of the mean eigenvalue of XᵀX
  bool relu = false;                           ///< networks give max(0, Θᵀz + b): a ridge fit, trained in the primal
  double c = 0.1;                              ///< SVR box bound, for targets scaled to unit variance
  double epsilon = 0.1;                        ///< SVR tube, for targets scaled to unit variance
  double tolerance = 1e-3;                     ///< relative duality gap to stop at
  int max_passes = 1000;                       ///< of the SVR solver, at most
  double mmg = 0.1;                            ///< weight of MMG
  Similarity similarity = Similarity::cosine;  ///< of predictions and class descriptions
  int joint_steps = 3;                         ///< on fit and MMG together
};

/// What the default method is compared with.
enum class Baseline { ridge, reverse_ridge, eszsl, sae, sae_reverse, dap };

/// A baseline: one linear map.
struct BaselineOptions {
  Baseline kind = Baseline::ridge;                           ///< which one
  FeatureScaling feature_scaling = FeatureScaling::sqrt_l2;  ///< of samples
  SemanticOptions semantics;                                 ///< dap takes attributes as yes or no
  double lambda = 1;                                         ///< regularisation, relative to the scale of the data
  double semantic_lambda = 1;                                ///< eszsl: that of the semantics
};

/// A method and its options.
using MethodOptions = std::variant<ParsNetsOptions, PaperOptions, BaselineOptions>;

/// The choice of gamma and temperature.
struct CalibrationOptions {
  bool enabled = true;      ///< choose gamma and temperature on validation classes
  double false_accept = 0;  ///< share of unknown samples that rejection may accept (open_set.hpp); 0: no rejection
  int folds = 0;            ///< validation folds, for searches too; 0: by the split and the cost of a fit
};

/// What is searched on validation classes. Options that have other values than their defaults stay as they are.
enum class Search {
  none,
  grid,      ///< every combination of the values in the method's table, or of SearchOptions::grid
  automatic  ///< ParsNets alone: stage by stage, from the closed form to gated networks
};

/// The search on validation classes.
struct SearchOptions {
  Search kind = Search::none;  ///< how
  std::string grid;            ///< "name=v1,v2;name=…" instead of the table's values
  double time_budget = 420;    ///< seconds the automatic search may take; 0: no limit
};

/// What does not belong to the method.
struct RunOptions {
  std::uint64_t seed = 1;            ///< of everything random
  std::uint64_t memory_limit = 0;    ///< bytes for the whole process; 0: none
  std::filesystem::path checkpoint;  ///< where finished work is kept; empty: nowhere
  bool resume = false;               ///< continue from the checkpoint
};

/// All options of training.
struct TrainOptions {
  MethodOptions method;            ///< what is trained
  CalibrationOptions calibration;  ///< gamma, temperature, rejection
  SearchOptions search;            ///< on validation classes
  RunOptions run;                  ///< seed, memory, checkpoint
};

/// ρ for n samples of d dimensions, 10·d/n within 0.1 … 300: the fewer samples, the less their covariance says.
double default_shrinkage(std::size_t dimensions, double samples);
/// One per ten seen classes, at most 8.
int default_attribute_steps(std::size_t seen_classes);
/// None with fewer than 64 seen classes, where they cost accuracy; else 100, at most most_networks().
int default_networks(std::size_t seen_classes, std::size_t samples);
/// One network per eight samples, 2 to 200.
int most_networks(std::size_t samples);
/// A quarter of the samples, at most the dimensions and 128.
int most_encoding(std::size_t dimensions, std::size_t samples);
/// k in the paper: 30 for AWA and APY, 80 for SUN, else 40.
int paper_active(const std::string& known_as);

struct Dataset;

/// The options with every value that follows from the size of the data. Only weights of several tables of semantics
/// stay empty: training chooses them. Resolving again changes nothing.
TrainOptions resolve_options(const TrainOptions& options, const Dataset& data);

}  // namespace parsnets
