// The command line: parses with CLI11 what the command descriptions say, runs one command, maps errors to exit codes.

#include <fmt/format.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>
#include <new>

#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/options.hpp"
#include "base/row_blocks.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "data/folder.hpp"
#include "load_flags.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"
#include "process_group.hpp"
#include "terminal.hpp"

namespace parsnets::cli {

std::vector<Command> all_commands() {
  std::vector<Command> commands;
  for (const auto make : {extract_command,        train_command,          stats_command,       eval_command,
                          predict_command,        explain_command,        calibrate_command,   adapt_command,
                          suggest_command,        classes_list_command,   classes_add_command, classes_teach_command,
                          classes_remove_command, serve_command,          page_command,        export_command,
                          bench_command,          report_command,         reproduce_command,   data_inspect_command,
                          data_convert_command,   data_split_command,     data_synth_command,  backbone_list_command,
                          backbone_get_command,   backbone_check_command, demo_command,        info_command,
                          doctor_command,         completion_command,     docs_command})
    commands.push_back(make());
  return commands;
}

OptionTable common_options(CommonOptions& common) {
  OptionTable table;
  table.flag("json", common.json, "print one JSON object on standard output")
      .flag("quiet", common.quiet, "suppress progress; results, warnings and errors stay")
      .unsigned_integer("seed", common.seed, "random seed")
      .integer("threads", common.threads, 0, 1024,
               "number of worker threads (0: one per core); does not affect results");
  return table;
}

std::vector<CommandWord> words_after(const std::string& group, const std::vector<Command>& commands) {
  std::vector<CommandWord> words;
  for (const auto& command : commands) {
    const auto space = command.name.find(' ');
    const std::string first = command.name.substr(0, space);
    if (!group.empty() && space != std::string::npos && first == group)
      words.push_back({command.name.substr(space + 1), command.summary});
    else if (group.empty() && space == std::string::npos)
      words.push_back({first, command.summary});
    else if (group.empty() && (words.empty() || words.back().word != first))
      words.push_back({first, first == "data"       ? "inspect, convert, split and generate data sets"
                              : first == "backbone" ? "fetch and check the backbones of photographs"
                                                    : "change the class set of a model"});
  }
  return words;
}

std::string place_name(const Option& option) {
  std::string name = option.name;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

std::string help_of(const Option& option) {
  if (option.is_flag) return option.help;
  return fmt::format("{} ({}{}{})", option.help, option.expected, option.default_text.empty() ? "" : "; default ",
                     option.default_text);
}

namespace {

/// What the parser fills in for one command before its options are assigned.
struct Parsed {
  CLI::App* app = nullptr;
  OptionTable options;                                    ///< the command's own, then the common ones
  std::map<std::string, std::vector<std::string>> given;  ///< option name -> its values on the command line
  std::vector<std::vector<std::string>> places;           ///< values without names, as the parser deals them out
  std::string config;
  bool print_config = false;
};

/// `all`: help shows advanced rows, too. The parser takes them in any case.
void add_options(CLI::App& app, const OptionTable& table, std::map<std::string, std::vector<std::string>>& given,
                 bool all) {
  for (const auto& option : table.options()) {
    const std::string flag = (option.name == "out" ? "-o,--" : "--") + option.name;
    const std::string help = help_of(option);
    const auto keep_all = [&given, name = option.name](const std::vector<std::string>& v) { given[name] = v; };
    const auto keep = [keep_all](const std::string& v) { keep_all({v}); };
    CLI::Option* added = option.is_flag ? app.add_flag_callback(
                                              flag, [keep] { keep("true"); }, help)
                         : option.assign_all
                             ? app.add_option_function<std::vector<std::string>>(flag, keep_all, help)->type_name("")
                             : app.add_option_function<std::string>(flag, keep, help)->type_name("");
    added->group(option.advanced && !all ? "" : option.group.empty() ? "Options" : option.group);
  }
}

/// The value of --method among the words of a command line, or "".
std::string chosen_method(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--method" && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with("--method=")) return words[i].substr(std::string_view("--method=").size());
  }
  return "";
}

/// The options of a command as help shows them: of families, that of the method which the words name, or the first.
OptionTable shown_options(const Command& command, const std::vector<std::string>& words) {
  if (command.families.empty()) return command.options;
  const std::string method = chosen_method(words);
  const OptionFamily* family = &command.families.front();
  for (const auto& other : command.families)
    if (std::ranges::count(other.methods, method) > 0) family = &other;
  OptionTable shown = command.options;
  for (const Option& row : command.options.options()) {
    Option& changed = shown.find_row(row.name);
    if (const Option* own = family->options.find(row.name)) {
      changed.help = own->help;
      changed.default_text = own->default_text;
      changed.advanced = own->advanced;
      changed.group = own->group;
    } else if (std::ranges::any_of(command.families, [&](const auto& other) { return other.options.find(row.name); })) {
      changed.group = "Other methods";
      changed.advanced = true;
    }
  }
  return shown;
}

std::string config_text(const std::string& file) {
  if (file != "-") return read_text_file(file, 1u << 20);
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

/// Gives the values without names to the options of `by_place` that were not given by name, in order. Throws usage for
/// values that are left.
void assign_places(const Command& command, Parsed& parsed) {
  std::vector<std::string> values;
  for (const auto& part : parsed.places) values.insert(values.end(), part.begin(), part.end());
  std::size_t next = 0;
  for (const auto& name : command.by_place) {
    if (parsed.given.contains(name) || next == values.size()) continue;
    const bool takes_all = static_cast<bool>(parsed.options.find(name)->assign_all);
    const std::size_t end = takes_all ? values.size() : next + 1;
    parsed.given[name].assign(values.begin() + static_cast<std::ptrdiff_t>(next),
                              values.begin() + static_cast<std::ptrdiff_t>(end));
    next = end;
  }
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(next));
  refuse_if(!values.empty(), "{}: expected no further argument, found {}\nRun with --help for more information.",
            command.name, quoted_list(values));
}

/// Defaults, then the config file, then the command line; every problem of the command line in one message. Returns the
/// names of all options that were given.
std::vector<std::string> assign(Parsed& parsed) {
  std::vector<std::string> names;
  if (!parsed.config.empty()) names = parsed.options.read_config(config_text(parsed.config), parsed.config);
  std::string problems;
  for (const auto& [name, values] : parsed.given) {
    names.push_back(name);
    const Option* option = parsed.options.find(name);
    if (values.size() > 1)
      option->assign_all(values);
    else if (const auto expected = option->assign(values.front()))
      problems +=
          fmt::format("{}--{}: expected {}, found '{}'", problems.empty() ? "" : "; ", name, *expected, values.front());
  }
  if (!problems.empty()) throw Error(ErrorCode::usage, problems);
  return names;
}

/// As on the command line.
std::string spelled(std::string_view option, std::string_view value) {
  return flag_option(option == "allow-trained-samples" ? "force" : option, value);
}

// Text from a damaged file may not be UTF-8, and what a terminal acts on may be in it: DEL and U+0080 to U+009F, which
// JSON does not escape by itself.
std::string text_of(const nlohmann::ordered_json& json, int indent) {
  const std::string dumped = json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string text;
  for (std::size_t i = 0; i < dumped.size(); ++i) {
    if (dumped[i] == '\xc2' && static_cast<unsigned char>(dumped[i + 1]) < 0xa0)
      ++i;  // as UTF-8
    else if (dumped[i] != '\x7f') {
      text += dumped[i];
      continue;
    }
    text += fmt::format("\\u{:04x}", static_cast<unsigned char>(dumped[i]));
  }
  return text;
}

/// Returns the code.
int print_error(ProcessGroup& group, const CommonOptions& common, bool object_is_open, int code,
                const std::string& message, const BadInput& parts = {}) {
  if (common.json && group.is_first()) {
    nlohmann::ordered_json error{{"code", code}, {"message", message}};
    if (!parts.expected.empty())
      error.update({{"file", parts.file},
                    {"field", parts.field},
                    {"expected", parts.expected},
                    {"found", parts.found},
                    {"advice", parts.advice}});
    std::cout << (object_is_open ? ",\n  \"error\": " + text_of(error, -1) + "\n}" : text_of({{"error", error}}, 2))
              << std::endl;
  }
  group.fail(code, message);
  return code;
}

int print_usage_error(const std::string& message) {
  say(fmt::format("parsnets: {}\n", message));
  return static_cast<int>(ErrorCode::usage);
}

/// With --memory-limit: refuses one that holds no more than the program and some rows, before anything is read.
void obey_memory_limit(const Command& command) {
  const Option* option = command.options.find(kMemoryLimit);
  const auto limit = option == nullptr ? 0 : option->value().get<std::uint64_t>();
  if (limit == 0) return;
  return_freed_memory();
  require_memory(limit, kBlockBytes, fmt::format("'{}'", command.name), "raise the limit");
}

int run(ProcessGroup& group, Command& command, OptionTable& common, CommonOptions& options, Parsed& parsed) {
  bool object_is_open = false;
  const auto fail = [&](int code, const auto&... message) {
    return print_error(group, options, object_is_open, code, message...);
  };
  try {
    assign_places(command, parsed);
    const auto given = assign(parsed);
    refuse_if(!group.is_alone() && !command.runs_in_processes,
              "{}: expected one process, found {}; train, stats, predict and eval run in several", command.name,
              group.processes().size());
    if (parsed.print_config) {
      OptionTable printed = common;
      printed.append(command.options, command.resolve ? command.resolve(options) : std::vector<std::string>());
      if (group.is_first()) std::cout << "# parsnets " << command.name << "\n" << printed.to_config();
      return 0;
    }
    obey_memory_limit(command);
    TerminalProgress progress(options.quiet || !group.is_first());
    const auto print = [&](const std::string& text) {
      progress.clear();
      if (group.is_first()) std::cout << escaped_lines(text) << std::flush;
    };
    Context context{options, &progress, given, print, group.processes(), object_is_open};
    Output output = command.run(context);
    add_warnings(context, output.json);
    progress.clear();
    if (!group.is_first()) return output.failure.empty() ? 0 : static_cast<int>(ErrorCode::failure);
    if (!output.already_printed)
      std::cout << (options.json ? text_of(output.json, 2) + "\n" : escaped_lines(output.text));
    std::cout.flush();
    if (!std::cout) throw Error(ErrorCode::failure, "cannot write to standard output");
    if (output.failure.empty()) return 0;
    say(fmt::format("parsnets: {}\n", output.failure));
    return static_cast<int>(ErrorCode::failure);
  } catch (const Error& e) {
    return fail(static_cast<int>(e.code()), e.message(spelled), e.parts(spelled));
  } catch (const std::bad_alloc&) {
    return fail(1, "out of memory");
  } catch (const std::exception& e) {
    return fail(1, e.what());
  }
}

/// Words that should name a command must do so, whatever follows them. Also turns "help X" into "X --help".
void check_command(std::vector<std::string>& words, const std::vector<Command>& commands) {
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  std::string group;
  for (std::size_t place = 0; place < std::min<std::size_t>(2, words.size()); group = words[place++]) {
    std::vector<std::string> known;
    for (auto& one : words_after(group, commands)) known.push_back(std::move(one.word));
    if (words[place].starts_with("-") || known.empty()) return;
    refuse_if(std::ranges::find(known, words[place]) == known.end(),
              "{}'{}' is not a command{}\nRun with --help for more information.", group.empty() ? "" : group + ": ",
              words[place], did_you_mean(words[place], known));
  }
}

/// What an option at the end, or before another one, lacks; "" if every option has its value.
std::string missing_value(const std::vector<std::string>& words, const OptionTable& options) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") break;
    if ((word != "-o" && !word.starts_with("--")) || (i + 1 < words.size() && !words[i + 1].starts_with("--")))
      continue;
    if (const Option* option = options.find(word == "-o" ? "out" : word.substr(2));
        option != nullptr && !option->is_flag)
      return fmt::format("{}: expected {}, found nothing", word, option->expected);
  }
  return "";
}

