#include "data/load_options.hpp"

namespace parsnets {

void add_load_options(OptionTable& table, LoadOptions& load) {
  table
      .text(
          "features", load.features,
          "features file: NAME of NAME.mat, .npy, .npz or .csv in the folder, or a path (default: the only one found)")
      .text("semantics", load.semantics,
            "semantics: NAME of NAME_splits.mat, NAME.csv or NAME.npy in the folder, or the path of a .csv, .npy or "
            "word-vector (.txt, .vec) file; several, separated by commas, describe classes together (default: att, or "
            "those of the model)")
      .flag("original-att", load.original_att, "read original_att instead of att")
      .choice("missing", load.missing,
              {{"attribute-mean", MissingPolicy::attribute_mean},
               {"zero", MissingPolicy::zero},
               {"refuse", MissingPolicy::refuse}},
              "how to fill in missing attribute values")
      .path("split", load.split,
            "split to use instead of the folder's own: a split.json from 'data split', a *_splits.mat, a folder with "
            "trainvalclasses.txt and testclasses.txt, or 'standard' to look for such a folder");
}

}  // namespace parsnets
