// DeviceBank: a bank of the C runtime with learning memory.

#include <algorithm>

#include "device/device_state.hpp"
#include "parsnets/device.hpp"

namespace parsnets {

struct DeviceBank::State {
  const DeviceModel::State* model = nullptr;
  std::vector<std::uint32_t> memory, learning, work;
  pnrt_bank bank{};

  std::size_t slots() const { return pnrt_class_slots(bank.model, &bank); }
  std::size_t work_bytes() const { return work.size() * sizeof work[0]; }

  void require(pnrt_status status, const std::string& field, const char* expected) const {
    if (status != PNRT_OK) throw Error(BadInput{model->name, field, expected, pnrt_status_text(status), ""});
  }
};

DeviceBank::DeviceBank(const DeviceModel& model, std::size_t capacity) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.model = model.state_.get();
  const pnrt_model& runtime = s.model->runtime;
  if (runtime.class_targets == 0)
    throw Error(ErrorCode::usage, fmt::format("learning in the field needs a model of class space ({})",
                                              option_name("targets", "classes")));
  const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(capacity, 0xffffffff));
  s.memory.resize((pnrt_bank_bytes(&runtime, most) + 3) / 4);
  s.require(pnrt_bank_init(&s.bank, &runtime, most, s.memory.data(), s.memory.size() * 4), "capacity",
            "a bank of that size");
  s.learning.resize((pnrt_learning_bytes(&s.bank) + 3) / 4);
  s.require(pnrt_bank_learn(&s.bank, s.learning.data(), s.learning.size() * 4), "capacity", "learning memory");
  s.work.resize((pnrt_work_bytes(&runtime, &s.bank) + 3) / 4);
}

DeviceBank::~DeviceBank() = default;
DeviceBank::DeviceBank(DeviceBank&&) noexcept = default;

std::vector<std::string> DeviceBank::class_names() const {
  std::vector<std::string> names(state_->slots());
  for (std::size_t c = 0; c < names.size(); ++c)
    if (const char* name = pnrt_class_name(state_->bank.model, &state_->bank, static_cast<std::uint32_t>(c)))
      names[c] = name;
  return names;
}

void DeviceBank::add_class(const std::string& name, std::span<const float> attributes) {
  State& s = *state_;
  if (attributes.size() != s.bank.model->attributes)
    throw Error(BadInput{"class '" + name + "'", "attributes", std::to_string(s.bank.model->attributes),
                         std::to_string(attributes.size()), ""});
  s.require(pnrt_add_class(&s.bank, name.c_str(), attributes.data(), nullptr, s.work.data(), s.work_bytes()),
            "class '" + name + "'", "a class that can be added");
}

void DeviceBank::remove_class(const std::string& name) {
  state_->require(pnrt_remove_class(&state_->bank, name.c_str()), "class '" + name + "'", "a class");
}

std::size_t DeviceBank::adapt(MatrixView<const float> x) {
  State& s = *state_;
  s.model->check_features(x);
  if (x.rows() == 0) return 0;
  std::uint32_t moved = 0;
  s.require(pnrt_adapt(&s.bank, x.data(), static_cast<std::uint32_t>(x.rows()), &moved, s.work.data(), s.work_bytes()),
            "samples", "samples to learn from");
  return moved;
}

void DeviceBank::teach(const std::string& name, MatrixView<const float> x) {
  State& s = *state_;
  s.model->check_features(x);
  if (x.rows() == 0) throw Error(BadInput{"examples", "samples", "at least one", "none", ""});
  s.require(
      pnrt_teach(&s.bank, name.c_str(), x.data(), static_cast<std::uint32_t>(x.rows()), s.work.data(), s.work_bytes()),
      "class '" + name + "'", "examples of a class");
}

void DeviceBank::forget() { state_->require(pnrt_forget(&state_->bank), "bank", "learning memory"); }

Matrix<float> DeviceBank::scores(MatrixView<const float> x, ThreadPool& pool) const {
  const pnrt_bank& bank = state_->bank;
  return state_->model->each_row(x, state_->slots(), &bank, pool,
                                 [&](const float* row, float* out, void* work, std::size_t bytes) {
                                   return pnrt_scores(bank.model, &bank, row, out, work, bytes);
                                 });
}

bool DeviceBank::rejects() const { return state_->bank.model->rejection != nullptr; }

std::vector<std::uint8_t> DeviceBank::unknown(MatrixView<const float> x, Among among, ThreadPool& pool) const {
  return state_->model->unknown(x, among, &state_->bank, pool, {});
}

Matrix<float> DeviceBank::vectors() const {
  const pnrt_bank& bank = state_->bank;
  Matrix<float> out(state_->slots(), bank.model->outputs, 0.0f);
  for (std::size_t c = 0; c < out.rows(); ++c)
    if (const pnrt_status status =
            pnrt_class_vector(bank.model, &bank, static_cast<std::uint32_t>(c), out.row(c).data());
        status != PNRT_NOT_FOUND)
      state_->require(status, fmt::format("class {}", c), "a vector");
  return out;
}

std::vector<std::byte> DeviceBank::save() const {
  std::vector<std::byte> saved(pnrt_saved_bytes(&state_->bank));
  state_->require(pnrt_bank_save(&state_->bank, saved.data(), saved.size()), "bank", "at most 2 GB to save");
  return saved;
}

void DeviceBank::load(std::span<const std::byte> saved) {
  state_->require(pnrt_bank_load(&state_->bank, saved.data(), saved.size()), "saved bank",
                  "a bank that was saved with this model");
}

}  // namespace parsnets
