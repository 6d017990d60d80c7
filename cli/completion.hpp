#pragma once
// Completion scripts, made from the command descriptions.

#include <string>
#include <vector>

#include "command.hpp"

namespace parsnets::cli {

/// A command or a group at one place of the line.
struct CompletedWord {
  std::string word, summary;
};

/// What can follow `group`, or `parsnets` itself for "": commands and, at the top, groups.
std::vector<CompletedWord> words_after(const std::string& group, const std::vector<Command>& commands);
/// The first words of commands of two words.
std::vector<std::string> command_groups(const std::vector<Command>& commands);
/// The command's own options, then those of all commands.
std::vector<Option> completed_options(const Command& command);
/// Whether the value of an option may be a file.
bool takes_file(const Option& option);

std::string bash_script(const std::vector<Command>& commands);
std::string zsh_script(const std::vector<Command>& commands);
std::string fish_script(const std::vector<Command>& commands);

}  // namespace parsnets::cli
