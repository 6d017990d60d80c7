// parsnets docs options|man: docs/options.md and the man page, made from the command descriptions.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "command.hpp"
#include "parsnets/error.hpp"
#include "parsnets/version.hpp"

namespace parsnets::cli {

namespace {

std::string usage_line(const Command& command) {
  std::string line = "parsnets " + command.name;
  for (const auto& argument : command.arguments)
    line += argument.required ? " " + argument.name : " [" + argument.name + "]";
  return line + " [options]";
}

/// The rows of each group together, in the order in which the groups begin.
std::vector<Option> by_group(const OptionTable& table) {
  std::vector<std::string> groups;
  for (const auto& option : table.options())
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  std::vector<Option> rows;
  for (const auto& group : groups)
    std::ranges::copy_if(table.options(), std::back_inserter(rows),
                         [&](const auto& row) { return row.group == group; });
  return rows;
}

std::string table_head(const std::string& title) {
  return (title.empty() ? "" : "\n### " + title + "\n") +
         std::string("\n| option | default | value | meaning |\n|---|---|---|---|\n");
}

std::string table_row(const Option& option) {
  return fmt::format("| `--{}` | {} | {} | {} |\n", option.name,
                     option.default_text.empty() ? "" : "`" + option.default_text + "`",
                     option.is_flag ? "" : option.expected, option.help);
}

std::string options_page() {
  std::string page =
      "# Options\n\nMade by `parsnets docs options` from the tables that the commands themselves read; a test compares "
      "them.\n\n"
      "Every command also takes `--json`, `--quiet`, `--seed N`, `--threads N`, `--config FILE` and `--print-config`. "
      "A config file has\n"
      "`name = value` lines with the names below; flags on the command line win over it.\n";
  for (const auto& command : all_commands()) {
    page += fmt::format("\n## {}\n\n{}. `{}`\n", command.name, command.summary, usage_line(command));
    if (!command.example.empty()) page += fmt::format("\nExample: `{}`\n", command.example);
    const auto in_family = [&](const Option& option) {
      return std::ranges::any_of(command.families,
                                 [&](const auto& family) { return family.options.find(option.name) != nullptr; });
    };
    std::optional<std::string> group;
    for (const auto& option : by_group(command.options)) {
      if (in_family(option)) continue;
      if (option.group != group) {
        group = option.group;
        page += group->empty() ? table_head("") : table_head(command.name + ": " + *group);
      }
      page += table_row(option);
    }
    for (const auto& family : command.families) {
      page += table_head(command.name + ": " + family.title);
      for (const auto& option : family.options.options()) page += table_row(option);
    }
  }
  return page;
}

/// In roff a leading dot or quote is a request, and a plain hyphen is typeset as one.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
  return !out.empty() && (out.front() == '.' || out.front() == '\'') ? "\\&" + out : out;
}

std::string man_page() {
  std::string page = fmt::format(
      ".TH PARSNETS 1 \"\" \"parsnets {}\" \"User Commands\"\n.SH NAME\nparsnets \\- zero\\-shot learning with sparse "
      "compositions of linear networks\n",
      PARSNETS_VERSION);
  page += ".SH SYNOPSIS\n.B parsnets\n.I COMMAND\n[options]\n.SH DESCRIPTION\n";
  page +=
      "ParsNets learns from labelled samples of some classes and recognises classes it has never seen from a "
      "description of them (an attribute vector).\n";
  page += ".SH COMMANDS\n";
  for (const auto& command : all_commands()) {
    page += fmt::format(".SS {}\n{}\n.PP\n.B {}\n", roff(command.name), roff(command.summary + "."),
                        roff(usage_line(command)));
    for (const auto& argument : command.arguments)
      page += fmt::format(".TP\n.I {}\n{}\n", roff(argument.name), roff(argument.help));
    for (const auto& option : command.options.options())
      page += fmt::format(
          ".TP\n.B \\-\\-{}\n{}\n", roff(option.name),
          roff(option.help +
               (option.is_flag ? ""
                               : " (" + option.expected +
                                     (option.default_text.empty() ? "" : "; default " + option.default_text) + ")")));
  }
  page +=
      ".SH COMMON OPTIONS\n.TP\n.B \\-\\-json\nprint one JSON object on standard output\n.TP\n.B \\-\\-quiet\nno "
      "progress; results, warnings and errors stay\n";
  page +=
      ".TP\n.B \\-\\-seed N\nseed of everything that is drawn\n.TP\n.B \\-\\-threads N\nworker threads; 0 means one "
      "per core\n";
  page +=
      ".TP\n.B \\-\\-config FILE\nread options from FILE\n.TP\n.B \\-\\-print\\-config\nprint the options in effect "
      "and stop\n";
  page += ".SH EXIT STATUS\n0 ok, 1 failure, 2 usage, 3 bad input, 130 interrupted.\n";
  page += ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours when set\n";
  return page;
}

}  // namespace

Command docs_command() {
  auto page = std::make_shared<std::string>();
  Command command;
  command.name = "docs";
  command.summary = "print the reference of all options, or the man page";
  command.example = "parsnets docs man | man -l -";
  command.arguments = {{"PAGE", "options or man", page.get(), true, {"options", "man"}}};
  command.run = [page](Context&) {
    if (*page != "options" && *page != "man")
      throw Error(ErrorCode::usage, "PAGE: expected options or man, found '" + *page + "'");
    Output output;
    output.text = *page == "man" ? man_page() : options_page();
    output.json = {{"text", output.text}};
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
