/* ParsNets for C and for languages that call C. docs/c-abi.md is a short introduction.
 *
 * - Status: every function that can fail returns one of the PARSNETS_ codes below; parsnets_last_error() returns the
 *   message. NULL arguments give PARSNETS_USAGE unless the comment says "or NULL"; `progress` may always be NULL. On
 *   failure, new handles are NULL; other outputs may be partly written.
 * - Matrices are row-major and contiguous. `x` is samples x dimensions of float32, read in place and never modified.
 * - Text is UTF-8 and null-terminated. A returned `const char *` belongs to the handle and is valid until that handle
 *   is changed or freed.
 * - Flags are int32_t: 0 is false, any other value true; outputs are 0 or 1. Arrays of flags are uint8_t.
 * - Structs start with `size`, which the caller sets to sizeof(the struct). New fields are only appended. With a struct
 *   of an older header, missing fields keep their defaults; with one of a newer header, unknown fields must be zero.
 *   NULL in place of a struct of options means the defaults.
 * - Threads: any number of threads may use a `const` handle concurrently. Calls that change a handle need exclusive
 *   access. `threads` is the number of threads that a call may use, including the calling one: 0 means one per core, 1
 *   starts none. Results are bitwise independent of it.
 */
#ifndef PARSNETS_PARSNETS_H
#define PARSNETS_PARSNETS_H

#include <stddef.h>
#include <stdint.h>

/* Marks the functions that the library exports. */
#if defined(__GNUC__)
#define PARSNETS_API __attribute__((visibility("default")))
#else
#define PARSNETS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Incremented when a function or a field changes its meaning, but not for additions. */
#define PARSNETS_ABI_VERSION 3

/* One of the codes below. */
typedef int32_t parsnets_status;
/* Also the exit codes of the command-line tool. */
enum {
  PARSNETS_OK = 0,         /* success */
  PARSNETS_FAILURE = 1,    /* the work itself failed: memory, disk, a solver */
  PARSNETS_USAGE = 2,      /* an argument or option is invalid */
  PARSNETS_BAD_INPUT = 3,  /* a file or array is missing, malformed or inconsistent */
  PARSNETS_CANCELLED = 130 /* the progress function asked to stop */
};

typedef struct parsnets_dataset parsnets_dataset;       /* freed by parsnets_dataset_free */
typedef struct parsnets_options parsnets_options;       /* freed by parsnets_options_free */
typedef struct parsnets_model parsnets_model;           /* freed by parsnets_model_free */
typedef struct parsnets_statistics parsnets_statistics; /* freed by parsnets_statistics_free */

/* Message of this thread's last failed call, or "". Valid until the next failure in this thread. */
PARSNETS_API const char *parsnets_last_error(void);
/* The same message in parts, for interfaces with their own option names: a JSON array of strings and of options,
 * {"option": "max-bytes"} or {"option": "missing", "value": "zero"}. */
PARSNETS_API const char *parsnets_last_error_parts(void);
/* Version, such as "1.0.0"; never freed. */
PARSNETS_API const char *parsnets_version(void);
/* PARSNETS_ABI_VERSION of the loaded library. */
PARSNETS_API uint32_t parsnets_abi_version(void);

/* ---- Progress ---- */

/* Progress of one step of the work. */
typedef struct parsnets_progress {
  size_t size;       /* sizeof(parsnets_progress) */
  const char *stage; /* name of the current step; valid during the call */
  uint64_t done;     /* units done, of total */
  uint64_t total;    /* 0: unknown */
  const char *unit;  /* of done and total; may be "" */
} parsnets_progress;

/* Called in the thread that called the library. Returns 0 to continue and any other value to cancel. */
typedef int (*parsnets_progress_function)(const parsnets_progress *progress, void *user);

/* ---- Data sets: features, labels, class semantics and a split. Immutable. ---- */

/* What replaces missing attribute values. */
enum { PARSNETS_MISSING_ATTRIBUTE_MEAN = 0, PARSNETS_MISSING_ZERO = 1, PARSNETS_MISSING_REFUSE = 2 };

/* Options of parsnets_dataset_load. */
typedef struct parsnets_load_options {
  size_t size;           /* sizeof(parsnets_load_options) */
  const char *features;  /* features file: name without extension, or path; NULL: the only one found */
  const char *semantics; /* tables, separated by commas: `<name>_splits.mat`, `<name>.csv|npy`, paths; or NULL */
  uint64_t seed;         /* of validation classes, if the folder names none */
  int32_t original_att;  /* nonzero: original_att instead of att */
  int32_t missing;       /* PARSNETS_MISSING_... */
  const char *split;     /* split.json, *_splits.mat, folder of class lists, or "standard"; NULL: the folder's */
} parsnets_load_options;
/* The defaults: parsnets_load_options x = PARSNETS_LOAD_OPTIONS_INIT. */
#define PARSNETS_LOAD_OPTIONS_INIT \
  { sizeof(parsnets_load_options), NULL, NULL, 1, 0, PARSNETS_MISSING_ATTRIBUTE_MEAN, NULL }

/* Reads an xlsa17-style or plain folder (docs/data.md). A float32 features.npy stays mapped: replace the file, do not
 * modify it in place. */
PARSNETS_API parsnets_status parsnets_dataset_load(const char *folder, const parsnets_load_options *options,
                                                   parsnets_progress_function progress, void *user,
                                                   parsnets_dataset **dataset);

