#include "base/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "parsnets/error.hpp"

namespace parsnets {

namespace {

template <class T>
bool parse_all(std::string_view text, T& value) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

std::string plain(const nlohmann::json& value) {
  return value.is_null() ? "auto" : value.is_string() ? value.get<std::string>() : value.dump();
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},
                                                            {"GB", 1e9},     {"TB", 1e12},    {"KiB", 0x1p10},
                                                            {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"", 1}};
  const auto [unit, scale] = *std::ranges::find_if(kUnits, [&](const auto& u) { return text.ends_with(u.first); });
  if (!unit.empty()) text = trim(text.substr(0, text.size() - unit.size()));
  double amount = 0;
  if (!parse_all(text, amount) || !(amount >= 0) || amount * scale > 1e18) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(amount * scale));
}

}  // namespace

std::string value_text(const Option& option) { return plain(option.value()); }

std::optional<double> parse_share(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text = trim(text.substr(0, text.size() - 1));
  double value = 0;
  if (!parse_all(text, value)) return std::nullopt;
  if (percent) value /= 100;
  return value > 0 && value < 1 ? std::optional(value) : std::nullopt;
}

std::string format_share(double share) {
  // 100 times a share can be off by one in the last digit: the fewest digits that give the share back.
  for (int digits = 6; digits < 17; ++digits)
    if (auto text = fmt::format("{:.{}g}%", 100 * share, digits); parse_share(text) == share) return text;
  return fmt::format("{}", share);
}

std::string format_bytes(double bytes) {
  if (bytes < 1000) return fmt::format("{:.0f} B", bytes);
  const char* units[] = {"kB", "MB", "GB", "TB"};
  int unit = -1;
  while (bytes >= 999.5 && unit < 3) {
    bytes /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, bytes < 99.95 ? 1 : 0, units[unit]);
}

OptionTable& OptionTable::row(Option option) {
  option.default_text = plain(option.value());
  option.group = group_;
  options_.push_back(std::move(option));
  return *this;
}

OptionTable& OptionTable::append(const OptionTable& other, const std::vector<std::string>& left_out) {
  for (const auto& option : other.options_) {
    if (std::ranges::count(left_out, option.name) > 0) continue;
    options_.push_back(option);
    if (option.group.empty()) options_.back().group = group_;
  }
  return *this;
}

namespace {

template <class T>
auto number_between(T low, T high) {
  return [low, high](std::string_view text) -> std::optional<T> {
    T value{};
    if (!parse_all(text, value) || !(value >= low && value <= high)) return std::nullopt;
    return value;
  };
}

template <class T>
std::string range(const char* kind, T low, T high) {
  return fmt::format("{} from {} to {}", kind, low, high);
}

std::optional<bool> parse_bool(std::string_view text) {
  if (text != "true" && text != "false") return std::nullopt;
  return text == "true";
}

const char* const kShare = "a share above 0 and below 1, such as 5% or 0.05";
nlohmann::json share_json(double share) { return format_share(share); }

template <class T>
auto number_or_auto_between(T low, T high) {
  return [between = number_between(low, high)](std::string_view text) -> std::optional<T> {
    return text == "auto" ? std::optional<T>(-1) : between(text);
  };
}

template <class T>
nlohmann::json number_or_auto_json(const T& value) {
  return value == -1 ? nlohmann::json("auto") : nlohmann::json(value);
}

}  // namespace

template <class Field, class Parse, class Show>
OptionTable& OptionTable::add(std::string name, Field& field, std::string expected, std::string help, Parse parse,
                              Show show) {
  Option option;
  option.name = std::move(name);
  option.help = std::move(help);
  option.expected = expected;
  option.assign = [&field, parse, expected = std::move(expected)](std::string_view text) -> std::optional<std::string> {
    auto value = parse(text);
    if (!value) return expected;
    field = std::move(*value);
    return std::nullopt;
  };
  option.value = [&field, show] { return nlohmann::json(show(field)); };
  return row(std::move(option));
}

