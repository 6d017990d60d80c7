// parsnets classes list|add|teach|remove: the class set of a model, without training.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unordered_set>

#include "base/machine.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "eval/protocols.hpp"
#include "feature_rows.hpp"
#include "formats/csv.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

struct ClassesState {
  std::string model, attributes, classes, name, input, labels;
  std::filesystem::path out;
  std::uint64_t memory_limit = 0;
};

/// Changes the model, in place or into another file; `change` returns what it did.
Output changed(const ClassesState& state, Context& context, const std::function<std::string(Model&)>& change) {
  const auto held = hold(state.model, state.out, context.progress);
  Model model = load_model(state.model);
  const std::string what = change(model);
  const std::string file = save_changed(model, state.model, state.out).string();
  return {{{"model", file}, {"classes", model.classes.names.size()}},
          fmt::format("{}: {}; {} classes now\n", file, what, model.classes.names.size())};
}

void require_model(const ClassesState& state) { refuse_if(state.model.empty(), "classes: expected --model FILE"); }

/// The features of --input, for the model to learn.
Matrix<float> read_examples(const ClassesState& state, const Model& model, Context& context) {
  const auto& source = model.record.data.source;
  Matrix<float> examples = read_feature_input(state.input, source, context.progress, state.memory_limit);
  warn(context, source_doubt(source, std::filesystem::path(state.input)));
  require_memory(state.memory_limit, field_bytes(model, examples.rows()), "learning examples", "raise the limit");
  return examples;
}

/// Adds the classes of a table `class,<attributes>`; columns are matched by name where the model knows them.
std::vector<std::string> add_from(Model& model, const std::string& file, const std::vector<std::string>& wanted) {
  const CsvCells table = read_csv(file, true);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(table.header, name) - table.header.begin());
  };
  const std::size_t class_column = column("class"), width = table.header.size();
  if (class_column == width)
    throw Error(BadInput{file, "header", "a column 'class'", "none",
                         "the first line names the columns: class, then the attributes"});
  std::vector<std::size_t> columns;
  for (const auto& name : model.attribute_names) {
    columns.push_back(column(name));
    if (columns.back() == width)
      throw Error(BadInput{file, "header", "a column '" + name + "'", "none",
                           "the model needs every attribute it was trained with"});
  }
  if (model.attribute_names.empty())
    for (std::size_t c = 0; c < width; ++c)
      if (c != class_column) columns.push_back(c);
  const std::unordered_set<std::string> chosen(wanted.begin(), wanted.end());
  std::unordered_set<std::string> left = chosen;
  std::vector<std::string> names;
  std::vector<float> values;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const std::string name(table.cell(r, class_column));
    if (!wanted.empty() && !chosen.contains(name)) continue;
    left.erase(name);
    names.push_back(name);
    for (const auto c : columns) {
      double value = 0;
      if (!parse_number(table.cell(r, c), value) || !std::isfinite(value))
        throw Error(BadInput{file, fmt::format("class '{}', column '{}'", name, table.header[c]), "a number",
                             in_quotes(table.cell(r, c)), "a class that is added needs all values"});
      values.push_back(static_cast<float>(value));
    }
  }
  for (const auto& name : wanted) {
    if (!left.contains(name)) continue;
    std::vector<std::string> known;
    for (std::size_t r = 0; r < table.rows(); ++r) known.emplace_back(table.cell(r, class_column));
    throw Error(BadInput{file, "class", "a row for '" + name + "'", "none" + did_you_mean(name, known), ""});
  }
  if (names.empty()) throw Error(BadInput{file, "", "at least one class", "none", ""});
  model.add_classes(names, {values.data(), names.size(), columns.size()});
  return names;
}

/// One name per example, from a .npy of texts or a .csv of one column without a header. `lines`: those of a .csv.
std::vector<std::string> read_labels(const std::filesystem::path& file, std::vector<std::size_t>& lines) {
  if (file.extension() == ".npy") return read_npy_strings({file, ""});
  if (file.extension() != ".csv")
    throw Error(BadInput{file.string(), "", "a .npy or .csv file", "'" + file.extension().string() + "'", ""});
  const CsvCells table = read_csv(file, false);
  std::vector<std::string> names;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    lines.push_back(table.line(r));
    names.emplace_back(table.cell(r, 0));
  }
  return names;
}

