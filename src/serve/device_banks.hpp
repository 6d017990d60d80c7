#pragma once
// Class banks for device files of the served model.

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "parsnets/device.hpp"
#include "parsnets/model.hpp"
#include "serve/request_json.hpp"

namespace parsnets {

/// Makes the device file of a precision when it is first asked for, and keeps it. Thread-safe.
class DeviceBanks {
 public:
  /// `model` must outlive it.
  explicit DeviceBanks(const Model& model) : model_(model) {}

  /// Whether there can be banks: the model is one of class space.
  bool possible() const;
  /// The bytes that pnrt_bank_load() takes on a device with the file that export_model() makes of the model in this
  /// precision, all else by default: its classes after the edit. Throws HttpError 400 unless possible(), bad_input for
  /// classes that the runtime cannot take.
  std::string saved(const BankEdit& edit, Precision precision, ThreadPool& pool) const;

 private:
  const DeviceModel& device(Precision precision, ThreadPool& pool) const;

  const Model& model_;
  mutable std::mutex mutex_;
  mutable std::map<Precision, std::unique_ptr<const DeviceModel>> devices_;
};

}  // namespace parsnets
