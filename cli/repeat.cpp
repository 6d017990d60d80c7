
#include "repeat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/file.hpp"
#include "base/json_file.hpp"
#include "command.hpp"
#include "data/load_options.hpp"
#include "formats/safetensors.hpp"
#include "parsnets/error.hpp"
#include "parsnets/field.hpp"
#include "train/provenance.hpp"
#include "train/train_options.hpp"

namespace parsnets::cli {

namespace {

bool same_file_bytes(const std::filesystem::path& a, const std::filesystem::path& b) {
  const MappedFile x(a), y(b);
  return std::ranges::equal(x.bytes(), y.bytes());
}

/// The first tensor that differs; "" if none does.
std::string tensor_difference(const SafetensorsFile& before, const SafetensorsFile& now) {
  for (const TensorView& a : before.tensors()) {
    const TensorView* b = now.find(a.name);
    if (b == nullptr) return fmt::format("tensor {} is missing", a.name);
    if (a.dtype != b->dtype || a.shape != b->shape)
      return fmt::format("tensor {}: {} {} before, {} {} now", a.name, a.dtype, fmt::join(a.shape, " x "), b->dtype,
                         fmt::join(b->shape, " x "));
    if (std::memcmp(a.data, b->data, a.bytes) != 0) return fmt::format("tensor {}", a.name);
  }
  for (const TensorView& b : now.tensors())
    if (before.find(b.name) == nullptr) return fmt::format("tensor {} is new", b.name);
  return "";
}

std::string excerpt_of(const nlohmann::json& value) {
  constexpr std::size_t kMost = 60;
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= kMost ? text : text.substr(0, kMost) + " ...";
}

/// The first field of the metadata that differs; "" if none does.
std::string metadata_difference(const SafetensorsFile& before, const SafetensorsFile& now) {
  for (const auto& [key, a] : before.metadata()) {
    const auto found = now.metadata().find(key);
    if (found == now.metadata().end()) return fmt::format("metadata {} is missing", key);
    const std::string& b = found->second;
    if (a == b) continue;
    if (!a.starts_with("{") || !b.starts_with("{"))
      return fmt::format("metadata {}: {} before, {} now", key, excerpt_of(a), excerpt_of(b));
    const nlohmann::json x = parse_json(a, before.name()), y = parse_json(b, now.name());
    const auto changes = nlohmann::json::diff(x, y);
    if (changes.empty()) return fmt::format("metadata {}: the order of its fields", key);
    const nlohmann::json::json_pointer at(changes[0]["path"].get<std::string>());
    std::string path = at.to_string();
    std::ranges::replace(path, '/', '.');
    const auto value = [&](const nlohmann::json& json) { return json.contains(at) ? excerpt_of(json[at]) : "none"; };
    return fmt::format("metadata {}{}: {} before, {} now", key, path, value(x), value(y));
  }
  for (const auto& [key, unused] : now.metadata())
    if (!before.metadata().contains(key)) return fmt::format("metadata {} is new", key);
  return "";
}

}  // namespace

Repetition::Repetition(const std::filesystem::path& model) : file_(model), model_(load_model(model)) {}

void Repetition::check_options(const Context& context, const std::filesystem::path& out) const {
  static const std::vector<std::string> allowed{"like", "data", "stats", "out", "run", "threads", "json", "quiet"};
  std::string others;
  for (const auto& name : context.given)
    if (std::ranges::find(allowed, name) == allowed.end()) others += (others.empty() ? "--" : ", --") + name;
  refuse_if(!others.empty(), "--like conflicts with {}: it repeats the options of {}", others, file_.string());
  std::error_code absent;
  refuse_if(std::filesystem::equivalent(file_, out, absent),
            "--like: expected another output than the model to compare with, found {}", out.string());
  const auto& parts = model_.record.data.statistics;
  const bool with_statistics = context.is_given("stats");
  std::string files;
  for (const auto& part : parts)
    files += (files.empty() ? "" : ",") + (part.file.empty() ? "(from memory)" : part.file);
  refuse_if(!with_statistics && !parts.empty(),
            "--like: {} was trained from statistics; expected --stats with these, {}", file_.string(), files);
  refuse_if(with_statistics && parts.empty(), "--like: {} was trained on samples; expected no --stats", file_.string());
}

void Repetition::ask_again(const std::filesystem::path& data, TrainOptions& train, LoadOptions& load) const {
  repeat_request(model_.record, file_.string(), train, load);
  if (load.split.empty()) return;
  const std::filesystem::path name = load.split.filename();
  for (const auto& place : {data / name, file_.parent_path() / name, name})
    if (std::filesystem::is_regular_file(place)) {
      load.split = place;
      return;
    }
  throw Error(BadInput{data.string(), "split", fmt::format("the split file of training, {}", name.string()), "none",
                       "put it into this folder, beside the model, or into the current folder"});
}

void Repetition::check_data(const Dataset& data, const std::string& folder, const StatisticsInput* statistics) const {
  check_same_data(model_.record,
                  statistics == nullptr ? provenance(data) : provenance(data, statistics->sum, statistics->parts),
                  folder);
  const ClassBank& bank = model_.classes;
  for (std::size_t c = 0; c < data.classes(); ++c) {
    const auto name = std::ranges::find(bank.names, data.class_names[c]);
    if (name == bank.names.end()) continue;
    const auto place = static_cast<std::size_t>(name - bank.names.begin());
    if (bank.seen[place] && !std::ranges::equal(data.semantics.values.row(c), bank.semantics.row(place)))
      throw Error(BadInput{folder, "semantics", "the values that the model was trained with",
                           fmt::format("others for the class '{}'", data.class_names[c]),
                           "give the folder that it was trained on"});
  }
}

std::vector<std::string> Repetition::reasons(const Dataset& data) const {
  std::vector<std::string> list;
  const std::string name = file_.filename().string();
  const auto since = [&](const char* what) {
    list.push_back(fmt::format("{} was {} since training: the files cannot be identical", name, what));
  };
  if (is_adapted(model_)) since("adapted");
  if (is_taught(model_)) since("taught");
  if (model_.classes.names != data.class_names) since("given other classes");
  if (!model_.record.left_out.empty())
    list.push_back(
        fmt::format("the time budget cut the search of {}: what it reaches depends on the speed of the machine", name));
  return list;
}

nlohmann::ordered_json Repetition::compare(const std::filesystem::path& written, const Dataset& data) const {
  std::string difference;
  const bool identical = same_file_bytes(file_, written);
  if (!identical) {
    const SafetensorsFile before(file_), now(written);
    difference = tensor_difference(before, now);
    if (difference.empty()) difference = metadata_difference(before, now);
    if (difference.empty()) difference = "the layout of the header";
  }
  return {{"model", file_.string()},
          {"identical", identical},
          {"difference", difference},
          {"reasons", identical ? std::vector<std::string>() : reasons(data)}};
}

std::string Repetition::text_of(const nlohmann::ordered_json& comparison) {
  const std::string name = comparison["model"].get<std::string>();
  if (comparison["identical"].get<bool>()) return fmt::format("identical to {}\n", name);
  std::string text = fmt::format("differs from {}: {}\n", name, comparison["difference"].get<std::string>());
  for (const auto& reason : comparison["reasons"]) text += reason.get<std::string>() + "\n";
  return text;
}

namespace {

/// "--method ridge --seed 1", of a record with a request.
std::string asked_options(const TrainRecord& record) {
  TrainSettings train;
  LoadOptions load;
  OptionTable table;  // loading first: it belongs to the data, which the line starts with
  add_load_options(table, load);
  table.append(train_option_table(train));
  std::string text;
  for (const auto& option : table.options()) {
    const auto asked = record.asked->options.find(option.name);
    if (asked == record.asked->options.end()) continue;
    text += "--" + option.name + (option.is_flag ? " " : " " + shell_word(asked->second) + " ");
  }
  return text + fmt::format("--seed {}", record.seed);
}

}  // namespace

std::string shell_word(const std::string& word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./,:=+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string made_by(const TrainRecord& record, const std::string& data, const std::string& target) {
  const auto in_memory = [](const StatisticsPart& part) { return part.file.empty(); };
  if (!record.asked || !record.asked->folder || record.asked->load_seed ||
      std::ranges::any_of(record.data.statistics, in_memory))
    return "";
  std::string statistics;
  for (const auto& part : record.data.statistics) statistics += (statistics.empty() ? "" : ",") + part.file;
  return "parsnets train --data " + shell_word(data) +
         (statistics.empty() ? " " : " --stats " + shell_word(statistics) + " ") + asked_options(record) + " " + target;
}

}  // namespace parsnets::cli