/// Examples by class from a table with the columns row and class, as 'suggest' writes it; those without a class are
/// left out. `samples`: how many rows --input has.
std::vector<std::pair<std::string, std::vector<std::int32_t>>> read_answers(const std::string& file, const Model& model,
                                                                            std::size_t samples) {
  const CsvCells table = read_csv(file, true);
  const auto column = [&](const char* name) {
    const auto found = std::ranges::find(table.header, name);
    if (found == table.header.end())
      throw Error(BadInput{file, "header", fmt::format("a column '{}'", name), "none",
                           "take a table that 'parsnets suggest' has written"});
    return static_cast<std::size_t>(found - table.header.begin());
  };
  const std::size_t row_column = column("row"), class_column = column("class");
  std::vector<std::pair<std::string, std::vector<std::int32_t>>> answers;
  for (std::size_t r = 0; r < table.rows(); ++r) {
    const std::string name(table.cell(r, class_column));
    if (name.empty()) continue;
    const std::string line = fmt::format("{}:{}", file, table.line(r));
    double row = 0;
    if (!parse_number(table.cell(r, row_column), row) || row != std::floor(row) || row < 0 ||
        row >= static_cast<double>(samples))
      throw Error(BadInput{line, "row", fmt::format("a row of --input, 0 to {}", samples - 1),
                           in_quotes(table.cell(r, row_column)),
                           "give the --input that the samples were suggested of"});
    const auto& names = model.classes.names;
    if (std::ranges::find(names, name) == names.end())
      throw Error(BadInput{line, "class", "a class of the model", "'" + name + "'" + did_you_mean(name, names),
                           "add it first, with 'parsnets classes add'"});
    auto one = std::ranges::find(answers, name, &decltype(answers)::value_type::first);
    if (one == answers.end()) one = answers.insert(one, {name, {}});
    one->second.push_back(static_cast<std::int32_t>(row));
  }
  if (answers.empty()) throw Error(BadInput{file, "class", "at least one answer", "none", "fill in the column"});
  return answers;
}

/// Rows of the examples by class. Without labels all belong to the only class.
std::vector<std::vector<std::int32_t>> rows_by_class(const ClassesState& state, const Matrix<float>& examples,
                                                     const std::vector<std::string>& names) {
  std::vector<std::vector<std::int32_t>> rows(names.size());
  if (state.labels.empty()) {
    refuse_if(names.size() != 1, "classes add: --input of {} classes needs --labels", names.size());
    for (std::size_t r = 0; r < examples.rows(); ++r) rows[0].push_back(static_cast<std::int32_t>(r));
    return rows;
  }
  std::vector<std::size_t> lines;
  const auto labels = read_labels(state.labels, lines);
  if (labels.size() != examples.rows())
    throw Error(BadInput{state.labels, "labels", fmt::format("{}, one per example", examples.rows()),
                         std::to_string(labels.size()), ""});
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const auto found = std::ranges::find(names, labels[r]);
    if (found == names.end())
      throw Error(BadInput{lines.empty() ? state.labels : fmt::format("{}:{}", state.labels, lines[r]),
                           lines.empty() ? fmt::format("label {}", r) : "label", "a class that is added",
                           "'" + labels[r] + "'" + did_you_mean(labels[r], names), ""});
    rows[static_cast<std::size_t>(found - names.begin())].push_back(static_cast<std::int32_t>(r));
  }
  return rows;
}

}  // namespace

Command classes_list_command() {
  auto state = std::make_shared<ClassesState>();
  Command command{"classes list", "list the classes of a model", "parsnets classes list out/demo.safetensors"};
  command.by_place = {"model"};
  command.options.text("model", state->model, "model file");
  command.run = [state](Context&) {
    require_model(*state);
    const Model model = load_model(state->model);
    Output output;
    for (std::size_t c = 0; c < model.classes.names.size(); ++c) {
      const bool seen = model.classes.seen[c] != 0;
      output.json["classes"].push_back({{"class", model.classes.names[c]}, {"seen", seen}});
      output.text += fmt::format("{:<8}{}\n", seen ? "seen" : "unseen", model.classes.names[c]);
    }
    return output;
  };
  return command;
}