/* Arrays for parsnets_dataset_from_arrays. */
typedef struct parsnets_arrays {
  size_t size;                                     /* sizeof(parsnets_arrays) */
  size_t samples, dimensions, classes, attributes; /* n, d, C, m; all at least 1 */
  const float *features;                           /* n x d, finite */
  const int32_t *labels;                           /* n, classes from 0 to C - 1 */
  const float *semantics;                          /* C x m, finite */
  const char *const *class_names;                  /* C, unique and non-empty */
  const char *const *attribute_names;              /* m; or NULL */
  const char *name;                                /* of the data set, for the training record; or NULL: "arrays" */
  const uint8_t *test;                             /* n: nonzero excludes a sample from training; or NULL: none */
  uint64_t seed;                                   /* of the validation classes, drawn from the seen classes */
  int32_t borrow_features;   /* nonzero: features are not copied and must not change until the data set is freed */
  const uint8_t *validation; /* C: nonzero for validation classes, some but not all seen classes; or NULL: drawn */
} parsnets_arrays;
/* The defaults: parsnets_arrays x = PARSNETS_ARRAYS_INIT. */
#define PARSNETS_ARRAYS_INIT \
  { sizeof(parsnets_arrays), 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, NULL }

/* Classes without training samples are unseen. Everything is copied except borrowed features. */
PARSNETS_API parsnets_status parsnets_dataset_from_arrays(const parsnets_arrays *arrays, parsnets_dataset **dataset);
PARSNETS_API void parsnets_dataset_free(parsnets_dataset *dataset); /* `dataset` or NULL */

/* Sizes and arrays of a data set. */
typedef struct parsnets_dataset_info {
  size_t size;                                       /* sizeof(parsnets_dataset_info) */
  size_t samples, dimensions, classes, attributes;   /* n, d, C, m */
  size_t seen_classes;                               /* with training samples */
  size_t trainval, test_seen, test_unseen;           /* samples for training and for testing */
  size_t train, val;                                 /* class-disjoint parts of trainval; 0: too few classes */
  const char *name, *features_name, *semantics_name; /* of the folder, the features and the semantics */
  const float *features;  /* n x d; valid until the data set is freed, like the fields below */
  const int32_t *labels;  /* n */
  const float *semantics; /* C x m */
} parsnets_dataset_info;

/* PARSNETS_USAGE if `size` is not set. */
PARSNETS_API parsnets_status parsnets_dataset_get_info(const parsnets_dataset *dataset, parsnets_dataset_info *info);
/* The name of a class; `index` below C. */
PARSNETS_API parsnets_status parsnets_dataset_class_name(const parsnets_dataset *dataset, size_t index,
                                                         const char **name);
/* The name of an attribute, or NULL if the data set has none; `index` below m. */
PARSNETS_API parsnets_status parsnets_dataset_attribute_name(const parsnets_dataset *dataset, size_t index,
                                                             const char **name);

/* Lists of a split. */
enum {
  PARSNETS_SPLIT_TRAINVAL = 0,
  PARSNETS_SPLIT_TEST_SEEN = 1,
  PARSNETS_SPLIT_TEST_UNSEEN = 2,
  PARSNETS_SPLIT_TRAIN = 3,
  PARSNETS_SPLIT_VAL = 4
};
/* 0-based sample indices of one list of the split; valid until the data set is freed. */
PARSNETS_API parsnets_status parsnets_dataset_split(const parsnets_dataset *dataset, int32_t list,
                                                    const int32_t **samples, size_t *count);

/* ---- Training options: the names and values of docs/options.md, and "seed" ---- */

/* Creates options with their defaults, all unset. */
PARSNETS_API parsnets_status parsnets_options_create(parsnets_options **options);
PARSNETS_API void parsnets_options_free(parsnets_options *options); /* `options` or NULL */
/* parsnets_options_set(o, "lambda", "3"); flags take "true" or "false". Presets and searches do not change an option
 * that was set. PARSNETS_USAGE for an unknown name or an invalid value; the options are then unchanged. */
PARSNETS_API parsnets_status parsnets_options_set(parsnets_options *options, const char *name, const char *value);
/* {"method": "parsnets", ...}: the current value of every option. Valid until the next call with these options. */
PARSNETS_API parsnets_status parsnets_options_json(parsnets_options *options, const char **json);
/* [{"name", "help", "expected", "default", "choices"}, ...], in the order of docs/options.md. Valid as above. */
PARSNETS_API parsnets_status parsnets_options_describe(parsnets_options *options, const char **json);

/* ---- Models ---- */

/* Trains on the training samples. The same data, options and seed give the model file of `parsnets train`, byte for
 * byte, if the folder is loaded with that seed. Cancelling gives PARSNETS_CANCELLED and no model.
 * The checkpoint of the options is removed at the end. */
PARSNETS_API parsnets_status parsnets_train(const parsnets_dataset *dataset, const parsnets_options *options,
                                            uint32_t threads, parsnets_progress_function progress, void *user,
                                            parsnets_model **model);

/* ---- Statistics: sums over samples from which the closed form of class space is trained ---- */

/* Options of parsnets_statistics_create. Statistics that are merged must agree in them. */
typedef struct parsnets_statistics_options {
  size_t size;                 /* sizeof(parsnets_statistics_options) */
  const char *feature_scaling; /* "none", "l2" or "sqrt-l2"; or NULL: "sqrt-l2" */
  size_t groups;               /* of classes, for calibration; 1: no calibration; at most 1024 */
  size_t kept_rows;            /* samples of each class that are kept for calibration */
} parsnets_statistics_options;
/* The defaults: parsnets_statistics_options x = PARSNETS_STATISTICS_OPTIONS_INIT. */
#define PARSNETS_STATISTICS_OPTIONS_INIT \
  { sizeof(parsnets_statistics_options), NULL, 4, 16 }

/* Statistics of no samples yet. `class_names` has `classes` entries, unique and non-empty. */
PARSNETS_API parsnets_status parsnets_statistics_create(const char *const *class_names, size_t classes,
                                                        size_t dimensions, const parsnets_statistics_options *options,
                                                        parsnets_statistics **statistics);
/* Adds samples, all or none. `labels`: class indices; `weights`: one per sample, finite, not negative; or NULL: 1. */
PARSNETS_API parsnets_status parsnets_statistics_add(parsnets_statistics *statistics, const float *x,
                                                     const int32_t *labels, const double *weights, size_t samples,
                                                     size_t dimensions, uint32_t threads);
