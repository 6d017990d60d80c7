#pragma once
// The processes that run this command together, when it was started by mpirun.

#include <memory>
#include <string>

#include "parsnets/processes.hpp"

namespace parsnets::cli {

class ProcessGroup {
 public:
  /// This process alone, or those of the MPI job that it belongs to. Throws usage in such a job when the MPI module of
  /// this build is missing.
  ProcessGroup();
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  Processes& processes() { return *processes_; }
  bool is_first() const { return processes_->rank() == 0; }  ///< the one that writes files and messages
  bool is_alone() const { return processes_->size() == 1; }

  /// Says `message` once, and ends all processes with this code. Returns only where this process is alone.
  void fail(int code, const std::string& message);

 private:
  SingleProcess alone_;
  Processes* processes_ = &alone_;
  void* module_ = nullptr;
};

/// For doctor: the MPI library of this build, or empty when there is none.
std::string mpi_library();

}  // namespace parsnets::cli
