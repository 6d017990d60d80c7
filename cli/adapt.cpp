// parsnets adapt: unlabelled samples move the places of a model's classes, without training.

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.hpp"
#include "command.hpp"
#include "eval/protocols.hpp"
#include "eval_protocols.hpp"
#include "feature_rows.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

Output told(const Adaptation& done, const Model& model, const std::string& file) {
  Output output;
  output.json = {{"model", file},
                 {"samples", done.samples},
                 {"left_out", done.left_out},
                 {"form", done.form},
                 {"because", done.because},
                 {"convincing", done.convincing},
                 {"rounds", done.rounds},
                 {"likelihood_gain", done.likelihood_gain},
                 {"moves", moves_json(done, model)}};
  const std::string decision = fmt::format(
      "{} form{}: {}\n", done.form == "strong" ? "strong" : "careful",
      done.left_out > 0 ? fmt::format(", {} samples left out as too short in class space", done.left_out) : "",
      done.because);
  if (done.moves.empty()) {
    output.text =
        fmt::format("{}no class got convincing support from {} samples: nothing was changed\n", decision, done.samples);
    return output;
  }
  std::size_t width = 5;
  for (const auto& move : output.json["moves"]) width = std::max(width, move["class"].get<std::string>().size());
  output.text = fmt::format("{:<{}}  {:>9}  {:>7}\n", "class", width, "support", "degrees");
  for (const auto& move : output.json["moves"])
    output.text += fmt::format("{:<{}}  {:>9.1f}  {:>7.2f}\n", move["class"].get<std::string>(), width,
                               move["support"].get<double>(), move["degrees"].get<double>());
  output.text += decision;
  output.text += fmt::format("{}: {} classes moved by {} convincing samples of {}; mean log-likelihood {:+.4f}\n", file,
                             done.moves.size(), done.convincing, done.samples, done.likelihood_gain);
  if (const auto& field = model.record.field; field && (field->worst_fall > 1 || field->adapted_h < field->h)) {
    output.json["warnings"] = {fmt::format(
        "adapting did not help on validation classes: H went from {:.1f} to {:.1f}, and accuracy fell by up to "
        "{:.1f} points on unsuitable samples; undo with --undo",
        field->h, field->adapted_h, field->worst_fall)};
    output.text += warning_lines(output.json);
  }
  return output;
}

}  // namespace

Command adapt_command() {
  struct State {
    std::string model, input, classes;
    std::filesystem::path out;
    int batch = 20000;
    std::uint64_t memory_limit = 0;
    bool undo = false;
  };
  auto state = std::make_shared<State>();
  Command command{"adapt", "adapt a model to unlabelled samples, without training",
                  "parsnets adapt out/demo.safetensors data/demo/features.npy -o out/adapted.safetensors"};
  command.by_place = {"model", "input"};
  command.options.text("model", state->model, "model file; changed in place unless --out is given")
      .text("input", state->input,
            "features of the samples: .npy, .npz, .csv or .mat, one row each, or a folder with such a file")
      .path("out", state->out, "model file to write (default: change --model in place)")
      .text("classes", state->classes,
            "classes that may move, comma-separated; quote names that contain commas: '\"a, b\",c' (default: unseen)")
      .integer("batch", state->batch, 1, 100000000, "samples per batch; more are adapted to batch after batch")
      .flag("undo", state->undo, "forget all unlabelled samples; examples stay");
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    refuse_if(state->model.empty() || state->input.empty() != state->undo,
              "adapt: expected --model FILE and either --input FILE or --undo");
    const auto held = hold(state->model, state->out, context.progress);
    Model model = load_model(state->model);
    if (state->undo) {
      const bool was_adapted = is_adapted(model);
      undo_adaptation(model);
      const std::string file = save_changed(model, state->model, state->out).string();
      return Output{{{"model", file}, {"undone", was_adapted}},
                    fmt::format("{}: {}\n", file, was_adapted ? "adaptation undone" : "the model was not adapted")};
    }
    const auto file = features_file(state->input);
    const auto& source = model.record.data.source;
    const Matrix<float> input = read_feature_input(file, source, context.progress, state->memory_limit);
    warn(context, source_doubt(source, file));
    require_memory(state->memory_limit,
                   field_bytes(model, std::min(2 * static_cast<std::size_t>(state->batch), input.rows())), "adaptation",
                   "raise the limit or lower --batch");
    AdaptOptions options;
    options.classes = parse_list(state->classes, "--classes");
    ThreadPool pool(context.threads());
    options.batch = static_cast<std::size_t>(state->batch);
    const Adaptation done = adapt_rows(model, blocks_of(input), options, state->memory_limit, pool, context.progress);
    return told(done, model, save_changed(model, state->model, state->out).string());
  };
  return command;
}

}  // namespace parsnets::cli
