// parsnets export: a model file as a small file for devices, with the cost in accuracy and, on request, in time and
// memory measured.

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/rng.hpp"
#include "command.hpp"
#include "eval/metrics.hpp"
#include "feature_rows.hpp"
#include "load_flags.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"
#include "parsnets_rt.h"

namespace parsnets::cli {

namespace {

std::string precision_text(Precision precision) {
  return std::ranges::find(precision_names(), precision, [](const auto& name) { return name.second; })->first;
}

std::string way_text(const ExportCandidate& way) {
  std::string text = precision_text(way.precision) + ", ";
  text += way.rank == 0 ? "all networks" : fmt::format("rank {}", way.rank);
  if (way.class_space < 1) text += fmt::format(", {:.4g} % of class space", 100 * way.class_space);
  if (way.encoding < 1) text += fmt::format(", {:.4g} % of the encoding", 100 * way.encoding);
  return text;
}

nlohmann::ordered_json way_json(const ExportCandidate& way) {
  return {{"precision", precision_text(way.precision)},
          {"rank", way.rank},
          {"class_space", way.class_space},
          {"encoding", way.encoding},
          {"bytes", way.bytes}};
}

nlohmann::ordered_json accuracy_json(const SelectionStep& accuracy) {
  return {{"zsl", accuracy.zsl}, {"h", accuracy.h}};
}

// --bench: what a prediction costs with the C runtime, one sample at a time on one core.

constexpr double kMobileNetMultiplyAdds = 300e6;  // MobileNet-v2 at 224 pixels, for scale
constexpr std::size_t kSamples = 1000, kRepeats = 2000, kAdded = 1000;

/// Microseconds that `work` takes.
double timed(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

void require(pnrt_status status, const std::string& file) {
  if (status != PNRT_OK)
    throw Error(BadInput{file, "", "a device model and input the runtime accepts", pnrt_status_text(status), ""});
}

/// Features without a file: fractions from integers, so that every machine draws the same.
Matrix<float> drawn_features(std::size_t rows, std::size_t cols, std::uint64_t seed) {
  Matrix<float> out(rows, cols);
  Rng rng(seed, 0);
  for (float& v : out.values()) v = static_cast<float>(rng.next() >> 40) * 0x1.0p-24f;
  return out;
}

/// Microseconds of adding classes with drawn attributes; checks that no score of the model's own classes moves.
double time_of_added_classes(const pnrt_model& model, const float* sample, const std::string& file) {
  std::vector<std::uint32_t> memory(pnrt_bank_bytes(&model, kAdded) / 4 + 1);
  pnrt_bank bank;
  require(pnrt_bank_init(&bank, &model, kAdded, memory.data(), memory.size() * 4), file);
  std::vector<std::uint32_t> work(pnrt_work_bytes(&model, &bank) / 4 + 1);
  std::vector<float> before(pnrt_class_slots(&model, &bank)), after(before.size());
  require(pnrt_scores(&model, &bank, sample, before.data(), work.data(), work.size() * 4), file);
  const Matrix<float> attributes = drawn_features(kAdded, model.attributes, 7);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kAdded; ++i) names.push_back(fmt::format("added class {}", i));
  const double microseconds = timed([&] {
    for (std::size_t i = 0; i < kAdded; ++i)
      require(pnrt_add_class(&bank, names[i].c_str(), attributes.row(i).data(), nullptr, work.data(), work.size() * 4),
              file);
  });
  require(pnrt_scores(&model, &bank, sample, after.data(), work.data(), work.size() * 4), file);
  if (std::memcmp(before.data(), after.data(), model.classes * sizeof(float)) != 0)
    throw Error(ErrorCode::failure, file + ": a score changed when classes were added");
  return microseconds;
}

/// Time, memory, operations and a checksum of the outputs. `file` is for messages; without an `input` of features,
/// random ones are drawn. Throws bad_input, also for features of another backbone.
nlohmann::ordered_json measured(const DeviceModel& checked, const std::string& file, const std::string& input,
                                std::uint64_t seed, ProgressObserver* progress) {
  pnrt_model model;
  const double init = timed([&] { require(pnrt_open(&model, checked.bytes().data(), checked.bytes().size()), file); });
  const Matrix<float> x = input.empty() ? drawn_features(kSamples, model.features, seed)
                                        : read_feature_input(input, checked.source(), progress, 0);
  if (x.cols() != model.features || x.rows() == 0)
    throw Error(BadInput{input, "features", fmt::format("rows of {} values", model.features),
                         fmt::format("{} x {}", x.rows(), x.cols()), "use the features of the training data"});
  std::vector<std::uint32_t> work(checked.work_bytes() / 4 + 1);
  const auto time_of = [&](std::size_t row) {
    pnrt_match top[5];
    pnrt_verdict verdict;
    return timed([&] {
      require(
          pnrt_classify(&model, nullptr, x.row(row).data(), nullptr, top, 5, &verdict, work.data(), work.size() * 4),
          file);
    });
  };
  const double first = time_of(0);
  std::vector<double> steady;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    if (i % 256 == 0) report(progress, {"predict", i, kRepeats, "samples"});
    steady.push_back(time_of(i % x.rows()));
  }
  std::vector<float> scores(model.classes);
  uLong crc = ::crc32_z(0, nullptr, 0);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    if (i % 1024 == 0) report(progress, {"checksum", i, x.rows(), "samples"});
    require(pnrt_scores(&model, nullptr, x.row(i).data(), scores.data(), work.data(), work.size() * 4), file);
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(scores.data()), scores.size() * sizeof(float));
  }
  const double adding = time_of_added_classes(model, x.row(0).data(), file);
  std::vector<double> sorted = steady;
  std::ranges::sort(sorted);
  const Interval interval = confidence_interval(steady);
  return {{"file", file},
          {"input", input.empty() ? "drawn at random" : input},
          {"model_bytes", checked.bytes().size()},
          {"work_bytes", checked.work_bytes()},
          {"multiply_adds", checked.multiply_adds()},
          {"of_mobilenet_v2", static_cast<double>(checked.multiply_adds()) / kMobileNetMultiplyAdds},
          {"init_us", init},
          {"first_us", first},
          {"steady_us",
           {{"min", sorted.front()},
            {"median", sorted[sorted.size() / 2]},
            {"mean", interval.mean},
            {"sd", interval.sd},
            {"samples", steady}}},
          {"add_classes", {{"classes", kAdded}, {"us", adding}}},
          {"peak_memory_bytes", peak_memory()},
          {"outputs_crc32", fmt::format("{:08x}", crc)},
          {"simd", checked.instruction_set()}};
}

