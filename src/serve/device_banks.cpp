#include "serve/device_banks.hpp"

#include "serve/http.hpp"

namespace parsnets {

bool DeviceBanks::possible() const {
  return model_.direction == Direction::forward && model_.targets == Targets::classes;
}

std::string DeviceBanks::saved(const BankEdit& edit, Precision precision, ThreadPool& pool) const {
  if (!possible())
    throw HttpError(400, "only models of class space have banks for devices", {"format", "table", "device"});
  DeviceBank bank(device(precision, pool), edit.add.size());
  for (const std::string& name : edit.remove) bank.remove_class(name);
  for (const AddedClass& added : edit.add) bank.add_class(added.name, added.attributes);
  const std::vector<std::byte> bytes = bank.save();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const DeviceModel& DeviceBanks::device(Precision precision, ThreadPool& pool) const {
  std::lock_guard lock(mutex_);
  auto& made = devices_[precision];
  if (!made) {
    ExportOptions options;
    options.precision = precision;
    made = std::make_unique<const DeviceModel>(export_model(model_, nullptr, options, pool).file, "the device file");
  }
  return *made;
}

}  // namespace parsnets
