// Uses the installed package: loads a data set folder, trains a ridge baseline, exports it for a device and prints the
// zero-shot accuracy of both.

#include <cstdio>
#include <parsnets/device.hpp>
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
  options.method = parsnets::BaselineOptions();
  parsnets::ThreadPool pool;
  const parsnets::Model model = parsnets::train(data, options, pool);
  const parsnets::Evaluation report = parsnets::evaluate(model, data, pool);
  std::printf("parsnets %s: ZSL %.1f, H %.1f\n", PARSNETS_VERSION, report.zsl.top1_per_class, report.gzsl.h);
  const parsnets::DeviceModel device(parsnets::device_file(model, parsnets::Precision::int8, 0, pool), "the export");
  const parsnets::Evaluation exported = parsnets::evaluate(device, data, pool);
  std::printf("as int8, %zu bytes: ZSL %.1f, H %.1f\n", device.bytes().size(), exported.zsl.top1_per_class,
              exported.gzsl.h);
  return 0;
} catch (const parsnets::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return static_cast<int>(e.code());
}
