#pragma once
// Model: from a sample to scores of classes. Holds everything prediction needs: preprocessing, encoder, gates,
// networks, the class bank and the calibration. Move-only; const methods may be called from several threads at once.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/model_parts.hpp"
#include "parsnets/open_set.hpp"
#include "parsnets/threads.hpp"
#include "parsnets/train_record.hpp"

namespace parsnets {

/// How a prediction is compared with a class.
enum class Similarity {
  cosine,  ///< of f − μ and a − μ, μ the mean of the seen classes: what all classes share would drown what tells them
           ///< apart
  dot,
  euclidean
};

/// What the networks predict.
enum class Targets {
  semantics,  ///< f predicts the prepared semantics of a sample's class
  classes     ///< f predicts where the sample's class lies in class space; semantics only say where a class lies
};

/// The space in which samples and classes are compared.
enum class Direction {
  forward,  ///< f(x) = Θ_sharedᵀx + Σ_{i open} (Θ_iᵀz + b_i) + b is compared with class vectors
  reverse   ///< each class has a prototype Rᵀa + r in feature space, compared with z
};

/// Takes rows first, first + 1, … of n x C scores. Called in the order of the rows.
using ScoreVisitor = std::function<void(std::size_t first, MatrixView<const float> scores)>;

/// Samples of classes after training. x̂ is a sample in class space at unit length.
struct Experience {
  std::vector<float> samples;  ///< C: n, how many samples, by weight; empty: none of any class
  Matrix<float> sums;          ///< C x o: Σ x̂ over them
};

/// The classes a model can name. Rows of `semantics` are as given by the user; the model prepares them when it scores.
struct ClassBank {
  std::vector<std::string> names;       ///< C, all different
  std::vector<std::uint8_t> seen;       ///< 1: had training samples; calibration (gamma) applies to these
  Matrix<float> semantics;              ///< C x m
  std::vector<float> samples;           ///< C: samples whose mean is in `means`, 0 for none; empty: no means
  Matrix<float> means;                  ///< C x o, targets classes: mean of f − μ over the samples of the class
  Experience taught;                    ///< labelled examples (parsnets/field.hpp)
  Experience adapted;                   ///< unlabelled samples (parsnets/field.hpp)
  std::vector<std::uint8_t> described;  ///< C, 0: known by examples alone, its semantics mean nothing; empty: all 1
  std::optional<double> gamma_before;   ///< gamma before classes adapted; none: they have not
};

/// What training saw of the seen classes, carried over to every class by kernel ridge regression. With b the centred
/// semantics of a class at unit length and k(b, b') = exp((bᵀb' − 1)/w²), or bᵀb' where w is 0, its place in class
/// space is Σ_s k(b, b_s)·α_s. Targets classes only.
struct Prototypes {
  Matrix<float> support;  ///< S x q, unit rows b_s
  Matrix<float> weights;  ///< S x o, rows α_s
  double width = 1;       ///< w
  double ridge = 0;       ///< λ of the regression; 0: fitted before it was kept

  /// Σ_s k(b, b_s)·α_s of one centred class vector (q values of any length), added to `out` (o values).
  void add(std::span<const float> a, std::span<double> out) const;
};

struct PreparedClasses;  // model/prediction.hpp

/// How examples and unlabelled samples move prototypes of classes (parsnets/field.hpp).
struct FieldSettings {
  double example_prior = 5;  ///< κ: examples that the place before them counts as
  double strength = 20;      ///< β: unlabelled samples that the place before them counts as
  double sharpness = 40;     ///< τ: scale of the scores in the softmax that assigns unlabelled samples
  double certainty = 0.75;   ///< θ: samples that are assigned with less than this do not count
  double gamma_shift = 0;    ///< half of it, times the mean of n/(n + β) over unseen classes, is added to gamma
  std::optional<double> strong = {};  ///< strength of the strong form of adapting; none: it did not pay in validation
  double strong_gamma_shift = 0;      ///< added to gamma, times how far classes follow samples in the strong form
  double least_length = 0;  ///< ‖v‖/√p below which an unlabelled sample is of nothing (Evidence::length)
  bool operator==(const FieldSettings&) const = default;  ///< every field
};

/// Everything that prediction needs. Move-only; const methods are thread-safe, changes need exclusive access.
struct Model {
  std::size_t dimensions = 0;                ///< d, features per sample
  FeaturePreprocess feature_preprocess;      ///< raw features to x
  Encoder encoder;                           ///< x to e
  Gates gates;                               ///< e to open gates
  bool networks_see_encoding = false;        ///< z = e; otherwise z = x
  Direction direction = Direction::forward;  ///< which of the fields below are used
  Targets targets = Targets::semantics;      ///< what f predicts
  Matrix<float> networks;                    ///< forward: (K·(h+1)) x o, row i·(h+1) is b_i, the next h rows Θ_i
  bool relu = false;                         ///< forward: each network's output is max(0, Θ_iᵀz + b_i)
  Matrix<float> shared;     ///< forward: d x o, the always-open network on the prepared features; empty: none
  std::vector<float> bias;  ///< forward: o
  Matrix<float> reverse;    ///< reverse: (q+1) x h, the last row is r
  /// Attributes to class vectors.
  SemanticPreprocess semantic_preprocess;
  std::vector<float> semantic_centre;  ///< μ, o values; empty: zero (reverse models compare in feature space)
  /// What scores measure.
  Similarity similarity = Similarity::cosine;
  /// Places of classes in class space, from their semantics.
  Prototypes prototypes;
  /// κ, targets classes: a class with n samples lies at (n·mean + κ·predicted)/(n + κ).
  double prior_samples = 0;
  Matrix<float> attribute_head;  ///< targets classes: (o+1) x m, predicts semantics from f; the last row is the offset
  /// How examples and unlabelled samples move prototypes of classes.
  FieldSettings field;
  /// What can be predicted.
  ClassBank classes;
  std::vector<std::string> attribute_names;  ///< m, or empty
  std::vector<std::string> feature_names;    ///< d, or empty
  double gamma = 0;                          ///< subtracted from the scores of seen classes in generalised recognition
  double temperature = 1;                    ///< of the softmax that turns scores into confidences
  Rejection rejection;                       ///< what tells unknown samples; or empty
  PredictionSets sets;                       ///< what prediction sets are made by; or empty
  std::string options;                       ///< JSON: the options it was trained with
  TrainRecord record;                        ///< what training tells of itself

