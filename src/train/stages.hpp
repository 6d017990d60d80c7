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
#include "solvers/svr.hpp"

namespace parsnets {

struct Inputs {
  FeaturePreprocess preprocess;
  Matrix<float> x;   ///< n x d
  double scale = 1;  ///< mean eigenvalue of the centred XᵀX
};

struct Encoding {
  Encoder encoder;
  Matrix<float> e;  ///< n x h
};

struct Gating {
  Gates gates;
  Matrix<std::uint16_t> open;  ///< n x k
};

/// What outputs are fitted to.
struct TargetVectors {
  SemanticPreprocess preprocess;
  Matrix<float> vectors;  ///< C x o: prepared semantics, or the means of the seen classes in class space
};

/// Mean eigenvalue of the centred second moment: Σ‖x − x̄‖² / d.
double mean_eigenvalue(MatrixView<const float> x);

/// Stages of fits on fixed rows of a data set. What a method returns by reference is valid until it is asked for with
/// other options.
class Stages {
 public:
  /// Refers to what it is given. Throws bad_input unless the rows are of at least two classes.
  Stages(const Dataset& data, std::vector<std::int32_t> rows, ThreadPool& pool, ProgressObserver* progress);

  const Dataset& data;
  const std::vector<std::int32_t> rows, labels, classes;  ///< samples, their classes, those classes once
  ThreadPool& pool;
  ProgressObserver* const progress;

  Inputs& inputs(const TrainOptions& o);
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
