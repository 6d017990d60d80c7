#include <fmt/format.h>

#include "completion.hpp"

namespace parsnets::cli {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

/// The start of a line that holds where the words so far are this command.
std::string after(const std::string& command) {
  return fmt::format("complete -c parsnets -n {}", quoted("__parsnets_after " + quoted(command)));
}

}  // namespace

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
    for (const auto& one : words_after(group, commands))
      script += fmt::format("{} -a {} -d {}\n", after(group), one.word, quoted(one.summary));
  };
  add_words("");
  for (const auto& group : groups) add_words(group);
  for (const auto& command : commands) {
    const std::string start = after(command.name);
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

}  // namespace parsnets::cli
