# %% [markdown]
# # A new class at run time
#
# A model that is already in use is taught a class by its attributes alone: no photograph of it, no training. Then it is
# asked why it recognises the class, calibrated with a few labelled samples, and the class is taken out again.

# %%
import time
from collections import Counter

import numpy as np

from parsnets import ParsNetsClassifier, datasets, metrics

# %% [markdown]
# ## The model in use
# Trained on the eight seen classes of the demo set; it has never heard of a truck.

# %%
data = datasets.load_demo()
attributes = data.class_attributes  # class name -> 39 values
known = {name: attributes[name] for name in np.unique(data.y[data.trainval])}
model = ParsNetsClassifier(random_state=1)
model.fit(data.X[data.trainval], data.y[data.trainval], class_attributes=known, attribute_names=data.attribute_names,
          validation=data.validation_classes)  # what the data set says to calibrate on; else they are drawn
print(f"classes: {', '.join(model.classes_)}")

trucks = data.test_unseen[data.y[data.test_unseen] == "truck"]
before = Counter(model.predict(data.X[trucks]).tolist())
print(f"{len(trucks)} photographs of trucks are taken for: "
      + ", ".join(f"{name} {count}" for name, count in before.most_common(4)))

# %% [markdown]
# ## The new class
# One vector of attributes, in the units of the others. Predictions that other threads make meanwhile are not disturbed.

# %%
start = time.perf_counter()
model.add_class("truck", attributes["truck"])
print(f"\nadded truck in {1000 * (time.perf_counter() - start):.1f} ms; seen in training: "
      f"{dict(zip(model.classes_.tolist(), model.seen_.tolist()))['truck']}")
found = model.predict(data.X[trucks])
print(f"now recognised as truck, all {len(model.classes_)} classes competing: {100 * np.mean(found == 'truck'):.1f} %")

# %% [markdown]
# ## Why truck?
# Which attributes decided between the best class and the second (in a notebook, this is a chart).

# %%
example = data.X[trucks[found == "truck"][:1]]
why = model.explain(example)[0]
print(f"\n{why.label} and not {why.runner_up}: score {why.score:.3f} against {why.runner_up_score:.3f}")
for name, share in why.top(6):
    print(f"  {name:<16} {share:+.3f}  {'for' if share > 0 else 'against'} {why.label}")
print(f"  {'calibration':<16} {why.calibration:+.3f}  since one of the two was seen in training")
why

# %% [markdown]
# ## Calibrate
# Seen classes score higher than new ones, so `gamma_` is subtracted from them. Training chose it on classes that it
# held out. A few labelled samples of both kinds fit it to what the model meets now. These samples are not tested on.

# %%
rng = np.random.default_rng(1)
few = np.concatenate([rng.choice(trucks, 20, replace=False), rng.choice(data.test_seen, 40, replace=False)])
rest_seen, rest_new = np.setdiff1d(data.test_seen, few), np.setdiff1d(trucks, few)


def both(which):
    """Per-class accuracy on seen classes and on the new one, all competing."""
    s = metrics.per_class_accuracy(data.y[rest_seen], model.predict(data.X[rest_seen]))
    u = metrics.per_class_accuracy(data.y[rest_new], model.predict(data.X[rest_new]))
    print(f"{which:<20} gamma {model.gamma_:.3f}: seen {100 * s:.1f} %, truck {100 * u:.1f} %, "
          f"harmonic mean {100 * metrics.harmonic_mean(u, s):.1f} %")


print()
both("from training")
model.calibrate(data.X[few], data.y[few])
both("from 60 samples")
model.calibrate(gamma=0)
both("without")

# %% [markdown]
# ## And out again

# %%
model.remove_class("truck")
print(f"\nafter remove_class: {', '.join(model.classes_)}")
