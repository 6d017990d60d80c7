// Seconds of predicting all rows of a .npy file, as JSON:
//   bench_predict MODEL.safetensors FEATURES.npy REPEATS THREADS
// Prediction against what the machine allows (predict_bounds.hpp), for the models of CUB with random weights, or for a
// model file:
//   bench_predict bounds [THREADS=1] [MODEL.safetensors]

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "formats/npy.hpp"
#include "parsnets/error.hpp"
#include "predict_bounds.hpp"

using namespace parsnets;
using namespace parsnets::bench;

namespace {

void print_bounds(const char* name, const Model& model, ThreadPool& pool) {
  constexpr std::size_t kSingle = 200, kMany = 11788;
  const Matrix<float> x = random_features(kMany, model.dimensions);
  const Predictor predictor(model, pool);
  const Shape shape = shape_of(model);
  fmt::print("{}: {:.2f} Mflop and {:.2f} MB of weights per sample\n", name, flops_of(shape) / 1e6,
             bytes_of(shape) / 1e6);
  for (const std::size_t n : {std::size_t{4096}, kMany}) {
    const MachineRates rates = measure_machine(pool, 5);  // beside each measurement, as others may use the machine
    const BatchTime batch = measure_batch(predictor, model, {x.data(), n, x.cols()}, pool, rates, 7);
    fmt::print("  {} samples: {:.0f} % of {:.1f} Gflop/s by processor time ({:.0f} % by the clock, {:.1f} us each)\n",
               n, 100 * batch.share_of_peak.processor, rates.flops.processor / 1e9, 100 * batch.share_of_peak.wall,
               1e6 * batch.spent.wall / static_cast<double>(n));
  }
  const MachineRates rates = measure_machine(pool, 5);
  const SampleTime one = measure_sample(predictor, model, {x.data(), kSingle, x.cols()}, pool, rates);
  fmt::print(
      "  one sample: {:.2f} times the bound of {:.1f} GB/s read by processor time ({:.2f} times by the clock, {:.0f} "
      "us); {:.1f} GB/s copied\n",
      one.times_bound.processor, rates.read.processor / 1e9, one.times_bound.wall, 1e6 * one.spent.wall,
      rates.copied.processor / 1e9);
}

void print_all_bounds(unsigned threads, const char* file) {
  ThreadPool pool(threads);
  fmt::print("{} threads\n", pool.size());
  if (file != nullptr) return print_bounds(file, load_model(file), pool);
  print_bounds("default", random_model(default_shape()), pool);
  print_bounds("paper", random_model(paper_shape()), pool);
  Shape many = default_shape();
  many.classes = 100'000;
  print_bounds("default, 100,000 classes", random_model(many), pool);
}

void time_file(char** argv) {
  const Model model = load_model(argv[1]);
  const Matrix<float> x = read_npy_float({argv[2], ""});
  ThreadPool pool(static_cast<unsigned>(std::atoi(argv[4])));
  const Predictor predictor(model, pool);
  const Ranking ranking(model);
  std::vector<RankedClass> best(x.rows());
  nlohmann::json seconds = nlohmann::json::array();
  for (int repeat = 0; repeat < std::atoi(argv[3]); ++repeat)
    seconds.push_back(time_of([&] { predictor.rank(x.view(), ranking, pool, best, false); }).wall);
  fmt::print("{}\n", nlohmann::json{{"seconds", seconds}, {"first", best[0].class_index}}.dump());
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc >= 2 && std::string_view(argv[1]) == "bounds")
    print_all_bounds(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1, argc > 3 ? argv[3] : nullptr);
  else if (argc == 5)
    time_file(argv);
  else
    throw Error(
        ErrorCode::usage,
        "usage: bench_predict MODEL.safetensors FEATURES.npy REPEATS THREADS, or bench_predict bounds [THREADS] "
        "[MODEL.safetensors]");
} catch (const std::exception& e) {
  fmt::print(stderr, "bench_predict: {}\n", e.what());
  return 1;
}
