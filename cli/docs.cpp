// parsnets docs options|man: docs/options.md and the man page, made from the command descriptions.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "command.hpp"
#include "parsnets/version.hpp"

namespace parsnets::cli {

namespace {

std::string usage_line(const Command& command) {
  std::string line = "parsnets " + command.name;
  for (const auto& argument : command.arguments)
    line += argument.required ? " " + argument.name : " [" + argument.name + "]";
  for (const auto& name : command.by_place) {
    const Option& option = *command.options.find(name);
    line += " [" + place_name(option) + (option.assign_all ? "…]" : "]");
  }
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
  return fmt::format("| `--{}` | {} | {} | {} |\n", option.name == "out" ? "out`, `-o" : option.name,
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
  std::string commands;
  for (const auto& command : all_commands()) {
    commands += fmt::format(".SS {}\n{}\n.PP\n.B {}\n", roff(command.name), roff(command.summary + "."),
                            roff(usage_line(command)));
    for (const auto& argument : command.arguments)
      commands += fmt::format(".TP\n.I {}\n{}\n", roff(argument.name), roff(argument.help));
    for (const auto& option : command.options.options())
      commands += fmt::format(".TP\n.B \\-\\-{}\n{}\n", roff(option.name), roff(help_of(option)));
  }
  std::string common;
  for (const auto& [option, help] : {std::pair("json", "print one JSON object on standard output"),
                                     {"quiet", "no progress; results, warnings and errors stay"},
                                     {"seed N", "seed of everything that is drawn"},
                                     {"threads N", "worker threads; 0 means one per core"},
                                     {"config FILE", "read options from FILE"},
                                     {"print-config", "print the options in effect and stop"}})
    common += fmt::format(".TP\n.B {}\n{}\n", roff(std::string("--") + option), help);
  return fmt::format(R"(.TH PARSNETS 1 "" "parsnets {}" "User Commands"
.SH NAME
parsnets \- zero\-shot learning with sparse compositions of linear networks
.SH SYNOPSIS
.B parsnets
.I COMMAND
[options]
.SH DESCRIPTION
ParsNets learns from labelled samples of some classes and recognises classes it has never seen from a description of )"
                     R"(them (an attribute vector).
.SH COMMANDS
{}.SH COMMON OPTIONS
{}.SH EXIT STATUS
0 ok, 1 failure, 2 usage, 3 bad input, 130 interrupted.
.SH ENVIRONMENT
.TP
.B NO_COLOR
no colours when set
)",
                     PARSNETS_VERSION, commands, common);
}

}  // namespace

Command docs_command() {
  auto page = std::make_shared<std::string>();
  Command command{"docs", "print the reference of all options, or the man page", "parsnets docs man | man -l -"};
  command.arguments = {{"PAGE", "options or man", page.get(), true, {"options", "man"}}};
  command.run = [page](Context&) {
    refuse_if(*page != "options" && *page != "man", "PAGE: expected options or man, found '{}'", *page);
    const std::string text = *page == "man" ? man_page() : options_page();
    return Output{{{"text", text}}, text};
  };
  return command;
}

}  // namespace parsnets::cli
