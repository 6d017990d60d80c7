#include "environment.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <fstream>

#include "base/machine.hpp"
#include "parsnets/version.hpp"
#include "svr_peers.hpp"

namespace bench {

namespace {

constexpr const char* kMeasured = "src include runtime cli CMakeLists.txt cmake";

}  // namespace

int autogroup_nice() {
  std::ifstream file("/proc/self/autogroup");
  std::string word;
  int nice = 0;
  while (file >> word)
    if (word == "nice") file >> nice;
  return nice;
}

double load_average() {
  double load[1] = {0};
  return ::getloadavg(load, 1) == 1 ? load[0] : 0;
}

json environment(const Settings& settings) {
  const parsnets::MachineInfo machine = parsnets::machine_info();
  const auto git = [&](const std::string& what) {
    return first_line(fmt::format("git -C '{}' {} 2>/dev/null", settings.sources.string(), what));
  };
  utsname system{};
  ::uname(&system);
  json libraries, peers{{"LIBLINEAR", liblinear_release()}, {"LIBSVM", libsvm_release()}};
  for (const auto& [name, version] : machine.libraries) libraries[name] = version;
  for (const char* module : {"numpy", "scipy", "sklearn", "torch"}) {
    const std::string version = first_line(fmt::format("'{}' -c 'import {}; print({}.__version__)' 2>/dev/null",
                                                       settings.python.string(), module, module));
    peers[module] = version.empty() ? "missing" : version;
  }
  return {{"parsnets", PARSNETS_VERSION},
          // The last that changed what is measured or how: later ones, of pages, leave results as they are.
          {"commit", git(fmt::format("log -1 --format=%h --abbrev=12 -- {}", kMeasured))},
          {"sources_changed", !git(fmt::format("status --porcelain -- {}", kMeasured)).empty()},
          {"cpu", machine.cpu},
          {"simd", machine.simd},
          {"cores", machine.cores},
          {"memory", machine.memory},
          {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
          {"compiler", PARSNETS_COMPILER},
          {"build_type", PARSNETS_BUILD_TYPE},
          {"libraries", libraries},
          {"peers", peers}};
}

}  // namespace bench
