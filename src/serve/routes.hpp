#pragma once
// The paths of the server (docs/openapi.json).

#include <vector>

#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/service.hpp"

namespace parsnets {

/// Both must outlive the routes.
std::vector<Route> routes_of(const Service& service, Metrics& metrics);

}  // namespace parsnets
