#pragma once
// Where this library or program was installed, and what was installed with it.

#include <filesystem>
#include <string>
#include <vector>

namespace parsnets {

/// The folder of the file that this code was loaded from: of libparsnets.so, or of the program. Empty when the system
/// does not say (there is no /proc), or says a relative path: nothing is ever looked for in the current folder.
std::filesystem::path folder_of_this_code();

/// Where a module or helper program `name` of this build may be; those that exist. `problem` says why there is none.
std::vector<std::filesystem::path> installed_with_this_code(const std::string& name, std::string& problem);

}  // namespace parsnets
