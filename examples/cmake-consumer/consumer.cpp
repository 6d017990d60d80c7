// Uses the installed package: loads a data set folder, trains a ridge baseline and prints its zero-shot accuracy.

#include <cstdio>
#include <parsnets/error.hpp>
#include <parsnets/training.hpp>
#include <parsnets/version.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: consumer DATA_FOLDER\n");
    return 2;
  }
  const parsnets::Dataset data = parsnets::load_dataset(argv[1]);
  parsnets::TrainOptions options;
  options.method = parsnets::Method::ridge;
  parsnets::ThreadPool pool;
  const parsnets::Model model = parsnets::train(data, options, pool);
  const parsnets::TestReport report = parsnets::evaluate(model, data, pool);
  std::printf("parsnets %s: ZSL %.1f, H %.1f\n", PARSNETS_VERSION, report.zsl.top1_per_class, report.gzsl.h);
  return 0;
} catch (const parsnets::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return static_cast<int>(e.code());
}
