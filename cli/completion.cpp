// parsnets completion: scripts for bash, zsh and fish.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "command.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

/// A command or a group at one place of the line.
struct CompletedWord {
  std::string word, summary;
};

/// The first words of commands of two words.
std::vector<std::string> command_groups(const std::vector<Command>& commands) {
  std::vector<std::string> groups;
  for (const auto& command : commands)
    if (const auto space = command.name.find(' '); space != std::string::npos)
      if (std::ranges::find(groups, command.name.substr(0, space)) == groups.end())
        groups.push_back(command.name.substr(0, space));
  return groups;
}

/// What can follow `group`, or `parsnets` itself for "": commands and, at the top, groups.
std::vector<CompletedWord> completed_words(const std::string& group, const std::vector<Command>& commands) {
  std::vector<CompletedWord> words;
  for (const auto& command : commands) {
    const auto space = command.name.find(' ');
    const std::string first = command.name.substr(0, space);
    if (!group.empty()) {
      if (space != std::string::npos && first == group)
        words.push_back({command.name.substr(space + 1), command.summary});
    } else if (space == std::string::npos) {
      words.push_back({first, command.summary});
    } else if (words.empty() || words.back().word != first) {
      words.push_back({first, group_summary(first)});
    }
  }
  return words;
}

/// The command's own options, then those of all commands.
std::vector<Option> completed_options(const Command& command) {
  CommonOptions values;
  std::filesystem::path config;
  bool flag = false;
  OptionTable table = command.options;
  table.append(common_options(values))
      .path("config", config, "read options from a file")
      .flag("print-config", flag, "print the options as a config file and exit")
      .flag("help", flag, "print help and exit")
      .flag("help-all", flag, "print help with all options and exit");
  return table.options();
}

/// Whether the value of an option may be a file.
bool takes_file(const Option& option) {
  return option.expected == "a path" || option.expected == "text" || option.assign_all;
}