/* Adds the sums of `other`. Classes are matched by name, new ones are appended. PARSNETS_BAD_INPUT unless options and
 * dimensions agree. */
PARSNETS_API parsnets_status parsnets_statistics_merge(parsnets_statistics *statistics,
                                                       const parsnets_statistics *other);
/* Reads and validates a statistics file (docs/format.md). */
PARSNETS_API parsnets_status parsnets_statistics_load(const char *file, parsnets_statistics **statistics);
/* Writes atomically. */
PARSNETS_API parsnets_status parsnets_statistics_save(const parsnets_statistics *statistics, const char *file);
/* A copy of everything. */
PARSNETS_API parsnets_status parsnets_statistics_clone(const parsnets_statistics *statistics,
                                                       parsnets_statistics **copy);
PARSNETS_API void parsnets_statistics_free(parsnets_statistics *statistics); /* `statistics` or NULL */

/* Trains the closed form of class space. Of `classes`, only classes, attributes, semantics, class_names,
 * attribute_names and name are read. PARSNETS_USAGE for options that need samples. */
PARSNETS_API parsnets_status parsnets_train_statistics(const parsnets_statistics *statistics,
                                                       const parsnets_arrays *classes, const parsnets_options *options,
                                                       uint32_t threads, parsnets_progress_function progress,
                                                       void *user, parsnets_model **model);

/* Reads and validates a model file (docs/format.md). The file is not needed afterwards. */
PARSNETS_API parsnets_status parsnets_model_load(const char *file, parsnets_model **model);
/* Writes atomically. The bytes depend only on the model. */
PARSNETS_API parsnets_status parsnets_model_save(const parsnets_model *model, const char *file);
/* A copy with its own class bank and calibration; cheap: the weights are shared. Either may be freed first. */
PARSNETS_API parsnets_status parsnets_model_clone(const parsnets_model *model, parsnets_model **copy);
PARSNETS_API void parsnets_model_free(parsnets_model *model); /* `model` or NULL */

/* Sizes, classes and training record of a model. */
typedef struct parsnets_model_info {
  size_t size;                  /* sizeof(parsnets_model_info) */
  size_t dimensions;            /* d, features per sample */
  size_t attributes;            /* m */
  size_t outputs;               /* o, dimensions of a class vector */
  size_t classes, seen_classes; /* C, and the number with training samples */
  size_t networks, open;        /* K, and k active per sample */
  int32_t predicts_semantics;   /* 0: maps semantics to features; no parsnets_predict_semantics or parsnets_explain */
  double gamma;                 /* subtracted from the scores of seen classes when all classes compete */
  double temperature;           /* of the softmax of the confidences */
  const char *method;           /* "" if the file does not name it */
  const char *options, *record; /* JSON: the options after selection, and the training record */
  const uint8_t *seen;          /* C; 1: has training samples */
  const float *semantics;       /* C x m, as given */
} parsnets_model_info;

/* Pointers stay valid until the model is changed or freed. */
PARSNETS_API parsnets_status parsnets_model_get_info(const parsnets_model *model, parsnets_model_info *info);
/* The name of a class; `index` below C. */
PARSNETS_API parsnets_status parsnets_model_class_name(const parsnets_model *model, size_t index, const char **name);
/* The name of an attribute, or NULL if the model has none; `index` below m. */
PARSNETS_API parsnets_status parsnets_model_attribute_name(const parsnets_model *model, size_t index,
                                                           const char **name);
/* The name of a feature, or NULL if the model has none; `index` below d. Only the next function sets them. */
PARSNETS_API parsnets_status parsnets_model_feature_name(const parsnets_model *model, size_t index, const char **name);
/* Sets the feature names that the model file stores. They do not affect results. `names` has `dimensions` = d entries;
 * or NULL: none. */
PARSNETS_API parsnets_status parsnets_model_set_feature_names(parsnets_model *model, const char *const *names,
                                                              size_t dimensions);

/* Adds classes without training, all or none. `names` has `classes` entries; `semantics`: classes x `attributes` = m
 * finite values. New classes come last and are unseen. PARSNETS_BAD_INPUT if a name exists. */
PARSNETS_API parsnets_status parsnets_model_add_classes(parsnets_model *model, const char *const *names,
                                                        const float *semantics, size_t classes, size_t attributes);
/* The indices of later classes decrease by one. PARSNETS_BAD_INPUT if there is no such class, or no other class. */
PARSNETS_API parsnets_status parsnets_model_remove_class(parsnets_model *model, const char *name);
/* ---- Learning after training, for models with targets `classes` (PARSNETS_USAGE otherwise). `x`: samples x d. If a
 * function fails, the model is unchanged. ---- */

/* Adds labelled examples of a class of the model: its place moves towards them. */
PARSNETS_API parsnets_status parsnets_model_teach(parsnets_model *model, const char *name, const float *x,
                                                  size_t samples, size_t dimensions, uint32_t threads);
/* Adds a class that is known by its examples alone. It is the last one and unseen; its semantics are 0. */
PARSNETS_API parsnets_status parsnets_model_add_class_by_examples(parsnets_model *model, const char *name,
                                                                  const float *x, size_t samples, size_t dimensions,
                                                                  uint32_t threads);

/* What parsnets_model_adapt did. */
typedef struct parsnets_adaptation {
  size_t size;            /* sizeof(parsnets_adaptation) */
  size_t samples;         /* n */
  size_t convincing;      /* samples that were assigned to a class that may move */
  size_t classes;         /* classes that moved; 0: the model is unchanged */
  int32_t rounds;         /* of expectation and maximisation */
  int32_t reserved;       /* 0 */
  double likelihood_gain; /* mean over the samples */
} parsnets_adaptation;

