// parsnets info [FILE]: information about this build, or about a data file.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "base/machine.hpp"
#include "command.hpp"
#include "data/feature_source.hpp"
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
#include "store/train_record_json.hpp"
#include "warn.hpp"

namespace parsnets::cli {

namespace {

std::string shape_text(const NpyHeader& header) {
  std::string text;
  for (const auto n : header.shape) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

nlohmann::ordered_json array_info(const NpyLocation& where) {
  const NpyHeader header = read_npy_header(where);
  return {{"name", where.member.empty() ? where.file.filename().string() : where.member},
          {"type", header.is_text ? "text" : std::string(element_name(header.type))},
          {"shape", shape_text(header)}};
}

nlohmann::ordered_json tensor_info(const TensorView& tensor) {
  return {{"name", tensor.name}, {"type", tensor.dtype}, {"shape", fmt::format("{}", fmt::join(tensor.shape, " x "))}};
}

/// Models and statistics are read to validate them; the others have a header, or are read in pieces.
double memory_of_info(const std::filesystem::path& path) {
  const bool whole = path.extension() == ".safetensors" || is_device_file(path);
  return (whole ? static_cast<double>(InputFile(path).size()) : 0);
}

nlohmann::ordered_json file_info(const std::filesystem::path& path) {
  nlohmann::ordered_json json{{"file", path.string()}, {"bytes", InputFile(path).size()}};
  auto contents = nlohmann::ordered_json::array();
  const std::string ending = path.extension().string();
  if (ending == ".mat") {
    const auto file = MatFile::open(path);
    for (const auto& v : file->variables())
      contents.push_back({{"name", v.name}, {"type", v.kind}, {"shape", fmt::format("{} x {}", v.rows, v.cols)}});
  } else if (ending == ".npy") {
    contents.push_back(array_info({path, ""}));
  } else if (ending == ".npz") {
    for (const auto& member : npz_members(path)) contents.push_back(array_info({path, member}));
  } else if (ending == ".csv") {
    const CsvShape table = csv_shape(path);
    contents.push_back({{"name", path.filename().string()},
                        {"type", "table"},
                        {"shape", fmt::format("{} x {}", table.rows, table.cols)}});
  } else if (ending == ".safetensors" && is_statistics_file(path)) {
    json.update(statistics_info(load_statistics(path)));  // validates everything
    const SafetensorsFile file(path);
    for (const auto& t : file.tensors()) contents.push_back(tensor_info(t));
  } else if (ending == ".safetensors") {
    const Model model = load_model(path);  // validates everything
    json["classes"] = model.classes.names.size();
    json["seen_classes"] = std::count(model.classes.seen.begin(), model.classes.seen.end(), std::uint8_t{1});
    json["attributes"] = model.attributes();
    json["gamma"] = model.gamma;
    json["temperature"] = model.temperature;
    if (model.targets == Targets::classes)
      json["field"] = {{"example_prior", model.field.example_prior},
                       {"strength", model.field.strength},
                       {"sharpness", model.field.sharpness},
                       {"certainty", model.field.certainty},
                       {"adapted", is_adapted(model)},
                       {"taught", is_taught(model)}};
    if (!model.rejection.empty()) {  // shares, as in Rejection; the record has them in percent
      json["rejection"] = {{"false_accept", model.rejection.false_accept}};
      if (const auto& found = model.record.rejection)
        json["rejection"].update({{"rejected_seen", found->rejected_seen / 100},
                                  {"rejected_unseen", found->rejected_unseen / 100},
                                  {"auroc", found->auroc / 100}});
    }
    json["options"] = parse_ordered_json(model.options, path.string() + ", options");
    json["record"] = to_json(model.record);
    if (model.record.data.source) json["source"] = to_json(*model.record.data.source);
    if (const std::string line =
            made_by(model.record, model.record.data.name, "--out " + shell_word(path.filename().string()));
        !line.empty())
      json["made_by"] = line;
    const SafetensorsFile file(path);
    for (const auto& t : file.tensors()) contents.push_back(tensor_info(t));
  } else if (ending == ".pnrt" || is_device_file(path)) {
    const DeviceModel model = load_device_model(path);  // validates everything
    json["classes"] = model.class_names().size();
    json["seen_classes"] = std::count(model.class_seen().begin(), model.class_seen().end(), std::uint8_t{1});
    json["dimensions"] = model.dimensions();
    json["attributes"] = model.attributes();
    json["gamma"] = model.gamma();
    json["work_bytes"] = model.work_bytes();
    json["multiply_adds"] = model.multiply_adds();
    if (model.source()) json["source"] = to_json(*model.source());
    for (const auto& [name, type, shape] : model.sections())
      contents.push_back({{"name", name}, {"type", type}, {"shape", shape}});
  } else {
    throw Error(
        BadInput{path.string(), "", "a .safetensors, .pnrt, .mat, .npy, .npz or .csv file", "'" + ending + "'", ""});
  }
  json["contents"] = std::move(contents);
  return json;
}

std::string rejection_line(const nlohmann::ordered_json& rejection) {
  std::string text =
      fmt::format("rejection: to accept {:g} % of unknown samples; ", 100 * rejection["false_accept"].get<double>());
  if (!rejection.contains("auroc")) return text + "its price is not known: calibrate again\n";
  return text +
         fmt::format("rejects {:.1f} % of the samples of seen and {:.1f} % of those of unseen classes, AUROC {:.2f}\n",
                     100 * rejection["rejected_seen"].get<double>(), 100 * rejection["rejected_unseen"].get<double>(),
                     100 * rejection["auroc"].get<double>());
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

}  // namespace

Command info_command() {
  struct State {
    std::string file;
    std::uint64_t memory_limit = 0;
  };
  auto state = std::make_shared<State>();
  Command command;
  command.name = "info";
  command.summary = "print information about this build, a model file, a statistics file or a data file";
  command.example = "parsnets info data/demo/features.npy";
  command.arguments = {{"FILE", "a .safetensors, .pnrt, .mat, .npy, .npz or .csv file", &state->file, false}};
  add_memory_limit(command.options, state->memory_limit);
  command.run = [state](Context&) {
    const std::string& file = state->file;
    Output output;
    if (file.empty()) {
      output.json = {{"version", PARSNETS_VERSION},
                     {"build", PARSNETS_BUILD_TYPE},
                     {"compiler", PARSNETS_COMPILER},
                     {"sanitizers", PARSNETS_SANITIZERS}};
      output.text = fmt::format("parsnets {}, {} build, {}{}\n", PARSNETS_VERSION, PARSNETS_BUILD_TYPE,
                                PARSNETS_COMPILER, *PARSNETS_SANITIZERS ? ", sanitized: " PARSNETS_SANITIZERS : "");
      return output;
    }
    require_memory(state->memory_limit, memory_of_info(file), "this file", "raise the limit");
    output.json = file_info(file);
    output.text = fmt::format("{}: {}\n", file, format_bytes(output.json["bytes"].get<double>()));
    for (const auto& item : output.json["contents"])
      output.text += fmt::format("  {:<24}{:<10}{}\n", item["name"].get<std::string>(), item["type"].get<std::string>(),
                                 item["shape"].get<std::string>());
    if (output.json.contains("options")) {
      auto record = shortened(output.json["record"]);  // without what is for programs alone
      if (record.contains("data") && record["data"].is_object()) record["data"].erase("trained");
      output.text += fmt::format(
          "{} classes ({} seen), {} attributes, gamma {:.4g}, temperature {:.4g}\n{}options {}\nrecord {}\n",
          output.json["classes"].get<int>(), output.json["seen_classes"].get<int>(),
          output.json["attributes"].get<int>(), output.json["gamma"].get<double>(),
          output.json["temperature"].get<double>(), warning_lines(output.json["record"]), output.json["options"].dump(),
          record.dump(1));
    }
    if (output.json.contains("rejection")) output.text += rejection_line(output.json["rejection"]);
    if (output.json.contains("source"))
      output.text += "features by " + describe(feature_source_from_json(output.json["source"], file)) + "\n";
    if (output.json.contains("made_by"))
      output.text += fmt::format("made by: {}\n", output.json["made_by"].get<std::string>());
    if (output.json.contains("field")) {
      const auto& field = output.json["field"];
      const bool adapted = field["adapted"].get<bool>(), taught = field["taught"].get<bool>();
      output.text +=
          fmt::format("learning after training: example prior {:g}, strength {:g}, sharpness {:g}, certainty {:g}{}\n",
                      field["example_prior"].get<double>(), field["strength"].get<double>(),
                      field["sharpness"].get<double>(), field["certainty"].get<double>(),
                      adapted || taught ? fmt::format("; {}{}{}", adapted ? "adapted" : "",
                                                      adapted && taught ? " and " : "", taught ? "taught" : "")
                                        : "");
    }
    if (output.json.contains("kept_rows")) output.text += statistics_text(output.json) + "\n";
    if (output.json.contains("multiply_adds"))
      output.text += fmt::format(
          "{} classes ({} seen), {} features, {} attributes; {} multiply-adds, {} bytes of working memory\n",
          output.json["classes"].get<int>(), output.json["seen_classes"].get<int>(),
          output.json["dimensions"].get<int>(), output.json["attributes"].get<int>(),
          output.json["multiply_adds"].get<std::uint64_t>(), output.json["work_bytes"].get<int>());
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
