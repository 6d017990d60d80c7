#include "bench_device.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/rng.hpp"
#include "command.hpp"
#include "feature_rows.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"
#include "parsnets_rt.h"

namespace parsnets::cli {

namespace {

constexpr double kMobileNetMultiplyAdds = 300e6;  // MobileNet-v2 at 224 pixels, for scale
constexpr std::size_t kSamples = 1000, kRepeats = 2000, kAdded = 1000;

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

void require(pnrt_status status, const std::string& file) {
  if (status != PNRT_OK)
    throw Error(BadInput{file, "", "a device model and input the runtime accepts", pnrt_status_text(status), ""});
}

struct Measured {
  std::string file, input;
  std::size_t bytes = 0, work_bytes = 0;
  std::uint64_t multiply_adds = 0, peak = 0;
  double init = 0, first = 0, add_classes = 0;  ///< microseconds
  std::size_t added = 0;
  std::vector<double> steady;  ///< microseconds, every sample
  std::uint32_t crc = 0;
  const char* simd = "";

  double least() const { return *std::ranges::min_element(steady); }
  double mean() const {
    double sum = 0;
    for (const double t : steady) sum += t;
    return sum / static_cast<double>(steady.size());
  }
  double median() const {
    std::vector<double> sorted = steady;
    std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2));
    return sorted[sorted.size() / 2];
  }
  double sd() const {
    double sum = 0;
    const double centre = mean();
    for (const double t : steady) sum += (t - centre) * (t - centre);
    return steady.size() < 2 ? 0 : std::sqrt(sum / static_cast<double>(steady.size() - 1));
  }
};

/// Features without a file: fractions from integers, so that every machine draws the same.
Matrix<float> drawn_features(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Matrix<float> out(rows, cols);
  Rng rng(seed, 0);
  for (float& v : out.values()) v = static_cast<float>(rng.next() >> 40) * 0x1.0p-24f;
  return out;
}

/// Adds classes with drawn attributes, and checks that no score of the model's own classes moves.
void measure_added_classes(const pnrt_model& model, const float* sample, std::size_t count, Measured& out) {
  std::vector<std::uint32_t> memory(pnrt_bank_bytes(&model, static_cast<std::uint32_t>(count)) / 4 + 1);
  pnrt_bank bank;
  require(pnrt_bank_init(&bank, &model, static_cast<std::uint32_t>(count), memory.data(), memory.size() * 4), out.file);
  std::vector<std::uint32_t> work(pnrt_work_bytes(&model, &bank) / 4 + 1);
  std::vector<float> before(pnrt_class_slots(&model, &bank)), after(before.size());
  require(pnrt_scores(&model, &bank, sample, before.data(), work.data(), work.size() * 4), out.file);
  const Matrix<float> attributes = drawn_features(count, model.attributes, 7);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("added class {}", i));
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < count; ++i)
    require(pnrt_add_class(&bank, names[i].c_str(), attributes.row(i).data(), nullptr, work.data(), work.size() * 4),
            out.file);
  out.add_classes = microseconds_since(start);
  out.added = count;
  require(pnrt_scores(&model, &bank, sample, after.data(), work.data(), work.size() * 4), out.file);
  if (std::memcmp(before.data(), after.data(), model.classes * sizeof(float)) != 0)
    throw Error(ErrorCode::failure, out.file + ": a score changed when classes were added");
}

Measured measure(const DeviceModel& checked, const std::string& file, const std::string& input, std::uint64_t seed,
                 ProgressObserver* progress) {
  Measured out;
  out.file = file;
  out.bytes = checked.bytes().size();
  pnrt_model model;
  auto start = std::chrono::steady_clock::now();
  const pnrt_status opened = pnrt_open(&model, checked.bytes().data(), checked.bytes().size());
  out.init = microseconds_since(start);
  require(opened, file);
  out.simd = checked.instruction_set();
  out.input = input.empty() ? "drawn at random" : input;
  const Matrix<float> x = input.empty() ? drawn_features(kSamples, model.features, seed)
                                        : read_feature_input(input, checked.source(), progress, 0);
  if (x.cols() != model.features || x.rows() == 0)
    throw Error(BadInput{input, "features", fmt::format("rows of {} values", model.features),
                         fmt::format("{} x {}", x.rows(), x.cols()), "use the features of the training data"});
  out.work_bytes = pnrt_work_bytes(&model, nullptr);
  out.multiply_adds = pnrt_multiply_adds(&model, nullptr);
  std::vector<std::uint32_t> work(out.work_bytes / 4 + 1);
  pnrt_match top[5];
  pnrt_verdict verdict;
  const auto classify = [&](std::size_t row) {
    require(pnrt_classify(&model, nullptr, x.row(row).data(), nullptr, top, 5, &verdict, work.data(), work.size() * 4),
            file);
  };
  start = std::chrono::steady_clock::now();
  classify(0);
  out.first = microseconds_since(start);
  for (std::size_t i = 0; i < kRepeats; ++i) {
    if (i % 256 == 0) report(progress, {"predict", i, kRepeats, "samples"});
    start = std::chrono::steady_clock::now();
    classify(i % x.rows());
    out.steady.push_back(microseconds_since(start));
  }
  std::vector<float> scores(model.classes);
  uLong crc = ::crc32_z(0, nullptr, 0);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    if (i % 1024 == 0) report(progress, {"checksum", i, x.rows(), "samples"});
    require(pnrt_scores(&model, nullptr, x.row(i).data(), scores.data(), work.data(), work.size() * 4), file);
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(scores.data()), scores.size() * sizeof(float));
  }
  out.crc = static_cast<std::uint32_t>(crc);
  measure_added_classes(model, x.row(0).data(), kAdded, out);
  out.peak = peak_memory();
  return out;
}

