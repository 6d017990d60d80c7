#pragma once
// What a command is: one description that feeds the parser, --help, the man page, completion and docs/options.md.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.hpp"
#include "base/processes.hpp"
#include "base/text.hpp"
#include "parsnets/error.hpp"
#include "parsnets/progress.hpp"

namespace parsnets::cli {

/// Options that every command takes.
struct CommonOptions {
  bool json = false;
  bool quiet = false;
  std::uint64_t seed = 1;
  int threads = 0;
};

/// What a running command may use.
struct Context {
  const CommonOptions& common;
  ProgressObserver* progress;
  std::vector<std::string> given;                 ///< names of the options on the command line or in the config file
  std::function<void(const std::string&)> print;  ///< to standard output, before the command is done
  Processes& processes;                           ///< those that run this command together; the first writes files
  bool& object_is_open;  ///< a JSON object without its brace was printed: an error becomes its last member
  std::vector<std::string> warnings = {};  ///< told by warn(); they become a part of the JSON

  bool is_given(std::string_view option) const { return std::ranges::find(given, option) != given.end(); }
  unsigned threads() const { return static_cast<unsigned>(common.threads); }
};

/// Throws a usage error with this message if the call is `wrong`.
template <class... Values>
void refuse_if(bool wrong, fmt::format_string<Values...> message, Values&&... values) {
  if (wrong) throw Error(ErrorCode::usage, fmt::format(message, std::forward<Values>(values)...));
}

/// The parts of a list, also empty ones but for the last; none of "".
inline std::vector<std::string> parts_of(const std::string& list, char separator = ',') {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// Messages on standard error.

/// Writes to standard error what a terminal does not act on. Where nobody reads it, as in a closed pipe or on a full
/// disk, the work goes on.
inline void say(std::string_view text) {
  const std::string shown = escaped_lines(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

/// To standard error at once, and to the "warnings" of the command's JSON. Nothing for "".
inline void warn(Context& context, const std::string& warning) {
  if (warning.empty()) return;
  context.print("");  // the line of progress goes first
  if (context.processes.rank() == 0) say("warning: " + warning + "\n");
  context.warnings.push_back(warning);
}

/// Moves them there; what is in `json` then is no longer in `context`.
inline void add_warnings(Context& context, nlohmann::ordered_json& json) {
  for (auto& warning : std::exchange(context.warnings, {})) json["warnings"].push_back(std::move(warning));
}

/// "warning: ...", a line for each of the "warnings" in `json`; "" without any.
inline std::string warning_lines(const nlohmann::ordered_json& json) {
  std::string text;
  for (const auto& warning : json.value("warnings", std::vector<std::string>{})) text += "warning: " + warning + "\n";
  return text;
}

/// What a command has to say: `json` with --json, `text` without.
struct Output {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  std::string text = {};
  bool already_printed = false;  ///< the command wrote its output itself, as it went
  std::string failure = {};      ///< not empty: what failed; told after the output, with exit code 1
};

struct Argument {
  std::string name;  ///< as shown in the usage line, e.g. "DIR"
  std::string help;
  std::string* target = nullptr;
  bool required = true;
  std::vector<std::string> choices = {};  ///< for completion; empty: a file, or any text
};

/// The options that a command has for some values of its option --method.
struct OptionFamily {
  std::string title;                 ///< "methods paper, scln, mmg"
  std::vector<std::string> methods;  ///< the values
  OptionTable options;
};

struct Command {
  std::string name;     ///< "data inspect"
  std::string summary;  ///< one line, imperative
  std::string example;  ///< a command line that works
  std::vector<Argument> arguments = {};
  /// Options of which the values may stand without their names, in this order.
  std::vector<std::string> by_place = {};
  OptionTable options = {};  ///< the command's own; the common ones are added
  /// Options that depend on the value of one, for help: `options` has the rows of all families.
  std::vector<OptionFamily> families = {};
  /// Fills in what --print-config shows, and returns the options that it leaves out; may be empty.
  std::function<std::vector<std::string>(const CommonOptions&)> resolve = {};
  std::function<Output(Context&)> run = {};  ///< owns the state that `arguments` and `options` refer to
  bool runs_in_processes = false;            ///< several processes of an MPI job may run it together
};

/// Every command, in the order in which help lists them.
std::vector<Command> all_commands();

/// The options that every command takes. Refers to `common`.
OptionTable common_options(CommonOptions& common);

/// A command or a group of commands at one place of the line, and what it does.
struct CommandWord {
  std::string word, summary;
};
/// What can follow `group` ("data", "classes"), or `parsnets` itself for "": commands and, at the top, groups.
std::vector<CommandWord> words_after(const std::string& group, const std::vector<Command>& commands);

/// "MODEL": an option of by_place as the usage line has it.
std::string place_name(const Option& option);

/// The help of an option with the values that it takes.
std::string help_of(const Option& option);

using MakeCommand = Command();
MakeCommand extract_command, train_command, stats_command, eval_command, predict_command, explain_command,
    adapt_command, calibrate_command, classes_list_command, classes_add_command, classes_teach_command,
    classes_remove_command, serve_command, page_command, export_command, bench_command, report_command,
    reproduce_command, data_inspect_command, data_convert_command, data_split_command, data_synth_command,
    backbone_list_command, backbone_get_command, backbone_check_command, demo_command, info_command, doctor_command,
    completion_command, docs_command, suggest_command;

}  // namespace parsnets::cli
