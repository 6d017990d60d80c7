// parsnets classes list|add|remove: the class bank of a model, without training.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unordered_set>

#include "base/file.hpp"
#include "base/file_lock.hpp"
#include "command.hpp"
#include "formats/csv.hpp"
#include "parsnets/error.hpp"
#include "parsnets/model.hpp"

namespace parsnets::cli {

namespace {

struct State {
  std::string model, from, names;
  std::filesystem::path out;
};

void require_model(const State& state) {
  if (state.model.empty()) throw Error(ErrorCode::usage, "classes: expected --model FILE");
}

/// Makes load, change and save one step when the model is changed in place, and refuses an impossible --out early.
std::unique_ptr<FileLock> hold(const State& state, ProgressObserver* progress) {
  std::error_code absent;
  check_writable(state.out.empty() ? std::filesystem::path(state.model) : state.out);
  if (!state.out.empty() && !std::filesystem::equivalent(state.model, state.out, absent)) return nullptr;
  return std::make_unique<FileLock>(state.model, progress);
}

Output save_changed(const State& state, const Model& model, const std::string& what) {
  const std::filesystem::path file = state.out.empty() ? std::filesystem::path(state.model) : state.out;
  make_folder_of(file);
  save_model(model, file);
  Output output;
  output.json = {{"model", file.string()}, {"classes", model.classes.names.size()}};
  output.text = fmt::format("{}: {}; {} classes now\n", file.string(), what, model.classes.names.size());
  return output;
}

/// Adds the classes of a table `class,<attributes>`; columns are matched by name where the model knows them.
std::size_t add_from(Model& model, const std::string& file, const std::vector<std::string>& wanted) {
  const CsvTable table = read_csv(file, true);
  const auto column = [&](const std::string& name) {
    return std::find(table.header.begin(), table.header.end(), name) - table.header.begin();
  };
  const auto class_column = column("class");
  const auto width = static_cast<std::ptrdiff_t>(table.header.size());
  if (class_column == width)
    throw Error(BadInput{file, "header", "a column 'class'", "none",
                         "the first line names the columns: class, then the attributes"});
  std::vector<std::ptrdiff_t> columns;
  for (const auto& name : model.attribute_names) {
    columns.push_back(column(name));
    if (columns.back() == width)
      throw Error(BadInput{file, "header", "a column '" + name + "'", "none",
                           "the model needs every attribute it was trained with"});
  }
  if (model.attribute_names.empty())
    for (std::ptrdiff_t c = 0; c < width; ++c)
      if (c != class_column) columns.push_back(c);
  const std::unordered_set<std::string> chosen(wanted.begin(), wanted.end());
  std::unordered_set<std::string> left = chosen;
  std::vector<std::string> names;
  std::vector<float> values;
  for (const auto& row : table.rows) {
    const std::string& name = row[static_cast<std::size_t>(class_column)];
    if (!wanted.empty() && !chosen.contains(name)) continue;
    left.erase(name);
    names.push_back(name);
    for (const auto c : columns) {
      double value = 0;
      if (!parse_number(row[static_cast<std::size_t>(c)], value) || !std::isfinite(value))
        throw Error(BadInput{
            file, fmt::format("class '{}', column '{}'", name, table.header[static_cast<std::size_t>(c)]), "a number",
            "'" + row[static_cast<std::size_t>(c)] + "'", "a class that is added needs all values"});
      values.push_back(static_cast<float>(value));
    }
  }
  for (const auto& name : wanted)
    if (left.contains(name)) throw Error(BadInput{file, "class", "a row for '" + name + "'", "none", ""});
  if (names.empty()) throw Error(BadInput{file, "", "at least one class", "none", ""});
  model.add_classes(names, {values.data(), names.size(), columns.size()});
  return names.size();
}

}  // namespace

Command classes_list_command() {
  auto state = std::make_shared<State>();
  Command command;
  command.name = "classes list";
  command.summary = "list the classes of a model";
  command.example = "parsnets classes list --model out/demo.safetensors";
  command.options.text("model", state->model, "model file");
  command.run = [state](Context&) {
    require_model(*state);
    const Model model = load_model(state->model);
    Output output;
    for (std::size_t c = 0; c < model.classes.names.size(); ++c) {
      const bool seen = model.classes.seen[c] != 0;
      output.json["classes"].push_back({{"name", model.classes.names[c]}, {"seen", seen}});
      output.text += fmt::format("{:<8}{}\n", seen ? "seen" : "unseen", model.classes.names[c]);
    }
    return output;
  };
  return command;
}

Command classes_add_command() {
  auto state = std::make_shared<State>();
  Command command;
  command.name = "classes add";
  command.summary = "add classes from a table of attributes, without training";
  command.example = "parsnets classes add --model out/demo.safetensors --from new.csv";
  command.options.text("model", state->model, "model file; changed in place unless --out is given")
      .text("from", state->from, "CSV table: header 'class,<attributes>', one row per class")
      .text("names", state->names,
            "rows to add, comma-separated; quote names that contain commas: '\"a, b\",c' (default: all)")
      .path("out", state->out, "model file to write (default: change --model in place)");
  command.run = [state](Context& context) {
    require_model(*state);
    if (state->from.empty()) throw Error(ErrorCode::usage, "classes add: expected --from TABLE.csv");
    const auto held = hold(*state, context.progress);
    Model model = load_model(state->model);
    const std::size_t added = add_from(model, state->from, parse_list(state->names, "--names"));
    return save_changed(*state, model, fmt::format("added {}", added));
  };
  return command;
}

Command classes_remove_command() {
  auto state = std::make_shared<State>();
  Command command;
  command.name = "classes remove";
  command.summary = "remove classes from a model";
  command.example = "parsnets classes remove --model out/demo.safetensors --names deer";
  command.options.text("model", state->model, "model file; changed in place unless --out is given")
      .text("names", state->names, "classes to remove, comma-separated; quote names that contain commas: '\"a, b\",c'")
      .path("out", state->out, "model file to write (default: change --model in place)");
  command.run = [state](Context& context) {
    require_model(*state);
    const auto names = parse_list(state->names, "--names");
    if (names.empty()) throw Error(ErrorCode::usage, "classes remove: expected --names a,b");
    const auto held = hold(*state, context.progress);
    Model model = load_model(state->model);
    model.remove_classes(names);
    return save_changed(*state, model, fmt::format("removed {}", names.size()));
  };
  return command;
}

}  // namespace parsnets::cli
