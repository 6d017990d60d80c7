// parsnets page: the playground as one file that needs no server.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "backbone_module.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "parsnets/threads.hpp"
#ifdef PARSNETS_WITH_SERVER
#include "onnx_outline.hpp"
#include "serve/offline_page.hpp"
#endif

namespace parsnets::cli {

namespace {

struct PageState {
  std::string model, data;
  std::filesystem::path images, out;
  int samples = 240;
  LoadOptions load;
  BackboneChoice backbone;  ///< with the memory limit of the command
};

#ifdef PARSNETS_WITH_SERVER
namespace fs = std::filesystem;

/// Where onnxruntime-web is: in one of the folders, or where npm puts it below one of them.
fs::path web_runtime(const fs::path& of_page, const fs::path& of_network) {
  std::error_code absent;
  for (const auto& folder : {of_page, of_network})
    for (const fs::path& place : {folder, folder / "node_modules/onnxruntime-web/dist"})
      if (fs::exists(place / "ort.wasm.min.js", absent)) return place;
  throw Error(BadInput{of_page.string(), "", "ort.wasm.min.js and two more files of onnxruntime-web", "none",
                       fmt::format("run 'npm install --prefix {} onnxruntime-web@1.20.1'", of_page.string())});
}

/// A script with `from` replaced, in base64: a page cannot import a module that lies in it.
std::string changed_script(const fs::path& file, std::string_view from, std::string_view to) {
  std::string text = read_text_file(file);
  const auto at = text.find(from);
  if (at == std::string::npos || at != text.rfind(from))
    throw Error(BadInput{file.string(), "", fmt::format("a script with '{}' once", from), "another",
                         "get onnxruntime-web 1.20.1 from npm"});
  return base64(text.replace(at, from.size(), to));
}

/// What photo_reader.js reads.
nlohmann::ordered_json page_backbone(const PageState& state, const Model& model, Context& context) {
  refuse_if(!model.record.data.source, "the model does not say which backbone made its features: train on photographs");
  FeatureSource source = open_backbone_of(model.record.data.source, state.backbone, context.progress).source;
  const fs::path file = std::exchange(source.file, "");  // the page does not tell where it was
  const fs::path runtime = web_runtime(fs::absolute(state.out).parent_path(), file.parent_path());
  std::string network = read_text_file(file);
  OnnxOutline outline;
  read_outline(std::as_bytes(std::span(network)), outline);  // it has been opened: nothing is wrong
  const bool both = source.pool == FeatureSource::Pooling::both;
  const std::string output = both ? outline.before_average(source.layer) : source.layer;
  if (std::ranges::count(outline.outputs, output) == 0) network += output_to_append(output, false);
  auto json = to_json(source);
  json.update({{"input", outline.inputs.front().name},
               {"output", output},
               {"most_pixels", state.backbone.max_pixels},
               {"network", base64(network)},
               {"script", changed_script(runtime / "ort.wasm.min.js", "import(", "ortImport(")},
               {"module", changed_script(runtime / "ort-wasm-simd-threaded.mjs", "export default ", "ortModule = ")},
               {"wasm", base64(read_text_file(runtime / "ort-wasm-simd-threaded.wasm"))}});
  return json;
}
#endif

Output write_page([[maybe_unused]] PageState& state, [[maybe_unused]] Context& context) {
#ifdef PARSNETS_WITH_SERVER
  refuse_if(state.model.empty() || state.out.empty(), "page: expected --model FILE and --out FILE");
  check_writable(state.out);
  Model model = load_model(state.model);
  const auto& source = model.record.data.source;
  std::error_code absent;
  if (state.data.empty() && source && std::filesystem::is_directory(source->photographs, absent))
    state.data = source->photographs;
  nlohmann::ordered_json backbone;
  if (state.backbone.given()) backbone = page_backbone(state, model, context);
  ServedSamples samples;
  if (!state.data.empty() && state.samples > 0) {
    state.load.memory_limit = state.backbone.memory_limit;
    const Dataset data = load_as_trained(state.load, state.data, model.record.data, context);
    samples =
        choose_samples(data, model, state.data, state.images.empty() ? std::filesystem::path(state.data) : state.images,
                       static_cast<std::size_t>(state.samples));
  }
  ThreadPool pool(context.threads());
  const std::string name = std::filesystem::path(state.model).filename().string();
  const std::size_t count = samples.samples.size();
  const std::string page = offline_page(std::move(model), std::move(samples), std::move(backbone), name, pool);
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
  add_backbone_option(command.options, state->backbone);
  add_memory_limit(command.options, state->backbone.memory_limit);
  command.run = [state](Context& context) { return write_page(*state, context); };
  return command;
}

}  // namespace parsnets::cli
