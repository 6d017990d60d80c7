#pragma once
// The options of every command that reads a data set folder.

#include "base/options.hpp"
#include "parsnets/dataset.hpp"

namespace parsnets::cli {

inline void add_load_options(OptionTable& table, LoadOptions& load) {
  table.text("features", load.features, "features file to read, without its ending; by default the only one there")
      .text("semantics", load.semantics,
            "semantics to read: NAME of NAME_splits.mat; by default att, or those of the model")
      .flag("original-att", load.original_attributes, "read original_att in place of att")
      .choice("missing", load.missing,
              {{"attribute-mean", MissingPolicy::attribute_mean},
               {"zero", MissingPolicy::zero},
               {"refuse", MissingPolicy::refuse}},
              "what replaces missing attribute values")
      .path("split", load.split,
            "split to use in place of the folder's own: a split.json of 'data split', or a *_splits.mat for its lists");
}

/// Where they were not given and the folder has them: the features and the semantics that a model was trained with.
void load_as_trained(LoadOptions& load, const std::filesystem::path& folder, const std::string& training_record,
                     const std::vector<std::string>& given);

inline void add_memory_limit(OptionTable& table, std::uint64_t& limit) {
  table.bytes("memory-limit", limit, "memory the process may use; work that does not fit is refused before it starts");
}

}  // namespace parsnets::cli