nlohmann::ordered_json to_json(const Measured& run) {
  nlohmann::ordered_json json{{"file", run.file},
                              {"input", run.input},
                              {"model_bytes", run.bytes},
                              {"work_bytes", run.work_bytes},
                              {"multiply_adds", run.multiply_adds},
                              {"of_mobilenet_v2", static_cast<double>(run.multiply_adds) / kMobileNetMultiplyAdds},
                              {"init_us", run.init},
                              {"first_us", run.first}};
  json["steady_us"] = {
      {"min", run.least()}, {"median", run.median()}, {"mean", run.mean()}, {"sd", run.sd()}, {"samples", run.steady}};
  json["add_classes"] = {{"classes", run.added}, {"us", run.add_classes}};
  json["peak_memory_bytes"] = run.peak;
  json["outputs_crc32"] = fmt::format("{:08x}", run.crc);
  json["simd"] = run.simd;
  return json;
}

/// The names of the values beside them, as a Markdown table.
std::string to_table(const Measured& run) {
  const std::pair<const char*, std::string> rows[] = {
      {"file", run.file},
      {"---", "---"},
      {"bytes", std::to_string(run.bytes)},
      {"work bytes", std::to_string(run.work_bytes)},
      {"multiply-adds", std::to_string(run.multiply_adds)},
      {"of MobileNet-v2",
       fmt::format("{:.2f} %", 100 * static_cast<double>(run.multiply_adds) / kMobileNetMultiplyAdds)},
      {"init us", fmt::format("{:.1f}", run.init)},
      {"first us", fmt::format("{:.1f}", run.first)},
      {"min us", fmt::format("{:.1f}", run.least())},
      {"median us", fmt::format("{:.1f}", run.median())},
      {"mean us", fmt::format("{:.1f}", run.mean())},
      {"sd us", fmt::format("{:.1f}", run.sd())},
      {"classes added", std::to_string(run.added)},
      {"adding us", fmt::format("{:.0f}", run.add_classes)},
      {"peak RSS bytes", std::to_string(run.peak)},
      {"CRC-32", fmt::format("{:08x}", run.crc)},
      {"SIMD", run.simd}};
  std::string text;
  for (const auto& [name, value] : rows) text += fmt::format("| {} | {} |\n", name, value);
  return text;
}

}  // namespace

Output bench_device(const DeviceModel& model, const std::string& file, const std::string& input, std::uint64_t seed,
                    ProgressObserver* progress) {
  const Measured run = measure(model, file, input, seed, progress);
  const MachineInfo machine = machine_info();
  Output output;
  output.json = {{"cpu", machine.cpu},
                 {"cores", machine.cores},
                 {"version", PARSNETS_VERSION},
                 {"build", PARSNETS_BUILD_TYPE},
                 {"sanitizers", PARSNETS_SANITIZERS},
                 {"compiler", PARSNETS_COMPILER}};
  output.json.update(to_json(run));
  output.text = to_table(run);
  output.text += fmt::format(
      "\n{} ({}), one core; parsnets {}, {} build{}, compiler {}. Peak RSS is that of this whole process.\n",
      machine.cpu, machine.simd, PARSNETS_VERSION, PARSNETS_BUILD_TYPE, *PARSNETS_SANITIZERS ? ", sanitized" : "",
      PARSNETS_COMPILER);
  return output;
}

}  // namespace parsnets::cli
