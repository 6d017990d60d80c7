#pragma once
// One table per option struct: name, field, range or choices, help. The same table feeds command-line flags, config
// files, --print-config, the options stored in a model file and docs/options.md.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parsnets {

/// One row of a table. `assign` returns what was expected when the text does not fit, and then changes nothing.
struct Option {
  std::string name;  ///< as on the command line, without dashes
  std::string help;
  std::string expected;  ///< "an integer from 1 to 4096", "one of: l2, none", …
  std::string default_text;
  bool is_flag = false;
  std::vector<std::string> choices;  ///< empty unless it is a choice
  std::function<std::optional<std::string>(std::string_view)> assign;
  std::function<nlohmann::json()> value;
};

/// Refers to the fields of an option struct, which must outlive it.
class OptionTable {
 public:
  OptionTable& integer(std::string name, int& field, int low, int high, std::string help);
  OptionTable& unsigned_integer(std::string name, std::uint64_t& field, std::string help);
  OptionTable& number(std::string name, double& field, double low, double high, std::string help);
  OptionTable& flag(std::string name, bool& field, std::string help);
  /// A flag that is on by default and therefore takes a value: `--centre false`.
  OptionTable& flag_value(std::string name, bool& field, std::string help);
  OptionTable& text(std::string name, std::string& field, std::string help);
  OptionTable& path(std::string name, std::filesystem::path& field, std::string help);
  /// Sizes as "512MB", "2GB", "1048576"; 0 means no limit.
  OptionTable& bytes(std::string name, std::uint64_t& field, std::string help);
  template <class Enum>
  OptionTable& choice(std::string name, Enum& field, std::vector<std::pair<std::string, Enum>> values,
                      std::string help);

  /// Appends the rows of another table.
  OptionTable& append(const OptionTable& other);
  OptionTable& append_without(const OptionTable& other, const std::vector<std::string>& left_out);

  const std::vector<Option>& options() const { return options_; }
  const Option* find(std::string_view name) const;
  /// did_you_mean() of the names in the table.
  std::string suggestion(std::string_view name) const;

  /// All values as a JSON object, in table order.
  nlohmann::ordered_json to_json() const;
  /// All values as a config file: a comment with the help, then `name = value`.
  std::string to_config() const;
  /// Assigns every `name = value` line of a config file (# starts a comment); returns the names. Throws one bad_input
  /// that lists every unknown name and every value out of range, each with its line.
  std::vector<std::string> read_config(const std::filesystem::path& file);
  /// Assigns from a JSON object (a stored model's options); unknown names are ignored so that older files load.
  void from_json(const nlohmann::json& object, const std::string& file);

 private:
  OptionTable& add(Option option);
  std::vector<Option> options_;
};

template <class Enum>
OptionTable& OptionTable::choice(std::string name, Enum& field, std::vector<std::pair<std::string, Enum>> values,
                                 std::string help) {
  Option option;
  option.name = std::move(name);
  option.help = std::move(help);
  option.expected = "one of: ";
  for (const auto& [text, unused] : values) {
    option.expected += (option.choices.empty() ? "" : ", ") + text;
    option.choices.push_back(text);
  }
  option.assign = [&field, values, expected = option.expected](std::string_view text) -> std::optional<std::string> {
    for (const auto& [known, value] : values)
      if (known == text) {
        field = value;
        return std::nullopt;
      }
    return expected;
  };
  option.value = [&field, values] {
    for (const auto& [known, value] : values)
      if (value == field) return nlohmann::json(known);
    return nlohmann::json();
  };
  return add(std::move(option));
}

/// "1.5 GB", "96.6 MB", "312 B" (powers of 1000).
std::string format_bytes(double bytes);

}  // namespace parsnets
