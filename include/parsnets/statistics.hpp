#pragma once
// Statistics: the sums over samples that the closed-form fit in class space needs, and all that it reads of them.
// Statistics of parts of a data set add up to those of the whole, in any order, up to rounding.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/preprocess.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

/// Sums over scaled samples x of weight w: Σ w per class, Σ w·x per class, Σ w·xxᵀ in total. Products of up to 1024
/// samples are formed in float32; everything is added up in float64. Not safe to change from two threads at once.
class Statistics {
 public:
  Statistics() = default;
  /// Nothing added yet. FeatureScaling::standardize is not possible here (throws usage): it depends on all samples.
  Statistics(FeatureScaling scaling, std::vector<std::string> class_names, std::size_t dimensions);

  /// Adds rows of `features` (N x d, raw) with the classes `labels` (N, places in class_names). `weights` (as many as
  /// rows) may be empty: 1 each. Throws bad_input for a non-finite value or an unknown class; nothing is added then.
  void add(MatrixView<const float> features, std::span<const std::int32_t> labels, std::span<const std::int32_t> rows,
           ThreadPool& pool, std::span<const double> weights = {});
  /// Removes what add() added. Each entry keeps the rounding error of the sums before: about 1e-7 of their size.
  void remove(MatrixView<const float> features, std::span<const std::int32_t> labels,
              std::span<const std::int32_t> rows, ThreadPool& pool, std::span<const double> weights = {});
  /// Adds the sums of `other`; classes are matched by name, new ones are appended. Throws bad_input unless scaling and
  /// dimensions agree.
  void merge(const Statistics& other);
  /// Subtracts the sums of `other`, with the rounding error of remove(). Throws bad_input for what is not contained.
  void subtract(const Statistics& other);

  FeatureScaling scaling() const { return scaling_; }                     ///< of each sample before it is added
  std::size_t dimensions() const { return sums_.cols(); }                 ///< d
  double weight() const;                                                  ///< Σ w
  const std::vector<std::string>& class_names() const { return names_; }  ///< C
  const std::vector<double>& class_weights() const { return weights_; }   ///< C
  const Matrix<double>& class_sums() const { return sums_; }              ///< C x d
  const Matrix<double>& products() const { return products_; }            ///< d x d, symmetric

  /// The same sums in memory of their own.
  Statistics copy() const;
  /// From parts as the accessors give them. Throws bad_input when their shapes do not agree or a value is not finite.
  static Statistics from_parts(FeatureScaling scaling, std::vector<std::string> class_names,
                               std::vector<double> class_weights, Matrix<double> class_sums, Matrix<double> products);

 private:
  void accumulate(MatrixView<const float> features, std::span<const std::int32_t> labels,
                  std::span<const std::int32_t> rows, std::span<const double> weights, double sign, ThreadPool& pool);
  void accumulate(const Statistics& other, double sign);

  FeatureScaling scaling_ = FeatureScaling::sqrt_l2;
  std::vector<std::string> names_;
  std::vector<double> weights_;
  Matrix<double> sums_, products_;
};

}  // namespace parsnets
