#pragma once
// Where results come from: machine, libraries, compiler, version and commit.

#include "harness.hpp"

namespace bench {

json environment(const Settings& settings);
/// Processes that wanted a core, on average over the last minute.
double load_average();
/// Of the group of processes that the scheduler treats as one; below 0: it is preferred to other groups.
int autogroup_nice();

}  // namespace bench
