// parsnets completion bash: a completion script made from the command descriptions.

#include <fmt/format.h>

#include <map>

#include "command.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

std::string words_after(const Command& command) {
  std::string words;
  for (const auto& option : command.options.options()) words += "--" + option.name + " ";
  return words + "--json --quiet --seed --threads --config --print-config --help";
}

std::string bash_script() {
  const auto commands = all_commands();
  std::map<std::string, std::string> groups;  // "" -> top-level words, "data" -> its subcommands
  std::string cases, choices;
  for (const auto& command : commands) {
    const auto space = command.name.find(' ');
    const std::string first = command.name.substr(0, space);
    if (groups[""].find(first + " ") == std::string::npos) groups[""] += first + " ";
    if (space != std::string::npos) groups[first] += command.name.substr(space + 1) + " ";
    cases += fmt::format("    \"{}\") words=\"{}\" ;;\n", command.name, words_after(command));
    for (const auto& option : command.options.options())
      if (!option.choices.empty())
        choices += fmt::format("    \"{} --{}\") words=\"{}\" ;;\n", command.name, option.name,
                               fmt::join(option.choices, " "));
  }
  std::string script =
      "# bash completion for parsnets; source it or put it where bash-completion looks\n_parsnets() {\n";
  script +=
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\" "
      "command=\"${COMP_WORDS[1]}\"\n";
  script += "  case \"$command\" in ";
  for (const auto& [group, unused] : groups)
    if (!group.empty()) script += group + ") [ \"$COMP_CWORD\" -gt 2 ] && command=\"$command ${COMP_WORDS[2]}\" ;; ";
  script += "esac\n  if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"" + groups[""] + "--help --version\"\n";
  for (const auto& [group, words] : groups)
    if (!group.empty())
      script +=
          fmt::format("  elif [ \"$COMP_CWORD\" -eq 2 ] && [ \"$command\" = {} ]; then words=\"{}\"\n", group, words);
  script += "  else\n    case \"$command\" in\n" + cases + "    esac\n    case \"$command $prev\" in\n" + choices +
            "    esac\n  fi\n";
  script +=
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n  [[ \"$cur\" == --* ]] || [ ${#COMPREPLY[@]} -gt 0 ] || "
      "COMPREPLY=($(compgen -f -- \"$cur\"))\n";
  return script + "}\ncomplete -o filenames -F _parsnets parsnets\n";
}

}  // namespace

Command completion_command() {
  auto shell = std::make_shared<std::string>("bash");
  Command command;
  command.name = "completion";
  command.summary = "print a completion script for the shell";
  command.example = "source <(parsnets completion bash)";
  command.arguments = {{"SHELL", "bash", shell.get(), false}};
  command.run = [shell](Context&) {
    if (*shell != "bash") throw Error(ErrorCode::usage, "SHELL: expected bash, found '" + *shell + "'");
    Output output;
    output.text = bash_script();
    output.json = {{"script", output.text}};
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
