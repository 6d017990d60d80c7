#pragma once
// What somebody may have meant who mistyped a name.

#include <string>
#include <string_view>
#include <vector>

namespace parsnets {

/// "; did you mean 'train'?" for the nearest of `names`, or "" if none is near: at most one slip (a letter too many,
/// too few, wrong, or two exchanged) for every three letters. `prefix` is put before the name, such as "--".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, const std::string& prefix = "");

}  // namespace parsnets
