# %% [markdown]
# # From a trained model to a microcontroller
#
# Export writes a model as a small file that two C99 files run without an operating system
# (`runtime/parsnets_rt.c`). Weights become 8-bit integers. What that costs is measured here with the same C code.
#
#     python export_to_device.py [OUT]        # OUT: folder for the files; without one, a temporary folder

# %%
import sys
import tempfile
from pathlib import Path

import numpy as np

from parsnets import DeviceModel, ParsNetsClassifier, datasets

given = [] if "ipykernel" in sys.modules else sys.argv[1:]  # a notebook has arguments of its own
temporary = tempfile.TemporaryDirectory(prefix="parsnets-")  # removed when this ends
out = Path(given[0] if given else temporary.name)
out.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# ## Train

# %%
data = datasets.load_demo()
model = ParsNetsClassifier(networks=100).fit_dataset(data)  # by default a set of so few classes has none
model.save(out / "model.safetensors")

# %% [markdown]
# ## Export
# Given the data set, export also measures its cost on validation classes,
# and refuses when more than `max_drop` would be
# lost. `max_bytes=50_000` would look for the most accurate model that fits, `rank=8` store 8 networks of which
# all others are mixtures.

# %%
device = model.export(data, precision="int8", max_drop=0.01)
small = model.export(data, precision="int8", rank=8, max_drop=0.05)
size, result = (out / "model.safetensors").stat().st_size, device.validation["before"]
print(f"{'':<20}{'bytes':>9}{'working memory':>16}{'multiply-adds':>15}    ZSL      H")
print(f"{'model file':<20}{size:>9,}{'-':>16}{'-':>15}{result['zsl']:>7.1%}{result['h']:>7.1%}")
for name, one in (("device file", device), ("device file, rank 8", small)):
    result = one.validation["after"]
    print(f"{name:<20}{one.bytes:>9,}{one.work_bytes:>16,}{one.multiply_adds:>15,}"
          f"{result['zsl']:>7.1%}{result['h']:>7.1%}")
print("ZSL and H: on validation classes, by models fitted without them")

# %% [markdown]
# ## Do both name the same classes?
# All test samples, all classes competing. The device model is run by the C runtime; its results are the same, bit for
# bit, on every machine.

# %%
test = np.concatenate([data.test_seen, data.test_unseen])
agreement = device.agreement(model, data.X[test])
print(f"\n{len(test)} test samples, the same class from both: {100 * agreement:.2f} %")
for name, result in (("float32 model", model.evaluate(data)), ("int8 on device", device.evaluate(data))):
    print(f"{name}: ZSL {result.zsl_top1_per_class:.1%}, U {result.u:.1%}, S {result.s:.1%}, H {result.h:.1%}")

# %% [markdown]
# ## Write the files
# The device file is for flash or a file system, the header for firmware: `#include "model.h"` and give the array to
# `pnrt_open` (see `examples/device`).

# %%
device.save(out / "model.pnrt")
device.save_header(out / "model.h", name="my_model")
again = DeviceModel.load(out / "model.pnrt")
assert np.array_equal(again.class_scores(data.X[test]), device.class_scores(data.X[test]))
print(f"\n{out / 'model.pnrt'}: {(out / 'model.pnrt').stat().st_size:,} bytes")
print(f"{out / 'model.h'}: {(out / 'model.h').stat().st_size:,} bytes of C")
temporary.cleanup()
