#pragma once
// Warnings as a person reads them.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace parsnets::cli {

/// "warning: ...", a line for each of the "warnings" in `json`; "" without any.
inline std::string warning_lines(const nlohmann::ordered_json& json) {
  std::string text;
  for (const auto& warning : json.value("warnings", std::vector<std::string>{})) text += "warning: " + warning + "\n";
  return text;
}

}  // namespace parsnets::cli