  /// m: values that describe a class.
  std::size_t attributes() const { return classes.semantics.cols(); }
  /// q: values of the prepared semantics; fewer than m with whitening.
  std::size_t semantic_outputs() const { return semantic_preprocess.outputs(attributes()); }
  /// o: values of a class vector and of f; q with targets semantics.
  std::size_t outputs() const { return targets == Targets::classes ? bias.size() : semantic_outputs(); }
  /// Values of z, the input of a gated network.
  std::size_t z_dimensions() const {
    return networks_see_encoding && !encoder.is_identity() ? encoder.weights.rows() : dimensions;
  }

  /// n x d raw features to n x o predicted class vectors (forward models only). Throws bad_input for a wrong d or
  /// non-finite values.
  Matrix<float> predict(MatrixView<const float> x, ThreadPool& pool) const;
  /// The same, n x m in the space of attributes.
  Matrix<float> predict_semantics(MatrixView<const float> x, ThreadPool& pool) const;
  /// n x d raw features to n x C scores, higher is better; gamma is not applied.
  Matrix<float> scores(MatrixView<const float> x, ThreadPool& pool) const;
  /// The same to the bit, with the classes prepared before: most of the time of a single sample.
  Matrix<float> scores(MatrixView<const float> x, const PreparedClasses& prepared, ThreadPool& pool) const;
  /// The class bank as scores() and explain() compare it. Stale once the model changes.
  PreparedClasses prepare_classes(ThreadPool& pool) const;
  /// The same to the bit from what was prepared before classes were added, without doing those anew.
  PreparedClasses prepare_added_classes(const PreparedClasses& before, ThreadPool& pool) const;
  /// C x o: the vectors that predictions are compared with, from the class bank: prepared, for cosine centred, or
  /// their places in class space.
  Matrix<float> class_vectors() const;

  /// Adds a class that is described by `semantics` (m values); no score of another class changes. Throws bad_input for
  /// a name that is there already, a wrong number of values or a non-finite value.
  void add_class(const std::string& name, std::span<const float> semantics);
  /// Adds the classes that the rows of `semantics` describe, one per name, all or none; the bank is copied once. Throws
  /// as add_class.
  void add_classes(std::span<const std::string> names, MatrixView<const float> semantics);
  /// Removes a class; later ones move up. Throws bad_input when there is no such class, or no other.
  void remove_class(const std::string& name);
  /// Removes all or none; the bank is copied once. Throws as remove_class, also for a name given twice.
  void remove_classes(std::span<const std::string> names);
};

/// What one attribute contributed to a decision.
struct Contribution {
  std::size_t index = 0;  ///< of the attribute
  double amount = 0;      ///< share of score(winner) − score(runner-up)
};

/// Why a sample was given its class.
struct Explanation {
  std::int32_t winner = 0, runner_up = 0;        ///< places in the class bank; equal when there is one class
  double winner_score = 0, runner_up_score = 0;  ///< gamma applied
  double calibration = 0;                        ///< what gamma gave
  double examples = 0;                   ///< what the training samples of the two classes gave beside their semantics
  std::vector<Contribution> attributes;  ///< sorted by size; with the two above they add up to the difference of the
                                         ///< scores (squared distances for euclidean)
  std::vector<float> predicted;          ///< m, predicted semantics
  std::vector<std::uint16_t> open_networks;  ///< k
};

/// Explains the choice among all classes (gamma applied) for one raw sample of d values. Forward models only (throws
/// usage).
Explanation explain(const Model& model, std::span<const float> x, ThreadPool& pool);
/// The same to the bit, with the classes prepared before.
Explanation explain(const Model& model, std::span<const float> x, const PreparedClasses& prepared, ThreadPool& pool);

/// A human-readable warning where rejection had an AUROC of at most 60 % on held-out classes, or rejected more than
/// half of the known samples of seen or of unseen classes; otherwise, and where this is not known, "".
std::string weak_rejection(const Model& model);

/// Reads and fully validates a model file (docs/format.md), of which nothing depends on later. Throws bad_input.
Model load_model(const std::filesystem::path& file);
/// Writes atomically. The bytes depend on the model alone.
void save_model(const Model& model, const std::filesystem::path& file);
/// How many bytes that file has.
std::uint64_t model_file_bytes(const Model& model);

}  // namespace parsnets
