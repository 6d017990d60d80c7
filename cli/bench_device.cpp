// parsnets bench-device: what a prediction costs with the C runtime, one sample at a time on one core.

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <sstream>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/rng.hpp"
#include "command.hpp"
#include "feature_input.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"
#include "parsnets_rt.h"

namespace parsnets::cli {

namespace {

constexpr double kMobileNetMultiplyAdds = 300e6;  // MobileNet-v2 at 224 pixels, for scale

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

Measured measure(const std::string& file, const std::string& input, std::size_t samples, std::size_t repeats,
                 std::size_t classes, std::uint64_t seed, ProgressObserver* progress) {
  Measured out;
  out.file = file;
  InputFile in(file);
  std::vector<std::byte> bytes(in.size());
  in.read(bytes.data(), bytes.size(), "contents");
  out.bytes = bytes.size();
  pnrt_model model;
  auto start = std::chrono::steady_clock::now();
  const pnrt_status opened = pnrt_open(&model, bytes.data(), bytes.size());
  out.init = microseconds_since(start);
  const DeviceModel checked(std::move(bytes), file);  // whose errors say more
  require(opened, file);
  require(pnrt_open(&model, checked.bytes().data(), checked.bytes().size()), file);
  out.simd = checked.instruction_set();
  out.input = input.empty() ? "drawn at random" : input;
  const Matrix<float> x = input.empty() ? drawn_features(samples, model.features, seed)
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
  for (std::size_t i = 0; i < repeats; ++i) {
    if (i % 256 == 0) report(progress, {"predict", i, repeats, "samples"});
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
  if (classes > 0) measure_added_classes(model, x.row(0).data(), classes, out);
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
  if (run.added > 0) json["add_classes"] = {{"classes", run.added}, {"us", run.add_classes}};
  json["peak_memory_bytes"] = run.peak;
  json["outputs_crc32"] = fmt::format("{:08x}", run.crc);
  json["simd"] = run.simd;
  return json;
}

enum class Format { md, csv };

std::string to_table(const std::vector<Measured>& runs, Format format) {
  const std::vector<std::string> header{
      "file",      "bytes",   "work bytes", "multiply-adds", "of MobileNet-v2", "init us",        "first us", "min us",
      "median us", "mean us", "sd us",      "classes added", "adding us",       "peak RSS bytes", "CRC-32",   "SIMD"};
  std::vector<std::vector<std::string>> rows{header};
  for (const auto& run : runs)
    rows.push_back(
        {run.file, std::to_string(run.bytes), std::to_string(run.work_bytes), std::to_string(run.multiply_adds),
         fmt::format("{:.2f} %", 100 * static_cast<double>(run.multiply_adds) / kMobileNetMultiplyAdds),
         fmt::format("{:.1f}", run.init), fmt::format("{:.1f}", run.first), fmt::format("{:.1f}", run.least()),
         fmt::format("{:.1f}", run.median()), fmt::format("{:.1f}", run.mean()), fmt::format("{:.1f}", run.sd()),
         std::to_string(run.added), fmt::format("{:.0f}", run.add_classes), std::to_string(run.peak),
         fmt::format("{:08x}", run.crc), run.simd});
  std::string text;
  if (format == Format::csv) {
    for (const auto& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i) text += csv_cell(row[i]) + (i + 1 < row.size() ? "," : "\n");
    return text;
  }
  // One column per file: the names of the values are longer than the values.
  for (std::size_t i = 0; i < header.size(); ++i) {
    for (const auto& row : rows) text += "| " + row[i] + " ";
    text += "|\n";
    if (i == 0) {
      for (std::size_t c = 0; c < rows.size(); ++c) text += "|---";
      text += "|\n";
    }
  }
  return text;
}

}  // namespace

Command bench_device_command() {
  struct State {
    std::string models, input;
    int samples = 1000, repeats = 2000, classes = 1000;
    Format format = Format::md;
  };
  auto state = std::make_shared<State>();
  Command command;
  command.name = "bench-device";
  command.summary = "measure device files with the C runtime: time, memory, operations, checksum of the outputs";
  command.example = "parsnets bench-device --model out/demo.pnrt --input data/demo/features.npy";
  command.options.text("model", state->models, "device files, comma-separated")
      .text("input", state->input, "features to predict, .npy, .npz, .csv or .mat (default: random)")
      .integer("samples", state->samples, 1, 10000000, "number of random samples without --input")
      .integer("repeats", state->repeats, 1, 10000000, "number of predictions to time")
      .integer("classes", state->classes, 0, 1000000, "number of classes to add at run time")
      .choice("format", state->format, {{"md", Format::md}, {"csv", Format::csv}},
              "format of the table; --json includes every measurement");
  command.run = [state](Context& context) {
    if (state->models.empty()) throw Error(ErrorCode::usage, "bench-device: expected --model FILE[,FILE...]");
    std::vector<Measured> runs;
    std::istringstream list(state->models);
    for (std::string file; std::getline(list, file, ',');)
      runs.push_back(measure(file, state->input, static_cast<std::size_t>(state->samples),
                             static_cast<std::size_t>(state->repeats), static_cast<std::size_t>(state->classes),
                             context.common.seed, context.progress));
    const MachineInfo machine = machine_info();
    Output output;
    output.json = {{"cpu", machine.cpu},
                   {"simd", machine.simd},
                   {"cores", machine.cores},
                   {"version", PARSNETS_VERSION},
                   {"build", PARSNETS_BUILD_TYPE},
                   {"sanitizers", PARSNETS_SANITIZERS},
                   {"compiler", PARSNETS_COMPILER},
                   {"runs", nlohmann::ordered_json::array()}};
    for (const auto& run : runs) output.json["runs"].push_back(to_json(run));
    output.text = to_table(runs, state->format);
    if (state->format == Format::md)
      output.text += fmt::format(
          "\n{} ({}), one core; parsnets {}, {} build{}, compiler {}. Peak RSS is that of this whole process.\n",
          machine.cpu, machine.simd, PARSNETS_VERSION, PARSNETS_BUILD_TYPE, *PARSNETS_SANITIZERS ? ", sanitized" : "",
          PARSNETS_COMPILER);
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
