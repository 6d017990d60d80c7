// DeviceModel: a device file held in memory and run by the C runtime. DeviceBank: its classes with learning memory.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.hpp"
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

  void check_features(MatrixView<const float> x) const {
    if (x.cols() != runtime.features)
      throw Error(BadInput{"input", "features", fmt::format("{} per sample, as in training", runtime.features),
                           std::to_string(x.cols()), "use the features of the training data"});
  }

  /// Calls `run(row of x, row of out, work, its bytes)` for every row, with working memory for the bank.
  template <class Run>
  Matrix<float> each_row(MatrixView<const float> x, std::size_t width, const pnrt_bank* bank, ThreadPool& pool,
                         const Run& run) const {
    check_features(x);
    Matrix<float> out(x.rows(), width);
    pool.parallel_for(x.rows(), 64, [&](std::size_t begin, std::size_t end, std::size_t) {
      std::vector<std::uint32_t> work((pnrt_work_bytes(&runtime, bank) + 3) / 4);
      for (std::size_t r = begin; r < end; ++r)
        if (const pnrt_status status = run(x.row(r).data(), out.row(r).data(), work.data(), work.size() * 4);
            status != PNRT_OK)
          throw Error(BadInput{name, fmt::format("sample {}", r), "a prediction", pnrt_status_text(status),
                               "correct the input, or export the model again"});
    });
    return out;
  }

  /// 1: the row is of none of the classes. `known_scores`: n values or none.
  std::vector<std::uint8_t> unknown(MatrixView<const float> x, Among among, const pnrt_bank* bank, ThreadPool& pool,
                                    std::span<float> known_scores) const {
    if (runtime.rejection == nullptr)
      throw Error(ErrorCode::usage, fmt::format("{}: {}", name, pnrt_status_text(PNRT_NO_REJECTION)));
    const pnrt_query query{1, static_cast<std::uint32_t>(among)};
    const Matrix<float> verdicts =
        each_row(x, 2, bank, pool, [&](const float* row, float* out, void* work, std::size_t bytes) {
          pnrt_match best;
          pnrt_verdict verdict;
          const pnrt_status status = pnrt_classify(&runtime, bank, row, &query, &best, 1, &verdict, work, bytes);
          if (status != PNRT_OK) return status;
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
};

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
  const auto type = state_->info.section(DevicePart::network_weights).type;
  return type == PNRT_F32 ? Precision::float32 : type == PNRT_F16 ? Precision::float16 : Precision::int8;
}
std::size_t DeviceModel::rank() const { return state_->info.basis == state_->info.networks ? 0 : state_->info.basis; }
std::size_t DeviceModel::work_bytes() const { return pnrt_work_bytes(&state_->runtime, nullptr); }
std::uint64_t DeviceModel::multiply_adds() const { return pnrt_multiply_adds(&state_->runtime, nullptr); }
const char* DeviceModel::instruction_set() const {
  return state_->runtime.path == PNRT_AVX2 ? "AVX2" : state_->runtime.path == PNRT_NEON ? "NEON" : "none";
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
  if (runtime.support == 0)
    throw Error(ErrorCode::usage, fmt::format("learning in the field needs a model of class space ({})",
                                              option_name("method", "parsnets")));
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
