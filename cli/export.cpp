// parsnets export: a model file as a small file for devices, with the cost in accuracy and, on request, in time and
// memory measured.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "bench_device.hpp"
#include "command.hpp"
#include "load_flags.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "warn.hpp"

namespace parsnets::cli {

namespace {

std::string precision_text(Precision precision) {
  for (const auto& [name, value] : precision_names())
    if (value == precision) return name;
  return "";
}

std::string rank_text(std::size_t rank) { return rank == 0 ? "all networks" : fmt::format("rank {}", rank); }

nlohmann::ordered_json accuracy_json(const SelectionStep& accuracy) {
  return {{"zsl", accuracy.zsl}, {"h", accuracy.h}};
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
  Command command;
  command.name = "export";
  command.summary = "export a model to a small file for the C runtime and measure the loss of accuracy";
  command.example = "parsnets export --model out/demo.safetensors --out out/demo.pnrt --data data/demo --max-drop 1";
  command.options.text("model", state->model, "model file; with --bench also a device file")
      .path("out", state->out, "device file to write")
      .text("data", state->data, "data set the model was trained on, to measure accuracy on its validation classes")
      .choice("precision", state->precision, precision_names(), "storage type of the weights")
      .integer("rank", state->rank, 0, 65535, "number of stored networks, of which the others are mixtures; 0: all")
      .bytes("max-bytes", state->options.max_bytes,
             "maximum file size, 0 for none; precision and rank, unless given, are chosen by accuracy on validation "
             "classes")
      .number("max-drop", state->options.max_drop, 0, 100,
              "fail if ZSL or H drops by more points than this on validation classes")
      .path("c-header", state->header,
            "also write the device file as a C header with a const array, which is named as the header")
      .flag("bench", state->bench, "measure time, memory and operations of the device file with the C runtime")
      .text("input", state->input, "features to predict with --bench, .npy, .npz, .csv or .mat (default: random)");
  add_load_options(command.options, state->load);
  add_memory_limit(command.options, state->options.memory_limit);
  command.run = [state](Context& context) {
    if (state->model.empty() || (state->out.empty() && state->header.empty() && !state->bench))
      throw Error(ErrorCode::usage, "export: expected --model FILE and --out FILE, --c-header FILE or --bench");
    if (!state->input.empty() && !state->bench) throw Error(ErrorCode::usage, "--input needs --bench");
    if (state->bench && is_device_file(state->model)) {
      if (!state->out.empty() || !state->header.empty() || !state->data.empty())
        throw Error(ErrorCode::usage, state->model + " is a device file already: expected --bench and --input alone");
      return bench_device(load_device_model(state->model), state->model, state->input, context.common.seed,
                          context.progress);
    }
    if (!state->out.empty() && state->out == state->header)
      throw Error(ErrorCode::usage, "--c-header and --out name the same file");
    const auto given = [&](const char* name) { return std::ranges::find(context.given, name) != context.given.end(); };
    if (given("max-drop") && state->data.empty())
      throw Error(ErrorCode::usage, "--max-drop needs --data: the drop is measured on validation classes");
    if (given("precision")) state->options.precision = state->precision;
    if (given("rank")) state->options.rank = static_cast<std::size_t>(state->rank);
    if (!state->header.empty()) c_header({}, state->header.stem().string());  // refuses a bad name before the work
    for (const auto& file : {state->out, state->header})
      if (!file.empty()) check_writable(file);
    const Model model = load_model(state->model);
    ThreadPool pool(static_cast<unsigned>(context.common.threads));
    Dataset data;
    auto warned = nlohmann::ordered_json::object();
    if (!state->data.empty()) {
      state->load.seed = context.common.seed;
      state->load.memory_limit = state->options.memory_limit;
      load_as_trained(state->load, state->data, model.record.data, context.given);
      data = load_dataset(state->data, state->load, context.progress);
      warn(context, source_doubt(model.record.data.source, data), warned);
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
    Output output;
    output.json = {{"model", state->model},
                   {"precision", precision_text(exported.choice.precision)},
                   {"rank", exported.choice.rank},
                   {"bytes", exported.choice.bytes},
                   {"model_bytes", std::filesystem::file_size(state->model)},
                   {"work_bytes", device.work_bytes()},
                   {"multiply_adds", device.multiply_adds()},
                   {"units", "percent"}};
    output.json.update(warned);
    if (!state->out.empty()) output.json["file"] = state->out.string();
    if (!state->header.empty()) output.json["c_header"] = state->header.string();
    output.text = fmt::format(
        "{}: {}, {}; {} bytes (the model file has {}), {} bytes of working memory, {} multiply-adds\n", named,
        precision_text(exported.choice.precision), rank_text(exported.choice.rank), exported.choice.bytes,
        std::filesystem::file_size(state->model), device.work_bytes(), device.multiply_adds());
    for (const auto& warning : exported.warnings) {
      output.json["warnings"].push_back(warning);
      output.text += "warning: " + warning + "\n";
    }
    const auto add_bench = [&] {
      if (!state->bench) return;
      const Output bench = bench_device(device, named, state->input, context.common.seed, context.progress);
      output.json["bench"] = bench.json;
      output.text += "\n" + bench.text;
    };
    if (!exported.validated) {
      output.json["validation"] = nullptr;
      output.text += "accuracy was not measured; give --data, the data set the model was trained on\n";
      add_bench();
      return output;
    }
    output.json["validation"] = {{"before", accuracy_json(exported.before)},
                                 {"after", accuracy_json(exported.choice.accuracy)}};
    for (const auto& one : exported.tried) {
      output.json["tried"].push_back({{"precision", precision_text(one.precision)},
                                      {"rank", one.rank},
                                      {"bytes", one.bytes},
                                      {"zsl", one.accuracy.zsl},
                                      {"h", one.accuracy.h}});
      output.text +=
          fmt::format("  tried {:<8} {:<13} {:>9} bytes: ZSL {:.2f}, H {:.2f}\n", precision_text(one.precision),
                      rank_text(one.rank), one.bytes, one.accuracy.zsl, one.accuracy.h);
    }
    output.text +=
        fmt::format("validation classes: before ZSL {:.2f}, H {:.2f}; after ZSL {:.2f}, H {:.2f}\n",
                    exported.before.zsl, exported.before.h, exported.choice.accuracy.zsl, exported.choice.accuracy.h);
    add_bench();
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
