#pragma once
// The parts of a multipart/form-data body (RFC 7578), in one pass.

#include <string>
#include <string_view>
#include <vector>

namespace parsnets {

struct Part {
  std::string name;
  std::string type;          ///< media type without parameters, lower case; empty: the part does not say
  std::string_view content;  ///< bytes of the body
};

constexpr std::size_t kMostParts = 8, kMostPartHeadBytes = 8192;

/// `content_type`: the value of that header. The parts refer to `body`. What stands before the first boundary and after
/// the last one is ignored. Throws HttpError 400: for a boundary of other than 1 to 70 characters that RFC 2046 allows,
/// a body without the last boundary, more parts or longer part heads than the constants say, part heads with folded
/// lines, or without one Content-Disposition of form-data with a name. `looked_at`, unless null, is raised by one each
/// time that a byte of the body is looked at, also if it throws.
std::vector<Part> parse_multipart(std::string_view content_type, std::string_view body,
                                  std::size_t* looked_at = nullptr);

}  // namespace parsnets
