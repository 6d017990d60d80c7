#include "process_group.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "command.hpp"
#include "mpi_module.hpp"

namespace parsnets::cli {

namespace {

constexpr const char* kMpiModule = "parsnets-mpi.so";

/// The variables in which Open MPI, MPICH and Slurm tell a process that it has others beside it.
bool started_by_mpirun() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(variable) != nullptr) return true;
  return false;
}

void* mpi_module(std::string& problem) { return open_module(kMpiModule, RTLD_NOW | RTLD_GLOBAL, problem); }

}  // namespace

ProcessGroup::ProcessGroup() {
  if (!started_by_mpirun()) return;
  std::string problem;
  module_ = mpi_module(problem);
  refuse_if(module_ == nullptr,
            "started by mpirun: expected the module {}, found {}; install libopenmpi-dev and build again", kMpiModule,
            problem.empty() ? "none" : problem);
  processes_ = function_of<decltype(parsnets_mpi_start)>(module_, "parsnets_mpi_start")();
}

ProcessGroup::~ProcessGroup() {
  if (module_ != nullptr) function_of<decltype(parsnets_mpi_end)>(module_, "parsnets_mpi_end")();
}

void ProcessGroup::fail(int code, const std::string& message) {
  if (is_alone()) {
    say(fmt::format("parsnets: {}\n", message));
    return;
  }
  std::signal(SIGTERM, SIG_DFL);  // mpirun sends it once a process has ended, and there is nothing more to say
  const auto all_fail = function_of<decltype(parsnets_mpi_all_fail)>(module_, "parsnets_mpi_all_fail");
  const bool all = all_fail() != 0;
  if (!all)
    say(fmt::format("parsnets: process {} of {}: {}\n", processes_->rank(), processes_->size(), message));
  else if (is_first())
    say(fmt::format("parsnets: {}\n", message));
  std::fflush(stderr);
  if (all)
    all_fail();  // mpirun ends the job as soon as one process has ended: not before the message
  else
    function_of<decltype(parsnets_mpi_abort)>(module_, "parsnets_mpi_abort")(code);
}

std::string mpi_library() {
  std::string problem;
  void* module = mpi_module(problem);
  if (module == nullptr) return "";
  const std::string text = function_of<decltype(parsnets_mpi_library)>(module, "parsnets_mpi_library")();
  return text.substr(0, text.find(','));
}

}  // namespace parsnets::cli
