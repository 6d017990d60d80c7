#pragma once
// Means of outputs over the samples of each class, also of samples that lie in several blocks and processes.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/processes.hpp"
#include "parsnets/matrix.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

struct ClassMeans {
  std::vector<std::int32_t> classes;  ///< P, ascending
  std::vector<double> samples;        ///< P
  Matrix<double> means;               ///< P x o
};

/// The classes of samples and how many each has, over all processes of a group.
class ClassSlots {
 public:
  /// `labels` of the own samples, places in 0 … classes − 1. Refers to the labels.
  ClassSlots(std::span<const std::int32_t> labels, std::size_t classes, Processes& group);

  const std::vector<std::int32_t>& classes() const { return classes_; }  ///< P, those with samples, ascending
  const std::vector<double>& samples() const { return samples_; }        ///< P
  double total() const;                                                  ///< samples of all classes
  /// Which of the P classes own sample l has.
  std::size_t of(std::size_t l) const { return places_[static_cast<std::size_t>(labels_[l])]; }

 private:
  std::span<const std::int32_t> labels_;
  std::vector<std::int32_t> classes_;
  std::vector<double> samples_;
  std::vector<std::size_t> places_;  ///< per class
};

/// Sums of outputs that come in blocks. Refers to the slots.
class ClassSums {
 public:
  ClassSums(const ClassSlots& slots, std::size_t outputs)
      : slots_(slots), sums_(slots.classes().size(), outputs, 0.0) {}
  /// Adds f (n x o) of own samples first, first + 1, …
  void add(std::size_t first, MatrixView<const float> f, ThreadPool& pool);
  /// The means over all processes of the group; the sums start again from zero.
  ClassMeans means(Processes& group);

 private:
  const ClassSlots& slots_;
  Matrix<double> sums_;
};

// The training samples of a process as networks see them, some at a time: they need not be in memory at once.

struct SampleBlock {
  std::size_t first = 0;                 ///< how many samples come before it
  MatrixView<const float> x;             ///< n x d, prepared
  MatrixView<const float> z;             ///< n x h, what gated networks see; empty without them
  MatrixView<const std::uint16_t> open;  ///< n x k
  std::span<const std::int32_t> labels;  ///< n
};

/// Hands out all samples, always the same blocks in the same order. A block ends with the call that it is given to.
using SampleBlocks = std::function<void(const std::function<void(const SampleBlock&)>& take)>;

}  // namespace parsnets
