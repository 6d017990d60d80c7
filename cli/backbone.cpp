// parsnets backbone list|get|check: the networks that turn photographs into features, by name.

#include <fmt/format.h>

#include "backbones.hpp"
#include "base/file.hpp"
#include "command.hpp"
#include "parsnets/error.hpp"

namespace parsnets::cli {

namespace {

std::string names() {
  std::string text;
  for (const auto& one : known_backbones()) text += (text.empty() ? "" : ", ") + std::string(one.name);
  return text;
}

nlohmann::ordered_json to_json(const KnownBackbone& one) {
  return {{"name", one.name},
          {"network", one.network},
          {"features", one.features},
          {"package", one.package},
          {"fetched_megabytes", one.fetched_megabytes},
          {"sha256", one.sha256},
          {"file", file_of(one).string()}};
}

}  // namespace

Command backbone_list_command() {
  Command command{"backbone list", "list the backbones that are known by name", "parsnets backbone list"};
  command.run = [](Context&) {
    Output output;
    for (const auto& one : known_backbones()) {
      const bool there = is_there(one);
      output.json["backbones"].push_back(to_json(one));
      output.json["backbones"].back()["is_there"] = there;
      output.text += fmt::format(
          "{:<11}{:>5} features  {}; {}\n", one.name, one.features, one.network,
          there ? file_of(one).string()
                : fmt::format("not here; 'parsnets backbone get {}' fetches {} MB", one.name, one.fetched_megabytes));
    }
    return output;
  };
  return command;
}

Command backbone_get_command() {
  auto name = std::make_shared<std::string>();
  Command command{"backbone get", "fetch a backbone into the user's cache folder", "parsnets backbone get mobilenet"};
  std::vector<std::string> choices;
  for (const auto& one : known_backbones()) choices.emplace_back(one.name);
  command.arguments = {{"NAME", "a backbone of 'parsnets backbone list'", name.get(), true, std::move(choices)}};
  command.run = [name](Context& context) {
    const KnownBackbone* known = find_known_backbone(*name);
    refuse_if(known == nullptr, "NAME: expected one of {}, found '{}'", names(), *name);
    const std::string file = get_backbone(*known, context.progress).string();
    return Output{to_json(*known), fmt::format("{}: {} features, SHA-256 {}\n", file, known->features, known->sha256)};
  };
  return command;
}

Command backbone_check_command() {
  Command command{"backbone check", "compare the backbones in the user's cache folder with their SHA-256",
                  "parsnets backbone check"};
  command.run = [](Context&) {
    Output output;
    output.json["backbones"] = nlohmann::ordered_json::array();
    for (const auto& one : known_backbones()) {
      const auto file = file_of(one);
      std::error_code absent;
      if (!std::filesystem::exists(file, absent)) continue;
      const std::string found = sha256_of_file(file);
      const bool right = found == one.sha256;
      output.json["backbones"].push_back({{"file", file.string()}, {"sha256", found}, {"is_right", right}});
      output.text += fmt::format("{}: {}\n", file.string(), right ? "as expected" : "SHA-256 " + found);
      if (!right)
        output.failure = fmt::format("{}: expected SHA-256 {}; remove it and run 'parsnets backbone get {}'",
                                     file.string(), one.sha256, one.name);
    }
    if (output.text.empty()) output.text = "no backbones in " + (cache_folder() / "backbones").string() + "\n";
    return output;
  };
  return command;
}

}  // namespace parsnets::cli
