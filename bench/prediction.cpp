// Prediction: the engine against what the machine allows, the device runtime beside numpy one sample at a time, and
// what Python adds to the engine.

#include <fmt/format.h>

#include <cstdio>

#include "data/sample_set.hpp"
#include "formats/npy.hpp"
#include "parsnets/training.hpp"
#include "predict_bounds.hpp"
#include "problem.hpp"

namespace bench {

using namespace parsnets;

namespace {

/// Shares of the GEMM peak of batches, and times the bound of reading the weights of one sample, on 1 and 2 threads.
json bounds_of(const std::string& name, const Model& model, bool quick) {
  constexpr std::size_t kSingle = 200, kMany = 11788;
  const int repeats = quick ? 3 : 7;
  json rows = json::array();
  const Matrix<float> x = random_features(kMany, model.dimensions);
  const Shape shape = shape_of(model);
  for (const unsigned threads : {1u, 2u}) {
    ThreadPool pool(threads);
    if (pool.size() < threads) continue;
    const Predictor predictor(model, pool);
    json row{{"model", name}, {"threads", threads}, {"flops", flops_of(shape)}, {"bytes", bytes_of(shape)}};
    for (const std::size_t n : {std::size_t{4096}, kMany}) {
      const MachineRates rates = measure_machine(pool, repeats);  // beside each measurement
      const BatchTime batch = measure_batch(predictor, model, {x.data(), n, x.cols()}, pool, rates, repeats);
      row["batches"].push_back({{"samples", n},
                                {"seconds", batch.spent.wall},
                                {"share_of_peak", batch.share_of_peak.wall},
                                {"share_of_peak_by_processor_time", batch.share_of_peak.processor},
                                {"gemm_flops", rates.flops.wall}});
    }
    const MachineRates rates = measure_machine(pool, repeats);
    const SampleTime one = measure_sample(predictor, model, {x.data(), kSingle, x.cols()}, pool, rates);
    row["one"] = {{"seconds", one.spent.wall},
                  {"times_bound", one.times_bound.wall},
                  {"times_bound_by_processor_time", one.times_bound.processor},
                  {"read_bytes", rates.read.wall}};
    fmt::print("{:<26}{} threads: {:>3.0f} and {:>3.0f} % of the GEMM peak; one sample {:.2f} times its bound\n", name,
               threads, 100 * row["batches"][0]["share_of_peak"].get<double>(),
               100 * row["batches"][1]["share_of_peak"].get<double>(), one.times_bound.wall);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

json measure_prediction(const Settings& settings) {
  const Workspace work;
  const DataSource source = cub(settings);
  const Dataset data = load_dataset(source.folder, source.load);
  ThreadPool pool;
  const std::string model = work / "cub.safetensors", features = work / "features.npy";
  Model trained = train(data, {}, pool);
  json bounds = bounds_of("default of CUB", trained, settings.quick);
  save_model(trained, model);
  Shape many = default_shape();
  many.classes = 100'000;
  for (const auto& [name, shape] : {std::pair("paper", paper_shape()), {"default, 100,000 classes", many}})
    for (const auto& row : bounds_of(name, random_model(shape), settings.quick)) bounds.push_back(row);
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
  return {{"data", sizes_of(source, data)}, {"bounds", bounds}, {"device", device}, {"python", python}};
}

}  // namespace bench
