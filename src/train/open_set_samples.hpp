#pragma once
// Held-out samples for calibration: what models that were fitted without some classes make of samples that they know
// and of samples that they do not.

#include <cstdint>
#include <vector>

#include "parsnets/open_set.hpp"
#include "parsnets/training.hpp"

namespace parsnets {

/// A sample that a model was fitted without, judged with a part of the classes unknown.
struct HeldOutSample {
  std::int32_t label = 0;  ///< class of the data set
  std::uint32_t fold = 0;  ///< in which it was left out
  bool known = false;      ///< its class is in the bank
  bool seen = false;       ///< known, and other samples of its class were fitted
  bool best_is_seen = false;
  float confidence = 0;  ///< of the best class
  Evidence evidence;
};

/// The confidence that a sample gave its own class, with all classes in the bank; 1 if that class was the best.
struct OwnConfidence {
  std::int32_t label = 0;  ///< class of the data set
  bool seen = false;       ///< as above
  float confidence = 0;
};

struct OpenSetSamples {
  std::size_t folds = 0;
  std::vector<HeldOutSample> judged;
  std::vector<OwnConfidence> own;
};

/// Throws bad_input where there are too few classes with training samples, or too few samples, to hold some out.
void require_open_set_classes(const Dataset& data);

/// As calibrate_open_set() says.
OpenSetSamples collect_open_set(const Model& model, const Dataset& data, const OpenSetOptions& options,
                                ThreadPool& pool, ProgressObserver* progress);

}  // namespace parsnets