/* Moves class prototypes by unlabelled samples. `movable`: the indices of `movable_count` classes that may move; NULL:
 * all unseen classes. At most `rounds` rounds; 0: the default. 40,000 samples or more are taken in batches of 20,000,
 * one after the other. `support` and `degrees`: C values each, or NULL: the samples that a class was given, and the
 * angle by which it moved; 0 for classes that did not. `classes` is C. */
PARSNETS_API parsnets_status parsnets_model_adapt(parsnets_model *model, const float *x, size_t samples,
                                                  size_t dimensions, const int32_t *movable, size_t movable_count,
                                                  uint32_t rounds, uint32_t threads, parsnets_adaptation *adaptation,
                                                  double *support, double *degrees, size_t classes);
/* Which of these unlabelled samples a person should label: at most `count` rows of `x`, the most useful first, in
 * `rows`, and how many in `found`. Fewer where fewer look like unseen classes. Leave out samples that were taught. */
PARSNETS_API parsnets_status parsnets_model_suggest(const parsnets_model *model, const float *x, size_t samples,
                                                    size_t dimensions, size_t count, uint32_t threads, size_t *rows,
                                                    size_t *found);
/* Forgets all unlabelled samples. Examples stay. */
PARSNETS_API parsnets_status parsnets_model_undo_adaptation(parsnets_model *model);

/* gamma from -1e40 to 1e40, temperature from 1e-45 to 1e45. (Device files: -1e6 to 1e6, and 1e-9 to 1e9.) */
PARSNETS_API parsnets_status parsnets_model_calibrate(parsnets_model *model, double gamma, double temperature);
/* Fits both to labelled samples that were not used in training: gamma maximises the harmonic mean, the temperature the
 * likelihood. `x` as for predictions; `labels`: class indices. PARSNETS_BAD_INPUT without samples of both seen and
 * unseen classes. */
PARSNETS_API parsnets_status parsnets_model_calibrate_on(parsnets_model *model, const float *x, const int32_t *labels,
                                                         size_t samples, size_t dimensions, uint32_t threads);

/* ---- Prediction. `dimensions` must be the model's d, `classes` its C, `attributes` its m (PARSNETS_BAD_INPUT); values
 * of x must be finite (PARSNETS_BAD_INPUT). The caller owns all buffers. Small batches are scored in the calling
 * thread, whatever `threads` is. The work per class is done once and cached until the classes change. ---- */

/* samples x C; higher is better; gamma is not applied. */
PARSNETS_API parsnets_status parsnets_predict_scores(const parsnets_model *model, const float *x, size_t samples,
                                                     size_t dimensions, uint32_t threads, float *scores,
                                                     size_t classes);
/* samples x C: softmax over all classes at the model's gamma and temperature. */
PARSNETS_API parsnets_status parsnets_predict_confidences(const parsnets_model *model, const float *x, size_t samples,
                                                          size_t dimensions, uint32_t threads, float *confidences,
                                                          size_t classes);

/* Which classes compete. */
enum { PARSNETS_ALL = 0, PARSNETS_SEEN = 1, PARSNETS_UNSEEN = 2 };
/* The k best classes of each sample, best first: samples x k class indices, and their confidences among the competing
 * classes, or NULL. Ties go to the lower index. PARSNETS_USAGE unless 1 <= k <= number of competing classes. */
PARSNETS_API parsnets_status parsnets_predict_top(const parsnets_model *model, const float *x, size_t samples,
                                                  size_t dimensions, int32_t among, size_t k, uint32_t threads,
                                                  int32_t *classes, float *confidences);
/* The same among `count` candidates, given by index. Outputs are samples x k; `scores` (with gamma applied) and
 * `confidences` may be NULL. PARSNETS_USAGE for an index that is out of range or repeated. */
PARSNETS_API parsnets_status parsnets_rank(const parsnets_model *model, const float *x, size_t samples,
                                           size_t dimensions, const int32_t *candidates, size_t count, size_t k,
                                           uint32_t threads, int32_t *classes, float *scores, float *confidences);
/* samples x m: predicted semantics, on the scale on which the model compares them with its classes. */
PARSNETS_API parsnets_status parsnets_predict_semantics(const parsnets_model *model, const float *x, size_t samples,
                                                        size_t dimensions, uint32_t threads, float *semantics,
                                                        size_t attributes);

/* Comparison of the best class with the second. */
typedef struct parsnets_explanation {
  size_t size;                          /* sizeof(parsnets_explanation) */
  int32_t winner, runner_up;            /* class indices; equal if there is only one class */
  double winner_score, runner_up_score; /* gamma applied */
  double calibration;                   /* contribution of gamma to the difference of the scores */
  double examples;                      /* contribution of the training samples of both classes */
} parsnets_explanation;

/* Explains the prediction of one sample (d values) among all classes. `contributions` (m): contribution of each
 * attribute to winner_score - runner_up_score (to that of squared distances with similarity euclidean); `semantics`
 * (m): predicted semantics; `open_networks` (k): active networks, ascending. Each of the three or NULL; `attributes` is
 * m and `open` is k for those that are not NULL. PARSNETS_USAGE for models that do not predict semantics. */
PARSNETS_API parsnets_status parsnets_explain(const parsnets_model *model, const float *x, size_t dimensions,
                                              parsnets_explanation *explanation, float *contributions, float *semantics,
                                              size_t attributes, int32_t *open_networks, size_t open);

/* ---- Unknown samples, and prediction sets (docs/open-set.md). Both need calibration: PARSNETS_USAGE without. ---- */

/* Options of parsnets_model_calibrate_open_set. */
typedef struct parsnets_open_set_options {
  size_t size;           /* sizeof(parsnets_open_set_options) */
  double false_accept;   /* share of unknown samples to accept, between 0 and 1 */
  int32_t folds;         /* fits, each without a part of the seen classes; at least 2, at most one per two classes */
  int32_t reserved;      /* 0 */
  uint64_t seed;         /* of the folds */
  uint64_t memory_limit; /* bytes for the whole process; 0: that of training */
} parsnets_open_set_options;
/* The defaults: parsnets_open_set_options x = PARSNETS_OPEN_SET_OPTIONS_INIT. */
#define PARSNETS_OPEN_SET_OPTIONS_INIT \
  { sizeof(parsnets_open_set_options), 0.05, 10, 0, 1, 0 }

