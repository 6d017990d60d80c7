// parsnets data convert DIR OUT: writes a data set as a plain folder.

#include <fmt/format.h>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/row_blocks.hpp"
#include "command.hpp"
#include "load_flags.hpp"

namespace parsnets::cli {

Command data_convert_command() {
  struct State {
    std::string folder, out;
    LoadOptions load;
    DataFormat format = DataFormat::npy;
  };
  auto state = std::make_shared<State>();
  state->load.require_features = false;
  state->load.require_split = false;
  Command command;
  command.name = "data convert";
  command.summary = "write a data set as a plain folder";
  command.example = "parsnets data convert data/demo out/demo --format csv";
  command.arguments = {{"DIR", "data set folder to read", &state->folder, true},
                       {"OUT", "folder to write; created if missing", &state->out, true}};
  command.options.choice("format", state->format, {{"npy", DataFormat::npy}, {"csv", DataFormat::csv}},
                         "files of features and labels");
  add_load_options(command.options, state->load);
  add_memory_limit(command.options, state->load.memory_limit);
  command.run = [state](Context& context) {
    check_writable_folder(state->out);
    state->load.seed = context.common.seed;
    const Dataset data = load_dataset(state->folder, state->load, context.progress);
    require_memory(state->load.memory_limit, kBlockBytes, "conversion", "raise the limit");
    save_dataset(data, state->out, state->format);
    Output output;
    output.json = {{"written", state->out},
                   {"samples", data.samples()},
                   {"dimensions", data.features.cols()},
                   {"classes", data.classes()}};
    output.text = fmt::format("{}: {} samples x {} features, {} classes x {} attributes\n", state->out, data.samples(),
                              data.features.cols(), data.classes(), data.semantics.values.cols());
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
