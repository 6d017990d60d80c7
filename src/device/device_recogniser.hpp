#pragma once
// A device file as evaluation and prediction see it.

#include <memory>

#include "eval/recogniser.hpp"
#include "parsnets/device.hpp"

namespace parsnets {

/// Refers to the pool.
Recogniser recogniser_of(std::shared_ptr<const DeviceModel> model, ThreadPool& pool);
/// Refers to the model, too.
inline Recogniser recogniser_of(const DeviceModel& model, ThreadPool& pool) {
  return recogniser_of(std::shared_ptr<const DeviceModel>(std::shared_ptr<void>(), &model), pool);
}

}  // namespace parsnets
