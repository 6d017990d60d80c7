// parsnets data inspect|convert|split|synth: what is in a data set, and new ones.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/row_blocks.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
#include "data/folder.hpp"
#include "data/inspect.hpp"
#include "data/split.hpp"
#include "data/split_file.hpp"
#include "data/synth.hpp"
#include "formats/csv.hpp"
#include "load_flags.hpp"

namespace parsnets::cli {

namespace {

/// The data set of a command; which files it needs is in `load`.
struct DataState {
  std::string folder, out;
  LoadOptions load;
  DataFormat format = DataFormat::npy;
};

std::shared_ptr<DataState> state_without_split() {
  auto state = std::make_shared<DataState>();
  state->load.require_features = state->load.require_split = false;
  return state;
}

void add_format(OptionTable& options, DataFormat& format) {
  options.choice("format", format, {{"npy", DataFormat::npy}, {"csv", DataFormat::csv}},
                 "files of features and labels");
}

constexpr std::array<const char*, 3> kSeverities{"note", "warning", "LEAK"};

Output inspection_output(const Dataset& data, const Inspection& r) {
  Output output;
  auto& json = output.json;
  auto& text = output.text;
  json = {{"name", data.name},
          {"known_as", data.known_as},
          {"features", data.features_name},
          {"semantics", data.semantics.name}};
  text = fmt::format("{}: {} samples x {} features ({}), {} classes x {} attributes ({})\n", data.name, data.samples(),
                     data.features.cols(), data.features_name.empty() ? "none" : data.features_name, data.classes(),
                     data.semantics.values.cols(), data.semantics.name);
  if (data.source) {
    json["source"] = to_json(*data.source);
    text += "features by " + describe(*data.source) + "\n";
  }
  for (const auto& [name, columns] : data.semantics.tables) {
    json["tables"].push_back({{"name", name}, {"attributes", columns}});
    text += fmt::format("{}: {} attributes\n", name, columns);
  }
  const std::size_t seen = data.seen_classes().size(), unseen = data.unseen_classes().size();
  json.update({{"samples", data.samples()},
               {"dimensions", data.features.cols()},
               {"attributes", data.semantics.values.cols()},
               {"classes", data.classes()},
               {"seen_classes", seen},
               {"unseen_classes", unseen},
               {"missing_attribute_values", data.semantics.missing},
               {"split", {{"version", data.split.version}}}});
  if (data.samples() > 0) text += fmt::format("{} seen and {} unseen classes\n", seen, unseen);
  auto& split = json["split"];
  if (!data.split.file.empty()) split["file"] = data.split.file;
  split.update({{"validation_from", data.split.validation_from},
                {"test_seen_in_train_loc", r.test_seen_in_train_list},
                {"test_seen_in_val_loc", r.test_seen_in_val_list}});
  text += fmt::format("\n{:<14}{:>9}{:>9}  {}\n", "list", "samples", "classes", "crc32");
  for (const auto& list : r.lists) {
    const std::string crc32 = fmt::format("{:08x}", list.checksum);
    split["lists"][list.name] = {{"samples", list.samples}, {"classes", list.classes}, {"crc32", crc32}};
    text += fmt::format("{:<14}{:>9}{:>9}  {}\n", list.name, list.samples,
                        data.samples() > 0 ? std::to_string(list.classes) : "?", crc32);
  }
  if (const std::string name = split_name(data.split); !name.empty()) text += "split: " + name + "\n";
  if (!data.split.validation_from.empty()) text += "validation: " + data.split.validation_from + "\n";
  text += r.findings.empty() ? "\nno findings\n" : "\nfindings\n";
  json["findings"] = nlohmann::ordered_json::array();
  for (const auto& f : r.findings) {
    const char* severity = kSeverities[static_cast<std::size_t>(f.severity)];
    json["findings"].push_back({{"severity", f.severity == Severity::leak ? "leak" : severity},
                                {"id", f.id},
                                {"count", f.count},
                                {"text", f.text}});
    text += fmt::format("  {:<8} {}: {}\n", severity, f.id, f.text);
  }
  return output;
}

std::vector<std::int32_t> classes_by_name(const std::string& list, const std::vector<std::string>& class_names) {
  std::vector<std::int32_t> classes;
  for (const auto& name : parse_list(list, "--unseen")) {
    const auto found = std::find(class_names.begin(), class_names.end(), name);
    refuse_if(found == class_names.end(),
              "--unseen: expected a number or classes of the data set, found '{}'; the classes are {}", name,
              quoted_list(class_names));
    classes.push_back(static_cast<std::int32_t>(found - class_names.begin()));
  }
  return classes;
}

}  // namespace

Command data_inspect_command() {
  auto state = state_without_split();
  Command command{"data inspect", "inspect a data set and check it for leaks and errors",
                  "parsnets data inspect data/demo"};
  command.arguments = {{"DIR", "data set folder (xlsa17-style or plain)", &state->folder}};
  add_data_options(command.options, state->load);
  command.run = [state](Context& context) {
    const Dataset data = load_data(state->load, state->folder, context);
    require_memory(state->load.memory_limit, kBlockBytes + 40.0 * static_cast<double>(data.samples()), "inspection",
                   "raise the limit");
    return inspection_output(data, inspect_dataset(data, context.progress));
  };
  return command;
}

Command data_convert_command() {
  auto state = state_without_split();
  Command command{"data convert", "write a data set as a plain folder",
                  "parsnets data convert data/demo out/demo --format csv"};
  command.arguments = {{"DIR", "data set folder to read", &state->folder},
                       {"OUT", "folder to write; created if missing", &state->out}};
  add_format(command.options, state->format);
  add_data_options(command.options, state->load);
  command.run = [state](Context& context) {
    check_writable_folder(state->out);
    const Dataset data = load_data(state->load, state->folder, context);
    require_memory(state->load.memory_limit, kBlockBytes, "conversion", "raise the limit");
    save_dataset(data, state->out, state->format);
    return Output{{{"written", state->out},
                   {"samples", data.samples()},
                   {"dimensions", data.features.cols()},
                   {"classes", data.classes()}},
                  fmt::format("{}: {} samples x {} features, {} classes x {} attributes\n", state->out, data.samples(),
                              data.features.cols(), data.classes(), data.semantics.values.cols())};
  };
  return command;
}

Command data_split_command() {
  struct State {
    std::string folder, unseen = "0.2";
    std::filesystem::path out;
    LoadOptions load;
    SplitOptions split;
    bool force = false;
  };
  auto state = std::make_shared<State>();
  state->load.require_split = state->load.read_features = false;  // labels are enough
  Command command{"data split", "hold classes and samples out, so that accuracy can be measured",
                  "parsnets data split my-data --unseen 0.2 --seed 7"};
  command.arguments = {{"DIR", "data set folder; split.json is written there if it is a plain one", &state->folder}};
  command.options
      .text("unseen", state->unseen,
            "unseen classes: a fraction below 1 or a number of classes to draw, or their names, comma-separated; quote "
            "names that contain commas: '\"a, b\",c'")
      .number("validation", state->split.validation, 0, 1e6,
              "validation classes among the seen ones: a fraction below 1, or a number of classes")
      .number("test-seen", state->split.test_seen, 0, 0.9, "fraction of each seen class's samples held out for testing")
      .path("out", state->out,
            "split file to write instead of DIR/split.json, for --split of other commands; required for .mat folders")
      .flag("force", state->force, "replace an existing split file");
  add_data_options(command.options, state->load);
  command.run = [state](Context& context) {
    state->split.seed = context.common.seed;
    const bool is_number = parse_number(state->unseen, state->split.unseen);
    refuse_if(is_number && !(state->split.unseen >= 0 && state->split.unseen <= 1e6),
              "--unseen: expected a number from 0 to 1000000, found '{}'", state->unseen);
    refuse_if(state->out.empty() && std::filesystem::is_directory(state->folder) && is_xlsa17(state->folder),
              "{} holds .mat files, which have a split of their own: write the new one "
              "with --out FILE.json, and use it with --split FILE.json",
              state->folder);
    const std::filesystem::path file =
        state->out.empty() ? std::filesystem::path(state->folder) / "split.json" : state->out;
    refuse_if(!state->force && std::filesystem::exists(file),
              "{} exists; use --force to replace it or --out to write elsewhere", file.string());
    check_writable(file);
    const Dataset data = load_data(state->load, state->folder, context);
    require_memory(state->load.memory_limit, 60.0 * static_cast<double>(data.samples()), "a split", "raise the limit");
    if (!is_number) state->split.unseen_classes = classes_by_name(state->unseen, data.class_names);
    const ClassSplit split = make_class_split(data.labels, data.classes(), state->split);
    make_folder_of(file);
    write_split_json(file, split, data.class_names);
    const Split lists = split_from_classes(split, data.labels);
    std::string text =
        fmt::format("{}: {} unseen and {} validation classes; {} training, {} test-seen and {} test-unseen samples\n",
                    file.string(), split.unseen_classes.size(), split.val_classes.size(), lists.trainval.size(),
                    lists.test_seen.size(), lists.test_unseen.size());
    if (!state->out.empty()) text += fmt::format("use it with: --split {}\n", file.string());
    return Output{{{"written", file.string()},
                   {"unseen_classes", split.unseen_classes.size()},
                   {"val_classes", split.val_classes.size()},
                   {"trainval", lists.trainval.size()},
                   {"test_seen", lists.test_seen.size()},
                   {"test_unseen", lists.test_unseen.size()},
                   {"seed", context.common.seed}},
                  text};
  };
  return command;
}

Command data_synth_command() {
  struct State : DataState {
    SynthOptions synth;
    double noise = -1;  ///< -1: auto
  };
  auto state = std::make_shared<State>();
  state->load.require_features = state->load.read_features = state->load.require_split = false;
  Command command{"data synth", "generate a zero-shot data set of known difficulty",
                  "parsnets data synth out/synth --classes 20 --samples 2000 --dimensions 256"};
  command.arguments = {{"OUT", "folder to write; created if missing", &state->out}};
  auto& s = state->synth;
  command.options.text("data", state->folder, "data set folder whose classes, semantics and split are used")
      .integer("classes", s.classes, 3, 100000, "number of classes, unless --data is given")
      .integer("attributes", s.attributes, 1, 100000, "number of attributes, unless --data is given")
      .integer("samples", s.samples, 4, 100000000, "number of samples, unless --data has a split")
      .integer("dimensions", s.dimensions, 1, 1000000, "features per sample")
      .integer("unseen", s.unseen, 0, 100000, "number of unseen classes; 0: a fifth, or as in the given split")
      .number_or_auto(
          "noise", state->noise, 0, 100,
          "standard deviation of a sample's attributes around its class, and of what carries no information about "
          "the class")
      .automatic("0.5 and 1");
  add_format(command.options, state->format);
  add_data_options(command.options, state->load);
  command.run = [state](Context& context) {
    check_writable_folder(state->out);
    state->synth.seed = context.common.seed;
    if (state->noise >= 0) state->synth.attribute_noise = state->synth.nuisance = state->noise;
    std::optional<Dataset> given;
    if (!state->folder.empty()) given = load_data(state->load, state->folder, context);
    const SynthOptions& synth = state->synth;
    require_memory(
        state->load.memory_limit,
        2.0 * kBlockBytes + 24.0 * synth.samples + 8.0 * synth.hidden * (synth.dimensions + synth.attributes),
        "generation", "raise the limit");
    const Dataset data = synthesize_to(state->out, state->format, state->synth, given ? &*given : nullptr,
                                       static_cast<unsigned>(context.common.threads), context.progress);
    return Output{{{"written", state->out},
                   {"samples", data.samples()},
                   {"dimensions", state->synth.dimensions},
                   {"classes", data.classes()},
                   {"unseen_classes", data.unseen_classes().size()},
                   {"seed", context.common.seed}},
                  fmt::format("{}: {} samples x {} features, {} classes ({} unseen)\n", state->out, data.samples(),
                              state->synth.dimensions, data.classes(), data.unseen_classes().size())};
  };
  return command;
}

}  // namespace parsnets::cli