/* Chooses what tells unknown samples from those of the model's classes, and what prediction sets are made of.
 * `dataset`: the data set that the model was trained on (otherwise PARSNETS_BAD_INPUT); its options are fitted again
 * without held-out classes. Only these parts and the training record change; on failure, nothing does. PARSNETS_USAGE
 * for models that do not predict semantics or do not compare by cosine. */
PARSNETS_API parsnets_status parsnets_model_calibrate_open_set(parsnets_model *model, const parsnets_dataset *dataset,
                                                               const parsnets_open_set_options *options,
                                                               uint32_t threads, parsnets_progress_function progress,
                                                               void *user);

/* Whether a model is calibrated, and what was measured on held-out classes. */
typedef struct parsnets_open_set {
  size_t size;                           /* sizeof(parsnets_open_set) */
  int32_t has_rejection;                 /* 1: parsnets_predict_known works */
  int32_t has_sets;                      /* 1: parsnets_predict_sets works */
  double false_accept;                   /* share of unknown samples to accept; 0 without rejection */
  size_t folds, classes, samples;        /* fits, classes held out in turn, and their samples; 0: no record, as below */
  double accept_low, accept_high;        /* percent; 95 % interval over classes of the share that is accepted */
  double rejected_seen, rejected_unseen; /* percent; known samples of seen and of unseen classes that are rejected */
  double auroc, confidence_auroc;        /* percent; of the known score, and of the confidence in its place */
} parsnets_open_set;
/* Never PARSNETS_USAGE for lack of calibration. */
PARSNETS_API parsnets_status parsnets_model_get_open_set(const parsnets_model *model, parsnets_open_set *open_set);

/* The best class of each sample, and whether the sample is of any class at all. `candidates`: the indices of `count`
 * competing classes; or NULL: all, for which rejection is calibrated. Outputs have `samples` values each: class
 * indices; confidences; known scores, the log-odds that the sample is of a class (-FLT_MAX if it is unlike all known
 * samples); and flags, 1 for unknown samples. Each of the last three or NULL. */
PARSNETS_API parsnets_status parsnets_predict_known(const parsnets_model *model, const float *x, size_t samples,
                                                    size_t dimensions, const int32_t *candidates, size_t count,
                                                    uint32_t threads, int32_t *classes, float *confidences,
                                                    float *known_scores, uint8_t *unknown);

/* The classes that each sample may be of: the best one, and others so that its own is among them with probability
 * `coverage`, between 0 and 1 (docs/open-set.md says when this holds). `members`: samples x C class indices; in
 * each row the set comes first, best first, and -1 follows. `counts`: the sizes of the sets, `samples` values. */
PARSNETS_API parsnets_status parsnets_predict_sets(const parsnets_model *model, const float *x, size_t samples,
                                                   size_t dimensions, double coverage, uint32_t threads,
                                                   int32_t *members, size_t *counts, size_t classes);

/* ---- Evaluation ---- */

/* A result and its 95 % interval over test classes and samples (docs/method.md). */
typedef struct parsnets_interval {
  double estimate;  /* percent, or points of a difference */
  double low, high; /* percentiles of the bootstrap */
} parsnets_interval;

/* Results of an evaluation. */
typedef struct parsnets_evaluation {
  size_t size;                                   /* sizeof(parsnets_evaluation) */
  double zsl_top1_per_class, zsl_top1, zsl_top5; /* percent; test samples of unseen classes, among unseen classes */
  double u, s, h;                                /* percent; among all classes, with gamma */
  double ausuc;                                  /* percent; area under the seen-unseen curve */
  double gamma;                                  /* the model's */
  int32_t has_gzsl;                              /* 0: no test samples of seen classes; the five above are 0 */
  int64_t trained_samples;                       /* test samples that were used in training; -1: some, number unknown */
  parsnets_interval zsl_interval;                /* of zsl_top1_per_class */
  parsnets_interval u_interval, s_interval, h_interval; /* 0 without has_gzsl */
  double seen_ece;   /* percent; expected calibration error of confidences among all classes; test_seen; 0 without */
  double unseen_ece; /* the same of test_unseen */
} parsnets_evaluation;

/* Bins of confidences in a reliability diagram. */
enum { PARSNETS_RELIABILITY_BINS = 15 };
/* Options of parsnets_evaluate. */
typedef struct parsnets_evaluate_options {
  size_t size;                   /* sizeof(parsnets_evaluate_options) */
  int32_t allow_trained_samples; /* nonzero: accept test samples that were used in training, and count them */
  int32_t reserved;              /* 0 */
  double *curve;                 /* NULL, or 3 * curve_capacity values: gamma, u and s of each point of the seen-unseen
                                    curve, by rising gamma */
  size_t curve_capacity;         /* points that fit; the number of test samples + 1 is always enough */
  size_t *curve_points;          /* receives the number of points, 0 without test samples of seen classes; NULL only if
                                    curve is */
  const double *coverages;       /* NULL, or coverage_count shares between 0 and 1, for which the model, which must be
                                    calibrated, gives prediction sets */
  size_t coverage_count;         /* number of coverages */
  double *sets;                  /* 4 * coverage_count values: of each coverage, the percentage of test samples of seen
                                    classes whose class is in their set, and the mean size of these sets, then the same
                                    of unseen classes; 0 without such samples. NULL only if coverages is */
  double *reliability;           /* NULL, or 2 * PARSNETS_RELIABILITY_BINS * 3 values: for test samples of seen, then of
                                    unseen classes, the number of samples with a confidence in each of equal parts of 0
                                    to 1, their mean confidence and the share that is predicted right, in percent */
  double *zsl;                   /* NULL, or one value for each class of the data set: top-1 accuracy in percent among
                                    the unseen classes; NaN without such test samples */
  double *gzsl;                  /* NULL, or the same among all classes, with gamma */
  uint32_t *confusion;           /* NULL, or classes x classes counts of predictions among all classes with gamma, one
                                    row per true class; 0 without GZSL */
  size_t classes;                /* C of the data set; unused if the three above are NULL */
} parsnets_evaluate_options;
/* The defaults: parsnets_evaluate_options x = PARSNETS_EVALUATE_OPTIONS_INIT. */
#define PARSNETS_EVALUATE_OPTIONS_INIT \
  { sizeof(parsnets_evaluate_options), 0, 0, NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0 }

