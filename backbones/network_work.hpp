#pragma once
// Runs a network in the sandbox (parsnets-decode-photos).

#include "work.hpp"

namespace parsnets::decode {

/// Of the file that the process was given.
Work open_network_work();

}  // namespace parsnets::decode
