#pragma once
// Parts of the tool that need further libraries: loaded when they are used.

#include <dlfcn.h>

#include <filesystem>
#include <string>

namespace parsnets::cli {

/// Opens module `name` beside the tool or where it was installed. Null when there is none; then `problem` is empty, or
/// says why it does not load.
inline void* open_module(const char* name, int flags, std::string& problem) {
  std::error_code ignored;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
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
  return reinterpret_cast<F*>(::dlsym(module, name));
}

}  // namespace parsnets::cli
