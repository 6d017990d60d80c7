#include "serve/route_finder.hpp"

namespace parsnets {

namespace {

/// Whether the path is that of the route; `captured` gets what stood for `*`.
bool matches(std::string_view pattern, std::string_view path, std::vector<std::string>& captured) {
  captured.clear();
  for (;;) {
    const auto star = pattern.find('*');
    if (star == std::string_view::npos) return pattern == path;
    if (path.substr(0, star) != pattern.substr(0, star)) return false;
    path.remove_prefix(star);
    pattern.remove_prefix(star + 1);
    captured.emplace_back(path.substr(0, path.find('/')));
    if (captured.back().empty()) return false;
    path.remove_prefix(captured.back().size());
  }
}

}  // namespace

FoundRoute find_route(std::span<const Route> routes, std::string_view method, std::string_view path) {
  if (method == "HEAD") method = "GET";
  FoundRoute found;
  for (const Route& route : routes) {
    if (!matches(route.path, path, found.captured)) continue;
    found.allowed += (found.allowed.empty() ? "" : ", ") + route.method + (route.method == "GET" ? ", HEAD" : "");
    if (route.method != method) continue;
    found.route = &route;
    break;
  }
  return found;
}

}  // namespace parsnets
