#pragma once
// What every response carries, and the text of responses that end a connection.

#include <string>
#include <utility>
#include <vector>

#include "serve/http.hpp"

namespace parsnets {

/// The headers of a response except its type and length: its own, security and caching. `page`: as in Route.
std::vector<std::pair<std::string, std::string>> headers_of(const HttpResponse& response, bool page);

/// A response that needs no parsed request, with the end of the connection. `head_alone`: to a HEAD request.
std::string closing_text(const HttpResponse& response, bool head_alone = false);

}  // namespace parsnets
