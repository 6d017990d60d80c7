// Reading CUB's features: our reader beside scipy's loadmat, in turns. Each reads in a process of its own, so that its
// peak memory is its own.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/machine.hpp"
#include "formats/mat.hpp"
#include "parsnets/error.hpp"
#include "problem.hpp"

namespace bench {

namespace {

struct Sample {
  double seconds = 0;
  double peak = 0;  ///< bytes above what the process held before
};

void read_file(const std::string& file) {
  const auto mat = parsnets::MatFile::open(file);
  const auto features = mat->read_columns("features");
  const auto labels = mat->read_columns_double("labels");
  if (mat->find("image_files") != nullptr) mat->read_strings("image_files");
}

Sample read_in_a_child(const std::string& file) {
  int channel[2];
  if (::pipe(channel) != 0) throw parsnets::Error(parsnets::ErrorCode::failure, "no pipe can be made");
  Sample sample;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto before = static_cast<double>(parsnets::resident_memory());
    sample.seconds = seconds_of([&] { read_file(file); });
    sample.peak = static_cast<double>(parsnets::peak_memory()) - before;
    ::_exit(::write(channel[1], &sample, sizeof sample) == sizeof sample ? 0 : 1);
  }
  ::close(channel[1]);
  const auto got = ::read(channel[0], &sample, sizeof sample);
  ::close(channel[0]);
  ::waitpid(child, nullptr, 0);
  if (got != sizeof sample) throw parsnets::Error(parsnets::ErrorCode::failure, file + " could not be read");
  return sample;
}

json record_of(const std::vector<double>& seconds, const std::vector<double>& peaks, double matrix) {
  return {{"samples", seconds},
          {"seconds", median(seconds)},
          {"peak_samples", peaks},
          {"peak_of_matrix", median(peaks) / matrix}};
}

}  // namespace

json measure_loading(const Settings& settings) {
  const Workspace work;
  const std::string file = (cub(settings).folder / "res50.mat").string();
  double matrix = 0;
  {
    const auto mat = parsnets::MatFile::open(file);
    const auto* features = mat->find("features");
    if (features == nullptr)
      throw parsnets::Error(parsnets::BadInput{file, "features", "a variable of that name", "none", ""});
    matrix = 4 * static_cast<double>(features->rows * features->cols);
  }
  std::vector<double> seconds, peaks, scipy_seconds, scipy_peaks;
  json scipy;
  for (int round = 0; round < (settings.quick ? 1 : 5); ++round) {
    const Sample ours = read_in_a_child(file);
    seconds.push_back(ours.seconds);
    peaks.push_back(ours.peak);
    scipy = run_peer(settings, work, "scipy_load.py", {"--file", file});
    if (scipy.contains("missing")) continue;
    scipy_seconds.push_back(scipy["seconds"]);
    scipy_peaks.push_back(scipy["peak"]);
  }
  json result{{"file", "CUB/res50.mat"}, {"matrix_bytes", matrix}, {"ours", record_of(seconds, peaks, matrix)}};
  fmt::print("\nload CUB/res50.mat: ours {:.2f} s, {:.2f} times the matrix in memory\n", median(seconds),
             median(peaks) / matrix);
  if (scipy_seconds.empty()) {
    result["scipy"] = scipy;
  } else {
    result["scipy"] = record_of(scipy_seconds, scipy_peaks, matrix);
    result["scipy"]["times_ours"] = median(scipy_seconds) / median(seconds);
    fmt::print("          scipy's loadmat {:.2f} s, {:.2f} times the matrix\n", median(scipy_seconds),
               median(scipy_peaks) / matrix);
  }
  return result;
}

}  // namespace bench
