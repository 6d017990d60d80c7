// parsnets completion: a script for bash, which zsh takes after bashcompinit ($words is special there).

#include <fmt/format.h>

#include <string>
#include <vector>

#include "command.hpp"

namespace parsnets::cli {

namespace {

std::string bash_script(const std::vector<Command>& commands) {
  const auto joined = [&](const std::string& group) {
    std::string list;
    for (const auto& word : words_after(group, commands)) list += word.word + " ";
    return list;
  };
  CommonOptions values;
  const OptionTable common = common_options(values);
  std::string cases, choices;
  for (const auto& command : commands) {
    std::string words;
    OptionTable options = command.options;
    options.append(common);
    for (const auto& argument : command.arguments)
      for (const auto& choice : argument.choices) words += choice + " ";
    for (const auto& option : options.options()) {
      words += "--" + option.name + " ";
      if (!option.is_flag && !option.choices.empty())
        choices += fmt::format("    \"{} --{}\") offers=\"{}\" ;;\n", command.name, option.name,
                               fmt::join(option.choices, " "));
    }
    cases +=
        fmt::format("    \"{}\") offers=\"{}--config --print-config --help --help-all \" ;;\n", command.name, words);
  }
  std::string groups, words_of_groups;
  for (const auto& [group, unused] : words_after("", commands)) {
    const std::string next = joined(group);
    if (next.empty()) continue;  // a command
    groups += group + R"() [ "$COMP_CWORD" -gt 2 ] && command="$command ${COMP_WORDS[2]}" ;; )";
    words_of_groups +=
        fmt::format("  elif [ \"$COMP_CWORD\" -eq 2 ] && [ \"$command\" = {} ]; then offers=\"{}\"\n", group, next);
  }
  return fmt::format(R"(# bash completion for parsnets; source it or put it where bash-completion looks
_parsnets() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" offers="" command="${{COMP_WORDS[1]}}"
  case "$command" in {}esac
  if [ "$COMP_CWORD" -eq 1 ]; then offers="{}--help --version"
{}  else
    case "$command" in
{}    esac
    case "$command $prev" in
{}    esac
  fi
  COMPREPLY=($(compgen -W "$offers" -- "$cur"))
  [[ "$cur" == --* ]] || [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$cur"))
}}
complete -o filenames -F _parsnets parsnets
)",
                     groups, joined(""), words_of_groups, cases, choices);
}

}  // namespace

Command completion_command() {
  auto shell = std::make_shared<std::string>("bash");
  Command command{"completion", "print a completion script for the shell", "source <(parsnets completion bash)"};
  command.arguments = {
      {"SHELL", "bash (default); zsh loads the same script after bashcompinit", shell.get(), false, {"bash"}}};
  command.run = [shell](Context&) {
    refuse_if(*shell != "bash", "SHELL: expected bash, found '{}'", *shell);
    const std::string text = bash_script(all_commands());
    return Output{{{"script", text}}, text};
  };
  return command;
}

}  // namespace parsnets::cli
