#pragma once
// One table per option struct: name, field, range or choices, help. The same table feeds command-line flags, config
// files, --print-config, the options stored in a model file and docs/options.md.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
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
  std::vector<std::string> choices;     ///< empty unless it is a choice
  std::string group = {};               ///< heading in help; empty: "Options"
  bool advanced = false;                ///< in --help-all, not in --help
  std::vector<std::string> tries = {};  ///< values that a search tries
  std::function<std::optional<std::string>(std::string_view)> assign;
  /// Of rows that take several values; null for the others.
  std::function<void(std::vector<std::string>)> assign_all = {};
  std::function<nlohmann::json()> value;  ///< null: "auto"
};

/// Refers to the fields of an option struct, which must outlive it.
class OptionTable {
 public:
  OptionTable& integer(std::string name, int& field, int low, int high, std::string help);
  OptionTable& unsigned_integer(std::string name, std::uint64_t& field, std::string help);
  OptionTable& number(std::string name, double& field, double low, double high, std::string help);
  /// A share strictly between 0 and 1: "5%" or "0.05"; its JSON is the percentage.
  OptionTable& share(std::string name, double& field, std::string help);
  /// The same, or "auto" for none.
  OptionTable& share(std::string name, std::optional<double>& field, std::string help);
  /// The same, or 0.
  OptionTable& share_or_none(std::string name, double& field, std::string help);
  /// Positive numbers, separated by commas or, inside a grid, by colons.
  /// "auto" stands for an empty list.
  OptionTable& positive_numbers(std::string name, std::vector<double>& field, std::string help);
  /// A number that follows from the data where it is "auto"; the field then holds −1.
  OptionTable& integer_or_auto(std::string name, int& field, int low, int high, std::string help);
  OptionTable& number_or_auto(std::string name, double& field, double low, double high, std::string help);
  OptionTable& flag(std::string name, bool& field, std::string help);
  /// A flag that is on by default and therefore takes a value: `--centre false`.
  OptionTable& flag_value(std::string name, bool& field, std::string help);
  OptionTable& text(std::string name, std::string& field, std::string help);
  /// Several values on the command line, each as it is; one elsewhere, so that what reads the field may split it.
  OptionTable& texts(std::string name, std::vector<std::string>& field, std::string help);
  OptionTable& path(std::string name, std::filesystem::path& field, std::string help);
  /// Sizes as "512MB", "2GB", "1048576"; 0 means no limit.
  OptionTable& bytes(std::string name, std::uint64_t& field, std::string help);
  template <class Enum>
  OptionTable& choice(std::string name, Enum& field,
                      const std::type_identity_t<std::vector<std::pair<std::string, Enum>>>& values, std::string help);
  /// What "auto" means for the row that was added last, for help and documentation.
  OptionTable& automatic(std::string meaning);
  /// The heading in help of the rows that are added or appended from now on, unless they have one.
  OptionTable& group(std::string name);
  /// Leaves the row that was added last to --help-all.
  OptionTable& advanced();
  /// The values that a search tries for the row that was added last.
  OptionTable& tries(std::vector<std::string> values);
  /// A row that is made by hand.
  OptionTable& row(Option option);
  /// A row of this name, which must exist, to be changed.
  Option& find_row(std::string_view name);

  /// Appends the rows of another table, but for some.
  OptionTable& append(const OptionTable& other, const std::vector<std::string>& left_out = {});

  const std::vector<Option>& options() const { return options_; }
  const Option* find(std::string_view name) const;
  /// did_you_mean() of the names in the table.
  std::string suggestion(std::string_view name) const;

  /// All values as a JSON object, in table order.
  nlohmann::ordered_json to_json() const;
  /// All values as a config file: a comment with the help, then `name = value`.
  std::string to_config() const;
  /// Assigns every `name = value` line of a config file (# starts a comment); returns the names. Throws one bad_input
  /// naming `file` that lists every unknown name and every value out of range, each with its line.
  std::vector<std::string> read_config(std::string_view text, const std::string& file);
  /// Assigns from a JSON object (a stored model's options); unknown names are ignored so that older files load.
  void from_json(const nlohmann::json& object, const std::string& file);

  /// The values that are not those of another table with the same rows, as texts that `assign` takes.
  std::map<std::string, std::string> different_from(const OptionTable& other) const;

 private:
  /// `parse` turns a text into a value, or into nothing when it does not fit; `show` turns a value into JSON.
  template <class Field, class Parse, class Show = std::identity>
  OptionTable& add(std::string name, Field& field, std::string expected, std::string help, Parse parse, Show show = {});
  /// `set` and `get` take and give the number of the choice.
  OptionTable& add_choice(std::string name, std::vector<std::string> names, std::string help,
                          std::function<void(std::size_t)> set, std::function<std::size_t()> get);
  std::vector<Option> options_;
  std::string group_;
};

template <class Enum>
OptionTable& OptionTable::choice(std::string name, Enum& field,
                                 const std::type_identity_t<std::vector<std::pair<std::string, Enum>>>& values,
                                 std::string help) {
  std::vector<std::string> names;
  for (const auto& [text, unused] : values) names.push_back(text);
  const auto get = [&field, values] {
    const auto found = std::ranges::find(values, field, &std::pair<std::string, Enum>::second);
    return static_cast<std::size_t>(found - values.begin());
  };
  const auto set = [&field, values](std::size_t at) { field = values[at].second; };
  return add_choice(std::move(name), std::move(names), std::move(help), set, get);
}

/// The value of an option as a text that `assign` takes.
std::string value_text(const Option& option);

/// The share that "5%" or "0.05" means; nothing unless it lies strictly between 0 and 1.
std::optional<double> parse_share(std::string_view text);
/// "5%", "97.5%": parse_share() gives the same value back.
std::string format_share(double share);

/// "1.5 GB", "96.6 MB", "312 B" (powers of 1000).
std::string format_bytes(double bytes);

}  // namespace parsnets
