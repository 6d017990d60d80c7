// parsnets docs options|man: docs/options.md and the man page, made from the command descriptions.

#include <fmt/format.h>

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
    if (command.options.options().empty()) continue;
    page += "\n| option | default | value | meaning |\n|---|---|---|---|\n";
    for (const auto& option : command.options.options())
      page += fmt::format("| `--{}` | {} | {} | {} |\n", option.name,
                          option.default_text.empty() ? "" : "`" + option.default_text + "`",
                          option.is_flag ? "" : option.expected, option.help);
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
