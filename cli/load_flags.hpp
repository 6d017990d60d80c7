#pragma once
// The options of every command that reads a data set folder.

#include "base/options.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets::cli {

inline void add_load_options(OptionTable& table, LoadOptions& load) {
  table.text("features", load.features, "features file to read, without its ending; by default the only one there")
      .text("semantics", load.semantics, "semantics to read: NAME of NAME_splits.mat")
      .flag("original-att", load.original_attributes, "read original_att in place of att")
      .choice("missing", load.missing,
              {{"attribute-mean", MissingPolicy::attribute_mean},
               {"zero", MissingPolicy::zero},
               {"refuse", MissingPolicy::refuse}},
              "what replaces missing attribute values");
}

}  // namespace parsnets::cli
