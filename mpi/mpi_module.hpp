#pragma once
// What the module parsnets-mpi exports. Loaded by name: the command line does not link to MPI.

#include "base/processes.hpp"

namespace parsnets {

extern "C" {
/// The processes of this MPI job; starts MPI at the first call.
Processes* parsnets_mpi_start();
/// Called by a process that has failed. 1: all processes have, so that one message is enough. Waits for them, long
/// before the first sum, where nobody waits for this process yet, and a little after.
int parsnets_mpi_all_fail();
/// Ends all processes of the job.
void parsnets_mpi_abort(int code);
/// Ends MPI; all processes call it.
void parsnets_mpi_end();
/// What the MPI library says of itself.
const char* parsnets_mpi_library();
}

}  // namespace parsnets
