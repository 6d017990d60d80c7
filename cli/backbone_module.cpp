#include "backbone_module.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backbones.hpp"
#include "backbones_module.hpp"
#include "base/file.hpp"
#include "base/json_file.hpp"
#include "base/machine.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
#include "formats/csv.hpp"
#include "parsnets/error.hpp"
#include "parsnets/threads.hpp"
#include "process_group.hpp"

namespace parsnets::cli {

namespace {

constexpr const char* kModule = "parsnets-backbones.so";

void* module_of_photographs(std::string& problem) { return open_module(kModule, RTLD_NOW | RTLD_LOCAL, problem); }

/// A preprocessing file has some of the keys that describe features.
void read_preprocessing(const std::filesystem::path& network, BackboneOptions& options) {
  auto file = network;
  file.replace_extension(".json");
  std::error_code absent;  // a link to nothing is a file that cannot be read
  if (std::filesystem::symlink_status(file, absent).type() == std::filesystem::file_type::not_found) return;
  nlohmann::json json = read_json_file(file);
  const FeatureSource defaults{network.filename().string(), std::string(64, '0'), "", options.input, 1};
  const nlohmann::json complete = to_json(defaults);
  if (json.is_object()) {
    for (const auto& [key, value] : json.items())
      if (!complete.contains(key))
        throw Error(BadInput{file.string(), key, "preset, fit, width, height, layer or pool", "another key",
                             "correct the file or remove it"});
    for (const auto& [key, value] : complete.items())
      if (!json.contains(key) || key == "sha256" || key == "dimensions") json[key] = value;
  }
  try {
    const FeatureSource source = feature_source_from_json(json, file.string());
    options.layer = source.layer;
    options.input = source.input;
    options.pool = source.pool;
  } catch (const Error& error) {
    BadInput parts = error.parts();
    parts.advice = "correct the file or remove it";
    throw Error(parts);
  }
}

/// Bytes of one network beside its file, more than measured with ResNet-50 and MobileNet by either engine.
struct NetworkBytes {
  double file;
  double working = 64e6;  ///< values of its layers
  double held() const { return 1.5 * file + working; }
  double opening() const { return 2.5 * file + working; }
};

/// How many processes may hold the network: as many as threads, unless memory is short. Throws usage.
unsigned networks_within(const BackboneChoice& choice, unsigned threads, const NetworkBytes& network, double decoding) {
  require_memory(choice.memory_limit, decoding + network.file + network.opening(),
                 "decoding photographs and the network",
                 "raise the limit, lower --max-pixels or --threads, or use a smaller network");
  const double most = choice.memory_limit > 0 ? static_cast<double>(choice.memory_limit - held_memory())
                                              : static_cast<double>(machine_info().free);
  const double spare = (most - decoding - network.file - network.opening()) / 2;  // the other half is for the rest
  return 1 + static_cast<unsigned>(std::clamp(spare / network.held(), 0.0, threads - 1.0));
}

OpenedBackbone open(BackboneOptions options, const BackboneChoice& choice, std::string sha256) {
  std::string problem;
  void* module = module_of_photographs(problem);
  refuse_if(module == nullptr,
            "photographs need the module {}, found {}; install libopencv-dnn-dev and "
            "libopencv-imgcodecs-dev and run `make photos`",
            kModule, problem.empty() ? "none" : problem);
  const unsigned threads = choice.threads > 0 ? choice.threads : available_cores();
  const double decoding = decoding_bytes(choice.limits(), options.input, threads, threads);
  const NetworkBytes network{static_cast<double>(std::filesystem::file_size(options.file))};
  options.threads = networks_within(choice, threads, network, decoding);
  OpenedBackbone opened;
  opened.bytes = decoding + (options.threads - 1) * network.held();
  opened.backbone.reset(function_of<OpenBackbone>(module, kOpenBackbone)(options, problem));
  if (opened.backbone == nullptr)
    throw Error(ErrorCode::bad_input, fmt::format("{}: {}", options.file.string(), problem));
  opened.source = {options.file.filename().string(),
                   std::move(sha256),
                   opened.backbone->layer(),
                   options.input,
                   opened.backbone->dimensions(),
                   options.pool,
                   std::filesystem::absolute(options.file).string()};
  return opened;
}

}  // namespace

void add_backbone_option(OptionTable& options, BackboneChoice& choice) {
  options.path(
      "backbone", choice.file,
      "backbone that turns photographs into features: mobilenet, resnet50 or an ONNX file; the preprocessing file "
      "NAME.json beside "
      "NAME.onnx says what it expects (default: colours as torchvision, all of the photograph, 224 x 224 pixels)");
}

void add_max_pixels(OptionTable& options, BackboneChoice& choice) {
  options.integer("max-pixels", choice.max_pixels, 1, 1'000'000'000, "photographs with more pixels are not decoded");
}

OpenedBackbone open_backbone(const BackboneChoice& choice, ProgressObserver* progress) {
  BackboneOptions options;
  options.file = backbone_file(choice.file, progress);
  const InputFile readable(options.file);
  read_preprocessing(options.file, options);
  if (choice.pool) options.pool = *choice.pool;
  return open(options, choice, sha256_of_file(options.file));
}

OpenedBackbone open_backbone_of(const std::optional<FeatureSource>& trained, const BackboneChoice& choice,
                                ProgressObserver* progress) {
  if (!trained && choice.trust) return open_backbone(choice, progress);
  refuse_if(!trained && choice.file.empty(),
            "the model does not say which backbone made its features: photographs need --backbone FILE.onnx --force");
  if (!trained)
    throw Error(BadInput{choice.file.string(), "", "a model whose features were extracted by parsnets",
                         "a model that does not say which network made its features",
                         "train on features from 'parsnets extract', or use --force"});
  const auto file = choice.file.empty() ? find_backbone(*trained) : backbone_file(choice.file, progress);
  std::string sha256 = sha256_of_file(file);
  if (sha256 != trained->sha256)
    throw Error(
        BadInput{file.string(), "",
                 fmt::format("the model's backbone {} (sha256 {})", trained->backbone, trained->sha256.substr(0, 12)),
                 fmt::format("another file (sha256 {})", sha256.substr(0, 12)),
                 "features of another backbone mean nothing to the model"});
  OpenedBackbone opened = open({.file = file, .layer = trained->layer, .input = trained->input, .pool = trained->pool},
                               choice, std::move(sha256));
  require_same_source(trained, opened.source, file.string());
  return opened;
}

std::vector<std::string> backbone_engines(std::string& problem) {
  void* module = module_of_photographs(problem);
  if (module == nullptr) return {};
  return parse_list(function_of<decltype(parsnets_backbone_engines)>(module, "parsnets_backbone_engines")(), kModule);
}

}  // namespace parsnets::cli
