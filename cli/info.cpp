// parsnets info [FILE]: information about this build, or about a data file.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "base/machine.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
#include "device/device_recogniser.hpp"
#include "features/statistics.hpp"
#include "formats/csv.hpp"
#include "formats/mat.hpp"
#include "formats/npy.hpp"
#include "formats/safetensors.hpp"
#include "load_flags.hpp"
#include "parsnets/device.hpp"
#include "parsnets/error.hpp"
#include "parsnets/field.hpp"
#include "parsnets/model.hpp"
#include "parsnets/version.hpp"
#include "repeat.hpp"
#include "stats.hpp"
#include "store/model_file.hpp"
#include "store/train_record_json.hpp"

namespace parsnets::cli {

namespace {

/// Adds the name, the type and the shape of a part to the contents of a file.
using AddPart = std::function<void(const std::string&, const std::string&, const std::string&)>;

void add_array(const std::string& name, const NpyHeader& header, const AddPart& add) {
  add(name, header.is_text ? "text" : std::string(element_name(header.type)),
      fmt::format("{}", fmt::join(header.shape, " x ")));
}

std::string add_source(const std::optional<FeatureSource>& source, nlohmann::ordered_json& json) {
  if (!source) return "";
  json["source"] = to_json(*source);
  return "features by " + describe(*source) + "\n";
}

/// Models and statistics are read to validate them; the others have a header, or are read in pieces.
double memory_of_info(const std::filesystem::path& path) {
  const bool whole = path.extension() == ".safetensors" || is_device_file(path);
  return whole ? static_cast<double>(InputFile(path).size()) : 0;
}

/// A record as a person reads it: long lists of numbers by their spread, other long lists by their ends.
nlohmann::ordered_json shortened(const nlohmann::ordered_json& json) {
  constexpr std::size_t kMost = 6;
  if (json.is_array() && json.size() > kMost) {
    if (std::ranges::all_of(json, [](const auto& item) { return item.is_number(); })) {
      auto values = json.get<std::vector<double>>();
      std::ranges::sort(values);
      return fmt::format("{} values: min {:.6g}, median {:.6g}, max {:.6g}", values.size(), values.front(),
                         values[values.size() / 2], values.back());
    }
    return {shortened(json.front()), fmt::format("{} more, all with --json", json.size() - 2), shortened(json.back())};
  }
  nlohmann::ordered_json out = json;
  if (json.is_structured())
    for (const auto& [key, value] : json.items())
      if (json.is_object()) out[key] = shortened(value);
  return out;
}

std::string rejection_line(const nlohmann::ordered_json& rejection) {
  std::string text =
      fmt::format("rejection: to accept {:g} % of unknown samples; ", 100 * rejection["false_accept"].get<double>());
  if (!rejection.contains("auroc")) return text + "its false-rejection rates are not known: calibrate again\n";
  return text +
         fmt::format("rejects {:.1f} % of the samples of seen and {:.1f} % of those of unseen classes, AUROC {:.2f}\n",
                     100 * rejection["rejected_seen"].get<double>(), 100 * rejection["rejected_unseen"].get<double>(),
                     100 * rejection["auroc"].get<double>());
}

template <class Flags>
std::size_t seen_in(const Flags& seen) {
  return static_cast<std::size_t>(std::ranges::count(seen, std::uint8_t{1}));
}

// The facts about one kind of file, and what a person reads below the list of its contents.

void add_tensors(const std::filesystem::path& path, const std::string& sha256, const AddPart& add) {
  const SafetensorsFile file(path, sha256);
  for (const auto& t : file.tensors()) add(t.name, t.dtype, fmt::format("{}", fmt::join(t.shape, " x ")));
}

std::string add_model(const std::filesystem::path& path, const std::string& sha256, nlohmann::ordered_json& json) {
  const Model model = load_model(path, sha256);  // validates everything
  json["classes"] = model.classes.names.size();
  json["seen_classes"] = seen_in(model.classes.seen);
  json["attributes"] = model.attributes();
  json["gamma"] = model.gamma;
  json["temperature"] = model.temperature;
  const auto& field = model.field;
  if (model.targets == Targets::classes)
    json["field"] = {{"example_prior", field.example_prior}, {"strength", field.strength},
                     {"sharpness", field.sharpness},         {"certainty", field.certainty},
                     {"adapted", is_adapted(model)},         {"taught", is_taught(model)}};
  if (!model.rejection.empty()) {  // shares, as in Rejection; the record has them in percent
    json["rejection"] = {{"false_accept", model.rejection.false_accept}};
    if (const auto& found = model.record.rejection)
      json["rejection"].update({{"rejected_seen", found->rejected_seen / 100},
                                {"rejected_unseen", found->rejected_unseen / 100},
                                {"auroc", found->auroc / 100}});
  }
  json["options"] = parse_ordered_json(model.options, path.string() + ", options");
  json["record"] = to_json(model.record);
  auto record = shortened(json["record"]);  // without what is for programs alone
  if (record.contains("data") && record["data"].is_object()) record["data"].erase("trained");
  std::string text =
      fmt::format("{} classes ({} seen), {} attributes, gamma {:.4g}, temperature {:.4g}\n{}options {}\nrecord {}\n",
                  model.classes.names.size(), seen_in(model.classes.seen), model.attributes(), model.gamma,
                  model.temperature, warning_lines(json["record"]), json["options"].dump(), record.dump(1));
  if (json.contains("rejection")) text += rejection_line(json["rejection"]);
  text += add_source(model.record.data.source, json);
  if (const std::string line = made_by(model.record, path.filename().string()); !line.empty()) {
    json["made_by"] = line;
    text += fmt::format("made by: {}\n", line);
  }
  const std::string learned = learned_text(model);
  if (json.contains("field"))
    text += fmt::format(
        "learning after training: example prior {:g}, strength {:g}, sharpness {:g}, certainty {:g}{}\n",
        field.example_prior, field.strength, field.sharpness, field.certainty, learned.empty() ? "" : "; " + learned);
  return text;
}

std::string add_device_model(const std::filesystem::path& path, const std::string& sha256, nlohmann::ordered_json& json,
                             const AddPart& add) {
  const DeviceModel model = load_device_model(path, sha256);  // validates everything
  json.update({{"classes", model.class_names().size()},
               {"seen_classes", seen_in(model.class_seen())},
               {"dimensions", model.dimensions()},
               {"attributes", model.attributes()},
               {"gamma", model.gamma()},
               {"work_bytes", model.work_bytes()},
               {"multiply_adds", model.multiply_adds()}});
  for (const auto& [name, type, shape] : model.sections()) add(name, type, shape);
  return add_source(model.source(), json) +
         fmt::format("{} classes ({} seen), {} features, {} attributes; {} multiply-adds, {} bytes of working memory\n",
                     model.class_names().size(), seen_in(model.class_seen()), model.dimensions(), model.attributes(),
                     model.multiply_adds(), model.work_bytes());
}

Output file_info(const std::filesystem::path& path) {
  const auto bytes = InputFile(path).size();
  nlohmann::ordered_json json{{"file", path.string()}, {"bytes", bytes}};
  auto contents = nlohmann::ordered_json::array();
  std::string text = fmt::format("{}: {}\n", path.string(), format_bytes(static_cast<double>(bytes))), details;
  const AddPart add = [&](const std::string& name, const std::string& type, const std::string& shape) {
    contents.push_back({{"name", name}, {"type", type}, {"shape", shape}});
    text += fmt::format("  {:<24}{:<10}{}\n", name, type, shape);
  };
  const std::string ending = path.extension().string();
  // Of a model or device file. The readers below take bytes of this sum alone, so that it is that of what is described.
  std::string sha256;
  const bool is_model = ending == ".safetensors" && !is_statistics_file(path);
  if (is_model || ending == ".pnrt" || is_device_file(path)) {
    sha256 = sha256_of_file(path);
    json["sha256"] = sha256;
    text += fmt::format("  SHA-256 {}\n", sha256);
  }
  if (ending == ".mat") {
    const auto file = MatFile::open(path);
    for (const auto& v : file->variables()) add(v.name, v.kind, fmt::format("{} x {}", v.rows, v.cols));
  } else if (ending == ".npy") {
    add_array(path.filename().string(), read_npy_header({path, ""}), add);
  } else if (ending == ".npz") {
    visit_npz(path, [&](const std::string& member, const NpySource& source) {
      add_array(member, read_npy_header(source), add);
    });
  } else if (ending == ".csv") {
    const CsvShape table = csv_shape(path);
    add(path.filename().string(), "table", fmt::format("{} x {}", table.rows, table.cols));
  } else if (ending == ".safetensors" && !is_model) {
    const Statistics statistics = load_statistics(path);  // validates everything
    json.update(statistics_info(statistics));
    details = add_source(statistics.source(), json) + statistics_text(json) + "\n";
    add_tensors(path, sha256, add);
  } else if (is_model) {
    details = add_model(path, sha256, json);
    add_tensors(path, sha256, add);
  } else if (!sha256.empty()) {
    details = add_device_model(path, sha256, json, add);
  } else {
    throw Error(
        BadInput{path.string(), "", "a .safetensors, .pnrt, .mat, .npy, .npz or .csv file", "'" + ending + "'", ""});
  }
  json["contents"] = std::move(contents);
  return {std::move(json), text + details};
}

}  // namespace

Command info_command() {
  struct State {
    std::string file;
    std::uint64_t memory_limit = 0;
  };
  auto state = std::make_shared<State>();
  Command command{"info", "print information about this build, a model file, a statistics file or a data file",
                  "parsnets info data/demo/features.npy"};
  command.arguments = {{"FILE", "a .safetensors, .pnrt, .mat, .npy, .npz or .csv file", &state->file, false}};
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context&) {
    if (state->file.empty())
      return Output{{{"version", PARSNETS_VERSION},
                     {"build", PARSNETS_BUILD_TYPE},
                     {"compiler", PARSNETS_COMPILER},
                     {"sanitizers", PARSNETS_SANITIZERS}},
                    fmt::format("parsnets {}, {} build, {}{}\n", PARSNETS_VERSION, PARSNETS_BUILD_TYPE,
                                PARSNETS_COMPILER, *PARSNETS_SANITIZERS ? ", sanitized: " PARSNETS_SANITIZERS : "")};
    require_memory(state->memory_limit, memory_of_info(state->file), "this file", "raise the limit");
    return file_info(state->file);
  };
  return command;
}

}  // namespace parsnets::cli
