#pragma once
// The processes that run this command together, when it was started by mpirun.

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/processes.hpp"
#include "parsnets/error.hpp"

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

// Parts of the tool that need further libraries: loaded when they are used.

/// Opens module `name` beside the tool or where it was installed. Null when there is none; then `problem` is empty, or
/// says why it does not load.
inline void* open_module(const char* name, int flags, std::string& problem) {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  if (folder.empty()) {  // never from the current folder
    problem = "no /proc that says where the tool is";
    return nullptr;
  }
  for (const auto& place : {folder / name, folder / ".." / PARSNETS_MODULE_FOLDER / name})
    if (std::filesystem::exists(place, ignored)) {
      if (void* module = ::dlopen(place.c_str(), flags)) return module;
      const char* why = ::dlerror();
      problem = why != nullptr ? why : "";
    }
  return nullptr;
}

template <class F>
F* function_of(void* module, const char* name) {
  void* function = ::dlsym(module, name);
  if (function == nullptr)
    throw Error(ErrorCode::failure, fmt::format("the module has no {}: it is of another build; build again", name));
  return reinterpret_cast<F*>(function);
}

}  // namespace parsnets::cli
