#pragma once
// What fits have in common: preprocessing, encoder, gates, targets and the solvers that look at them. Each is kept
// until an option that it depends on changes, so that a search over the others does not make it again.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/fit_gates.hpp"
#include "parsnets/training.hpp"
#include "solvers/baselines/linear_map.hpp"
#include "solvers/class_space.hpp"
#include "solvers/preconditioner.hpp"
#include "solvers/sample_blocks.hpp"
#include "solvers/svr.hpp"
#include "train/sample_place.hpp"

namespace parsnets {

struct Inputs {
  FeaturePreprocess preprocess;
  Matrix<float> x;   ///< n x d; empty for samples that are not in memory
  double scale = 1;  ///< mean eigenvalue of the centred XᵀX, of all processes
};

struct Encoding {
  Encoder encoder;
  Matrix<float> e;  ///< n x h; empty for samples that are not in memory
};

struct Gating {
  Gates gates;
  Matrix<std::uint16_t> open;              ///< n x k; empty for samples that are not in memory
  std::vector<std::uint64_t> per_network;  ///< own samples of each network, once all blocks were visited
};

/// What outputs are fitted to.
struct TargetVectors {
  SemanticPreprocess preprocess;
  Matrix<float> vectors;  ///< C x o: prepared semantics, or the means of the seen classes in class space
};

/// Mean eigenvalue of the centred second moment: Σ‖x − x̄‖² / d.
double mean_eigenvalue(MatrixView<const float> x);

/// Stages of fits on fixed rows of a data set. What a method returns by reference is valid until it is asked for with
/// other options. Samples are in the memory of this process, or they are known by their sums: then several processes
/// may have a part of them each, and they may be streamed.
class Stages {
 public:
  /// Refers to what it is given. Throws bad_input unless the rows are of at least two classes.
  Stages(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress,
         SamplePlace place = {});

  const Dataset& data;
  const SamplePlace place;
  const std::vector<std::int32_t> all_rows, rows;   ///< samples of the fit, and those of this process
  const std::vector<std::int32_t> labels, classes;  ///< of the own samples, and the different ones of all
  ThreadPool& pool;
  ProgressObserver* const progress;

  /// Whether samples are known by their sums over processes or blocks.
  bool by_sums() const { return place.streamed || place.size() > 1; }
  /// Throws usage, naming the option, for what needs all samples in the memory of one process.
  void require_all_samples(std::string_view option, std::string_view value = {}) const;

  Inputs& inputs(const TrainOptions& o);
  /// Sums over the samples of all processes; their class order is that of the data set. Needs by_sums().
  const Statistics& sums(const TrainOptions& o);
  TargetVectors& targets(const TrainOptions& o);
  /// For a semantic head beside class space: semantics prepared in this way become the targets of these options, and
  /// the encoder is that of class space.
  void set_targets(const TrainOptions& o, const SemanticPreprocess& preprocess);
  /// Forgets them.
  void drop_targets() {
    targets_.drop();
    beside_class_space_ = false;
  }
  /// Closed form of targets classes.
  const ClassSpace& class_space(const TrainOptions& o);
  const ClassMap& class_map(const TrainOptions& o);
  Encoding& encoding(const TrainOptions& o);
  Gating& gating(const TrainOptions& o);
  /// Of refinement's shared network: ridge of this weight, or that of class space.
  RidgePreconditioner& preconditioner(const TrainOptions& o, double weight);
  Ridge& ridge(const TrainOptions& o);
  Eszsl& eszsl(const TrainOptions& o);
  Sae& sae(const TrainOptions& o);

  TrainingSamples samples(const TrainOptions& o);
  GatedSamples gated_samples(const TrainOptions& o);
  /// Samples as they are needed, for those that are streamed; `gated`: with z and open networks.
  SampleBlocks blocks(const TrainOptions& o, bool gated);
  /// How evenly the gates of these options open over the samples of all processes. A collective call.
  GateUsage usage(const TrainOptions& o);
  /// The semantics of each training sample's class: n x m.
  Matrix<float> sample_semantics(const TrainOptions& o);
  /// Says what gates and targets depend on.
  static std::string network_key(const TrainOptions& o);
  /// Frees what was made of the features, where only encodings are still needed.
  void release_inputs();

 private:
  /// A value that is remade only when its key changes.
  template <class T>
  class Stage {
   public:
    template <class Make>
    T& get(const std::string& key, Make make) {
      if (!value_ || key != key_) {
        value_.reset();  // free the old one first
        value_.emplace(make());
        key_ = key;
      }
      return *value_;
    }
    void drop() { value_.reset(); }

   private:
    std::string key_;
    std::optional<T> value_;
  };

  void drop_what_sees_inputs();
  /// Class space knows XᵀX, which the encoder needs.
  bool has_products(const TrainOptions& o) const;

  bool beside_class_space_ = false;

  Matrix<float> prepared(const TrainOptions& o, std::span<const std::int32_t> some_rows);

  Stage<Statistics> sums_;
  Stage<Inputs> inputs_;
  Stage<Encoding> encoding_;
  Stage<Gating> gating_;
  Stage<TargetVectors> targets_;
  Stage<ClassSpace> class_space_;
  Stage<ClassMap> class_map_;
  Stage<RidgePreconditioner> preconditioner_;
  Stage<std::unique_ptr<Ridge>> ridge_;
  Stage<std::unique_ptr<Eszsl>> eszsl_;
  Stage<std::unique_ptr<Sae>> sae_;
};

}  // namespace parsnets