/* Evaluates the model on the test samples; classes are matched by name. PARSNETS_BAD_INPUT if there are no test samples
 * of unseen classes, if the model lacks one of those classes, or if it was trained on test samples. */
PARSNETS_API parsnets_status parsnets_evaluate(const parsnets_model *model, const parsnets_dataset *dataset,
                                               const parsnets_evaluate_options *options, uint32_t threads,
                                               parsnets_progress_function progress, void *user,
                                               parsnets_evaluation *evaluation);

/* Inputs that are of no class by construction. */
typedef struct parsnets_no_class_inputs {
  const char *name; /* "uniform", "gaussian", "zero" ...; never freed */
  size_t inputs;    /* how many */
  double rejected;  /* percent of them */
  double auroc;     /* percent; of the known score, against all test samples */
} parsnets_no_class_inputs;

/* Options of parsnets_evaluate_open_set. */
typedef struct parsnets_open_set_evaluation_options {
  size_t size;                        /* sizeof(parsnets_open_set_evaluation_options) */
  const char *const *unknown_classes; /* unseen classes that are left out of the model; or NULL: one half of them after
                                         the other */
  size_t unknown_count;               /* number of unknown_classes */
  size_t inputs;                      /* of each kind that is of no class; at least 1 */
  uint64_t seed;                      /* of the halves and these inputs */
  parsnets_no_class_inputs *no_class; /* receives the results of at most no_class_capacity kinds; or NULL */
  size_t no_class_capacity;           /* kinds that fit; 16 is enough */
  size_t *no_class_count;             /* receives the number of kinds; NULL only if no_class is */
} parsnets_open_set_evaluation_options;
/* The defaults: parsnets_open_set_evaluation_options x = PARSNETS_OPEN_SET_EVALUATION_OPTIONS_INIT. */
#define PARSNETS_OPEN_SET_EVALUATION_OPTIONS_INIT \
  { sizeof(parsnets_open_set_evaluation_options), NULL, 0, 1000, 1, NULL, 0, NULL }

/* Test samples of one kind at the model's thresholds. */
typedef struct parsnets_accepted_share {
  size_t samples, classes;      /* a sample counts in each turn */
  double accepted;              /* percent of the samples; 0 without any */
  parsnets_interval of_classes; /* mean over the classes, and its 95 % confidence interval; NaN without any */
} parsnets_accepted_share;

/* How well a score tells known samples from unknown ones, in percent. */
typedef struct parsnets_open_set_quality {
  double auroc; /* area under the ROC curve */
  double fpr95; /* unknown samples that are accepted where 95 % of the known ones are */
  double oscr;  /* area under the curve of open-set classification rates */
} parsnets_open_set_quality;

/* Results of parsnets_evaluate_open_set. */
typedef struct parsnets_open_set_evaluation {
  size_t size;                                               /* sizeof(parsnets_open_set_evaluation) */
  size_t turns;                                              /* of leaving classes out */
  parsnets_accepted_share known_seen, known_unseen, unknown; /* samples of the classes that stay, and of the others */
  double known_right;                                        /* percent of known samples that are given their class */
  parsnets_open_set_quality known_score, confidence;         /* of the known score, and of the confidence beside it */
} parsnets_open_set_evaluation;

/* Evaluates the rejection of unknown samples on the test samples: some unseen classes are left out of the model, which
 * stays as it is, and inputs of no class are made. PARSNETS_USAGE for models without rejection; PARSNETS_BAD_INPUT as
 * parsnets_evaluate, and without known or unknown samples. */
PARSNETS_API parsnets_status parsnets_evaluate_open_set(const parsnets_model *model, const parsnets_dataset *dataset,
                                                        const parsnets_open_set_evaluation_options *options,
                                                        uint32_t threads, parsnets_progress_function progress,
                                                        void *user, parsnets_open_set_evaluation *evaluation);

/* ---- Uncertainty: intervals of results, and comparison of two methods (docs/method.md) ---- */

/* In how many runs of a method each test sample was predicted right. Arrays are read during the call only. */
typedef struct parsnets_outcomes {
  size_t size;                  /* sizeof(parsnets_outcomes) */
  const int32_t *unseen_labels; /* unseen_samples class numbers, any */
  const int32_t *seen_labels;   /* seen_samples class numbers */
  const uint16_t *zsl;          /* per unseen label: when unseen classes compete; each at most `runs` */
  const uint16_t *unseen;       /* per unseen label: when all classes compete; unused without seen samples */
  const uint16_t *seen;         /* per seen label: when all classes compete */
  size_t unseen_samples;        /* at least 1 */
  size_t seen_samples;          /* 0: no GZSL */
  uint32_t runs;                /* from 1 to 65535 */
  uint32_t reserved;            /* 0 */
} parsnets_outcomes;

