#pragma once
// The paths of the server (docs/openapi.json).

#include <vector>

#include "serve/http.hpp"
#include "serve/metrics.hpp"
#include "serve/photographs.hpp"
#include "serve/service.hpp"
#include "serve/turnstile.hpp"

namespace parsnets {

/// All must outlive the routes. `photographs`: null where the server takes none. `turnstile`: through which requests
/// go that compute.
std::vector<Route> routes_of(const Service& service, const Photographs* photographs, Turnstile& turnstile,
                             Metrics& metrics);

}  // namespace parsnets
