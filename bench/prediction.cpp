// Prediction one sample at a time with the default model of CUB: the device runtime beside numpy, and what Python adds
// to the engine.

#include <fmt/format.h>

#include <cstdio>

#include "data/rows.hpp"
#include "formats/npy.hpp"
#include "parsnets/training.hpp"
#include "problem.hpp"

namespace bench {

using namespace parsnets;

json measure_prediction(const Settings& settings) {
  const Workspace work;
  const DataSource source = cub(settings);
  const Dataset data = load_dataset(source.folder, source.load);
  ThreadPool pool;
  const std::string model = work / "cub.safetensors", features = work / "features.npy";
  save_model(train(data, {}, pool), model);
  write_npy(features, gather_rows(data.features.view(), data.split.trainval).view());
  json device = run_peer(settings, work, "numpy_device.py",
                         {"--model", model, "--features", features, "--parsnets", settings.program, "--repeats",
                          settings.quick ? "200" : "2000"});
  if (!device.contains("missing"))
    for (const auto& [name, run] : device["runs"].items())
      fmt::print("\none sample, {:<16}{:>10.1f} us", name, run["median_us"].get<double>());
  json python = run_peer(settings, work, "predict_overhead.py",
                         {"--model", model, "--features", features, "--runs", settings.quick ? "2000" : "20000"});
  if (!python.contains("missing"))
    fmt::print("\nPython's predict: {:.2f} us more than the C function for one sample; {:.3f} of its rate for many\n",
               python["one_sample"]["overhead_us"].get<double>(), python["many_samples"][0]["ratio"].get<double>());
  std::fflush(stdout);
  return {{"data", sizes_of(source, data)}, {"device", device}, {"python", python}};
}

}  // namespace bench
