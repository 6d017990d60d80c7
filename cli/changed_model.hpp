#pragma once
// A model that a command changes, in place or into another file.

#include <filesystem>
#include <memory>
#include <string>

#include "base/file.hpp"
#include "base/file_lock.hpp"
#include "parsnets/model.hpp"

namespace parsnets::cli {

/// Makes load, change and save one step when the model is changed in place, and refuses an impossible `out` early.
/// `out` empty: in place.
inline std::unique_ptr<FileLock> hold(const std::string& model, const std::filesystem::path& out,
                                      ProgressObserver* progress) {
  std::error_code absent;
  check_writable(out.empty() ? std::filesystem::path(model) : out);
  if (!out.empty() && !std::filesystem::equivalent(model, out, absent)) return nullptr;
  return std::make_unique<FileLock>(model, progress);
}

/// Returns the file that was written.
inline std::filesystem::path save_changed(const Model& changed, const std::string& model,
                                          const std::filesystem::path& out) {
  const std::filesystem::path file = out.empty() ? std::filesystem::path(model) : out;
  make_folder_of(file);
  save_model(changed, file);
  return file;
}

}  // namespace parsnets::cli
