#pragma once
// What a command is: one description that feeds the parser, --help, the man page, completion and docs/options.md.

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/processes.hpp"
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
};

/// What a command has to say: `json` with --json, `text` without.
struct Output {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  std::string text;
  bool already_printed = false;  ///< the command wrote its output itself, as it went
  std::string failure;           ///< not empty: what failed; told after the output, with exit code 1
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
  std::vector<Argument> arguments;
  OptionTable options;  ///< the command's own; the common ones are added
  /// Options that depend on the value of one, for help: `options` has the rows of all families.
  std::vector<OptionFamily> families = {};
  /// Fills in what --print-config shows, and returns the options that it leaves out; may be empty.
  std::function<std::vector<std::string>(const CommonOptions&)> resolve;
  std::function<Output(Context&)> run;  ///< owns the state that `arguments` and `options` refer to
  bool runs_in_processes = false;       ///< several processes of an MPI job may run it together
};

/// Every command, in the order in which help lists them.
std::vector<Command> all_commands();

/// The options that every command takes. Refers to `common`.
OptionTable common_options(CommonOptions& common);

/// What the commands of a group ("data", "classes") do, in one line.
std::string group_summary(const std::string& group);

Command extract_command();
Command train_command();
Command stats_command();
Command eval_command();
Command predict_command();
Command explain_command();
Command adapt_command();
Command calibrate_command();
Command classes_list_command();
Command classes_add_command();
Command classes_teach_command();
Command classes_remove_command();
Command serve_command();
Command export_command();
Command bench_command();
Command report_command();
Command reproduce_command();
Command data_inspect_command();
Command data_convert_command();
Command data_split_command();
Command data_synth_command();
Command info_command();
Command doctor_command();
Command completion_command();
Command docs_command();

}  // namespace parsnets::cli
