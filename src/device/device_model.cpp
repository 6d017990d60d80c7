// DeviceModel: a device file held in memory and run by the C runtime.

#include "base/file.hpp"
#include "data/feature_source.hpp"
#include "device/device_source.hpp"
#include "device/device_state.hpp"
#include "eval/scorer.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"

namespace parsnets {

DeviceModel::DeviceModel(std::vector<std::byte> file, const std::string& name) : state_(std::make_unique<State>()) {
  state_->file = std::move(file);
  state_->name = name;
  state_->info = read_device_info(state_->file, name);
  if (const pnrt_status status = pnrt_open(&state_->runtime, state_->file.data(), state_->file.size());
      status != PNRT_OK)
    throw Error(
        BadInput{name, "", "a file that the runtime can open", pnrt_status_text(status), "export the model again"});
}

DeviceModel::~DeviceModel() = default;
DeviceModel::DeviceModel(DeviceModel&&) noexcept = default;

std::span<const std::byte> DeviceModel::bytes() const { return state_->file; }
std::size_t DeviceModel::dimensions() const { return state_->info.features; }
std::size_t DeviceModel::attributes() const { return state_->info.attributes; }
std::size_t DeviceModel::outputs() const { return state_->info.outputs; }
Precision DeviceModel::precision() const {
  const auto type = state_->info.section(DevicePart::networks).type;
  return type == 1 ? Precision::float32 : type == 2 ? Precision::float16 : Precision::int8;
}
std::size_t DeviceModel::rank() const {
  return state_->info.stored_networks == state_->info.networks ? 0 : state_->info.stored_networks;
}
std::size_t DeviceModel::work_bytes() const { return pnrt_work_bytes(&state_->runtime, nullptr); }
std::uint64_t DeviceModel::multiply_adds() const { return pnrt_multiply_adds(&state_->runtime, nullptr); }
const char* DeviceModel::instruction_set() const {
  return state_->runtime.path == PNRT_AVX2 ? "AVX2" : state_->runtime.path == PNRT_NEON ? "NEON" : "none";
}
const std::vector<std::string>& DeviceModel::class_names() const { return state_->info.class_names; }
const std::vector<std::uint8_t>& DeviceModel::class_seen() const { return state_->info.class_seen; }
double DeviceModel::gamma() const { return state_->info.gamma; }
double DeviceModel::temperature() const { return state_->info.temperature; }
double DeviceModel::head_weight() const { return state_->info.head_weight; }
const std::optional<FeatureSource>& DeviceModel::source() const { return state_->info.source; }

std::vector<DeviceSectionInfo> DeviceModel::sections() const {
  static const char* const types[] = {"", "F32", "F16", "I8", "bytes"};
  std::vector<DeviceSectionInfo> list;
  for (const auto& section : state_->info.sections)
    if (section.present()) list.push_back({section.name, types[section.type], section.rows, section.cols});
  return list;
}

Matrix<float> DeviceModel::predict(MatrixView<const float> x, ThreadPool& pool) const {
  return state_->each_row(x, outputs(), nullptr, pool,
                          [&](const float* row, float* out, void* work, std::size_t bytes) {
                            return pnrt_predict(&state_->runtime, row, out, nullptr, work, bytes);
                          });
}

Matrix<float> DeviceModel::scores(MatrixView<const float> x, ThreadPool& pool) const {
  return state_->each_row(x, class_names().size(), nullptr, pool,
                          [&](const float* row, float* out, void* work, std::size_t bytes) {
                            return pnrt_scores(&state_->runtime, nullptr, row, out, work, bytes);
                          });
}

bool DeviceModel::rejects() const { return state_->runtime.rejection != nullptr; }

std::vector<std::uint8_t> DeviceModel::unknown(MatrixView<const float> x, Among among, ThreadPool& pool,
                                               std::span<float> known_scores) const {
  return state_->unknown(x, among, nullptr, pool, known_scores);
}

DeviceModel load_device_model(const std::filesystem::path& path) {
  InputFile in(path);
  std::vector<std::byte> file(in.size());
  in.read(file.data(), file.size(), "contents");
  return DeviceModel(std::move(file), path.string());
}

bool is_device_file(const std::filesystem::path& path) {
  InputFile in(path);
  std::vector<std::byte> start(std::min<std::uint64_t>(in.size(), 8));
  in.read(start.data(), start.size(), "contents");
  return looks_like_device_file(start);
}

Evaluation evaluate(const DeviceModel& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress) {
  require_same_source(model.source(), data.source, data.features_file.empty() ? data.name : data.features_file);
  return evaluate_scorer(
      {model.class_names(), model.class_seen(), model.gamma(),
       [&](MatrixView<const float> x, const ScoreVisitor& visit) { source_of(model, x, pool).visit(visit); },
       model.temperature()},
      data, progress);
}

}  // namespace parsnets