/// What was meant by an option that the parser did not know; "" if every option is known.
std::string unknown_option(const std::vector<std::string>& words, const OptionTable& options) {
  std::vector<std::string> names{"config", "print-config", "help", "help-all"};
  for (const auto& option : options.options()) names.push_back(option.name);
  for (const auto& word : words) {
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const std::string name = word.substr(2, word.find('=') - 2);
    if (std::ranges::find(names, name) == names.end())
      return fmt::format("unknown option '--{}'{}\nRun with --help for more information.", name,
                         did_you_mean(name, names, "--"));
  }
  return "";
}

/// Puts a command with its options and its help into the parser.
void add_command(CLI::App& app, const Command& command, const OptionTable& common,
                 const std::vector<std::string>& words, Parsed& parsed) {
  const auto space = command.name.find(' ');
  CLI::App& parent = space == std::string::npos ? app : *app.get_subcommand(command.name.substr(0, space));
  CLI::App& own = *(parsed.app = parent.add_subcommand(command.name.substr(space + 1), command.summary));
  for (const auto& argument : command.arguments)
    own.add_option(argument.name, *argument.target, argument.help)->type_name("")->required(argument.required);
  const char* const kCommon = "Common options";
  parsed.options = shown_options(command, words);
  parsed.places.resize(command.by_place.size());
  for (std::size_t i = 0; i < command.by_place.size(); ++i) {
    const Option& option = *parsed.options.find(command.by_place[i]);
    std::vector<std::string>& place = parsed.places[i];
    // The parser shows that there may be several.
    (option.assign_all
         ? own.add_option(place_name(option), place, "as --" + option.name)
         : own.add_option_function<std::string>(
               place_name(option), [&place](const std::string& value) { place = {value}; }, "as --" + option.name))
        ->type_name("");
  }
  parsed.options.group(kCommon).append(common);
  add_options(own, parsed.options, parsed.given, std::ranges::count(words, "--help-all") > 0);
  own.add_option("--config", parsed.config,
                 "read options from FILE (-: standard input), one `name = value` per line; flags take precedence")
      ->type_name("FILE")
      ->group(kCommon);
  own.add_flag("--print-config", parsed.print_config, "print the options as a config file and exit")->group(kCommon);
  own.set_help_flag();  // added again, so that its group stays behind those of the command
  own.set_help_flag("-h,--help", "print this help message and exit")->group(kCommon);
  const bool has_more = std::ranges::any_of(command.options.options(), &Option::advanced);
  own.set_help_all_flag("--help-all", "print this help message with all options and exit")
      ->group(has_more ? kCommon : "");
  if (!command.example.empty()) own.footer("Example: " + command.example);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  CLI::App app{"ParsNets: zero-shot learning with sparse compositions of linear networks", "parsnets"};
  app.set_version_flag("--version", "parsnets " PARSNETS_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 ok, 1 failure, 2 usage, 3 bad input, 130 interrupted. See 'parsnets help COMMAND'.");

  CommonOptions common;
  OptionTable common_table = common_options(common);
  std::vector<Command> commands = all_commands();
  std::vector<Parsed> parsed(commands.size());
  for (const auto& [word, summary] : words_after("", commands))
    if (!words_after(word, commands).empty()) app.add_subcommand(word, summary)->require_subcommand(1);
  for (std::size_t i = 0; i < commands.size(); ++i) add_command(app, commands[i], common_table, words, parsed[i]);
  const auto called = [&] {
    return static_cast<std::size_t>(std::ranges::find_if(parsed, [](const Parsed& one) { return one.app->parsed(); }) -
                                    parsed.begin());
  };
  try {
    check_command(words, commands);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // it takes the last one first
    if (const std::string missing = missing_value(words, parsed[called()].options); !missing.empty())
      return print_usage_error(commands[called()].name + ": " + missing);
    catch_interrupts();
    ProcessGroup group;
    return run(group, commands[called()], common_table, common, parsed[called()]);
  } catch (const Error& e) {
    print_usage_error(e.message(flag_option));
    return static_cast<int>(e.code());
  } catch (const CLI::ParseError& e) {
    const bool asked = e.get_exit_code() == 0;  // --help, --version
    if (const std::size_t i = called(); !asked && i < commands.size()) {
      std::string message = unknown_option(words, parsed[i].options);
      if (message.empty()) message = missing_value(words, parsed[i].options);
      if (const auto unexpected = parsed[i].app->remaining(); message.empty() && !unexpected.empty())
        message = fmt::format("expected no further argument, found {}\nRun with --help for more information.",
                              quoted_list(unexpected));
      if (!message.empty()) return print_usage_error(commands[i].name + ": " + message);
    }
    app.exit(e);
    return asked ? 0 : static_cast<int>(ErrorCode::usage);
  }
}

}  // namespace parsnets::cli

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Training frees and makes matrices of tens of megabytes again and again: without this, each is mapped anew and its
  // pages are faulted in one by one, a tenth of the time on CUB.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
  try {
    return parsnets::cli::main(argc, argv);
  } catch (const std::bad_alloc&) {  // outside of a command
    std::fputs("parsnets: out of memory\n", stderr);
    return 1;
  }
}