/// The names of the values beside them, as a Markdown table.
std::string to_table(const nlohmann::ordered_json& run) {
  const auto number = [](const nlohmann::ordered_json& value, int digits = 1) {
    return fmt::format("{:.{}f}", value.get<double>(), digits);
  };
  const auto& steady = run["steady_us"];
  const std::pair<const char*, std::string> rows[] = {
      {"file", run["file"].get<std::string>()},
      {"---", "---"},
      {"bytes", run["model_bytes"].dump()},
      {"work bytes", run["work_bytes"].dump()},
      {"multiply-adds", run["multiply_adds"].dump()},
      {"of MobileNet-v2", fmt::format("{:.2f} %", 100 * run["of_mobilenet_v2"].get<double>())},
      {"init us", number(run["init_us"])},
      {"first us", number(run["first_us"])},
      {"min us", number(steady["min"])},
      {"median us", number(steady["median"])},
      {"mean us", number(steady["mean"])},
      {"sd us", number(steady["sd"])},
      {"classes added", run["add_classes"]["classes"].dump()},
      {"adding us", number(run["add_classes"]["us"], 0)},
      {"peak RSS bytes", run["peak_memory_bytes"].dump()},
      {"CRC-32", run["outputs_crc32"].get<std::string>()},
      {"SIMD", run["simd"].get<std::string>()}};
  std::string text;
  for (const auto& [name, value] : rows) text += fmt::format("| {} | {} |\n", name, value);
  return text;
}

Output bench_device(const DeviceModel& model, const std::string& file, const std::string& input,
                    const Context& context) {
  const MachineInfo machine = machine_info();
  Output output{{{"cpu", machine.cpu},
                 {"cores", machine.cores},
                 {"version", PARSNETS_VERSION},
                 {"build", PARSNETS_BUILD_TYPE},
                 {"sanitizers", PARSNETS_SANITIZERS},
                 {"compiler", PARSNETS_COMPILER}}};
  output.json.update(measured(model, file, input, context.common.seed, context.progress));
  output.text = to_table(output.json) +
                fmt::format(
                    "\n{} ({}), one core; parsnets {}, {} build{}, compiler {}. Peak RSS is that of this whole "
                    "process.\n",
                    machine.cpu, machine.simd, PARSNETS_VERSION, PARSNETS_BUILD_TYPE,
                    *PARSNETS_SANITIZERS ? ", sanitized" : "", PARSNETS_COMPILER);
  return output;
}

}  // namespace

