
#include "bench_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/file.hpp"
#include "eval/metrics.hpp"
#include "experiments/bench_results.hpp"

namespace parsnets::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string mean_and_spread(const std::vector<double>& values) {
  if (values.empty()) return "-";
  const Interval interval = confidence_interval(values);
  return values.size() == 1 ? fmt::format("{:.1f}", interval.mean)
                            : fmt::format("{:.1f} ± {:.1f}", interval.mean, interval.sd);
}

/// Text that stays in its cell.
std::string cell(std::string text) {
  for (char& c : text)
    if (c == '|' || c == '\n') c = c == '|' ? '/' : ' ';
  return text;
}

/// "ZSL 61.2 [55.0, 67.1]"; a difference has a sign and p.
std::string result_with_interval(const char* name, const Json& row, const char* key) {
  if (!row.contains(key)) return "";
  const Json& result = row.at(key);
  const double low = result.at("low").get<double>(), high = result.at("high").get<double>();
  if (!result.contains("difference"))
    return fmt::format("  {} {:.1f} [{:.1f}, {:.1f}]", name, result.at("estimate").get<double>(), low, high);
  return fmt::format("  {} {:+.1f} [{:+.1f}, {:+.1f}] p {:.2g}", name, result.at("difference").get<double>(), low, high,
                     result.at("p").get<double>());
}

}  // namespace

std::string bench_table_head() {
  return "| method | ZSL | U | S | H | AUSUC | val ZSL | gap | seconds |\n|---|---|---|---|---|---|---|---|---|\n";
}

std::string bench_table_row(const Json& method) {
  const Json& runs = method.at("runs");
  std::string name = method.at("method").get<std::string>();
  if (method.contains("error")) name += fmt::format(" (failed: {})", method.at("error").get<std::string>());
  const auto gaps = values_of(runs, "/record/svr/relative_gap");
  const std::string gap = gaps.empty() ? "-" : fmt::format("{:.1e}", *std::max_element(gaps.begin(), gaps.end()));
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", cell(name),
                     mean_and_spread(values_of(runs, "/zsl/top1_per_class")),
                     mean_and_spread(values_of(runs, "/gzsl/u")), mean_and_spread(values_of(runs, "/gzsl/s")),
                     mean_and_spread(values_of(runs, "/gzsl/h")), mean_and_spread(values_of(runs, "/gzsl/ausuc")),
                     mean_and_spread(values_of(runs, "/record/validation/zsl")), gap,
                     mean_and_spread(values_of(runs, "/seconds")));
}

std::string bench_uncertainty(const Json& methods) {
  std::size_t width = 0;
  for (const auto& row : methods) width = std::max(width, row.at("method").get<std::string>().size());
  const auto lines = [&](const char* key, const std::string& heading) {
    std::string text;
    for (const auto& row : methods)
      if (row.contains(key))
        text +=
            fmt::format("  {:<{}}{}{}\n", row.at("method").get<std::string>(), width,
                        result_with_interval("ZSL", row.at(key), "zsl"), result_with_interval("H", row.at(key), "h"));
    return text.empty() ? "" : "\n" + heading + "\n" + text;
  };
  return lines("intervals",
               "95 % intervals over classes and samples: where results may lie with other test classes of this kind") +
         lines("versus", fmt::format("difference from {} on the same classes and samples, 95 % interval; p: exchanging "
                                     "the methods in whole classes",
                                     methods.empty() ? "" : methods.at(0).at("method").get<std::string>()));
}

std::string cited_table_rows(const std::vector<CitedRow>& rows) {
  std::string text;
  const auto percent = [](const std::optional<double>& v) { return v ? fmt::format("{:.1f}", *v) : std::string("-"); };
  for (const auto& row : rows) {
    std::vector<std::string> about{row.features, row.source};
    if (row.own) about = {row.features, row.semantics, row.split, row.source, "own row, not measured here"};
    std::erase(about, "");
    text += fmt::format("| *{}* ({}) | {} | {} | {} | {} | - | - | - | - |\n", cell(row.method),
                        cell(fmt::format("{}", fmt::join(about, "; "))), percent(row.zsl), percent(row.u),
                        percent(row.s), percent(row.h));
  }
  return text;
}

namespace {

constexpr const char* kOption = "table";

std::vector<std::string> names_in(const std::string& files) {
  std::vector<std::string> names;
  std::istringstream list(files);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  return names;
}

}  // namespace

void add_table_files(OptionTable& options, std::string& files) {
  options.text(kOption, files,
               "files for the table, comma-separated; the ending is the format: .md, .csv, .tex (booktabs) or .json");
}

void check_table_files(const std::string& files) {
  for (const auto& name : names_in(files)) {
    table_format_of(name, kOption);
    check_writable(name);
  }
}

void write_table_files(const ResultTable& table, const std::string& files) {
  for (const auto& name : names_in(files)) {
    make_folder_of(name);
    write_text_file(name, to_text(table, table_format_of(name, kOption)));
  }
}

}  // namespace parsnets::cli