/* Options of parsnets_bootstrap_intervals and parsnets_compare_paired. */
typedef struct parsnets_uncertainty_options {
  size_t size;        /* sizeof(parsnets_uncertainty_options) */
  int32_t replicates; /* of the bootstrap; at least 40 */
  int32_t draws;      /* of the randomisation test, if there are too many classes to enumerate; at least 1 */
  uint64_t seed;      /* of both */
} parsnets_uncertainty_options;
/* The defaults: parsnets_uncertainty_options x = PARSNETS_UNCERTAINTY_OPTIONS_INIT. */
#define PARSNETS_UNCERTAINTY_OPTIONS_INIT \
  { sizeof(parsnets_uncertainty_options), 2000, 10000, 1 }

/* Intervals of one method. */
typedef struct parsnets_intervals {
  size_t size;               /* sizeof(parsnets_intervals) */
  parsnets_interval zsl;     /* mean over unseen classes, among them */
  parsnets_interval u, s, h; /* among all classes; 0 without seen samples */
} parsnets_intervals;
/* Bootstrap over classes and their samples. */
PARSNETS_API parsnets_status parsnets_bootstrap_intervals(const parsnets_outcomes *outcomes,
                                                          const parsnets_uncertainty_options *options, uint32_t threads,
                                                          parsnets_intervals *intervals);

/* One result of the first method minus that of the second. */
typedef struct parsnets_difference {
  parsnets_interval difference; /* points */
  double p;                     /* two-sided p-value of the randomisation test over classes */
  int32_t exact;                /* 1: all exchanges were enumerated */
  int32_t reserved;             /* 0 */
} parsnets_difference;

/* Two methods on the same test samples. */
typedef struct parsnets_comparison {
  size_t size;                 /* sizeof(parsnets_comparison) */
  parsnets_difference zsl;     /* mean over unseen classes, among them */
  parsnets_difference u, s, h; /* among all classes; 0 without seen samples */
} parsnets_comparison;
/* Paired bootstrap and randomisation test. PARSNETS_BAD_INPUT unless the labels are the same. */
PARSNETS_API parsnets_status parsnets_compare_paired(const parsnets_outcomes *first, const parsnets_outcomes *second,
                                                     const parsnets_uncertainty_options *options, uint32_t threads,
                                                     parsnets_comparison *comparison);

/* ---- Device models: export to the file format of runtime/parsnets_rt.c, and prediction with such files ---- */

typedef struct parsnets_device parsnets_device; /* freed by parsnets_device_free */

/* Storage of weights. */
enum { PARSNETS_PRECISION_CHOSEN = 0, PARSNETS_FLOAT32 = 1, PARSNETS_FLOAT16 = 2, PARSNETS_INT8 = 3 };

/* Options of parsnets_export. */
typedef struct parsnets_export_options {
  size_t size;        /* sizeof(parsnets_export_options) */
  int32_t precision;  /* PARSNETS_PRECISION_CHOSEN: int8, or by max_bytes */
  int32_t rank;       /* number of stored networks, which are mixed into all others; 0: all; -1: all, or by max_bytes */
  uint64_t max_bytes; /* 0: no limit; otherwise precision and rank, if not given, are chosen on validation classes */
  double max_drop;    /* maximum loss of ZSL or H on validation classes, in points */
} parsnets_export_options;
/* The defaults: parsnets_export_options x = PARSNETS_EXPORT_OPTIONS_INIT. */
#define PARSNETS_EXPORT_OPTIONS_INIT \
  { sizeof(parsnets_export_options), PARSNETS_PRECISION_CHOSEN, -1, 0, 0.5 }

/* Choices of an export, and its loss of accuracy. */
typedef struct parsnets_export_result {
  size_t size;                                     /* sizeof(parsnets_export_result) */
  int32_t precision;                               /* PARSNETS_FLOAT32 ... */
  int32_t rank;                                    /* 0: all networks */
  int32_t has_validation;                          /* 0: no data set was given; the four below are 0 */
  double zsl_before, h_before, zsl_after, h_after; /* percent, on validation classes */
} parsnets_export_result;

/* Exports a model that predicts semantics (otherwise PARSNETS_USAGE). With `dataset`, the training data set, the loss
 * of accuracy is measured: PARSNETS_FAILURE if it exceeds max_drop or nothing fits in max_bytes. `dataset` and `result`
 * or NULL; max_bytes requires a data set (otherwise PARSNETS_USAGE). */
PARSNETS_API parsnets_status parsnets_export(const parsnets_model *model, const parsnets_dataset *dataset,
                                             const parsnets_export_options *options, uint32_t threads,
                                             parsnets_progress_function progress, void *user, parsnets_device **device,
                                             parsnets_export_result *result);
/* Reads and validates a device file. */
PARSNETS_API parsnets_status parsnets_device_load(const char *file, parsnets_device **device);
/* Writes the device file atomically. */
PARSNETS_API parsnets_status parsnets_device_save(const parsnets_device *device, const char *file);
/* Writes a C header that contains the file as the const array `name` (a C identifier), atomically. */
PARSNETS_API parsnets_status parsnets_device_save_header(const parsnets_device *device, const char *file,
                                                         const char *name);
PARSNETS_API void parsnets_device_free(parsnets_device *device); /* `device` or NULL */

/* Sizes and classes of a device model. */
typedef struct parsnets_device_info {
  size_t size;                            /* sizeof(parsnets_device_info) */
  size_t dimensions, attributes, outputs; /* d, m, o */
  size_t classes, seen_classes;           /* C, and the number with training samples */
  size_t bytes;                           /* size of the file */
  size_t work_bytes;                      /* working memory for a prediction */
  uint64_t multiply_adds;                 /* per prediction */
  double gamma;                           /* subtracted from the scores of seen classes */
  const char *instruction_set;            /* of the runtime here: "AVX-512 VNNI", "AVX2", "SDOT", "NEON" or "none" */
  const uint8_t *seen;                    /* C; valid until the device model is freed, like `file` */
  const void *file;                       /* `bytes` bytes */
  int32_t precision;                      /* of the networks: PARSNETS_FLOAT32 ... */
  int32_t rank;                           /* number of stored networks, which are mixed into all others; 0: all */
  const char *source; /* JSON: the network that the features come from, as in the training record; NULL: not known */
} parsnets_device_info;

