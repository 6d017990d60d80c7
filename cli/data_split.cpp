// parsnets data split DIR: makes split.json for one's own data.

#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "command.hpp"
#include "data/folder.hpp"
#include "data/split_file.hpp"
#include "formats/csv.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

std::vector<std::int32_t> classes_by_name(const std::string& list, const std::vector<std::string>& class_names) {
  std::vector<std::int32_t> classes;
  for (const auto& name : parse_list(list, "--unseen")) {
    const auto found = std::find(class_names.begin(), class_names.end(), name);
    if (found == class_names.end())
      throw Error(ErrorCode::usage,
                  fmt::format("--unseen: expected a number or classes of the data set, found '{}'; the classes are {}",
                              name, quoted_list(class_names)));
    classes.push_back(static_cast<std::int32_t>(found - class_names.begin()));
  }
  return classes;
}

}  // namespace

Command data_split_command() {
  struct State {
    std::string folder, unseen = "0.2";
    std::filesystem::path out;
    LoadOptions load;
    SplitOptions split;
    bool force = false;
  };
  auto state = std::make_shared<State>();
  state->load.require_split = false;
  Command command;
  command.name = "data split";
  command.summary = "make a seeded, class-disjoint train/validation/test split";
  command.example = "parsnets data split my-data --unseen 0.2 --seed 7";
  command.arguments = {
      {"DIR", "data set folder; split.json is written there if it is a plain one", &state->folder, true}};
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
  add_load_options(command.options, state->load);
  add_memory_limit(command.options, state->load.memory_limit);
  command.run = [state](Context& context) {
    state->load.seed = state->split.seed = context.common.seed;
    const bool is_number = parse_number(state->unseen, state->split.unseen);
    if (is_number && !(state->split.unseen >= 0 && state->split.unseen <= 1e6))
      throw Error(ErrorCode::usage, "--unseen: expected a number from 0 to 1000000, found '" + state->unseen + "'");
    if (state->out.empty() && std::filesystem::is_directory(state->folder) && is_xlsa17(state->folder))
      throw Error(ErrorCode::usage,
                  fmt::format("{} holds .mat files, which have a split of their own: write the new one "
                              "with --out FILE.json, and use it with --split FILE.json",
                              state->folder));
    const std::filesystem::path file =
        state->out.empty() ? std::filesystem::path(state->folder) / "split.json" : state->out;
    if (!state->force && std::filesystem::exists(file))
      throw Error(ErrorCode::usage,
                  fmt::format("{} exists; use --force to replace it or --out to write elsewhere", file.string()));
    check_writable(file);
    state->load.read_features = false;  // labels are enough
    const Dataset data = load_dataset(state->folder, state->load, context.progress);
    require_memory(state->load.memory_limit, 60.0 * static_cast<double>(data.samples()), "a split", "raise the limit");
    if (!is_number) state->split.unseen_classes = classes_by_name(state->unseen, data.class_names);
    const ClassSplit split = make_class_split(data.labels, data.classes(), state->split);
    make_folder_of(file);
    write_split_json(file, split, data.class_names);
    const Split lists = split_from_classes(split, data.labels);
    Output output;
    output.json = {{"written", file.string()},
                   {"unseen_classes", split.unseen_classes.size()},
                   {"val_classes", split.val_classes.size()},
                   {"trainval", lists.trainval.size()},
                   {"test_seen", lists.test_seen.size()},
                   {"test_unseen", lists.test_unseen.size()},
                   {"seed", context.common.seed}};
    output.text =
        fmt::format("{}: {} unseen and {} validation classes; {} training, {} test-seen and {} test-unseen samples\n",
                    file.string(), split.unseen_classes.size(), split.val_classes.size(), lists.trainval.size(),
                    lists.test_seen.size(), lists.test_unseen.size());
    if (!state->out.empty()) output.text += fmt::format("use it with: --split {}\n", file.string());
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
