// parsnets data synth OUT: generates a data set of known difficulty.

#include <fmt/format.h>

#include <optional>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/row_blocks.hpp"
#include "command.hpp"
#include "data/synth.hpp"
#include "load_flags.hpp"

namespace parsnets::cli {

Command data_synth_command() {
  struct State {
    std::string out, from;
    LoadOptions load;
    SynthOptions synth;
    double noise = -1;  ///< -1: auto
    DataFormat format = DataFormat::npy;
  };
  auto state = std::make_shared<State>();
  state->load.require_features = state->load.read_features = false;
  state->load.require_split = false;
  Command command;
  command.name = "data synth";
  command.summary = "generate a zero-shot data set of known difficulty";
  command.example = "parsnets data synth out/synth --classes 20 --samples 2000 --dimensions 256";
  command.arguments = {{"OUT", "folder to write; created if missing", &state->out, true}};
  auto& s = state->synth;
  command.options.text("data", state->from, "data set folder whose classes, semantics and split are used")
      .integer("classes", s.classes, 3, 100000, "number of classes, unless --data is given")
      .integer("attributes", s.attributes, 1, 100000, "number of attributes, unless --data is given")
      .integer("samples", s.samples, 4, 100000000, "number of samples, unless --data has a split")
      .integer("dimensions", s.dimensions, 1, 1000000, "features per sample")
      .integer("unseen", s.unseen, 0, 100000, "number of unseen classes; 0: a fifth, or as in the given split")
      .number_or_auto(
          "noise", state->noise, 0, 100,
          "standard deviation of a sample's attributes around its class, and of what carries no information about "
          "the class")
      .automatic("0.5 and 1")
      .choice("format", state->format, {{"npy", DataFormat::npy}, {"csv", DataFormat::csv}},
              "files of features and labels");
  add_load_options(command.options, state->load);
  add_memory_limit(command.options, state->load.memory_limit);
  command.run = [state](Context& context) {
    check_writable_folder(state->out);
    state->load.seed = state->synth.seed = context.common.seed;
    if (state->noise >= 0) state->synth.attribute_noise = state->synth.nuisance = state->noise;
    std::optional<Dataset> given;
    if (!state->from.empty()) given = load_dataset(state->from, state->load, context.progress);
    const SynthOptions& synth = state->synth;
    require_memory(
        state->load.memory_limit,
        2.0 * kBlockBytes + 24.0 * synth.samples + 8.0 * synth.hidden * (synth.dimensions + synth.attributes),
        "generation", "raise the limit");
    const Dataset data = synthesize_to(state->out, state->format, state->synth, given ? &*given : nullptr,
                                       static_cast<unsigned>(context.common.threads), context.progress);
    Output output;
    output.json = {{"written", state->out},
                   {"samples", data.samples()},
                   {"dimensions", state->synth.dimensions},
                   {"classes", data.classes()},
                   {"unseen_classes", data.unseen_classes().size()},
                   {"seed", context.common.seed}};
    output.text = fmt::format("{}: {} samples x {} features, {} classes ({} unseen)\n", state->out, data.samples(),
                              state->synth.dimensions, data.classes(), data.unseen_classes().size());
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
