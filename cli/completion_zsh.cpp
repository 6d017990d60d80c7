#include <fmt/format.h>

#include "completion.hpp"

namespace parsnets::cli {

namespace {

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

}  // namespace

std::string zsh_script(const std::vector<Command>& commands) {
  std::string script =
      "#compdef parsnets\n# zsh completion for parsnets: put it as _parsnets into a folder of $fpath, or source it "
      "after "
      "compinit\n_parsnets() {\n  local command=\"$words[2]\"\n  if (( CURRENT == 2 )); then\n" +
      described(words_after("", commands), "    ") + "    return\n  fi\n  case \"$command\" in\n";
  for (const auto& group : command_groups(commands))
    script += fmt::format("    {})\n      if (( CURRENT == 3 )); then\n{}        return\n      fi\n", group,
                          described(words_after(group, commands), "        ")) +
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

}  // namespace parsnets::cli
