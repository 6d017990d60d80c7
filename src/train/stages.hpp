#pragma once
// What fits on the same samples have in common: prepared features and their sums, class space, encoder, gates. Each
// stage is kept until it is asked for with another request. A request holds all that a stage depends on beside the
// samples, and a stage sees nothing else of the options: it cannot be stale.

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/fit_gates.hpp"
#include "parsnets/training.hpp"
#include "solvers/baselines/linear_map.hpp"
#include "solvers/class_means.hpp"
#include "solvers/class_space.hpp"
#include "train/place_samples.hpp"

namespace parsnets {

struct Inputs {
  FeaturePreprocess preprocess;
  Matrix<float> x;   ///< n x d, own samples; empty for those that are not kept
  Statistics sums;   ///< of the prepared samples of all processes
  double scale = 1;  ///< mean eigenvalue of the centred XᵀX, of all processes
};

struct EncoderRequest {
  FeatureScaling scaling = FeatureScaling::sqrt_l2;
  int dimensions = 0;
  bool random_rotation = false;
  std::uint64_t seed = 1;
  bool operator==(const EncoderRequest&) const = default;
};
struct Encoding {
  Encoder encoder;
  Matrix<float> e;  ///< n x h; empty for samples that are not kept
};

struct GateRequest {
  EncoderRequest encoder;
  GateOptions gates;
  bool operator==(const GateRequest&) const = default;
};
struct Gating {
  Gates gates;
  Matrix<std::uint16_t> active;            ///< n x k; empty for samples that are not kept
  std::vector<std::uint64_t> per_network;  ///< own samples of each network, once all blocks were visited
};

/// Class descriptions as the outputs of networks are fitted to them.
struct TargetVectors {
  SemanticPreprocess preprocess;
  Matrix<float> vectors;      ///< C x m
  std::vector<float> centre;  ///< m: mean of the seen classes, from which cosines are measured
};

/// Mean eigenvalue of the centred second moment: Σ‖x − x̄‖² / d.
double mean_eigenvalue(MatrixView<const float> x);

/// Stages of fits on fixed rows of a data set. What a method returns by reference is valid until it is asked for with
/// another request.
class Stages {
 public:
  /// Refers to what it is given. `whole`: stages of rows that include these, of one process; where few rows are missing
  /// here, sums are theirs without the missing ones. Throws bad_input unless the rows are of at least two classes.
  Stages(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress,
         SamplePlace place = {}, Stages* whole = nullptr);

  const Dataset& data;
  const SamplePlace place;
  const std::vector<std::int32_t> all_rows, rows;   ///< samples of the fit, and those of this process
  const std::vector<std::int32_t> labels, classes;  ///< of the own samples, and the different ones of all
  ThreadPool& pool;
  ProgressObserver* const progress;

  /// Throws usage, naming the option, for what needs all samples in the memory of one process.
  void require_all_samples(std::string_view option, std::string_view value = {}) const;

  const Inputs& inputs(FeatureScaling scaling);
  const ClassSpace& class_space(FeatureScaling scaling);
  const ClassMap& class_map(FeatureScaling scaling, double shrinkage);
  /// Of refinement in class space.
  const Cholesky<float>& class_preconditioner(FeatureScaling scaling, double shrinkage);
  const Encoding& encoding(const EncoderRequest& request);
  Gating& gating(const GateRequest& request);

  TargetVectors targets(const SemanticOptions& semantics) const;
  /// Samples as linear maps are fitted to them, known by their sums. Refers to `targets`.
  SummedSamples sums(FeatureScaling scaling, const TargetVectors& targets);

  /// The prepared samples, one block or many; with `gates`, also what gated networks see (z: x with `z_is_x`, else the
  /// encoding) and which are active.
  SampleBlocks blocks(FeatureScaling scaling, const GateRequest* gates = nullptr, bool z_is_x = false);
  /// How evenly the networks of these gates are active over the samples of all processes. A collective call.
  GateUsage usage(const GateRequest& request);
  /// Frees the prepared features, where only encodings are still needed.
  void release_inputs();

 private:
  /// A value that is made anew only when its request changes.
  template <class Request, class T>
  class Stage {
   public:
    template <class Make>
    T& get(const Request& request, const Make& make) {
      if (!value_ || !(request == request_)) {
        value_.reset();  // frees the old one first
        value_.emplace(make());
        request_ = request;
      }
      return *value_;
    }
    void drop() { value_.reset(); }

   private:
    Request request_{};
    std::optional<T> value_;
  };
  using MapRequest = std::pair<FeatureScaling, double>;  ///< and its shrinkage

  Matrix<float> prepared(FeatureScaling scaling, std::span<const std::int32_t> some_rows);
  /// Preparation and sums, from those of the whole.
  Inputs without_missing(FeatureScaling scaling);

  Stages* const whole_;
  std::vector<std::int32_t> missing_;  ///< rows of the whole that are not here, where they are few

  Stage<FeatureScaling, Inputs> inputs_;
  Stage<FeatureScaling, ClassSpace> class_space_;
  Stage<MapRequest, ClassMap> class_map_;
  Stage<MapRequest, Cholesky<float>> preconditioner_;
  Stage<EncoderRequest, Encoding> encoding_;
  Stage<GateRequest, Gating> gating_;
};

}  // namespace parsnets
