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
  /// `centre` (m values or empty) is μ. Keeps views of the samples; the class vectors are copied.
  LossOfOutputs(const DescentSamples& samples, std::span<const float> centre, const DescentOptions& options,
                ThreadPool& pool);

  /// Other class vectors (C x m) and centre from now on (softmax).
  void set_classes(MatrixView<const float> vectors, std::span<const float> centre);

  struct Value {
    double loss = 0, mmg = 0;
    double objective(double mmg_weight) const { return loss + mmg_weight * mmg; }
  };
  /// f is n x m; `gradient` (n x m, or empty) receives d(loss + λ_mmg·g)/df.
  Value evaluate(MatrixView<const float> f, MatrixView<float> gradient) const;
  /// The step in the direction of the gradient that a length of 1 stands for, given the outputs at the start.
  double natural_step(MatrixView<const float> f) const;

 private:
  double softmax_rows(MatrixView<const float> f, MatrixView<float> gradient, std::size_t begin, std::size_t end) const;
  double squared_rows(MatrixView<const float> f, MatrixView<float> gradient, std::size_t begin, std::size_t end) const;

  DescentSamples samples_;
  DescentOptions options_;
  ThreadPool& pool_;
  std::vector<float> centre_;        ///< m
  std::vector<float> weights_;       ///< n, add up to 1
  std::vector<std::int32_t> seen_;   ///< P, rows of the class vectors
  std::vector<std::int32_t> slots_;  ///< n: place of each sample's class among the seen ones
  Matrix<float> directions_;         ///< P x m unit class vectors
  double variance_ = 1;              ///< v
};

}  // namespace parsnets
