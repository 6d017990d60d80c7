#include "harness.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "base/file.hpp"
#include "parsnets/error.hpp"

namespace bench {

Workspace::Workspace() {
  std::string pattern = (std::filesystem::temp_directory_path() / "parsnets-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw parsnets::Error(parsnets::ErrorCode::failure, "no temporary folder can be made at " + pattern);
  path_ = pattern;
}

Workspace::~Workspace() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

namespace {

double user_seconds_in(const rusage& used) {
  return static_cast<double>(used.ru_utime.tv_sec) + 1e-6 * static_cast<double>(used.ru_utime.tv_usec);
}

}  // namespace

double user_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return user_seconds_in(used);
}

Stages::Stages(std::string data, const Settings& settings) : data_(std::move(data)), quick_(settings.quick) {
  pools_.push_back(std::make_unique<ThreadPool>(1));
  if (parsnets::available_cores() > 1) pools_.push_back(std::make_unique<ThreadPool>(2));
  peaks_.resize(pools_.size());
  fmt::print("\n{:<12}{:<26}{:>8}{:>12}{:>10}{:>10}{:>10}{:>9}{:>9}{:>9}\n", "data", "stage", "threads", "seconds",
             "Gflop", "MB", "Gflop/s", "of FMA", "of GEMM", "of triad");
}

void Stages::measure(const std::string& name, const Cost& cost, const std::function<void(ThreadPool&)>& work,
                     Repeats repeats, double items) {
  run(name, cost, pools_, work, repeats, items);
}

void Stages::measure_serial(const std::string& name, const Cost& cost, const std::function<void()>& work,
                            Repeats repeats) {
  run(
      name, cost, std::span(pools_).first(1), [&](ThreadPool&) { work(); }, repeats, 1);
}

void Stages::run(const std::string& name, const Cost& cost, std::span<const std::unique_ptr<ThreadPool>> pools,
                 const std::function<void(ThreadPool&)>& work, Repeats repeats, double items) {
  if (quick_) repeats = {std::min(repeats.warm_up, 1), 1, 3, repeats.seconds / 4};
  for (int i = 0; i < repeats.warm_up; ++i) work(*pools.back());
  for (std::size_t p = 0; p < pools.size(); ++p) peaks_[p].sample(*pools[p]);
  std::vector<std::vector<double>> seconds(pools.size());
  double spent = 0;
  for (int done = 0; done < repeats.fewest || (done < repeats.most && spent < repeats.seconds); ++done)
    for (std::size_t p = 0; p < pools.size(); ++p) {
      seconds[p].push_back(seconds_of([&] { work(*pools[p]); }) / items);
      spent += seconds[p].back() * items;
    }
  for (std::size_t p = 0; p < pools.size(); ++p) {
    peaks_[p].sample(*pools[p]);
    const double middle = median(seconds[p]), fma = cost.in_double ? peaks_[p].fma64(2) : peaks_[p].fma32(2),
                 gemm = cost.in_double ? peaks_[p].gemm64(2) : peaks_[p].gemm32(2);
    json entry{{"data", data_},
               {"stage", name},
               {"threads", pools[p]->size()},
               {"samples", seconds[p]},
               {"seconds", middle},
               {"flops", cost.flops},
               {"bytes", cost.bytes},
               {"precision", cost.in_double ? "float64" : "float32"},
               {"flops_per_second", cost.flops / middle},
               {"of_fma_peak", cost.flops / middle / fma},
               {"of_gemm_peak", cost.flops / middle / gemm},
               {"of_triad_bandwidth", cost.bytes / middle / peaks_[p].triad(2)}};
    if (p > 0) entry["times_one_thread"] = median(seconds[0]) / middle;
    fmt::print("{:<12}{:<26}{:>8}{:>12.6f}{:>10.3f}{:>10.1f}{:>10.1f}{:>7.0f} %{:>7.0f} %{:>7.0f} %\n", data_, name,
               pools[p]->size(), middle, cost.flops / 1e9, cost.bytes / 1e6, cost.flops / middle / 1e9,
               100 * entry["of_fma_peak"].get<double>(), 100 * entry["of_gemm_peak"].get<double>(),
               100 * entry["of_triad_bandwidth"].get<double>());
    std::fflush(stdout);
    stages_.push_back(std::move(entry));
  }
}

json Stages::results() const {
  json peaks = json::array();
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    json one = peaks_[p].results();
    one["data"] = data_;
    one["threads"] = pools_[p]->size();
    peaks.push_back(std::move(one));
  }
  return {{"peaks", std::move(peaks)}, {"stages", stages_}};
}

namespace {

/// Peak resident memory of the program that a process runs, in bytes; 0 before that program has started.
double high_water_mark(pid_t process) {
  const std::string folder = fmt::format("/proc/{}/", process);
  std::error_code ignored;
  if (std::filesystem::read_symlink(folder + "exe", ignored) == std::filesystem::read_symlink("/proc/self/exe"))
    return 0;
  std::ifstream in(folder + "status");
  std::string word;
  double kilobytes = 0;
  while (in >> word)
    if (word == "VmHWM:" && in >> kilobytes) return 1024 * kilobytes;
  return 0;
}

}  // namespace

Run run_program(const std::vector<std::string>& words, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw parsnets::Error(parsnets::ErrorCode::failure, "no process can be started");
  if (child == 0) {
    const int to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (to < 0 || ::dup2(to, 1) < 0 || ::dup2(to, 2) < 0) ::_exit(127);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  double peak = 0;
  rusage used{};
  // Not ru_maxrss: that of a child begins with the memory of the process it was forked from.
  while (::wait4(child, &status, WNOHANG, &used) == 0) {
    peak = std::max(peak, high_water_mark(child));
    ::usleep(5000);
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), peak, user_seconds_in(used)};
}

std::string first_line(const std::string& command) {
  std::string line;
  if (FILE* pipe = ::popen(command.c_str(), "r")) {
    char text[512];
    if (std::fgets(text, sizeof text, pipe) != nullptr) line = text;
    ::pclose(pipe);
  }
  return line.substr(0, line.find('\n'));
}

json missing_peer(const std::string& name, const std::string& why) {
  fmt::print(stderr, "\nPEER MISSING OR BROKEN: {}: {}\n\n", name, why);
  return {{"missing", why}};
}

json run_peer(const Settings& settings, const Workspace& work, const std::string& script,
              std::vector<std::string> arguments) {
  const auto out = work / (script + ".json"), log = work / (script + ".log");
  std::vector<std::string> words{settings.python, settings.sources / "bench" / "peers" / script, "--out", out};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const Run run = run_program(words, log);
  if (run.exit_code != 0) {
    const std::string said = std::filesystem::file_size(log) > 0 ? parsnets::read_text_file(log) : "it said nothing";
    const auto last = said.find_last_of('\n', said.size() - 2);
    return missing_peer(script, fmt::format("exit code {}: {}", run.exit_code,
                                            last == std::string::npos ? said : said.substr(last + 1)));
  }
  json result = json::parse(parsnets::read_text_file(out));
  result["peak_rss"] = run.peak_rss;
  return result;
}

}  // namespace bench
