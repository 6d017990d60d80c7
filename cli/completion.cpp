// parsnets completion: scripts for bash, zsh and fish.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "command.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

/// The words after which another one names the command.
std::vector<std::string> command_groups(const std::vector<Command>& commands) {
  std::vector<std::string> groups;
  for (const auto& one : words_after("", commands))
    if (!words_after(one.word, commands).empty()) groups.push_back(one.word);
  return groups;
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
    for (const auto& word : words_after(group, commands)) list += word.word + " ";
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
  std::string groups, words_of_groups;
  for (const auto& group : command_groups(commands)) {
    groups += group + R"() [ "$COMP_CWORD" -gt 2 ] && command="$command ${COMP_WORDS[2]}" ;; )";
    words_of_groups += fmt::format("  elif [ \"$COMP_CWORD\" -eq 2 ] && [ \"$command\" = {} ]; then words=\"{}\"\n",
                                   group, joined(group));
  }
  return fmt::format(R"(# bash completion for parsnets; source it or put it where bash-completion looks
_parsnets() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" words="" command="${{COMP_WORDS[1]}}"
  case "$command" in {}esac
  if [ "$COMP_CWORD" -eq 1 ]; then words="{}--help --version"
{}  else
    case "$command" in
{}    esac
    case "$command $prev" in
{}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ "$cur" == --* ]] || [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$cur"))
}}
complete -o filenames -F _parsnets parsnets
)",
                     groups, joined(""), words_of_groups, cases, choices);
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
  std::string script =
      fmt::format(R"(# fish completion for parsnets: put it as parsnets.fish into ~/.config/fish/completions
function __parsnets_after
    set -l place
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and break
        set -a place $word
        contains -- $word {}; and test (count $place) -eq 1; or break
    end
    test "$place" = "$argv[1]"
end
complete -c parsnets -f
)",
                  fmt::join(groups, " "));
  const auto add_words = [&](const std::string& group) {
    for (const auto& one : words_after(group, commands))
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

std::string described(const std::vector<CommandWord>& words, const std::string& indent) {
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
  std::string groups, cases;
  for (const auto& group : command_groups(commands))
    groups += fmt::format(R"(    {})
      if (( CURRENT == 3 )); then
{}        return
      fi
      command="$command $words[3]"
      shift words
      (( CURRENT-- ))
      ;;
)",
                          group, described(words_after(group, commands), "        "));
  for (const auto& command : commands) {
    cases += fmt::format("    '{}')\n      _arguments -S", command.name);
    for (const auto& option : completed_options(command))
      cases += fmt::format(" \\\n        '--{}[{}]{}'", option.name, quoted(option.help, "[]:"),
                           option.is_flag ? "" : value_of(option.name, option.choices, takes_file(option)));
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      const Argument& argument = command.arguments[i];  // a second colon marks one that may be left out
      cases += fmt::format(" \\\n        '{}{}{}'", i + 1, argument.required ? "" : ":",
                           value_of(argument.name, argument.choices, true));
    }
    cases += "\n      ;;\n";
  }
  return fmt::format(R"(#compdef parsnets
# zsh completion for parsnets: put it as _parsnets into a folder of $fpath, or source it after compinit
_parsnets() {{
  local command="$words[2]"
  if (( CURRENT == 2 )); then
{}    return
  fi
  case "$command" in
{}  esac
  shift words
  (( CURRENT-- ))
  case "$command" in
{}  esac
}}
if [ "$funcstack[1]" = _parsnets ]; then
  _parsnets "$@"
else
  compdef _parsnets parsnets
fi
)",
                     described(words_after("", commands), "    "), groups, cases);
}

}  // namespace

Command completion_command() {
  auto shell = std::make_shared<std::string>("bash");
  Command command{"completion", "print a completion script for the shell", "source <(parsnets completion bash)"};
  command.arguments = {{"SHELL", "bash (default), zsh or fish", shell.get(), false, {"bash", "zsh", "fish"}}};
  command.run = [shell](Context&) {
    refuse_if(*shell != "bash" && *shell != "zsh" && *shell != "fish", "SHELL: expected bash, zsh or fish, found '{}'",
              *shell);
    const auto script = *shell == "bash" ? bash_script : *shell == "zsh" ? zsh_script : fish_script;
    const std::string text = script(all_commands());
    return Output{{{"script", text}}, text};
  };
  return command;
}

}  // namespace parsnets::cli
