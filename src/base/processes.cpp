#include "base/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "parsnets/error.hpp"

namespace parsnets {

Share Processes::share(std::size_t count) const {
  const std::size_t each = count / size(), more = count % size();
  return {rank() * each + std::min(rank(), more), each + (rank() < more ? 1 : 0)};
}

void together(Processes& processes, const std::function<void()>& body) {
  if (processes.size() == 1) return body();
  std::vector<std::uint64_t> failed(processes.size(), 0);
  std::string message;
  std::exception_ptr own;
  try {
    body();
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    failed[processes.rank()] = static_cast<std::uint64_t>(error != nullptr ? error->code() : ErrorCode::failure);
    message = e.what();
    own = std::current_exception();
  }
  processes.sum(failed);
  const auto first = std::find_if(failed.begin(), failed.end(), [](std::uint64_t f) { return f != 0; });
  if (first == failed.end()) return;
  const auto root = static_cast<std::size_t>(first - failed.begin());
  processes.broadcast(message, root);
  if (processes.rank() == root) std::rethrow_exception(own);
  throw Error(static_cast<ErrorCode>(*first), fmt::format("process {}: {}", root, message));
}

}  // namespace parsnets
