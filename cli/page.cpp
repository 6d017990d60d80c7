// parsnets page: the playground as one file that needs no server.

#include <fmt/format.h>

#include <filesystem>

#include "base/file.hpp"
#include "command.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "parsnets/threads.hpp"
#ifdef PARSNETS_WITH_SERVER
#include "serve/offline_page.hpp"
#endif

namespace parsnets::cli {

namespace {

struct PageState {
  std::string model, data;
  std::filesystem::path images, out;
  int samples = 240;
  LoadOptions load;
  std::uint64_t memory_limit = 0;
};

Output write_page([[maybe_unused]] PageState& state, [[maybe_unused]] Context& context) {
#ifdef PARSNETS_WITH_SERVER
  refuse_if(state.model.empty() || state.out.empty(), "page: expected --model FILE and --out FILE");
  check_writable(state.out);
  Model model = load_model(state.model);
  const auto& source = model.record.data.source;
  std::error_code absent;
  if (state.data.empty() && source && std::filesystem::is_directory(source->photographs, absent))
    state.data = source->photographs;
  ServedSamples samples;
  if (!state.data.empty() && state.samples > 0) {
    state.load.memory_limit = state.memory_limit;
    const Dataset data = load_as_trained(state.load, state.data, model.record.data, context);
    samples =
        choose_samples(data, model, state.data, state.images.empty() ? std::filesystem::path(state.data) : state.images,
                       static_cast<std::size_t>(state.samples));
  }
  ThreadPool pool(context.threads());
  const std::string name = std::filesystem::path(state.model).filename().string();
  const std::size_t count = samples.samples.size();
  const std::string page = offline_page(std::move(model), std::move(samples), name, pool);
  make_folder_of(state.out);
  write_text_file(state.out, page);
  Output output;
  output.json = {{"file", state.out.string()}, {"bytes", page.size()}, {"samples", count}};
  output.text = fmt::format("{}: {} samples, {}; open it in a browser, no server is needed\n", state.out.string(),
                            count, format_bytes(static_cast<double>(page.size())));
  return output;
#else
  throw Error(ErrorCode::usage, "page: this build has no playground; install libasio-dev and build again");
#endif
}

}  // namespace

Command page_command() {
  auto state = std::make_shared<PageState>();
  Command command{"page", "write the playground as one HTML page that works without a server",
                  "parsnets page out/demo.safetensors --data data/demo -o out/page.html"};
  command.by_place = {"model"};
  command.options.text("model", state->model, "model file")
      .path("out", state->out, "HTML file to write")
      .text("data", state->data, "data set whose test samples the page shows (default: the photographs of training)")
      .path("images", state->images, "folder of the data set's photographs (default: the data set folder)")
      .integer("samples", state->samples, 0, 10000, "test samples to show, evenly spread over the classes");
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) { return write_page(*state, context); };
  return command;
}

}  // namespace parsnets::cli
