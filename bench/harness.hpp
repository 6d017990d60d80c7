#pragma once
// What every part of the suite stands on: repeated samples on 1 and 2 threads in turn, programs that are run and
// measured, and the JSON that keeps every sample.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "machine_peaks.hpp"
#include "parsnets/threads.hpp"

namespace bench {

using nlohmann::json;
using parsnets::ThreadPool;

/// What the command line asks for.
struct Settings {
  std::filesystem::path data;                      ///< folder of real data sets
  std::filesystem::path out;                       ///< results.json
  std::filesystem::path program, sources, python;  ///< the command line tool, the project, the interpreter of peers
  bool quick = false;                              ///< fewer samples, smaller problems
  int serve_clients = 16;                          ///< of the part serve
  double serve_seconds = 60;                       ///< of each run of it
};

/// A folder that lives as long as the object.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

double median(std::vector<double> values);

template <class Work>
double seconds_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Seconds that all threads of this process have computed, and those of them outside the kernel.
double cpu_seconds();
double user_seconds();

/// The least that a clock of these advances while `work` runs.
template <class Work>
double least_of(int repeats, double (*clock)(), Work&& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    const double before = clock();
    work();
    least = std::min(least, clock() - before);
  }
  return least;
}

/// How often a stage runs: after warming up, until there are `fewest` samples and `seconds` have passed, or `most`.
struct Repeats {
  int warm_up = 1, fewest = 3, most = 20;
  double seconds = 1;
};

/// What a stage must compute and move, counted from its sizes.
struct Cost {
  double flops = 0;        ///< a multiply-add counts 2
  double bytes = 0;        ///< inputs and results, each once
  bool in_double = false;  ///< compared with the peak of float64
};

/// Measures stages on 1 and 2 threads (one where there is one core) and keeps what it measured.
class Stages {
 public:
  Stages(std::string data, const Settings& settings);

  /// `work` runs on the pool that it is given and may set `cost`; `items` is how often it does what that counts.
  void measure(const std::string& name, const Cost& cost, const std::function<void(ThreadPool&)>& work,
               Repeats repeats = {}, double items = 1);
  /// The same for a stage that has no threads.
  void measure_serial(const std::string& name, const Cost& cost, const std::function<void()>& work,
                      Repeats repeats = {});
  ThreadPool& fastest() { return *pools_.back(); }
  json results() const;

 private:
  void run(const std::string& name, const Cost& cost, std::span<const std::unique_ptr<ThreadPool>> pools,
           const std::function<void(ThreadPool&)>& work, Repeats repeats, double items);

  std::string data_;
  bool quick_;
  std::vector<std::unique_ptr<ThreadPool>> pools_;
  std::vector<MachinePeaks> peaks_;  ///< one per pool
  json stages_ = json::array();
};

struct Run {
  int exit_code = 0;
  double seconds = 0;       ///< by the clock, within 5 ms
  double peak_rss = 0;      ///< bytes, looked at every 5 ms
  double user_seconds = 0;  ///< that its threads computed, outside the kernel
};
/// Runs a program to its end; `log` receives what it prints.
Run run_program(const std::vector<std::string>& words, const std::filesystem::path& log);
/// The first line that a command prints; empty: it failed.
std::string first_line(const std::string& command);

/// Runs a Python peer with these arguments and `--out FILE`. Its JSON, or {"missing": why}, said aloud on standard
/// error.
json run_peer(const Settings& settings, const Workspace& work, const std::string& script,
              std::vector<std::string> arguments);
/// The same record for a peer that was not there when the suite was built.
json missing_peer(const std::string& name, const std::string& why);

// The parts of the suite: each returns its record.
json measure_stages(const Settings& settings);
json measure_training(const Settings& settings);
json measure_loading(const Settings& settings);
json measure_svr(const Settings& settings);
json measure_peers(const Settings& settings);
json measure_growth(const Settings& settings);
json measure_photographs(const Settings& settings);
json measure_prediction(const Settings& settings);
json measure_field(const Settings& settings);
json measure_tsne(const Settings& settings);
json measure_serving(const Settings& settings);

}  // namespace bench
