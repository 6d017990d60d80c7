
#include "repeat.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "data/load_options.hpp"
#include "train/train_options.hpp"

namespace parsnets::cli {

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
    // The request has the name of a split file, the data its path.
    const std::string& value = option.name == "split" ? record.data.split_path : asked->second;
    text += "--" + option.name + (option.is_flag ? " " : " " + shell_word(value) + " ");
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

std::string made_by(const TrainRecord& record, const std::string& out) {
  const auto in_memory = [](const StatisticsPart& part) { return part.file.empty(); };
  if (!record.asked || !record.asked->folder || record.asked->load_seed ||
      std::ranges::any_of(record.data.statistics, in_memory))
    return "";
  std::string statistics;
  for (const auto& part : record.data.statistics) statistics += (statistics.empty() ? "" : ",") + part.file;
  return "parsnets train --data " + shell_word(record.data.name) +
         (statistics.empty() ? " " : " --stats " + shell_word(statistics) + " ") + asked_options(record) + " --out " +
         shell_word(out);
}

}  // namespace parsnets::cli