std::string bash_script(const std::vector<Command>& commands) {
  const auto joined = [&](const std::string& group) {
    std::string list;
    for (const auto& word : completed_words(group, commands)) list += word.word + " ";
    return list;
  };
  std::string cases, choices;
  for (const auto& command : commands) {
    std::string words;
    for (const auto& argument : command.arguments)
      for (const auto& choice : argument.choices) words += choice + " ";
    for (const auto& option : completed_options(command)) {
      words += "--" + option.name + " ";
      if (!option.is_flag && !option.choices.empty())
        choices += fmt::format("    \"{} --{}\") words=\"{}\" ;;\n", command.name, option.name,
                               fmt::join(option.choices, " "));
    }
    cases += fmt::format("    \"{}\") words=\"{}\" ;;\n", command.name, words);
  }
  std::string script =
      "# bash completion for parsnets; source it or put it where bash-completion looks\n_parsnets() {\n";
  script +=
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\" "
      "command=\"${COMP_WORDS[1]}\"\n";
  script += "  case \"$command\" in ";
  for (const auto& group : command_groups(commands))
    script += group + ") [ \"$COMP_CWORD\" -gt 2 ] && command=\"$command ${COMP_WORDS[2]}\" ;; ";
  script += "esac\n  if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"" + joined("") + "--help --version\"\n";
  for (const auto& group : command_groups(commands))
    script += fmt::format("  elif [ \"$COMP_CWORD\" -eq 2 ] && [ \"$command\" = {} ]; then words=\"{}\"\n", group,
                          joined(group));
  script += "  else\n    case \"$command\" in\n" + cases + "    esac\n    case \"$command $prev\" in\n" + choices +
            "    esac\n  fi\n";
  script +=
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n  [[ \"$cur\" == --* ]] || [ ${#COMPREPLY[@]} -gt 0 ] || "
      "COMPREPLY=($(compgen -f -- \"$cur\"))\n";
  return script + "}\ncomplete -o filenames -F _parsnets parsnets\n";
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

/// The start of a line that holds where the words so far are this command.
std::string fish_condition(const std::string& command) {
  return fmt::format("complete -c parsnets -n {}", quoted("__parsnets_after " + quoted(command)));
}

std::string fish_script(const std::vector<Command>& commands) {
  const auto groups = command_groups(commands);
  std::string script = fmt::format(
      "# fish completion for parsnets: put it as parsnets.fish into ~/.config/fish/completions\n"
      "function __parsnets_after\n"
      "    set -l place\n"
      "    for word in (commandline -opc)[2..]\n"
      "        string match -q -- '-*' $word; and break\n"
      "        set -a place $word\n"
      "        contains -- $word {}; and test (count $place) -eq 1; or break\n"
      "    end\n"
      "    test \"$place\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c parsnets -f\n",
      fmt::join(groups, " "));
  const auto add_words = [&](const std::string& group) {
    for (const auto& one : completed_words(group, commands))
      script += fmt::format("{} -a {} -d {}\n", fish_condition(group), one.word, quoted(one.summary));
  };
  add_words("");
  for (const auto& group : groups) add_words(group);
  for (const auto& command : commands) {
    const std::string start = fish_condition(command.name);
    for (const auto& argument : command.arguments)
      script += argument.choices.empty()
                    ? start + " -F\n"
                    : fmt::format("{} -a {}\n", start, quoted(fmt::format("{}", fmt::join(argument.choices, " "))));
    for (const auto& option : completed_options(command)) {
      script += fmt::format("{} -l {} -d {}", start, option.name, quoted(option.help));
      if (!option.is_flag && !option.choices.empty())
        script += fmt::format(" -x -a {}", quoted(fmt::format("{}", fmt::join(option.choices, " "))));
      else if (!option.is_flag)
        script += takes_file(option) ? " -r -F" : " -x";
      script += "\n";
    }
  }
  return script;
}

/// Text inside single quotes, with `special` characters marked for the function that reads it.
std::string quoted(const std::string& text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (c == '\\' || special.find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string described(const std::vector<CompletedWord>& words, const std::string& indent) {
  std::string list;
  for (const auto& one : words) list += fmt::format("{}  '{}:{}'\n", indent, one.word, quoted(one.summary, ""));
  return fmt::format("{0}local -a names=(\n{1}{0})\n{0}_describe -t commands command names\n", indent, list);
}

/// A value for _arguments: its name, then the choices, files or nothing.
std::string value_of(const std::string& name, const std::vector<std::string>& choices, bool file) {
  if (!choices.empty()) return fmt::format(":{}:({})", name, fmt::join(choices, " "));
  return fmt::format(":{}:{}", name, file ? "_files" : " ");
}

std::string zsh_script(const std::vector<Command>& commands) {
  std::string script =
      "#compdef parsnets\n# zsh completion for parsnets: put it as _parsnets into a folder of $fpath, or source it "
      "after "
      "compinit\n_parsnets() {\n  local command=\"$words[2]\"\n  if (( CURRENT == 2 )); then\n" +
      described(completed_words("", commands), "    ") + "    return\n  fi\n  case \"$command\" in\n";
  for (const auto& group : command_groups(commands))
    script += fmt::format("    {})\n      if (( CURRENT == 3 )); then\n{}        return\n      fi\n", group,
                          described(completed_words(group, commands), "        ")) +
              "      command=\"$command $words[3]\"\n      shift words\n      (( CURRENT-- ))\n      ;;\n";
  script += "  esac\n  shift words\n  (( CURRENT-- ))\n  case \"$command\" in\n";
  for (const auto& command : commands) {
    script += fmt::format("    '{}')\n      _arguments -S", command.name);
    for (const auto& option : completed_options(command))
      script += fmt::format(" \\\n        '--{}[{}]{}'", option.name, quoted(option.help, "[]:"),
                            option.is_flag ? "" : value_of(option.name, option.choices, takes_file(option)));
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      const Argument& argument = command.arguments[i];  // a second colon marks one that may be left out
      script += fmt::format(" \\\n        '{}{}{}'", i + 1, argument.required ? "" : ":",
                            value_of(argument.name, argument.choices, true));
    }
    script += "\n      ;;\n";
  }
  return script +
         "  esac\n}\nif [ \"$funcstack[1]\" = _parsnets ]; then\n  _parsnets \"$@\"\nelse\n  compdef _parsnets "
         "parsnets\nfi\n";
}

}  // namespace

Command completion_command() {
  auto shell = std::make_shared<std::string>("bash");
  Command command;
  command.name = "completion";
  command.summary = "print a completion script for the shell";
  command.example = "source <(parsnets completion bash)";
  command.arguments = {{"SHELL", "bash (default), zsh or fish", shell.get(), false, {"bash", "zsh", "fish"}}};
  command.run = [shell](Context&) {
    const auto script = *shell == "bash" ? bash_script : *shell == "zsh" ? zsh_script : fish_script;
    if (*shell != "bash" && *shell != "zsh" && *shell != "fish")
      throw Error(ErrorCode::usage, "SHELL: expected bash, zsh or fish, found '" + *shell + "'");
    Output output;
    output.text = script(all_commands());
    output.json = {{"script", output.text}};
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