OptionTable& OptionTable::add_choice(std::string name, std::vector<std::string> names, std::string help,
                                     std::function<void(std::size_t)> set, std::function<std::size_t()> get) {
  Option option;
  option.name = std::move(name);
  option.help = std::move(help);
  option.choices = names;
  option.expected = fmt::format("one of: {}", fmt::join(names, ", "));
  option.value = [get, names] { return nlohmann::json(names.at(get())); };
  option.assign = [set, names = std::move(names),
                   expected = option.expected](std::string_view text) -> std::optional<std::string> {
    const auto at = std::ranges::find(names, text);
    if (at == names.end()) return expected;
    set(static_cast<std::size_t>(at - names.begin()));
    return std::nullopt;
  };
  return row(std::move(option));
}

OptionTable& OptionTable::integer(std::string name, int& field, int low, int high, std::string help) {
  return add(std::move(name), field, range("an integer", low, high), std::move(help), number_between(low, high));
}

OptionTable& OptionTable::unsigned_integer(std::string name, std::uint64_t& field, std::string help) {
  return add(std::move(name), field, "a non-negative integer", std::move(help),
             number_between<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max()));
}

OptionTable& OptionTable::number(std::string name, double& field, double low, double high, std::string help) {
  return add(std::move(name), field, range("a number", low, high), std::move(help), number_between(low, high));
}

OptionTable& OptionTable::share(std::string name, double& field, std::string help) {
  return add(std::move(name), field, kShare, std::move(help), parse_share, share_json);
}

OptionTable& OptionTable::share(std::string name, std::optional<double>& field, std::string help) {
  const auto parse = [](std::string_view text) -> std::optional<std::optional<double>> {
    const auto share = parse_share(text);
    if (!share && text != "auto") return std::nullopt;
    return share;
  };
  const auto show = [](const std::optional<double>& share) { return share ? share_json(*share) : nlohmann::json(); };
  return add(std::move(name), field, std::string("auto or ") + kShare, std::move(help), parse, show);
}

OptionTable& OptionTable::share_or_none(std::string name, double& field, std::string help) {
  const auto parse = [](std::string_view text) {
    double zero = 1;
    return parse_all(text, zero) && zero == 0 ? std::optional(zero) : parse_share(text);
  };
  return add(std::move(name), field, "0, or a share below 1 such as 5% or 0.05", std::move(help), parse, share_json);
}

OptionTable& OptionTable::integer_or_auto(std::string name, int& field, int low, int high, std::string help) {
  return add(std::move(name), field, range("auto or an integer", low, high), std::move(help),
             number_or_auto_between(low, high), number_or_auto_json<int>);
}

OptionTable& OptionTable::number_or_auto(std::string name, double& field, double low, double high, std::string help) {
  return add(std::move(name), field, range("auto or a number", low, high), std::move(help),
             number_or_auto_between(low, high), number_or_auto_json<double>);
}

OptionTable& OptionTable::tries(std::vector<std::string> values) {
  options_.back().tries = std::move(values);
  return *this;
}

Option& OptionTable::find_row(std::string_view name) { return const_cast<Option&>(*find(name)); }

OptionTable& OptionTable::positive_numbers(std::string name, std::vector<double>& field, std::string help) {
  const auto parse = [](std::string_view text) -> std::optional<std::vector<double>> {
    std::vector<double> values;
    if (text == "auto") return values;
    for (const auto part : split_at(text, ",:")) {
      double value = 0;
      if (!parse_all(trim(part), value) || !(value > 0) || !std::isfinite(value)) return std::nullopt;
      values.push_back(value);
    }
    return values;
  };
  const auto show = [](const std::vector<double>& values) {
    return values.empty() ? nlohmann::json("auto") : nlohmann::json(fmt::format("{}", fmt::join(values, ",")));
  };
  return add(std::move(name), field, "auto or positive numbers separated by commas", std::move(help), parse, show);
}

OptionTable& OptionTable::flag(std::string name, bool& field, std::string help) {
  flag_value(std::move(name), field, std::move(help));
  options_.back().is_flag = true;
  return *this;
}

OptionTable& OptionTable::flag_value(std::string name, bool& field, std::string help) {
  add(std::move(name), field, "true or false", std::move(help), parse_bool);
  options_.back().choices = {"true", "false"};
  return *this;
}

