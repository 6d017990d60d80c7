// parsnets completion: scripts for bash, zsh and fish.

#include "completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "parsnets/error.hpp"

namespace parsnets::cli {

std::vector<std::string> command_groups(const std::vector<Command>& commands) {
  std::vector<std::string> groups;
  for (const auto& command : commands)
    if (const auto space = command.name.find(' '); space != std::string::npos)
      if (std::ranges::find(groups, command.name.substr(0, space)) == groups.end())
        groups.push_back(command.name.substr(0, space));
  return groups;
}

std::vector<CompletedWord> words_after(const std::string& group, const std::vector<Command>& commands) {
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

std::vector<Option> completed_options(const Command& command) {
  CommonOptions values;
  std::filesystem::path config;
  bool flag = false;
  OptionTable table = command.options;
  table.append(common_options(values))
      .path("config", config, "read options from a file")
      .flag("print-config", flag, "print the options as a config file and exit")
      .flag("help", flag, "print help and exit");
  return table.options();
}

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
