# %% [markdown]
# # Choosing settings without looking at the unseen classes
#
# In zero-shot learning, the classes of the test must stay unknown until the end. So settings are chosen on *validation
# classes*: seen classes that are held out of training as if they were unseen. Three ways to do so are compared here;
# the test classes are read once, in the last cell.

# %%
import json

from sklearn.model_selection import GridSearchCV

from parsnets import ESZSL, ClassDisjointKFold, ParsNetsClassifier, datasets, metrics

data = datasets.load_demo()
X, y = data.X[data.trainval], data.y[data.trainval]
table = {"class_attributes": data.class_attributes, "attribute_names": data.attribute_names}
held_out = {"validation": data.validation_classes, **table}  # what the data set says to validate on
final = {"ESZSL, defaults": ESZSL().fit(X, y, **held_out)}
print(f"{len(X)} training samples of the classes {', '.join(sorted(set(y)))}")
print(f"validation classes: {', '.join(data.validation_classes)}")

# %% [markdown]
# ## scikit-learn's search
# `ClassDisjointKFold` makes folds of whole classes: a model is fitted on some classes and asked about the others. The
# scorer lets only the classes of the fold compete, and averages over classes. The calibration, which a fit does on
# validation classes of its own, is not needed here: `calibrate` is an option like any other.

# %%
search = GridSearchCV(ESZSL(options={"calibrate": False}), {"alpha": [0.1, 1, 10, 100], "semantic_alpha": [0.1, 1, 10]},
                      cv=ClassDisjointKFold(4), scoring=metrics.zero_shot_scorer, refit=False)
search.fit(X, y, **table)
print(f"\nGridSearchCV: {len(search.cv_results_['params'])} settings x 4 folds, best {search.best_params_}, "
      f"{100 * search.best_score_:.1f} % on held-out classes")
final["ESZSL, GridSearchCV"] = ESZSL(**search.best_params_).fit(X, y, **held_out)

# %% [markdown]
# ## The engine's search
# `select=True` searches the method's own grid on the validation classes of the data set and calibrates `gamma_` on
# them, too. It shares work between candidates. A parameter that is given stays as it is.

# %%
selected = ESZSL(select=True).fit(X, y, **held_out)
record = json.loads(selected.record_)
print(f"\nselect=True: {len(record['selection'])} settings, chosen {record['chosen']}; on validation classes "
      f"ZSL {record['validation']['zsl']:.1f} %, H {record['validation']['h']:.1f} %")
final["ESZSL, select=True"] = selected

# %% [markdown]
# ## Everything by search
# `preset="auto"` also chooses the method: plain ridge, refinement, gates, ..., each where validation classes say so.
# `time-budget` bounds the seconds; 0 is no bound and gives the same model every time.

# %%
automatic = ParsNetsClassifier(preset="auto", options={"time-budget": 0}).fit(X, y, **held_out)
record = json.loads(automatic.record_)
print(f"\npreset='auto': {len(record['selection'])} settings, chosen {record['chosen']}")
final["ParsNets, defaults"] = ParsNetsClassifier().fit(X, y, **held_out)
final["preset auto"] = automatic

# %% [markdown]
# ## The test, once
# With the eight seen classes of the demo set a fold has two, so that it says little, and the choices differ. With the
# 40 to 645 seen classes of the usual data sets they are steadier.

# %%
print(f"\n{'':<20}   ZSL     U     S     H")
for name, model in final.items():
    e = model.evaluate(data)
    print(f"{name:<20} {e.zsl_top1_per_class:5.1f} {e.u:5.1f} {e.s:5.1f} {e.h:5.1f}")
