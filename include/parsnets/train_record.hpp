#pragma once
// What training tells of itself: its data, its choices on validation classes, and the certificate of its solver. A
// model keeps it (Model::record) and a model file stores it as JSON (docs/format.md). No prediction depends on it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "parsnets/feature_source.hpp"

namespace parsnets {

/// The split that a model was trained with.
struct SplitProvenance {
  /// The lists of Split: how many samples, and the CRC-32 of the sorted indices, 8 hexadecimal digits.
  std::pair<std::size_t, std::string> trainval, test_seen, test_unseen, train, val;
  std::string version;                                      ///< of a known split; or empty
  std::string file;                                         ///< of a split that replaced the folder's own; or empty
  bool operator==(const SplitProvenance&) const = default;  ///< every field
};

/// Statistics that a model was trained from.
struct StatisticsPart {
  std::string file;                                        ///< its name; empty: from memory
  std::size_t samples = 0;                                 ///< their number
  double weight = 0;                                       ///< the sum of their weights
  bool operator==(const StatisticsPart&) const = default;  ///< every field
};

/// The data set that a model was trained on.
struct DataProvenance {
  std::string name, features, semantics;                   ///< as Dataset calls them
  std::size_t samples = 0, dimensions = 0;                 ///< of all features, n and d
  SplitProvenance split;                                   ///< its split
  std::string known_as;                                    ///< the public data set that it is; or empty
  std::string trained_samples;                             ///< of trainval: bit s % 4 of hexadecimal digit s / 4
  std::string trained_crc32;                               ///< of the features of up to 256 of them
  std::vector<StatisticsPart> statistics;                  ///< where it was trained from statistics, not from samples
  std::string features_path, semantics_path, split_path;   ///< as in ChosenFiles; empty: the folder's own
  std::optional<FeatureSource> source;                     ///< what made the features; none: not known
  bool operator==(const DataProvenance&) const = default;  ///< every field
};

/// What training was asked for, before anything was filled in or searched: with the data, enough to repeat it.
struct TrainingRequest {
  std::map<std::string, std::string> options;  ///< of training and loading, by name, that differ from their defaults
  bool folder = false;                         ///< the data set was loaded from a folder
  std::optional<std::uint64_t> load_seed;      ///< of drawn validation classes, where it is not the seed of training
  bool operator==(const TrainingRequest&) const = default;  ///< every field
};

/// Accuracies in percent on validation classes.
struct ValidationRecord {
  std::string gamma_from = "none";        ///< what gamma was chosen on
  std::size_t folds = 0;                  ///< 0: no validation, and none of the fields below
  std::string classes_from;               ///< where the validation classes come from
  double zsl = 0, h = 0;                  ///< of the candidate that was chosen, see SelectionStep
  double default_zsl = 0, default_h = 0;  ///< search auto: of the default options on the same folds
  double gain = 0, gain_error = 0;        ///< search auto: what a choice by the other folds gains, its standard error
  bool operator==(const ValidationRecord&) const = default;  ///< every field
};

/// Accuracies on validation classes: of a candidate that selection looked at, or of an exported model.
struct SelectionStep {
  std::string choice;                             ///< "lambda=3 semantic-scaling=l2"; or empty
  double zsl = 0;                                 ///< per-class top-1 on validation classes, mean over the folds
  double h = 0;                                   ///< harmonic mean at the best gamma on the same folds
  double merit() const { return (zsl + h) / 2; }  ///< what the choice is made by
  bool operator==(const SelectionStep&) const = default;  ///< every field
};

/// How evenly the gates spread samples over networks.
struct GateUsage {
  std::vector<std::size_t> samples;                   ///< K, how many samples open each network
  double minimum = 0, median = 0, maximum = 0;        ///< shares of the samples
  double entropy = 0;                                 ///< of the usage distribution, over log K: 1 means even
  bool operator==(const GateUsage&) const = default;  ///< every field
};

/// The state of the SVR after a pass.
struct SvrTracePoint {
  std::size_t pass = 0;                                   ///< 0: the start
  double primal = 0, dual = 0, relative_gap = 0;          ///< as in SvrCertificate
  bool operator==(const SvrTracePoint&) const = default;  ///< every field
};

/// An upper bound on the suboptimality of the SVR: no solution is better by more than relative_gap.
struct SvrCertificate {
  double c = 0, epsilon = 0;                               ///< of the objective
  double target_scale = 0;                                 ///< targets were divided by it
  double relative_gap = 0;                                 ///< (primal − dual) / primal
  bool converged = false;                                  ///< relative_gap reached the tolerance
  std::optional<double> primal, dual;                      ///< objectives, summed over outputs; none after joint steps
  std::size_t passes = 0;                                  ///< 0 after joint steps
  std::vector<SvrTracePoint> trace;                        ///< about 100 passes at most; empty after joint steps
  bool operator==(const SvrCertificate&) const = default;  ///< every field
};

/// The objective after a step of joint training or refinement.
struct ObjectiveStep {
  double objective = 0;         ///< the weighted sum of fit or loss, mmg and penalties
  std::optional<double> fit;    ///< joint steps of the SVR, except their start
  std::optional<double> loss;   ///< steps of descent
  double mmg = 0;               ///< without its weight
  double step = 0;              ///< length; 0 for the start
  std::optional<double> slope;  ///< steps of descent: minus the derivative along the step at length 1
  bool operator==(const ObjectiveStep&) const = default;  ///< every field
};

/// What the settings of learning in the field (FieldSettings) reached on validation classes, in percent; means over
/// the folds, at a fixed gamma.
struct FieldRecord {
  double zsl = 0, h = 0;                                ///< without unlabelled samples
  double adapted_zsl = 0, adapted_h = 0;                ///< adapted to the samples of all classes
  double worst_fall = 0;                                ///< of either, in points, on three unsuitable sets; 0: none
  double one_example_zsl = 0, five_examples_zsl = 0;    ///< with so many examples of each class
  bool operator==(const FieldRecord&) const = default;  ///< every field
};

/// A class that adapt() moved (parsnets/field.hpp).
struct ClassMove {
  std::int32_t class_index = 0;                       ///< in the class set
  double support = 0;                                 ///< Σ r over the samples, in the last round
  double degrees = 0;                                 ///< angle between its prototype before and after
  bool operator==(const ClassMove&) const = default;  ///< every field
};

/// What adapt() did with unlabelled samples. The record keeps it without rounds and moves.
struct Adaptation {
  std::size_t samples = 0;     ///< n
  std::size_t convincing = 0;  ///< samples that were assigned to a class that may move, in the last round
  std::size_t classes = 0;     ///< that moved
  double mean_degrees = 0;     ///< by which they moved
  double likelihood_gain = 0;  ///< mean over the samples of log Σ_c exp(τ·(score − γ·[seen])), after minus before
  int rounds = 0;              ///< until no prototype moved; in the strong form of all its starts
  std::size_t left_out = 0;    ///< samples that are too short in class space to be of any class
  std::string form;            ///< "strong", "careful" or "nothing"; empty: by a version that had one form
  std::string because;         ///< what the choice of the form rests on
  std::vector<ClassMove> moves;                        ///< by class
  bool operator==(const Adaptation&) const = default;  ///< every field
};

/// What rejection (parsnets/open_set.hpp) reached on held-out classes, in percent.
struct RejectionRecord {
  std::size_t folds = 0, classes = 0, samples = 0;  ///< fits; classes held out in turn, and their samples
  double false_accept = 0;                          ///< share of unknown samples that may be accepted, as asked for
  double accepted = 0;                              ///< share that is, mean over the held-out classes
  double accept_low = 0, accept_high = 0;           ///< 95 % confidence interval of the accepted share over classes
  double rejected_seen = 0, rejected_unseen = 0;    ///< known samples of seen, of unseen classes that are rejected
  double auroc = 0, confidence_auroc = 0;           ///< of known_score(), and of the confidence in its place
  bool operator==(const RejectionRecord&) const = default;  ///< every field
};

/// Parts that the method does not have are empty. All of it is, for a model that train() did not make.
struct TrainRecord {
  DataProvenance data;                   ///< what it was trained on
  std::uint64_t seed = 1;                ///< of all random draws
  std::optional<TrainingRequest> asked;  ///< none: trained by version 0.1
  ValidationRecord validation;           ///< what it reached on validation classes
  std::string chosen;                    ///< the candidate that selection chose
  std::vector<SelectionStep> selection;  ///< every candidate, in the order looked at
  std::vector<std::string> left_out;     ///< what the time budget cut off the automatic search
  /// Methods with gates: h, and the reconstruction error of the encoder.
  std::optional<std::pair<std::size_t, double>> encoder;
  std::optional<GateUsage> gates;       ///< on the training samples
  std::optional<SvrCertificate> svr;    ///< fits by the SVR
  std::vector<ObjectiveStep> joint;     ///< the start and every step
  std::optional<double> orthogonality;  ///< after joint steps of the SVR: max_{i≠j} |cos(Θ_i, Θ_j)|
  /// Method dap: iterations of the slowest attribute, and the relative gradient of the worst.
  std::optional<std::pair<std::size_t, double>> dap;
  std::vector<ObjectiveStep> refinement;                ///< the start and every step
  std::vector<std::string> warnings;                    ///< why some results are meaningless
  std::optional<FieldRecord> field;                     ///< targets classes with validation classes
  std::optional<RejectionRecord> rejection;             ///< none: no rejection was calibrated
  std::vector<Adaptation> adaptations;                  ///< since training, the latest 100; empty after they are undone
  bool operator==(const TrainRecord&) const = default;  ///< every field
};

}  // namespace parsnets
