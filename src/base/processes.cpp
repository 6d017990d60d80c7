#include "parsnets/processes.hpp"

#include <algorithm>

namespace parsnets {

Share Processes::share(std::size_t count) const {
  const std::size_t each = count / size(), more = count % size();
  return {rank() * each + std::min(rank(), more), each + (rank() < more ? 1 : 0)};
}

void SingleProcess::sum(std::span<double>) {}
void SingleProcess::sum(std::span<float>) {}
void SingleProcess::sum(std::span<std::uint64_t>) {}
void SingleProcess::broadcast(std::string&, std::size_t) {}
std::vector<std::string> SingleProcess::gather(const std::string& text) { return {text}; }

}  // namespace parsnets
