#pragma once
// The options of every command that reads a data set folder.

#include "base/options.hpp"
#include "data/load_options.hpp"
#include "parsnets/dataset.hpp"
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

}  // namespace parsnets::cli
