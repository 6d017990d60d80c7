#include "base/machine.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>

#include "base/options.hpp"
#include "base/simd.hpp"
#include "parsnets/error.hpp"
#include "parsnets/threads.hpp"

namespace parsnets {

namespace {

/// The number after `key` in a /proc file, in kB, as bytes; 0 when it is not there.
std::uint64_t proc_bytes(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  std::uint64_t kilobytes = 0;
  while (in >> word)
    if (word == key && in >> kilobytes) return kilobytes * 1024;
  return 0;
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line))
    if (line.starts_with("model name") || line.starts_with("Model") || line.starts_with("CPU part"))
      return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown";
}

}  // namespace

MachineInfo machine_info() {
  MachineInfo info;
  info.cpu = cpu_name();
  info.simd = simd_name(best_simd());
  info.cores = available_cores();
  info.memory = proc_bytes("/proc/meminfo", "MemTotal:");
  info.free = proc_bytes("/proc/meminfo", "MemAvailable:");
  std::ifstream limit_file("/sys/fs/cgroup/memory.max");
  std::uint64_t limit = 0;
  if (limit_file >> limit && limit > 0) {
    info.memory = std::min(info.memory, limit);
    info.free = std::min(info.free, limit);
  }
  info.libraries = {{"HDF5", PARSNETS_HDF5_VERSION}, {"libzip", zip_libzip_version()}, {"zlib", zlibVersion()}};
  return info;
}

std::uint64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::uint64_t resident_memory() { return proc_bytes("/proc/self/status", "VmRSS:"); }

std::uint64_t held_memory() {
  constexpr std::uint64_t kProgram = 24u << 20;                           // 17 MB are resident in a training on CUB
  const std::uint64_t own = proc_bytes("/proc/self/status", "RssAnon:");  // what belongs to no file; 0: not told
  return own > 0 ? own + kProgram : resident_memory();
}

void refuse_memory(std::uint64_t limit, double needed, const std::string& work, const std::string& advice) {
  throw Error(ErrorCode::usage,
              fmt::format("{}: expected at least {} for {}, found {}; {}", option_name("memory-limit"),
                          format_bytes(needed), work, format_bytes(static_cast<double>(limit)), advice));
}

void require_memory(std::uint64_t limit, double bytes, const std::string& work, const std::string& advice) {
  if (limit == 0) return;
  const double needed = static_cast<double>(held_memory()) + bytes;
  if (needed > static_cast<double>(limit)) refuse_memory(limit, needed, work, advice);
}

void return_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  mallopt(M_ARENA_MAX, 2);
  malloc_trim(0);
#endif
}

}  // namespace parsnets
