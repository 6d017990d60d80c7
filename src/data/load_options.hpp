#pragma once
// The table of load options: how a data set folder is read.

#include "base/options.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets {

/// One row per option of load_dataset that a user sets. Refers to `load`, which must outlive the table.
void add_load_options(OptionTable& table, LoadOptions& load);

}  // namespace parsnets
