// Throughput of prediction in C++, for python/benchmarks/predict_overhead.py to compare with: scores and the best class
// of every sample of a .npy file. Usage: bench_predict MODEL.safetensors FEATURES.npy REPEATS THREADS

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "formats/npy.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"

using namespace parsnets;

int main(int argc, char** argv) try {
  if (argc != 5) throw Error(ErrorCode::usage, "usage: bench_predict MODEL.safetensors FEATURES.npy REPEATS THREADS");
  const Model model = load_model(argv[1]);
  const Matrix<float> x = read_npy_float({argv[2], ""});
  ThreadPool pool(static_cast<unsigned>(std::atoi(argv[4])));
  const PreparedClasses classes = model.prepare_classes(pool);
  std::vector<float> gamma(model.classes.seen.size(), 0);
  for (std::size_t c = 0; c < gamma.size(); ++c)
    if (model.classes.seen[c]) gamma[c] = static_cast<float>(model.gamma);
  std::vector<std::size_t> best(x.rows());
  constexpr std::size_t kBatch = 2048;  // keeps the intermediate matrices in the cache
  nlohmann::json seconds = nlohmann::json::array();
  for (int repeat = 0; repeat < std::atoi(argv[3]); ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t first = 0; first < x.rows(); first += kBatch) {
      const std::size_t rows = std::min(kBatch, x.rows() - first);
      const Matrix<float> scores = model.scores({x.data() + first * x.cols(), rows, x.cols()}, classes, pool);
      for (std::size_t r = 0; r < rows; ++r) {
        std::size_t top = 0;
        for (std::size_t c = 1; c < scores.cols(); ++c)
          if (scores(r, c) - gamma[c] > scores(r, top) - gamma[top]) top = c;
        best[first + r] = top;
      }
    }
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  fmt::print("{}\n", nlohmann::json{{"seconds", seconds}, {"first", best[0]}}.dump());
} catch (const std::exception& e) {
  fmt::print(stderr, "bench_predict: {}\n", e.what());
  return 1;
}
