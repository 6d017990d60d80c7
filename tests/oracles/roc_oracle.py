#!/usr/bin/env python3
"""Checks areas under ROC curves: `roc_oracle.py FILE`.

FILE has one case a line: {"known": [...], "unknown": [...], "auroc": percent, "curve": [[unknown, known], ...]}.
Exit code 1 when scikit-learn finds another area or another curve, 77 without scikit-learn.
"""
import json
import sys

try:
    import numpy as np
    from sklearn.metrics import roc_auc_score, roc_curve
except ImportError:
    sys.exit(77)

with open(sys.argv[1], encoding="utf-8") as lines:
    cases = [json.loads(line) for line in lines]
if not cases:
    sys.exit("no cases")
for i, case in enumerate(cases):
    scores = np.array(case["known"] + case["unknown"], dtype=np.float32)
    kinds = np.array([1] * len(case["known"]) + [0] * len(case["unknown"]))
    area = 100 * roc_auc_score(kinds, scores)
    if abs(area - case["auroc"]) > 1e-9:
        sys.exit(f"case {i}: scikit-learn has the area {area}, ours is {case['auroc']}")
    fpr, tpr, _ = roc_curve(kinds, scores, drop_intermediate=False)
    ours = np.array(case["curve"])
    if ours.shape != (len(fpr), 2) or np.abs(ours - 100 * np.stack([fpr, tpr], axis=1)).max() > 1e-9:
        sys.exit(f"case {i}: scikit-learn has another curve")
