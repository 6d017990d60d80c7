// The benchmark suite: runs its parts one after the other and writes results.json after each, so that an interrupted
// run keeps what it has. Parts of an earlier run stay in the file while machine, libraries and commit are the same.

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>

#include "base/file.hpp"
#include "environment.hpp"
#include "harness.hpp"
#include "parsnets/error.hpp"

namespace {

using namespace bench;

struct Part {
  const char* name;
  json (*measure)(const Settings&);
};
constexpr Part kParts[] = {{"stages", measure_stages},
                           {"training", measure_training},
                           {"load", measure_loading},
                           {"svr", measure_svr},
                           {"peers", measure_peers},
                           {"growth", measure_growth},
                           {"photographs", measure_photographs},
                           {"prediction", measure_prediction},
                           {"field", measure_field},
                           {"tsne", measure_tsne},
                           {"serve", measure_serving}};

/// Results of an earlier run on the same machine with the same sources, or nothing.
json earlier(const std::filesystem::path& file, const json& here) {
  if (std::filesystem::exists(file)) {
    json found = json::parse(parsnets::read_text_file(file), nullptr, false);
    if (found.is_object() && found.contains("parts") && found.value("environment", json()) == here) return found;
    fmt::print("{}: of another machine, commit or set of libraries: begun anew\n", file.string());
  }
  return {{"environment", here}, {"parts", json::object()}};
}

int run(const Settings& settings, const std::vector<std::string>& only, const std::string& command) {
  parsnets::check_writable(settings.out);
  json results = earlier(settings.out, environment(settings));
  bool complete = true;
  for (const Part& part : kParts) {
    if (!only.empty() && std::ranges::find(only, part.name) == only.end()) continue;
    json entry{{"command", command},
               {"quick", settings.quick},
               {"started", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))},
               {"load_before", load_average()},
               {"autogroup_nice", autogroup_nice()}};
    try {
      entry["took_seconds"] = seconds_of([&] { entry["results"] = part.measure(settings); });
    } catch (const parsnets::Error& error) {  // the other parts are worth having
      fmt::print(stderr, "\nPART FAILED: {}: {}\n\n", part.name, error.what());
      entry["failed"] = error.what();
      complete = false;
    }
    entry["load_after"] = load_average();
    results["parts"][part.name] = std::move(entry);
    parsnets::make_folder_of(settings.out);
    parsnets::write_text_file(settings.out, results.dump(1) + "\n");
  }
  fmt::print("\n{}\n", settings.out.string());
  return complete ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  settings.sources = PARSNETS_SOURCE_FOLDER;
  settings.program = PARSNETS_PROGRAM;
  settings.python = "/usr/bin/python3";
  settings.out = "out/bench/results.json";
  const char* data = std::getenv("PARSNETS_DATA");
  settings.data = data != nullptr ? std::filesystem::path(data) : settings.sources / ".." / "shared" / "data";
  std::vector<std::string> names, only;
  for (const Part& part : kParts) names.push_back(part.name);
  CLI::App app{"Times the stages of ParsNets, whole training runs and other programs on the same data."};
  app.add_option("--only", only, "parts to run")->delimiter(',')->check(CLI::IsMember(names));
  app.add_flag("--quick", settings.quick, "fewer samples, CUB alone, short limits");
  app.add_option("--out", settings.out, "results, as JSON")->capture_default_str();
  app.add_option("--data", settings.data, "folder that holds CUB and AWA2")->capture_default_str();
  app.add_option("--clients", settings.serve_clients, "connections of the part serve")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  app.add_option("--seconds", settings.serve_seconds, "of each run of the part serve")
      ->check(CLI::Range(1.0, 3600.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::string command = "parsnets_bench";
  if (!only.empty()) command += fmt::format(" --only {}", fmt::join(only, ","));
  if (settings.quick) command += " --quick";
  try {
    return run(settings, only, command);
  } catch (const parsnets::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.code());
  }
}
