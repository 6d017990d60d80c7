#pragma once
// Which route answers a path.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.hpp"

namespace parsnets {

struct FoundRoute {
  const Route* route = nullptr;       ///< null: no route has this path, or none of them this method
  std::string allowed;                ///< methods of the path, as in an Allow header; empty: there is no such path
  std::vector<std::string> captured;  ///< what stood in place of `*`
};

/// The first route with this path and method; HEAD is answered as GET. The routes must outlive what is returned.
FoundRoute find_route(std::span<const Route> routes, std::string_view method, std::string_view path);

}  // namespace parsnets
