#include "base/did_you_mean.hpp"

#include <algorithm>

namespace parsnets {

namespace {

/// The optimal string alignment distance: insertions, deletions, replacements and exchanges of neighbours.
std::size_t slips(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names, const std::string& prefix) {
  constexpr std::size_t kLongest = 60;  // what is longer is no slip
  if (word.size() > kLongest) return "";
  std::size_t fewest = word.size() / 3 + 1;
  const std::string* nearest = nullptr;
  for (const auto& name : names)
    if (const std::size_t count = slips(word, name); count < fewest) {
      fewest = count;
      nearest = &name;
    }
  return nearest == nullptr ? "" : "; did you mean '" + prefix + *nearest + "'?";
}

}  // namespace parsnets
