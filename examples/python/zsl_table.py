# %% [markdown]
# # A table of zero-shot methods on one data set
#
# Every method is trained on the seen classes, chooses its settings on validation classes (which are seen classes held
# out), and is tested once: on the unseen classes alone (ZSL), and on seen and unseen classes together (U, S and their
# harmonic mean H, AUSUC).
#
#     python zsl_table.py [FOLDER] [--features res101] [--semantics att] [--seed 1] [--no-search]
#
# FOLDER is a plain folder or one with the .mat files of xlsa17; without one, the demo set is used.

# %%
import argparse
import sys
import time
from pathlib import Path

from parsnets import DAP, ESZSL, SAE, ParsNetsClassifier, RidgeZSL, datasets

parser = argparse.ArgumentParser(description="A table of zero-shot methods on one data set.")
parser.add_argument("folder", nargs="?", type=Path)
parser.add_argument("--features", default="res101", help="of xlsa17 folders: NAME of NAME.mat")
parser.add_argument("--semantics", default="att", help="of xlsa17 folders: NAME of NAME_splits.mat")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--no-search", action="store_true", help="take each method's default settings")
arguments = parser.parse_args([] if "ipykernel" in sys.modules else None)  # a notebook has arguments of its own

# %% [markdown]
# ## The data set
# A folder brings its own split. Where it names no validation classes, they are drawn with the seed.

# %%
if arguments.folder is None:
    data = datasets.load_demo(seed=arguments.seed)
elif any(arguments.folder.glob("*.mat")):
    data = datasets.load_xlsa17(arguments.folder, features=arguments.features, semantics=arguments.semantics,
                                seed=arguments.seed)
else:
    data = datasets.load_folder(arguments.folder, seed=arguments.seed)
print(data)

# %% [markdown]
# ## The methods
# `search="grid"` searches the method's own grid on the validation classes. Test samples play no part in it.

# %%
methods = {"ridge": RidgeZSL, "ESZSL": ESZSL, "SAE": SAE, "DAP": DAP, "ParsNets": ParsNetsClassifier}
rows, models = [], {}
for name, method in methods.items():
    start = time.perf_counter()
    search = "none" if arguments.no_search else "grid"
    models[name] = method(search=search, random_state=arguments.seed).fit_dataset(data)
    seconds = time.perf_counter() - start
    rows.append((name, models[name].evaluate(data), seconds))
    print(f"{name}: trained in {seconds:.1f} s", file=sys.stderr)

# %% [markdown]
# ## The table
# What a table needs to be compared with others is printed below it: features, semantics, split and seed.


# %%
def cell(value):
    return "-" if value is None else f"{100 * value:.1f}"


print("\n| method | ZSL | U | S | H | AUSUC | training (s) |\n|---|---:|---:|---:|---:|---:|---:|")
for name, result, seconds in rows:
    figures = (result.zsl_top1_per_class, result.u, result.s, result.h, result.ausuc)
    print(f"| {name} | {' | '.join(map(cell, figures))} | {seconds:.2f} |")

record = models["ParsNets"].record_
source, split = record["data"], record["data"]["split"]
print(f"\nPer-class top-1 accuracies in percent. Data set {source['name']}: features {source['features']}, semantics "
      f"{source['semantics']}, seed {record['seed']}, settings "
      f"{'by default' if arguments.no_search else 'by search on validation classes'}.")
print(f"Split {split.get('version', 'of the folder')}: "
      + ", ".join(f"{which} {split[which]['samples']} samples (crc32 {split[which]['crc32']})"
                  for which in ("trainval", "test_seen", "test_unseen")) + ".")