/* Pointers stay valid until the device model is freed. */
PARSNETS_API parsnets_status parsnets_device_get_info(const parsnets_device *device, parsnets_device_info *info);
/* The name of a class; `index` below C. */
PARSNETS_API parsnets_status parsnets_device_class_name(const parsnets_device *device, size_t index, const char **name);
/* Like parsnets_predict_scores; the runtime processes one sample at a time. */
PARSNETS_API parsnets_status parsnets_device_scores(const parsnets_device *device, const float *x, size_t samples,
                                                    size_t dimensions, uint32_t threads, float *scores, size_t classes);
/* Like parsnets_rank. */
PARSNETS_API parsnets_status parsnets_device_rank(const parsnets_device *device, const float *x, size_t samples,
                                                  size_t dimensions, const int32_t *candidates, size_t count, size_t k,
                                                  uint32_t threads, int32_t *classes, float *scores,
                                                  float *confidences);
/* The verdicts of the runtime among all classes: `samples` known scores and `samples` flags, 1 for unknown samples, as
 * parsnets_predict_known. PARSNETS_USAGE for a device model without rejection. */
PARSNETS_API parsnets_status parsnets_device_known(const parsnets_device *device, const float *x, size_t samples,
                                                   size_t dimensions, uint32_t threads, float *known_scores,
                                                   uint8_t *unknown);
/* Like parsnets_evaluate; PARSNETS_BAD_INPUT for features of another network than those of training. */
PARSNETS_API parsnets_status parsnets_device_evaluate(const parsnets_device *device, const parsnets_dataset *dataset,
                                                      uint32_t threads, parsnets_progress_function progress, void *user,
                                                      parsnets_evaluation *evaluation);

/* ---- Report: one self-contained HTML page about runs (docs/report.md) ---- */

/* One run of a report. */
typedef struct parsnets_report_run {
  size_t size;                 /* sizeof(parsnets_report_run) */
  const char *name;            /* name of the run on the page */
  const parsnets_model *model; /* must outlive the call */
  const char *run_json;        /* contents of run.json, see `train --run`; or NULL */
  const char *const *benches;  /* files written by `bench --out`; or NULL */
  size_t bench_count;          /* number of files in benches */
} parsnets_report_run;

/* Options of parsnets_report. */
typedef struct parsnets_report_options {
  size_t size;             /* sizeof(parsnets_report_options) */
  size_t points;           /* maximum number of points in the t-SNE maps */
  size_t explanations;     /* number of explained samples */
  int32_t compare_mmg;     /* nonzero: fit models with MMG again without it, for comparison */
  uint64_t seed;           /* of the t-SNE maps and their samples */
  const char *photographs; /* folder with thumbnails.jpg or .png (docs/report.md); or NULL: none */
  const char *own_rows;    /* file with rows of one's own, shown beside the published ones (docs/report.md); or NULL */
} parsnets_report_options;
/* The defaults: parsnets_report_options x = PARSNETS_REPORT_OPTIONS_INIT. */
#define PARSNETS_REPORT_OPTIONS_INIT \
  { sizeof(parsnets_report_options), 3000, 12, 1, 1, NULL, NULL }

/* Writes the page atomically. `dataset`: what all `count` runs were trained on (otherwise PARSNETS_BAD_INPUT). */
PARSNETS_API parsnets_status parsnets_report(const parsnets_report_run *const *runs, size_t count,
                                             const parsnets_dataset *dataset, const parsnets_report_options *options,
                                             uint32_t threads, parsnets_progress_function progress, void *user,
                                             const char *file);

/* ---- Reproduction: several methods on every data set under a folder (docs/researcher.md) ---- */

/* Options of parsnets_reproduce. */
typedef struct parsnets_reproduce_options {
  size_t size;          /* sizeof(parsnets_reproduce_options) */
  const char *methods;  /* comma-separated: "paper", "default", "auto" or methods with options; or NULL: the default */
  uint32_t seeds;       /* number of seeds of the methods, 1 to 1000 */
  uint64_t seed;        /* the first one */
  int32_t ablation;     /* nonzero: also the parts of the method, with the first seed */
  int32_t sparsity;     /* nonzero: also the numbers of active networks, with the first seed */
  int32_t report;       /* nonzero: also report.html */
  size_t points;        /* maximum number of points in the t-SNE maps of the report */
  const char *own_rows; /* file with rows of one's own, shown as not measured here; or NULL */
} parsnets_reproduce_options;
/* The defaults: parsnets_reproduce_options x = PARSNETS_REPRODUCE_OPTIONS_INIT. */
#define PARSNETS_REPRODUCE_OPTIONS_INIT \
  { sizeof(parsnets_reproduce_options), NULL, 3, 1, 1, 1, 1, 1000, NULL }

/* Writes results, tables (tables/NAME.json, .csv, .md, .tex) and the report to the folder `out`. What an earlier call
 * has finished is not run again. */
PARSNETS_API parsnets_status parsnets_reproduce(const char *root, const char *out,
                                                const parsnets_reproduce_options *options, uint32_t threads,
                                                parsnets_progress_function progress, void *user);

/* A table, in the JSON of tables/NAME.json, as "md", "csv", "tex" or "json". Writes at most `capacity` bytes to `text`
 * (NULL: none), the last of them 0, and the length of the whole text, without the 0, to `length`. */
PARSNETS_API parsnets_status parsnets_table_text(const char *json, const char *format, char *text, size_t capacity,
                                                 size_t *length);

/* ---- Names of version 0.1 ---- */

/* parsnets_dataset_info */
typedef parsnets_dataset_info parsnets_dataset_facts;
/* parsnets_dataset_get_info */
#define parsnets_dataset_get_facts parsnets_dataset_get_info

#ifdef __cplusplus
}
#endif

#endif
