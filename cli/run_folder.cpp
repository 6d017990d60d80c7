#include "run_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "base/machine.hpp"
#include "load_flags.hpp"
#include "made_by.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"

namespace parsnets::cli {

std::string command_line(const std::string& name, const OptionTable& options, const Context& context) {
  std::string text = "parsnets " + name;
  for (const auto& option : options.options()) {
    if (std::ranges::find(context.given, option.name) == context.given.end()) continue;
    const nlohmann::json value = option.value();
    text += " --" + option.name;
    if (!option.is_flag) text += " " + shell_word(value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (std::ranges::find(context.given, "like") != context.given.end()) return text;  // it has its own seed
  return text + fmt::format(" --seed {}", context.common.seed);
}

std::filesystem::path run_json_file(const std::filesystem::path& folder) { return folder / "run.json"; }

void write_run_json(const std::filesystem::path& folder, const std::string& data, const LoadOptions& load,
                    const std::string& command, const TrainRun& run) {
  const MachineInfo machine = machine_info();
  LoadOptions copy = load;
  if (!copy.split.empty()) copy.split = std::filesystem::absolute(copy.split).lexically_normal();
  OptionTable table;
  add_load_options(table, copy);
  const nlohmann::ordered_json json{
      {"command", command},
      {"data", std::filesystem::absolute(data).lexically_normal().string()},
      {"load", table.to_json()},
      {"seed", load.seed},
      {"seconds", run.seconds},
      {"peak_memory_bytes", run.peak_memory},
      {"svr_seconds", run.svr_seconds},
      {"version", PARSNETS_VERSION},
      {"machine",
       {{"cpu", machine.cpu}, {"simd", machine.simd}, {"cores", machine.cores}, {"memory", machine.memory}}}};
  write_text_file(run_json_file(folder), json.dump(1) + "\n");
}

RunFolder read_run_folder(const std::filesystem::path& folder) {
  RunFolder run;
  run.model = folder / "model.safetensors";
  if (!std::filesystem::is_regular_file(run.model))
    throw Error(BadInput{folder.string(), "model.safetensors", "a run folder with a model", "none",
                         "make one with 'parsnets train --run DIR'"});
  run.name = std::filesystem::absolute(folder).lexically_normal().filename().string();
  if (run.name.empty())
    run.name = std::filesystem::absolute(folder).lexically_normal().parent_path().filename().string();
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const auto& file : files) {
    if (file.filename() != "run.json") {
      run.benches.push_back({file.string(), read_text_file(file)});
      continue;
    }
    run.run_json = read_text_file(file);
    const nlohmann::json recorded = parse_json(run.run_json, file.string());
    if (!recorded.is_object() || !recorded.contains("data") || !recorded["data"].is_string())
      throw Error(BadInput{file.string(), "data", "the data set's folder", "none", "train the run again"});
    run.data = recorded["data"].get<std::string>();
    OptionTable table;
    add_load_options(table, run.load);
    if (recorded.contains("load")) table.from_json(recorded["load"], file.string());
    if (recorded.contains("seed") && recorded["seed"].is_number_unsigned()) run.load.seed = recorded["seed"];
  }
  return run;
}

}  // namespace parsnets::cli
