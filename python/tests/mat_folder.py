"""An xlsa17-style folder of a data set, written by scipy."""

import numpy as np
import scipy.io


def save_xlsa17(data, folder):
    """Writes features.mat and att_splits.mat and returns the folder."""
    folder.mkdir()
    scipy.io.savemat(folder / "features.mat", {"features": data.X.T, "labels": data.labels[:, None] + 1.0})
    names = {"allclasses_names": data.class_names, "attribute_names": data.attribute_names}
    lists = {f"{name}_loc": getattr(data, name)[:, None] + 1.0
             for name in ("trainval", "test_seen", "test_unseen", "train", "val")}
    scipy.io.savemat(folder / "att_splits.mat", {
        "att": data.semantics.T.astype(float), **lists,
        **{name: np.array(values, object)[:, None] for name, values in names.items()}})
    return folder
