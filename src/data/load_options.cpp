#include "data/load_options.hpp"

namespace parsnets {

void add_load_options(OptionTable& table, LoadOptions& load) {
  table
      .text(
          "features", load.features,
          "features file: NAME of NAME.mat, .npy, .npz or .csv in the folder, or a path (default: the only one found)")
      .text("semantics", load.semantics,
            "semantics, NAME of NAME_splits.mat, or of NAME.csv or NAME.npy in a plain folder; several, separated by "
            "commas, "
            "describe classes together (default: att, or those of the model)")
      .flag("original-att", load.original_att, "read original_att instead of att")
      .choice("missing", load.missing,
              {{"attribute-mean", MissingPolicy::attribute_mean},
               {"zero", MissingPolicy::zero},
               {"refuse", MissingPolicy::refuse}},
              "how to fill in missing attribute values")
      .path("split", load.split,
            "split file to use instead of the folder's own: a split.json from 'data split', or a *_splits.mat");
}

}  // namespace parsnets
