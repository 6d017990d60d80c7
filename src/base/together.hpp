#pragma once
// Work of a group of processes that succeeds for all of them or for none.

#include <functional>

#include "parsnets/processes.hpp"

namespace parsnets {

/// Calls body() on every process. When it throws on one or more, all throw the error of the first of these.
void together(Processes& processes, const std::function<void()>& body);

}  // namespace parsnets
