#pragma once
// Where results come from: machine, libraries, compiler, version and commit.

#include "harness.hpp"

namespace bench {

json environment(const Settings& settings);
/// Processes that wanted a core, on average over the last minute.
double load_average();

}  // namespace bench
