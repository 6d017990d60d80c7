#pragma once
// A device file as evaluation and prediction see it.

#include <filesystem>
#include <memory>
#include <string>

#include "eval/recogniser.hpp"
#include "parsnets/device.hpp"

namespace parsnets {

/// load_device_model() of a file whose bytes have this SHA-256, 64 hexadecimal digits; "": any.
DeviceModel load_device_model(const std::filesystem::path& file, const std::string& sha256);

/// Refers to the pool.
Recogniser recogniser_of(std::shared_ptr<const DeviceModel> model, ThreadPool& pool);
/// Refers to the model, too.
inline Recogniser recogniser_of(const DeviceModel& model, ThreadPool& pool) {
  return recogniser_of(std::shared_ptr<const DeviceModel>(std::shared_ptr<void>(), &model), pool);
}

}  // namespace parsnets
