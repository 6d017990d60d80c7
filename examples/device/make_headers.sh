#!/bin/sh
# Writes firmware_model.h, firmware_samples.h and demo_classes.pnrt anew from the demo set. Run from the project's root after `make build`.
set -eu
here=examples/device
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/parsnets train --data data/demo --out "$work/small.safetensors" --networks 16 --active 4 --encoding 32 --quiet
build/parsnets calibrate --model "$work/small.safetensors" --data data/demo --false-accept 10% --force --quiet
build/parsnets export --model "$work/small.safetensors" --data data/demo --max-drop 1 \
  --c-header $here/firmware_model.h --quiet
build/parsnets train --data data/demo --out "$work/classes.safetensors" --quiet
build/parsnets export --model "$work/classes.safetensors" --data data/demo --max-drop 1 --out $here/demo_classes.pnrt --quiet
/usr/bin/python3 - "$here/firmware_samples.h" <<'PY'
import csv, sys
import numpy as np
features, labels = np.load("data/demo/features.npy"), np.load("data/demo/labels.npy")
rows = list(csv.reader(open("data/demo/attributes.csv")))
names, attributes = [r[0] for r in rows[1:]], [[float(v) for v in r[1:]] for r in rows[1:]]
chosen = [("truck", 2204), ("deer", int(np.flatnonzero(labels == names.index("deer"))[5]))]
def row(values): return "{" + ", ".join(f"{v:.7g}f" if "." in f"{v:.7g}" or "e" in f"{v:.7g}" else f"{v:.7g}.0f" for v in values) + "}"
with open(sys.argv[1], "w") as out:
    out.write("/* Photographs of the demo set as features, and their classes' attributes; written by make_headers.sh. */\n")
    out.write(f"enum {{ firmware_sample_count = {len(chosen)} }};\n")
    out.write("static const char* const firmware_sample_classes[] = {" + ", ".join(f'"{n}"' for n, _ in chosen) + "};\n")
    out.write(f"static const float firmware_samples[][{features.shape[1]}] = {{\n" + ",\n".join(row(features[i]) for _, i in chosen) + "};\n")
    out.write(f"static const float firmware_sample_attributes[][{len(attributes[0])}] = {{\n" + ",\n".join(row(attributes[names.index(n)]) for n, _ in chosen) + "};\n")
PY
