// Training options behind parsnets.h: the table of the command line, and the seed.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "capi/handles.hpp"
#include "train/train_options.hpp"

using namespace parsnets;
using namespace parsnets::capi;

parsnets_options::parsnets_options() : table(train_option_table(settings)) {
  table.path("checkpoint", settings.run.checkpoint, "file in which training saves its state")
      .flag("resume", settings.run.resume, "continue from the checkpoint")
      .unsigned_integer("seed", settings.run.seed, "random seed");
}

parsnets_status parsnets_options_create(parsnets_options** options) {
  return created(options, "options", [&] { return new parsnets_options; });
}

void parsnets_options_free(parsnets_options* options) { delete options; }

parsnets_status parsnets_options_set(parsnets_options* options, const char* name, const char* value) {
  return guarded([&] {
    require({{options, "options"}, {name, "name"}, {value, "value"}});
    check_utf8(value, "the value of an option");
    const Option* option = options->table.find(name);
    if (option == nullptr) {
      const std::string suggestion = options->table.suggestion(name);
      throw Error(ErrorCode::usage, fmt::format("unknown training option '{}'{}", name,
                                                suggestion.empty() ? "; docs/options.md lists them" : suggestion));
    }
    if (const auto expected = option->assign(value))
      throw Error(ErrorCode::usage, fmt::format("{}: expected {}, found '{}'", option_name(name), *expected, value));
  });
}

parsnets_status parsnets_options_json(parsnets_options* options, const char** json) {
  return guarded([&] {
    require({{options, "options"}, {json, "json"}});
    options->text = options->table.to_json().dump();
    *json = options->text.c_str();
  });
}

parsnets_status parsnets_options_describe(parsnets_options* options, const char** json) {
  return guarded([&] {
    require({{options, "options"}, {json, "json"}});
    auto list = nlohmann::ordered_json::array();
    for (const auto& option : options->table.options())
      list.push_back({{"name", option.name},
                      {"help", option.help},
                      {"expected", option.expected},
                      {"default", option.default_text},
                      {"choices", option.choices}});
    options->text = list.dump();
    *json = options->text.c_str();
  });
}
