// Loading CUB's features: our reader beside scipy's loadmat in the same run. Each load runs in a process of its own, so
// that its peak memory is its own. Usage: bench_load FILE.mat [rounds]

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "base/options.hpp"
#include "formats/mat.hpp"
#include "parsnets/error.hpp"

namespace {

struct Sample {
  double seconds = 0, peak = 0;  ///< peak: bytes above what the process held before loading
};

Sample load_ours(const std::string& file) {
  int channel[2];
  if (::pipe(channel) != 0) return {};
  if (const pid_t child = ::fork(); child == 0) {
    Sample sample;
    const auto before = static_cast<double>(parsnets::peak_memory());
    const auto start = std::chrono::steady_clock::now();
    const auto mat = parsnets::MatFile::open(file);
    const auto features = mat->read_columns("features");
    const auto labels = mat->read_columns_double("labels");
    if (mat->find("image_files") != nullptr) mat->read_strings("image_files");
    sample.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    sample.peak = static_cast<double>(parsnets::peak_memory()) - before;
    const auto written = ::write(channel[1], &sample, sizeof sample);
    ::_exit(written == sizeof sample ? 0 : 1);
  } else {
    Sample sample;
    ::close(channel[1]);
    const auto got = ::read(channel[0], &sample, sizeof sample);
    ::close(channel[0]);
    ::waitpid(child, nullptr, 0);
    return got == sizeof sample ? sample : Sample{};
  }
}

Sample load_scipy(const std::string& file) {
  const std::string script =
      "import resource,sys,time,scipy.io\n"
      "b=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
      "t=time.perf_counter();m=scipy.io.loadmat(sys.argv[1]);t=time.perf_counter()-t\n"
      "print(t,(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss-b)*1024)";
  const std::string line = "/usr/bin/python3 -c \"" + script + "\" '" + file + "'";
  Sample sample;
  if (FILE* pipe = ::popen(line.c_str(), "r")) {
    if (std::fscanf(pipe, "%lf %lf", &sample.seconds, &sample.peak) != 2) sample = {};
    ::pclose(pipe);
  }
  return sample;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_load FILE.mat [rounds]\n");
    return 2;
  }
  const std::string file = argv[1];
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 5;
  double matrix = 0;
  {
    const auto mat = parsnets::MatFile::open(file);
    const auto* features = mat->find("features");
    if (features == nullptr)
      throw parsnets::Error(parsnets::BadInput{file, "features", "a variable of that name", "none", ""});
    matrix = static_cast<double>(features->rows * features->cols) * 4;
  }
  struct Row {
    const char* name;
    Sample (*load)(const std::string&);
    std::vector<double> seconds, peaks;
  };
  std::vector<Row> table{{"parsnets", load_ours, {}, {}}, {"scipy loadmat", load_scipy, {}, {}}};
  for (int round = 0; round < rounds; ++round)
    for (auto& row : table) {
      const Sample sample = row.load(file);
      row.seconds.push_back(sample.seconds);
      row.peaks.push_back(sample.peak);
    }
  fmt::print("{}: features {} as float32, {} rounds, median\n", file, parsnets::format_bytes(matrix), rounds);
  fmt::print("{:<16}{:>10}{:>10}{:>14}{:>12}\n", "", "seconds", "MB/s", "peak memory", "x matrix");
  for (const auto& row : table) {
    const double seconds = median(row.seconds), peak = median(row.peaks);
    fmt::print("{:<16}{:>10.3f}{:>10.0f}{:>14}{:>12.2f}\n", row.name, seconds, matrix / seconds / 1e6,
               parsnets::format_bytes(peak), peak / matrix);
  }
  const double ratio = median(table[1].seconds) / median(table[0].seconds);
  fmt::print("ratio of times, scipy / parsnets: {:.2f}\n", ratio);
  return ratio >= 1 && median(table[0].peaks) <= 1.3 * matrix ? 0 : 1;
} catch (const parsnets::Error& e) {
  fmt::print(stderr, "bench_load: {}\n", e.what());
  return static_cast<int>(e.code());
}
