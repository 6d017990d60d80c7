#pragma once
// The losses of descent.hpp and their gradients with respect to f.

#include <cstdint>
#include <span>
#include <vector>

#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"
#include "solvers/descent.hpp"

namespace parsnets {

class LossOfOutputs {
 public:
  /// `centre` (m values or empty) is μ. Keeps views of labels and semantics; the class vectors are copied. A collective
  /// call of the samples' group.
  LossOfOutputs(const DescentSamples& samples, std::span<const float> centre, const DescentOptions& options,
                ThreadPool& pool);

  /// Other class vectors (C x m) and centre from now on (softmax).
  void set_classes(MatrixView<const float> vectors, std::span<const float> centre);

  struct Value {
    double loss = 0, mmg = 0;
    double objective(double mmg_weight) const { return loss + mmg_weight * mmg; }
  };
  /// f (n x m) of own samples first, first + 1, …; `gradient` (n x m, or empty) receives d(loss + λ_mmg·g)/df. Margin
  /// geometry needs all samples in one call.
  Value evaluate(MatrixView<const float> f, MatrixView<float> gradient, std::size_t first = 0) const;
  /// The step in the direction of the gradient that a length of 1 stands for, given the sum of centred_squares() over
  /// all samples at the start.
  double natural_step(double squares) const;
  /// Σ‖f − μ‖² over the rows of f.
  double centred_squares(MatrixView<const float> f) const;

 private:
  double softmax_rows(MatrixView<const float> f, MatrixView<float> gradient, std::size_t begin, std::size_t end,
                      std::size_t first) const;
  double squared_rows(MatrixView<const float> f, MatrixView<float> gradient, std::size_t begin, std::size_t end,
                      std::size_t first) const;

  std::span<const std::int32_t> labels_;
  MatrixView<const float> semantics_;
  DescentOptions options_;
  ThreadPool& pool_;
  ClassSlots slots_;
  std::vector<float> centre_;  ///< m
  float weight_ = 0;           ///< of a sample: 1/n
  Matrix<float> directions_;   ///< P x m unit class vectors
  double variance_ = 1;        ///< v
};

}  // namespace parsnets
