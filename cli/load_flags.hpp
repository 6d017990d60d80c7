#pragma once
// The options of every command that reads a data set folder.

#include <filesystem>
#include <memory>
#include <string>

#include "base/file.hpp"
#include "base/options.hpp"
#include "data/load_options.hpp"
#include "parsnets/dataset.hpp"
#include "parsnets/model.hpp"
#include "parsnets/train_record.hpp"

namespace parsnets::cli {

/// Where they were not given and the files are there: the features, the semantics and the split that a model was
/// trained with; the split only for a folder of the same name.
void load_as_trained(LoadOptions& load, const std::filesystem::path& folder, const DataProvenance& trained,
                     const std::vector<std::string>& given);

/// The name by which a command's table has its limit.
inline constexpr const char* kMemoryLimit = "memory-limit";

inline void add_memory_limit(OptionTable& table, std::uint64_t& limit) {
  table.bytes(kMemoryLimit, limit,
              "maximum memory of the process: larger features stay on disk; fails before starting if the work does not "
              "fit");
}

// A model that a command changes, in place or into another file.

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
