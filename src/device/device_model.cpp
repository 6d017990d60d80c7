// A device file held in memory and run by the C runtime, and banks of its classes.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/integrity.hpp"
#include "base/text.hpp"
#include "data/feature_source.hpp"
#include "device/device_bank.hpp"
#include "device/device_reader.hpp"
#include "device/device_recogniser.hpp"
#include "formats/file_kind.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/evaluation.hpp"
#include "parsnets_rt.h"

namespace parsnets {

struct DeviceModel::State {
  std::vector<std::byte> file;
  std::string name;
  DeviceInfo info;
  pnrt_model runtime;

  /// Calls `run(row of x, row of out, work, its bytes)` for every row.
  template <class Run>
  Matrix<float> each_row(MatrixView<const float> x, std::size_t width, ThreadPool& pool, const Run& run) const {
    if (x.cols() != runtime.features)
      throw Error(BadInput{"input", "features", fmt::format("{} per sample, as in training", runtime.features),
                           std::to_string(x.cols()), "use the features of the training data"});
    Matrix<float> out(x.rows(), width);
    pool.parallel_for(x.rows(), 64, [&](std::size_t begin, std::size_t end, std::size_t) {
      std::vector<std::uint32_t> work((pnrt_work_bytes(&runtime, nullptr) + 3) / 4);
      for (std::size_t r = begin; r < end; ++r)
        if (const pnrt_status status = run(x.row(r).data(), out.row(r).data(), work.data(), work.size() * 4);
            status != PNRT_OK)
          throw Error(BadInput{name, fmt::format("sample {}", r), "a prediction", pnrt_status_text(status),
                               "correct the input, or export the model again"});
    });
    return out;
  }
};

DeviceModel::DeviceModel(std::vector<std::byte> file, const std::string& name) : state_(std::make_unique<State>()) {
  state_->file = std::move(file);
  state_->name = name;
  state_->info = read_device_info(state_->file, name);
  if (const pnrt_status status = pnrt_open(&state_->runtime, state_->file.data(), state_->file.size());
      status != PNRT_OK)
    throw Error(
        BadInput{name, "", "a file that the runtime can open", pnrt_status_text(status), "export the model again"});
  require_printable(state_->info.class_names, name, "class_names");  // the runtime prints nothing
  require_printable(state_->info.attribute_names, name, "attribute_names");
}

DeviceModel::~DeviceModel() = default;
DeviceModel::DeviceModel(DeviceModel&&) noexcept = default;

std::span<const std::byte> DeviceModel::bytes() const { return state_->file; }
std::size_t DeviceModel::dimensions() const { return state_->info.features; }
std::size_t DeviceModel::attributes() const { return state_->info.attributes; }
std::size_t DeviceModel::outputs() const { return state_->info.outputs; }
Precision DeviceModel::precision() const {
  const auto type = state_->info.section(DevicePart::network_weights).type;
  return type == PNRT_F32 ? Precision::float32 : type == PNRT_F16 ? Precision::float16 : Precision::int8;
}
std::size_t DeviceModel::rank() const { return state_->info.basis == state_->info.networks ? 0 : state_->info.basis; }
std::size_t DeviceModel::work_bytes() const { return pnrt_work_bytes(&state_->runtime, nullptr); }
std::uint64_t DeviceModel::multiply_adds() const { return pnrt_multiply_adds(&state_->runtime, nullptr); }
const char* DeviceModel::instruction_set() const {
  static constexpr const char* names[] = {"none", "NEON", "AVX2", "AVX-512 VNNI", "SDOT"};  // by pnrt_path
  return names[state_->runtime.path];
}
const std::vector<std::string>& DeviceModel::class_names() const { return state_->info.class_names; }
const std::vector<std::uint8_t>& DeviceModel::class_seen() const { return state_->info.class_seen; }
double DeviceModel::gamma() const { return state_->info.gamma; }
double DeviceModel::temperature() const { return state_->info.temperature; }
const std::optional<FeatureSource>& DeviceModel::source() const { return state_->info.source; }

std::vector<std::array<std::string, 3>> DeviceModel::sections() const {
  static const char* const types[] = {"", "F32", "F16", "I8", "bytes"};
  std::vector<std::array<std::string, 3>> list;
  for (const auto& section : state_->info.sections)
    if (section.present())
      list.push_back({section.name, types[section.type], fmt::format("{} x {}", section.rows, section.cols)});
  return list;
}

Matrix<float> DeviceModel::predict(MatrixView<const float> x, ThreadPool& pool) const {
  return state_->each_row(x, outputs(), pool, [&](const float* row, float* out, void* work, std::size_t bytes) {
    return pnrt_predict(&state_->runtime, row, out, nullptr, work, bytes);
  });
}

Matrix<float> DeviceModel::scores(MatrixView<const float> x, ThreadPool& pool) const {
  return state_->each_row(x, class_names().size(), pool,
                          [&](const float* row, float* out, void* work, std::size_t bytes) {
                            return pnrt_scores(&state_->runtime, nullptr, row, out, work, bytes);
                          });
}

bool DeviceModel::rejects() const { return state_->runtime.rejection != nullptr; }

std::vector<std::uint8_t> DeviceModel::unknown(MatrixView<const float> x, Among among, ThreadPool& pool,
                                               std::span<float> known_scores) const {
  if (!rejects())
    throw Error(ErrorCode::usage, fmt::format("{}: {}", state_->name, pnrt_status_text(PNRT_NO_REJECTION)));
  const pnrt_query query{1, static_cast<std::uint32_t>(among)};
  const Matrix<float> verdicts =
      state_->each_row(x, 2, pool, [&](const float* row, float* out, void* work, std::size_t bytes) {
        pnrt_match best;
        pnrt_verdict verdict{};
        const pnrt_status status =
            pnrt_classify(&state_->runtime, nullptr, row, &query, &best, 1, &verdict, work, bytes);
        out[0] = verdict.unknown != 0 ? 1.0f : 0.0f;
        out[1] = verdict.known_score;
        return status;
      });
  std::vector<std::uint8_t> out;
  for (std::size_t r = 0; r < verdicts.rows(); ++r) {
    out.push_back(verdicts(r, 0) != 0 ? 1 : 0);
    if (!known_scores.empty()) known_scores[r] = verdicts(r, 1);
  }
  return out;
}

DeviceModel load_device_model(const std::filesystem::path& path) { return load_device_model(path, ""); }

DeviceModel load_device_model(const std::filesystem::path& path, const std::string& sha256) {
  InputFile in(path);
  std::vector<std::byte> file(in.size());
  in.read(file.data(), file.size(), "contents");
  require_sha256(file, path.string(), sha256);
  return DeviceModel(std::move(file), path.string());
}

bool is_device_file(const std::filesystem::path& path) {
  InputFile in(path);
  std::vector<std::byte> start(std::min<std::uint64_t>(in.size(), 8));
  in.read(start.data(), start.size(), "contents");
  return looks_like_device_file(start);
}

Recogniser recogniser_of(std::shared_ptr<const DeviceModel> model, ThreadPool& pool) {
  Recogniser out{model->class_names(), model->class_seen(), model->gamma(),
                 model->temperature(), model->dimensions(), model->outputs()};
  out.source = model->source();
  // The runtime scores one row after the other, so that blocks change no bit.
  out.visit_scores = [model, &pool](MatrixView<const float> x, const ScoreVisitor& visit) {
    constexpr std::size_t kRows = 512;  // whose scores are held at a time
    for (std::size_t first = 0; first < x.rows(); first += kRows)
      visit(first, model->scores({x.row(first).data(), std::min(kRows, x.rows() - first), x.cols()}, pool).view());
  };
  out.rank = [model, &pool, scores_of = out.visit_scores](MatrixView<const float> x, const Ranking& ranking,
                                                          std::span<RankedClass> best, std::span<Verdict> verdicts) {
    if (!verdicts.empty()) {
      std::vector<float> known_scores(x.rows());
      const auto unknown = model->unknown(x, Among::all, pool, known_scores);
      for (std::size_t r = 0; r < x.rows(); ++r) verdicts[r] = {known_scores[r], unknown[r] != 0, false, {}};
    }
    const std::size_t top = best.size() / x.rows();
    scores_of(x, [&](std::size_t first, MatrixView<const float> scores) {
      for (std::size_t r = 0; r < scores.rows(); ++r) ranking.best(scores.row(r), best.subspan((first + r) * top, top));
    });
  };
  return out;
}

Evaluation evaluate(const DeviceModel& model, const Dataset& data, ThreadPool& pool, ProgressObserver* progress) {
  require_same_source(model.source(), data.source, data.features_file.empty() ? data.name : data.features_file);
  return evaluate(recogniser_of(model, pool), data, progress);
}

std::vector<std::byte> saved_bank(const DeviceModel& model, std::span<const std::string> removed,
                                  std::span<const std::pair<std::string, std::span<const float>>> added) {
  const auto require = [](pnrt_status status, const std::string& field, const char* expected) {
    if (status != PNRT_OK) throw Error(BadInput{"the device file", field, expected, pnrt_status_text(status), ""});
  };
  pnrt_model runtime;
  require(pnrt_open(&runtime, model.bytes().data(), model.bytes().size()), "", "a file that the runtime can open");
  const auto capacity = static_cast<std::uint32_t>(std::min<std::size_t>(added.size(), 0xffffffff));
  std::vector<std::uint32_t> memory((pnrt_bank_bytes(&runtime, capacity) + 3) / 4);
  pnrt_bank bank;
  require(pnrt_bank_init(&bank, &runtime, capacity, memory.data(), memory.size() * 4), "capacity",
          "a bank of that size");
  std::vector<std::uint32_t> work((pnrt_work_bytes(&runtime, &bank) + 3) / 4);
  for (const std::string& name : removed)
    require(pnrt_remove_class(&bank, name.c_str()), "class '" + name + "'", "a class");
  for (const auto& [name, attributes] : added) {
    if (attributes.size() != runtime.attributes)
      throw Error(BadInput{"class '" + name + "'", "attributes", std::to_string(runtime.attributes),
                           std::to_string(attributes.size()), ""});
    require(pnrt_add_class(&bank, name.c_str(), attributes.data(), nullptr, work.data(), work.size() * 4),
            "class '" + name + "'", "a class that can be added");
  }
  std::vector<std::byte> saved(pnrt_saved_bytes(&bank));
  require(pnrt_bank_save(&bank, saved.data(), saved.size()), "bank", "at most 2 GB to save");
  return saved;
}

}  // namespace parsnets
