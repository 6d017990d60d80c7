// parsnets data inspect DIR: what is in a data set and what is wrong with it.

#include <fmt/format.h>

#include <array>

#include "base/machine.hpp"
#include "base/row_blocks.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
#include "data/inspect.hpp"
#include "data/split.hpp"
#include "load_flags.hpp"

namespace parsnets::cli {

namespace {

constexpr std::array<const char*, 3> kSeverities{"note", "warning", "LEAK"};

std::string checksum_text(std::uint32_t checksum) { return fmt::format("{:08x}", checksum); }

nlohmann::ordered_json to_json(const Dataset& data, const Inspection& r) {
  nlohmann::ordered_json json;
  json["name"] = data.name;
  json["known_as"] = data.known_as;
  json["features"] = data.features_name;
  json["semantics"] = data.semantics.name;
  if (data.source) json["source"] = parsnets::to_json(*data.source);
  for (const auto& [name, columns] : data.semantics.tables)
    json["tables"].push_back({{"name", name}, {"attributes", columns}});
  json["samples"] = data.samples();
  json["dimensions"] = data.features.cols();
  json["attributes"] = data.semantics.values.cols();
  json["classes"] = data.classes();
  json["seen_classes"] = data.seen_classes().size();
  json["unseen_classes"] = data.unseen_classes().size();
  json["missing_attribute_values"] = data.semantics.missing;
  auto& split = json["split"];
  split["version"] = data.split.version;
  if (!data.split.file.empty()) split["file"] = data.split.file;
  split["validation_from"] = data.split.validation_from;
  split["test_seen_in_train_loc"] = r.test_seen_in_train_list;
  split["test_seen_in_val_loc"] = r.test_seen_in_val_list;
  for (const auto& list : r.lists)
    split["lists"][list.name] = {
        {"samples", list.samples}, {"classes", list.classes}, {"crc32", checksum_text(list.checksum)}};
  json["findings"] = nlohmann::ordered_json::array();
  for (const auto& f : r.findings)
    json["findings"].push_back(
        {{"severity", f.severity == Severity::leak ? "leak" : kSeverities[static_cast<std::size_t>(f.severity)]},
         {"id", f.id},
         {"count", f.count},
         {"text", f.text}});
  return json;
}

std::string to_text(const Dataset& data, const Inspection& r) {
  std::string text =
      fmt::format("{}: {} samples x {} features ({}), {} classes x {} attributes ({})\n", data.name, data.samples(),
                  data.features.cols(), data.features_name.empty() ? "none" : data.features_name, data.classes(),
                  data.semantics.values.cols(), data.semantics.name);
  if (data.source) text += "features by " + describe(*data.source) + "\n";
  for (const auto& [name, columns] : data.semantics.tables) text += fmt::format("{}: {} attributes\n", name, columns);
  if (data.samples() > 0)
    text += fmt::format("{} seen and {} unseen classes\n", data.seen_classes().size(), data.unseen_classes().size());
  text += fmt::format("\n{:<14}{:>9}{:>9}  {}\n", "list", "samples", "classes", "crc32");
  for (const auto& list : r.lists)
    text += fmt::format("{:<14}{:>9}{:>9}  {}\n", list.name, list.samples,
                        data.samples() > 0 ? std::to_string(list.classes) : "?", checksum_text(list.checksum));
  if (const std::string split = split_name(data.split); !split.empty()) text += "split: " + split + "\n";
  if (!data.split.validation_from.empty()) text += "validation: " + data.split.validation_from + "\n";
  text += r.findings.empty() ? "\nno findings\n" : "\nfindings\n";
  for (const auto& f : r.findings)
    text += fmt::format("  {:<8} {}: {}\n", kSeverities[static_cast<std::size_t>(f.severity)], f.id, f.text);
  return text;
}

}  // namespace

Command data_inspect_command() {
  struct State {
    std::string folder;
    LoadOptions load;
  };
  auto state = std::make_shared<State>();
  state->load.require_features = false;
  state->load.require_split = false;
  Command command;
  command.name = "data inspect";
  command.summary = "inspect a data set and check it for leaks and errors";
  command.example = "parsnets data inspect data/demo";
  command.arguments = {{"DIR", "data set folder (xlsa17-style or plain)", &state->folder, true}};
  add_load_options(command.options, state->load);
  add_memory_limit(command.options, state->load.memory_limit);
  command.run = [state](Context& context) {
    state->load.seed = context.common.seed;
    const Dataset data = load_dataset(state->folder, state->load, context.progress);
    require_memory(state->load.memory_limit, kBlockBytes + 40.0 * static_cast<double>(data.samples()), "inspection",
                   "raise the limit");
    const Inspection inspection = inspect_dataset(data, context.progress);
    Output output;
    output.json = to_json(data, inspection);
    output.text = to_text(data, inspection);
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
