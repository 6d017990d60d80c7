// parsnets serve: predictions over HTTP, and a page on which classes can be defined.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "backbone_module.hpp"
#include "backbones.hpp"
#include "base/file.hpp"
#include "base/machine.hpp"
#include "command.hpp"
#include "eval/scoring.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"
#include "store/model_file.hpp"
#include "terminal.hpp"
#ifdef PARSNETS_WITH_SERVER
#include "serve/http_server.hpp"
#include "serve/routes.hpp"
#endif

namespace parsnets::cli {

namespace {

struct ServeState {
  std::string model, sha256, data, host = "127.0.0.1";
  std::filesystem::path token_file, images;
  BackboneChoice backbone;  ///< with the memory limit of the command
  int port = 8080, samples = 240;
  LoadOptions load;
};

#ifdef PARSNETS_WITH_SERVER

std::string token_place(const ServeState& state) {
  return state.token_file.empty() ? "the variable PARSNETS_TOKEN" : state.token_file.string();
}

/// The token of the server, without a line end; empty: none.
std::string read_token(const ServeState& state) {
  const char* variable = std::getenv("PARSNETS_TOKEN");
  std::string token = !state.token_file.empty() ? read_text_file(state.token_file, 4096)
                      : variable != nullptr     ? variable
                                                : "";
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const bool given = !state.token_file.empty() || variable != nullptr;
  // The page takes it from its address, where other characters would have to be escaped.
  const bool plain = token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-") ==
                     std::string::npos;
  if (given && (token.size() < 16 || !plain))
    throw Error(BadInput{token_place(state), "token", "at least 16 of the characters A-Z, a-z, 0-9 and ._~-",
                         plain ? fmt::format("{} characters", token.size()) : "other characters",
                         "write one with `openssl rand -hex 32`"});
  return token;
}

ServedSamples read_samples(ServeState& state, const Model& model, Context& context) {
  const auto& source = model.record.data.source;
  std::error_code absent;
  const bool asked = !state.data.empty();
  if (!asked && source && std::filesystem::is_directory(source->photographs, absent)) state.data = source->photographs;
  if (state.data.empty() || state.samples == 0) return {};
  if (state.images.empty()) state.images = state.data;
  state.load.memory_limit = state.backbone.memory_limit;
  try {
    const Dataset data = load_as_trained(state.load, state.data, model.record.data, context);
    return choose_samples(data, model, state.data, state.images, static_cast<std::size_t>(state.samples));
  } catch (const Error& error) {
    if (asked || error.code() == ErrorCode::cancelled) throw;
    warn(context, fmt::format("the page shows no photographs of training: {}", error.what()));
    return {};
  }
}

unsigned cores_of(const Context& context) {
  return context.common.threads > 0 ? static_cast<unsigned>(context.common.threads) : available_cores();
}

/// The body of a request, and what it is read into.
double bytes_of_connection(const HttpServerOptions& http) { return 2 * static_cast<double>(http.body_bytes); }

/// Fewer than usual where the memory limit (0: none) is low: they get half of what is left.
std::size_t connections_within(std::uint64_t limit, double scoring, const HttpServerOptions& http) {
  if (limit == 0) return http.connections;
  const double left = static_cast<double>(limit) - static_cast<double>(held_memory()) - scoring;
  return static_cast<std::size_t>(
      std::clamp(left / 2 / bytes_of_connection(http), 1.0, static_cast<double>(http.connections)));
}

/// None without --backbone and without a record of one. `serving`: the bytes that all else takes.
std::unique_ptr<Photographs> open_photographs(ServeState& state, const Model& model, double serving, Context& context) {
  if (!state.backbone.given()) {  // the page takes photographs where it can
    const auto& trained = model.record.data.source;
    if (!trained || trained->file.empty()) return nullptr;
    try {
      find_backbone(*trained);
    } catch (const Error& missing) {
      warn(context, fmt::format("the page takes no photographs: {}", missing.what()));
      return nullptr;
    }
    state.backbone.recorded = true;
  }
  state.backbone.max_bytes = HttpServerOptions().body_bytes;
  state.backbone.threads = cores_of(context);
  OpenedBackbone opened = open_backbone_of(model.record.data.source, state.backbone);
  if (opened.source.dimensions != model.dimensions)
    throw Error(BadInput{state.backbone.file.string(), "", fmt::format("{} features, as in training", model.dimensions),
                         fmt::format("{}", opened.source.dimensions),
                         "use the network that the model was trained with"});
  require_memory(state.backbone.memory_limit, serving + opened.bytes, "serving photographs",
                 "raise the limit, or lower --max-pixels or --threads");
  return std::make_unique<Photographs>(std::move(opened.backbone), std::move(opened.source), state.backbone.limits(),
                                       state.backbone.threads);
}

Output serve(ServeState& state, Context& context) {
  refuse_if(state.model.empty(), "serve: expected --model FILE");
  check_sha256(state.sha256);
  refuse_if(!state.backbone.given() && state.backbone.trust, "--force requires --backbone");
  refuse_if(!state.images.empty() && state.data.empty(), "--images requires --data");
  if (!state.images.empty() && !std::filesystem::is_directory(state.images))
    throw Error(BadInput{state.images.string(), "", "a folder of photographs", "no such folder", "check the path"});
  const std::string token = read_token(state);
  return_freed_memory();  // what one large request needed must not stay for as long as the server runs
  Model model = load_model(state.model, state.sha256);
  ServiceOptions options;
  HttpServerOptions http;
  const double scoring = scoring_bytes(model.classes.names.size(), model.outputs(), model.dimensions, options.batch);
  http.connections = connections_within(state.backbone.memory_limit, scoring, http);
  const double bytes = scoring + static_cast<double>(http.connections) * bytes_of_connection(http);
  require_memory(state.backbone.memory_limit, bytes, "serving", "raise the limit");
  const std::unique_ptr<Photographs> photographs = open_photographs(state, model, bytes, context);
  ServedSamples samples = read_samples(state, model, context);
  options.name = std::filesystem::path(state.model).filename().string();
  options.body_bytes = http.body_bytes;
  options.pixels = static_cast<std::uint64_t>(state.backbone.max_pixels);
  if (photographs) options.photos = photographs->source();
  const Service service(std::move(model), std::move(samples), std::move(options));
  Metrics metrics;
  // Two per core: one waits for the processor while others use the machine, too.
  Turnstile turnstile(2 * cores_of(context));
  http.host = state.host;
  http.port = state.port;
  http.allow_remote = !token.empty();
  http.token = token;
  HttpServer server(http, routes_of(service, photographs.get(), turnstile, metrics), metrics);
  server.start();
  const std::string address = server.address();
  const nlohmann::ordered_json ready{{"address", address}, {"port", server.port()}, {"needs_token", !token.empty()}};
  std::string text = fmt::format("serving {} on {}\n", state.model, address);
  if (!token.empty())
    text +=
        fmt::format("requests need the token in {}; open the page as {}/#token=TOKEN\n", token_place(state), address);
  context.print(context.common.json ? ready.dump() + "\n" : text);
  while (!interrupted()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  end_at_next_interrupt();
  if (context.progress != nullptr)
    context.progress->on_message("finishing the requests that have begun; interrupt again to end at once");
  server.stop();
  Output output;
  output.already_printed = true;
  return output;
}

#else

Output serve(ServeState&, Context&) {
  throw Error(ErrorCode::usage, "serve: this build has no HTTP server; install libasio-dev and build again");
}

#endif

}  // namespace

Command serve_command() {
  auto state = std::make_shared<ServeState>();
  Command command{"serve", "serve predictions over HTTP, with a page where classes can be defined",
                  "parsnets serve out/demo.safetensors --data data/demo"};
  command.by_place = {"model"};
  command.options.text("model", state->model, "model file")
      .text("data", state->data, "data set whose test samples the page shows (default: the photographs of training)")
      .path("images", state->images, "folder of the data set's photographs (default: the data set folder)")
      .text("host", state->host, "name or address to listen on; one that other machines can reach needs a token")
      .integer("port", state->port, 0, 65535, "port to listen on; 0: any free port")
      .integer("samples", state->samples, 0, 10000, "test samples to show, evenly spread over the classes")
      .path("token-file", state->token_file,
            "file with the token that requests must send; alternatively, set the variable PARSNETS_TOKEN");
  add_max_pixels(command.options, state->backbone);
  add_backbone_option(command.options, state->backbone);
  command.options.flag("force", state->backbone.trust,
                       "use the backbone although the model does not record which one made its features");
  add_memory_limit(command.options, state->backbone.memory_limit);
  add_sha256(command.options, state->sha256);
  command.run = [state](Context& context) { return serve(*state, context); };
  return command;
}

}  // namespace parsnets::cli