Command classes_add_command() {
  auto state = std::make_shared<ClassesState>();
  Command command{"classes add", "add classes by their attributes, by examples or by both, without training",
                  "parsnets classes add out/demo.safetensors --attributes new.csv"};
  command.by_place = {"model"};
  command.options.text("model", state->model, "model file; changed in place unless --out is given")
      .text("attributes", state->attributes, "CSV table: header 'class,<attributes>', one row per class")
      .text("classes", state->classes,
            "rows to add, comma-separated; quote names that contain commas: '\"a, b\",c' (default: all). Without "
            "--attributes: classes that are known by their examples alone")
      .text("input", state->input, "features of labelled examples: .npy, .npz, .csv or .mat, one row each")
      .text("labels", state->labels,
            "their classes: .npy of texts or .csv, one name per row (default: all of the only class that is added)")
      .path("out", state->out, "model file to write (default: change --model in place)");
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    require_model(*state);
    std::vector<std::string> names = parse_list(state->classes, "--classes");
    refuse_if(state->attributes.empty() && (names.empty() || state->input.empty()),
              "classes add: expected --attributes TABLE.csv, or --classes a,b and --input FILE");
    refuse_if(!state->labels.empty() && state->input.empty(), "classes add: --labels requires --input");
    return changed(*state, context, [&](Model& model) {
      if (!state->attributes.empty()) names = add_from(model, state->attributes, names);
      if (!state->input.empty()) {
        const Matrix<float> examples = read_examples(*state, model, context);
        const auto rows = rows_by_class(*state, examples, names);
        ThreadPool pool(context.threads());
        for (std::size_t c = 0; c < names.size(); ++c) {
          const auto own = blocks_of(examples, rows[c]);
          if (state->attributes.empty())
            add_class_by_rows(model, names[c], own, state->memory_limit, pool);
          else if (own.rows > 0)
            teach_rows(model, names[c], own, state->memory_limit, pool);
        }
      }
      return fmt::format("added {}", names.size());
    });
  };
  return command;
}

Command classes_teach_command() {
  auto state = std::make_shared<ClassesState>();
  Command command{"classes teach", "teach a model labelled examples of one of its classes, without training",
                  "parsnets classes teach deer out/demo.safetensors --input deer.npy"};
  command.arguments = {{"NAME", "a class of the model", &state->name, false}};
  command.by_place = {"model"};
  command.options.text("model", state->model, "model file; changed in place unless --out is given")
      .text("input", state->input, "features of the examples: .npy, .npz, .csv or .mat, one row each")
      .text("labels", state->labels,
            "instead of NAME: .csv with the columns row and class, as 'suggest' writes it; rows of --input without a "
            "class are no examples")
      .path("out", state->out, "model file to write (default: change --model in place)");
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context& context) {
    require_model(*state);
    refuse_if(state->input.empty(), "classes teach: expected --input FILE");
    refuse_if(state->name.empty() == state->labels.empty(), "classes teach: expected either NAME or --labels FILE.csv");
    return changed(*state, context, [&](Model& model) {
      const Matrix<float> examples = read_examples(*state, model, context);
      ThreadPool pool(context.threads());
      if (!state->labels.empty()) {
        std::size_t count = 0;
        const auto answers = read_answers(state->labels, model, examples.rows());
        for (const auto& [name, rows] : answers) {
          teach_rows(model, name, blocks_of(examples, rows), state->memory_limit, pool);
          count += rows.size();
        }
        return fmt::format("taught {} examples of {} classes", count, answers.size());
      }
      teach_rows(model, state->name, blocks_of(examples), state->memory_limit, pool);
      return fmt::format("taught {} examples of '{}'", examples.rows(), state->name);
    });
  };
  return command;
}

Command classes_remove_command() {
  auto state = std::make_shared<ClassesState>();
  Command command{"classes remove", "remove classes from a model",
                  "parsnets classes remove out/demo.safetensors --classes deer"};
  command.by_place = {"model"};
  command.options.text("model", state->model, "model file; changed in place unless --out is given")
      .text("classes", state->classes,
            "classes to remove, comma-separated; quote names that contain commas: '\"a, b\",c'")
      .path("out", state->out, "model file to write (default: change --model in place)");
  command.run = [state](Context& context) {
    require_model(*state);
    const auto names = parse_list(state->classes, "--classes");
    refuse_if(names.empty(), "classes remove: expected --classes a,b");
    return changed(*state, context, [&](Model& model) {
      model.remove_classes(names);
      return fmt::format("removed {}", names.size());
    });
  };
  return command;
}

}  // namespace parsnets::cli
