#include "report/overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace parsnets {

namespace {

using Json = nlohmann::ordered_json;

const Json& summary_of(const Json& part) { return part.at("runs").at(0).at("summary"); }

/// Ranks of the methods that have a figure on every data set where any method has one, so that all of them meet the
/// same rivals; equal figures share the mean of their ranks. Null for fewer than two such methods.
Json ranks_json(const Json& rows, const char* metric) {
  const std::size_t parts = rows.at(0).at("cells").size();
  const auto has = [&](const Json& row, std::size_t p) {
    return !row["cells"][p].is_null() && !row["cells"][p][metric].is_null();
  };
  std::vector<std::size_t> used;
  for (std::size_t p = 0; p < parts; ++p)
    if (std::ranges::any_of(rows, [&](const Json& row) { return has(row, p); })) used.push_back(p);
  std::vector<const Json*> complete;
  for (const auto& row : rows)
    if (std::ranges::all_of(used, [&](std::size_t p) { return has(row, p); })) complete.push_back(&row);
  if (used.empty() || complete.size() < 2) return nullptr;
  std::vector<Json> methods;
  for (const Json* row : complete) {
    std::size_t best = 0;
    double sum = 0;
    for (const std::size_t p : used) {
      const auto figure = [&](const Json* one) { return (*one)["cells"][p][metric].get<double>(); };
      const auto above = std::ranges::count_if(complete, [&](const Json*o) { return figure(o) > figure(row); }),
                 equal = std::ranges::count_if(complete, [&](const Json*o) { return figure(o) == figure(row); });
      best += above == 0;
      sum += static_cast<double>(above) + static_cast<double>(equal + 1) / 2;
    }
    methods.push_back(
        {{"method", (*row)["method"]}, {"best", best}, {"mean_rank", sum / static_cast<double>(used.size())}});
  }
  std::ranges::stable_sort(methods, {}, [](const Json& m) { return m["mean_rank"].get<double>(); });
  return {{"data_sets", used.size()}, {"methods", methods}};
}

}  // namespace

std::vector<std::string> part_names(const std::vector<Json>& parts) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const auto& part : parts) {
    const Json& own = summary_of(part);
    std::vector<std::string> more;
    for (const char* field : {"features", "semantics", "split"})
      if (std::ranges::any_of(parts, [&](const Json& other) {
            return summary_of(other)["data"] == own["data"] && summary_of(other)[field] != own[field];
          }))
        more.push_back(own[field].get<std::string>());
    std::erase(more, "");
    std::string name = own["data"].get<std::string>();
    if (!more.empty()) name += fmt::format(" ({})", fmt::join(more, ", "));
    std::string unique = name;
    for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{} #{}", name, i);
    names.push_back(unique);
  }
  return names;
}

Json overview_json(const std::vector<Json>& parts, const std::vector<std::string>& names) {
  Json rows = Json::array();
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const auto& run : parts[p].at("runs")) {
      auto row = std::ranges::find_if(rows, [&](const Json& one) { return one["method"] == run["name"]; });
      if (row == rows.end()) {
        rows.push_back({{"method", run["name"]}, {"cells", std::vector<Json>(parts.size())}});
        row = rows.end() - 1;
      }
      (*row)["cells"][p] = {{"zsl", run["summary"]["zsl"]}, {"h", run["summary"]["h"]}};
    }
  Json ranks{{"zsl", ranks_json(rows, "zsl")}, {"h", ranks_json(rows, "h")}};
  return {{"parts", names}, {"rows", std::move(rows)}, {"ranks", std::move(ranks)}};
}

}  // namespace parsnets
