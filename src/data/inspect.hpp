#pragma once
// The leak checker: what is in a data set, and what is wrong with it.

#include <cstdint>
#include <string>
#include <vector>

#include "parsnets/dataset.hpp"

namespace parsnets {

/// How serious a finding is.
enum class Severity {
  note,     ///< worth knowing
  warning,  ///< likely a mistake in the data
  leak      ///< results would be wrong if the data were used as they are
};

/// Something worth telling about a data set.
struct Finding {
  Severity severity = Severity::note;  ///< how serious it is
  std::string id;                      ///< stable name, e.g. "test-seen-in-train-list"
  std::string text;                    ///< one sentence with the numbers
  std::size_t count = 0;               ///< how often it was found
};

/// One list of the split.
struct SplitListInfo {
  std::string name;  ///< "trainval", "test_seen", "test_unseen", "train", "val", "file_train", "file_val"
  std::size_t samples = 0, classes = 0;  ///< how many of each
  std::uint32_t checksum = 0;            ///< index_checksum of the list
};

/// The lists of a data set and the findings on it.
struct Inspection {
  /// Test-seen samples inside the lists as the file gives them (the split that is used has them taken out).
  std::size_t test_seen_in_train_list = 0, test_seen_in_val_list = 0;
  std::vector<SplitListInfo> lists;  ///< those that are not empty
  std::vector<Finding> findings;     ///< in the order of the checks
};

/// Checks a data set for leaks and mistakes. Reads the features twice at most; memory beside them: a few words per
/// sample and per feature.
Inspection inspect_dataset(const Dataset& data, ProgressObserver* progress = nullptr);

}  // namespace parsnets
