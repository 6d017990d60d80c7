#pragma once
// A seeded generator of zero-shot data whose difficulty is known and adjustable.

#include <cstdint>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// Size and difficulty of the generated data.
struct SynthOptions {
  int classes = 50;       ///< ignored when semantics are given
  int attributes = 85;    ///< ignored when semantics are given
  int samples = 10000;    ///< ignored when the given data set has a split: its indices decide
  int dimensions = 2048;  ///< d
  int unseen = 0;         ///< unseen classes; 0: a fifth, or by the share of test-unseen samples of a given split
  double attribute_noise = 0.5;   ///< spread of a sample's attributes around its class, in their sd over classes
  double signature = 0.5;         ///< size of the class signature that semantics do not explain
  int signature_dimensions = 32;  ///< values of a class signature
  double nuisance = 1.0;          ///< size of the per-sample factors that tell nothing of the class
  int nuisance_dimensions = 64;   ///< number of those factors
  int hidden = 512;               ///< width of the nonlinear map to non-negative features
  std::uint64_t seed = 1;         ///< of everything that is drawn
};

/// x = relu(W₂·tanh(W₁·[attributes + noise; signature; nuisance] + c₁) + c₂), all weights drawn with the seed.
/// `semantics_from` (may be null) gives classes, semantics and, where it has one, the split; its features are ignored.
/// `threads` does not change the values. Throws usage for impossible options.
Dataset synthesize(const SynthOptions& options, const Dataset* semantics_from = nullptr, unsigned threads = 0,
                   ProgressObserver* progress = nullptr);

/// Writes the same data set to `folder` as save_dataset does, without holding more than some rows of the features in
/// memory. Returns it without features. Throws as both.
Dataset synthesize_to(const std::filesystem::path& folder, DataFormat format, const SynthOptions& options,
                      const Dataset* semantics_from = nullptr, unsigned threads = 0,
                      ProgressObserver* progress = nullptr);

}  // namespace parsnets
