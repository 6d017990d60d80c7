#pragma once
// What training tells of itself: its data, its choices on validation classes, and the certificate of its solver. A
// model keeps it (Model::record) and a model file stores it as JSON (docs/format.md). No prediction depends on it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parsnets {

/// One list of samples of a split.
struct SplitPart {
  std::size_t samples = 0;
  std::string crc32;  ///< of the sorted indices, 8 hexadecimal digits

  bool operator==(const SplitPart&) const = default;
};

struct SplitProvenance {
  SplitPart trainval, test_seen, test_unseen, train, val;
  std::string version;  ///< of a known split; or empty
  std::string file;     ///< of a split that replaced the folder's own; or empty

  bool operator==(const SplitProvenance&) const = default;
};

/// The samples that a model was fitted to. Empty for model files of version 0.1.
struct TrainedSamples {
  std::string samples;  ///< bit s % 4 of hexadecimal digit s / 4 for sample s
  std::string crc32;    ///< of the features of up to 256 of them

  bool operator==(const TrainedSamples&) const = default;
};

struct DataProvenance {
  std::string name, features, semantics;
  std::size_t samples = 0, dimensions = 0;
  SplitProvenance split;
  std::string known_as;  ///< the public data set that it is; or empty
  TrainedSamples trained;

  bool operator==(const DataProvenance&) const = default;
};

/// Accuracies in percent, mean over the folds.
struct ValidationRecord {
  std::string gamma_from = "none";
  std::size_t folds = 0;     ///< 0: no validation, and none of the fields below
  std::string classes_from;  ///< where the validation classes come from
  double zsl = 0, h = 0;

  bool operator==(const ValidationRecord&) const = default;
};

/// One candidate that selection looked at.
struct SelectionStep {
  std::string choice;                             ///< "lambda=3 semantic-scaling=l2"
  double zsl = 0;                                 ///< per-class top-1 on validation classes, mean over the folds
  double h = 0;                                   ///< harmonic mean at the best gamma on the same folds
  double merit() const { return (zsl + h) / 2; }  ///< what the choice is made by

  bool operator==(const SelectionStep&) const = default;
};

struct EncoderRecord {
  std::size_t dimensions = 0;
  double reconstruction_error = 0;

  bool operator==(const EncoderRecord&) const = default;
};

/// How evenly the gates spread samples over networks.
struct GateUsage {
  std::vector<std::size_t> samples;             ///< K, how many samples open each network
  double minimum = 0, median = 0, maximum = 0;  ///< shares of the samples
  double entropy = 0;                           ///< of the usage distribution, over log K: 1 means even

  bool operator==(const GateUsage&) const = default;
};

/// The state of the SVR after a pass.
struct SvrTracePoint {
  std::size_t pass = 0;
  double primal = 0, dual = 0, relative_gap = 0;

  bool operator==(const SvrTracePoint&) const = default;
};

/// An upper bound on the suboptimality of the SVR: no solution is better by more than relative_gap.
struct SvrCertificate {
  double c = 0, epsilon = 0;
  double target_scale = 0;  ///< targets were divided by it
  double relative_gap = 0;  ///< (primal − dual) / primal
  bool converged = false;
  std::optional<double> primal, dual;  ///< these and the fields below: only of an SVR without joint steps
  std::size_t passes = 0;
  std::vector<SvrTracePoint> trace;  ///< at most about 100 passes, the first and the last among them

  bool operator==(const SvrCertificate&) const = default;
};

/// The objective after a step of joint training or refinement.
struct ObjectiveStep {
  double objective = 0;
  std::optional<double> fit;   ///< joint steps of the SVR, except their start
  std::optional<double> loss;  ///< steps of descent
  double mmg = 0;
  double step = 0;  ///< length; 0 for the start
  std::optional<double> slope;

  bool operator==(const ObjectiveStep&) const = default;
};

struct DapRecord {
  std::size_t iterations = 0;
  double relative_gradient = 0;

  bool operator==(const DapRecord&) const = default;
};

/// Parts that the method does not have are empty. All of it is, for a model that train() did not make.
struct TrainRecord {
  DataProvenance data;
  std::uint64_t seed = 1;
  ValidationRecord validation;
  std::string chosen;                    ///< the candidate that selection chose
  std::vector<SelectionStep> selection;  ///< every candidate, in the order looked at
  std::vector<std::string> left_out;     ///< what the time budget cut off the automatic search
  std::optional<EncoderRecord> encoder;
  std::optional<GateUsage> gates;
  std::optional<SvrCertificate> svr;
  std::vector<ObjectiveStep> joint;     ///< the start and every step
  std::optional<double> orthogonality;  ///< after joint steps of the SVR: max_{i≠j} |cos(Θ_i, Θ_j)|
  std::optional<DapRecord> dap;
  std::vector<ObjectiveStep> refinement;  ///< the start and every step
  std::vector<std::string> warnings;      ///< why some figures are meaningless

  bool operator==(const TrainRecord&) const = default;
};

}  // namespace parsnets