Command export_command() {
  struct State {
    std::string model, data, input;
    std::filesystem::path out, header;
    Precision precision = Precision::int8;
    int rank = 0;
    bool bench = false;
    ExportOptions options;
    LoadOptions load;
  };
  auto state = std::make_shared<State>();
  Command command{"export", "export a model to a small file for the C runtime and measure the loss of accuracy",
                  "parsnets export out/demo.safetensors -o out/demo.pnrt --data data/demo --max-drop 1"};
  command.by_place = {"model"};
  command.options.text("model", state->model, "model file; with --bench also a device file")
      .path("out", state->out, "device file to write")
      .text("data", state->data, "data set the model was trained on, to measure accuracy on its validation classes")
      .choice("precision", state->precision, precision_names(), "storage type of the weights")
      .integer("rank", state->rank, 0, 65535, "number of stored networks, of which the others are mixtures; 0: all")
      .bytes(
          "max-bytes", state->options.max_bytes,
          "maximum file size, 0 for none; precision, rank (unless given) and how many axes of class space and of the "
          "encoding are kept are chosen by accuracy on validation classes")
      .number("max-drop", state->options.max_drop, 0, 100,
              "fail if ZSL or H drops by more points than this on validation classes")
      .path("c-header", state->header,
            "also write the device file as a C header with a const array, which is named as the header")
      .flag("bench", state->bench, "measure time, memory and operations of the device file with the C runtime")
      .text("input", state->input, "features to predict with --bench, .npy, .npz, .csv or .mat (default: random)");
  add_load_options(command.options, state->load);
  add_memory_limit(command.options, state->options.memory_limit);
  command.run = [state](Context& context) {
    refuse_if(state->model.empty() || (state->out.empty() && state->header.empty() && !state->bench),
              "export: expected --model FILE and --out FILE, --c-header FILE or --bench");
    refuse_if(!state->input.empty() && !state->bench, "--input needs --bench");
    if (state->bench && is_device_file(state->model)) {
      refuse_if(!state->out.empty() || !state->header.empty() || !state->data.empty(),
                "{} is a device file already: expected --bench and --input alone", state->model);
      return bench_device(load_device_model(state->model), state->model, state->input, context);
    }
    refuse_if(!state->out.empty() && state->out == state->header, "--c-header and --out name the same file");
    refuse_if(context.is_given("max-drop") && state->data.empty(),
              "--max-drop needs --data: the drop is measured on validation classes");
    if (context.is_given("precision")) state->options.precision = state->precision;
    if (context.is_given("rank")) state->options.rank = static_cast<std::size_t>(state->rank);
    if (!state->header.empty()) c_header({}, state->header.stem().string());  // refuses a bad name before the work
    for (const auto& file : {state->out, state->header})
      if (!file.empty()) check_writable(file);
    const Model model = load_model(state->model);
    ThreadPool pool(context.threads());
    Dataset data;
    if (!state->data.empty()) {
      state->load.memory_limit = state->options.memory_limit;
      data = load_as_trained(state->load, state->data, model.record.data, context);
      warn(context, source_doubt(model.record.data.source, data));
    }
    const Exported exported =
        export_model(model, state->data.empty() ? nullptr : &data, state->options, pool, context.progress);
    for (const auto& file : {state->out, state->header})
      if (!file.empty()) make_folder_of(file);
    const DeviceModel device(exported.file, "the exported model");
    if (!state->header.empty()) write_text_file(state->header, c_header(exported.file, state->header.stem().string()));
    if (!state->out.empty()) {
      AtomicFile file(state->out);
      file.write(exported.file.data(), exported.file.size());
      file.commit();
    }

    const std::string named = !state->out.empty()      ? state->out.string()
                              : !state->header.empty() ? state->header.string()
                                                       : state->model;
    Output output{{{"model", state->model}}};
    output.json.update(way_json(exported.choice));
    output.json.update({{"model_bytes", std::filesystem::file_size(state->model)},
                        {"work_bytes", device.work_bytes()},
                        {"multiply_adds", device.multiply_adds()},
                        {"units", "percent"}});
    if (!state->out.empty()) output.json["file"] = state->out.string();
    if (!state->header.empty()) output.json["c_header"] = state->header.string();
    output.text =
        fmt::format("{}: {}; {} bytes (the model file has {}), {} bytes of working memory, {} multiply-adds\n", named,
                    way_text(exported.choice), exported.choice.bytes, std::filesystem::file_size(state->model),
                    device.work_bytes(), device.multiply_adds());
    if (!exported.warnings.empty()) output.json["warnings"] = exported.warnings;
    output.text += warning_lines(output.json);
    auto& validation = output.json["validation"];
    if (exported.validated)
      validation = {{"before", accuracy_json(exported.before)}, {"after", accuracy_json(exported.choice.accuracy)}};
    else
      output.text += "accuracy was not measured; give --data, the data set the model was trained on\n";
    for (const auto& one : exported.tried) {
      output.json["tried"].push_back(way_json(one));
      output.json["tried"].back().update(accuracy_json(one.accuracy));
      output.text += fmt::format("  tried {}: {} bytes, ZSL {:.2f}, H {:.2f}\n", way_text(one), one.bytes,
                                 one.accuracy.zsl, one.accuracy.h);
    }
    if (exported.validated)
      output.text +=
          fmt::format("validation classes: before ZSL {:.2f}, H {:.2f}; after ZSL {:.2f}, H {:.2f}\n",
                      exported.before.zsl, exported.before.h, exported.choice.accuracy.zsl, exported.choice.accuracy.h);
    if (state->bench) {
      const Output bench = bench_device(device, named, state->input, context);
      output.json["bench"] = bench.json;
      output.text += "\n" + bench.text;
    }
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
