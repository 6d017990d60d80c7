#pragma once
// split.json of a plain folder: classes by name, samples by 0-based index.
//   {"unseen_classes": [...], "test_seen_samples": [...], "val_classes": [...]}
// Lists that classes cannot express are written out as trainval_samples, test_unseen_samples, train_samples,
// val_samples.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/split.hpp"

namespace parsnets {

Split read_split_json(const std::filesystem::path& file, const std::vector<std::string>& class_names,
                      const std::vector<std::int32_t>& labels, std::uint64_t seed);
void write_split_json(const std::filesystem::path& file, const Split& split,
                      const std::vector<std::string>& class_names, const std::vector<std::int32_t>& labels);
void write_split_json(const std::filesystem::path& file, const ClassSplit& split,
                      const std::vector<std::string>& class_names);

}  // namespace parsnets
