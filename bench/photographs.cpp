// Photographs to features by ResNet-50: each engine of the module beside the arithmetic of the network and the peak of
// the processor, decoding beside the network, and whole extraction on 1 and on 2 threads.

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "base/file.hpp"
#include "harness.hpp"
#include "images/backbone.hpp"
#include "images/features_of_image.hpp"
#include "images/image_list.hpp"
#include "parsnets/error.hpp"

namespace bench {

namespace {

using namespace parsnets;

constexpr int kSide = 224;
constexpr const char* kLayer = "features";

/// Stays loaded, as in the tool.
class Module {
 public:
  explicit Module(const std::filesystem::path& file) : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  std::string problem() const { return handle_ != nullptr ? "" : ::dlerror(); }
  std::vector<NetworkEngine> engines() const {
    const auto names = reinterpret_cast<const char* (*)()>(::dlsym(handle_, "parsnets_backbone_engines"));
    if (std::string(names()).starts_with("ONNX Runtime")) return {NetworkEngine::opencv, NetworkEngine::onnxruntime};
    return {NetworkEngine::opencv};
  }
  std::unique_ptr<Backbone> open(const BackboneOptions& options) const {
    std::string problem;
    const auto function = reinterpret_cast<OpenBackbone*>(::dlsym(handle_, kOpenBackbone));
    std::unique_ptr<Backbone> backbone(function(options, problem));
    if (!backbone) throw Error(ErrorCode::failure, options.file.string() + ": " + problem);
    return backbone;
  }

 private:
  void* handle_;
};

std::vector<ListedImage> chosen_images(const std::filesystem::path& folder, std::size_t count) {
  const ImageList list = find_images({folder});
  std::vector<ListedImage> images;
  count = std::min(count, list.images.size());
  for (std::size_t i = 0; i < count; ++i) images.push_back(list.images[i * list.images.size() / count]);
  return images;
}

json measure_engine(const Module& module, NetworkEngine engine, const std::filesystem::path& network, double flops,
                    const std::vector<ListedImage>& images, int repeats) {
  const unsigned most = std::min(2u, available_cores());
  const BackboneOptions options{network, kLayer, {}, most, engine};
  const auto backbone = module.open(options);
  ThreadPool one(1);
  MachinePeaks peaks;
  peaks.sample(one);
  std::vector<float> input(3 * kSide * kSide), features(backbone->dimensions());
  const auto bytes = read_image_file(images.front().file);
  // Both are done by other processes, the way there included: by the clock.
  double decode = INFINITY, run = INFINITY;
  for (int i = 0; i < 10 * repeats; ++i) {
    decode = std::min(decode, seconds_of([&] { backbone->prepare(bytes, input); }));
    run = std::min(run, seconds_of([&] { backbone->run(input, 1, features); }));
  }
  peaks.sample(one);
  json result{{"engine", backbone->engine()},
              {"decode_seconds", decode},
              {"network_seconds", run},
              {"flops_per_second", flops / run},
              {"of_fma_peak", flops / run / peaks.fma32(2)},
              {"runs", json::array()}};
  fmt::print("  {}: network {:.1f} ms, {:.0f} GFLOP/s, {:.0f} % of the FMA peak; decoding {:.2f} ms\n",
             backbone->engine(), 1e3 * run, 1e-9 * flops / run, 100 * flops / run / peaks.fma32(2), 1e3 * decode);
  std::vector<std::vector<float>> first;
  for (unsigned threads = 1; threads <= most; ++threads) {
    ThreadPool pool(threads);
    std::vector<std::vector<float>> found(images.size());
    const auto read = [&] {
      read_images(
          {*backbone, {}, {}}, images, pool, [](std::size_t) {},
          [&](std::size_t i, const ImageFeatures& of_image) { found[i] = of_image.values; });
    };
    read();  // the network of each thread is opened
    double least = INFINITY;
    for (int i = 0; i < repeats; ++i) least = std::min(least, seconds_of(read));
    if (threads == 1) first = found;
    if (found != first) throw Error(ErrorCode::failure, "features depend on the number of threads");
    const auto count = static_cast<double>(images.size());
    result["runs"].push_back({{"threads", threads},
                              {"images_per_second", count / least},
                              {"network_share", run * count / (threads * least)}});
    fmt::print("    {} threads: {:.1f} photographs/s\n", threads, count / least);
    std::fflush(stdout);
  }
  return result;
}

}  // namespace

json measure_photographs(const Settings& settings) {
  const Workspace work;
  const auto folder = settings.out.parent_path() / "backbones", network = folder / "resnet50.onnx";
  const Module module(settings.program.parent_path() / "parsnets-backbones.so");
  if (!module.problem().empty()) return missing_peer("photographs", module.problem() + "; run `make photos`");
  if (!std::filesystem::exists(network)) {
    const Run fetched =
        run_program({settings.sources / "scripts" / "get-backbone", "resnet50", "--out", folder}, work / "log");
    if (fetched.exit_code != 0)
      return missing_peer("photographs", "scripts/get-backbone resnet50: " + read_text_file(work / "log"));
  }
  const json counted = run_peer(settings, work, "onnx_flops.py",
                                {"--network", network, "--layer", kLayer, "--side", std::to_string(kSide)});
  if (counted.contains("missing")) return counted;
  const auto images = chosen_images(settings.data / "photos", settings.quick ? 8 : 64);
  const double flops = counted["flops"].get<double>();
  fmt::print("\nPhotographs: ResNet-50, {:.2f} GFLOP each, {} photographs\n", flops / 1e9, images.size());
  json engines = json::array();
  for (const NetworkEngine engine : module.engines())
    engines.push_back(measure_engine(module, engine, network, flops, images, settings.quick ? 1 : 3));
  return {{"network", "ResNet-50"}, {"flops", flops}, {"photographs", images.size()}, {"engines", engines}};
}

}  // namespace bench