OptionTable& OptionTable::text(std::string name, std::string& field, std::string help) {
  return add(std::move(name), field, "text", std::move(help),
             [](std::string_view text) { return std::optional<std::string>(text); });
}

OptionTable& OptionTable::texts(std::string name, std::vector<std::string>& field, std::string help) {
  add(
      std::move(name), field, "one or more paths", std::move(help),
      [](std::string_view text) {
        return std::optional(text.empty() ? std::vector<std::string>() : std::vector<std::string>{std::string(text)});
      },
      [](const std::vector<std::string>& values) {
        std::string list;
        for (const auto& value : values)
          list += (list.empty() ? "" : ",") + (values.size() > 1 ? csv_cell(value) : value);
        return nlohmann::json(list);
      });
  options_.back().assign_all = [&field](std::vector<std::string> values) { field = std::move(values); };
  return *this;
}

OptionTable& OptionTable::path(std::string name, std::filesystem::path& field, std::string help) {
  return add(
      std::move(name), field, "a path", std::move(help),
      [](std::string_view text) { return std::optional<std::filesystem::path>(text); },
      [](const std::filesystem::path& path) { return nlohmann::json(path.string()); });
}

OptionTable& OptionTable::bytes(std::string name, std::uint64_t& field, std::string help) {
  return add(std::move(name), field, "a size such as 512MB, 2GB or 0 for no limit", std::move(help), parse_bytes);
}

OptionTable& OptionTable::automatic(std::string meaning) {
  options_.back().default_text = std::move(meaning);
  return *this;
}

OptionTable& OptionTable::group(std::string name) {
  group_ = std::move(name);
  return *this;
}

OptionTable& OptionTable::advanced() {
  options_.back().advanced = true;
  return *this;
}

const Option* OptionTable::find(std::string_view name) const {
  for (const auto& option : options_)
    if (option.name == name) return &option;
  return nullptr;
}

std::string OptionTable::suggestion(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& option : options_) names.push_back(option.name);
  return did_you_mean(name, names);
}

nlohmann::ordered_json OptionTable::to_json() const {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& option : options_) object[option.name] = option.value();
  return object;
}

std::map<std::string, std::string> OptionTable::different_from(const OptionTable& other) const {
  std::map<std::string, std::string> different;
  for (const auto& option : options_)
    if (const auto value = option.value(); value != other.find(option.name)->value())
      different[option.name] = plain(value);
  return different;
}

std::string OptionTable::to_config() const {
  std::string text;
  for (const auto& option : options_)
    text += fmt::format("# {} ({})\n{} = {}\n", option.help, option.expected, option.name, plain(option.value()));
  return text;
}

std::vector<std::string> OptionTable::read_config(std::string_view text, const std::string& file) {
  std::string problems;
  std::vector<std::string> names;
  std::size_t line_number = 0;
  for (auto line : split_at(text, "\n")) {
    ++line_number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto complain = [&](const std::string& what) {
      problems += fmt::format("{}{}:{}: {}", problems.empty() ? "" : "; ", file, line_number, what);
    };
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) {
      complain(fmt::format("expected 'name = value', found '{}'", line));
      continue;
    }
    const auto name = trim(line.substr(0, equals)), value = trim(line.substr(equals + 1));
    const Option* option = find(name);
    if (option == nullptr)
      complain(fmt::format("unknown option '{}'{}", name, suggestion(name)));
    else if (const auto expected = option->assign(value))
      complain(fmt::format("{}: expected {}, found '{}'", name, *expected, value));
    else
      names.emplace_back(name);
  }
  if (!problems.empty())
    throw Error(BadInput{file, "", "options of this command, one 'name = value' per line", problems,
                         "compare with " + option_name("print-config")});
  return names;
}

void OptionTable::from_json(const nlohmann::json& object, const std::string& file) {
  for (const auto& option : options_) {
    if (!object.contains(option.name)) continue;
    const std::string value = plain(object.at(option.name));
    if (const auto expected = option.assign(value))
      throw Error(BadInput{file, "option " + option.name, *expected, "'" + value + "'", ""});
  }
}

}  // namespace parsnets
