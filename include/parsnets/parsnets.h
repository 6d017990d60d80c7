/* ParsNets for C, and for every language that calls C. docs/c-abi.md is the short introduction.
 *
 * - Status: every function that can fail returns one of the PARSNETS_ codes below; parsnets_last_error() has the
 *   message. A NULL pointer is PARSNETS_USAGE unless the text says "or NULL". On failure, handles that would have been
 *   made are NULL; other outputs may have been written in part.
 * - Matrices are row-major and contiguous. `x` is samples x dimensions of float32, read in place and never changed.
 * - Text is UTF-8 and ends in NUL. A `const char *` that a function gives belongs to the handle and stays valid until
 *   that handle is changed or freed.
 * - Structs start with `size`, which the caller sets to sizeof(the struct). Fields are only ever appended: a struct of
 *   an older header works, fields that it lacks keep their defaults; a newer one works if what this library does not
 *   know is zero.
 * - Threads: any number of threads may use a handle as `const` at once. Calls that change a handle need it for
 *   themselves. `threads` is how many threads a call may use, its own included: 0 is one per core, 1 starts none.
 *   Results do not depend on it, to the bit.
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

/* Raised when a function or a field changes its meaning; additions leave it alone. */
#define PARSNETS_ABI_VERSION 1

/* One of the codes below. */
typedef int32_t parsnets_status;
/* The exit codes of the command line tool. */
enum {
  PARSNETS_OK = 0,         /* done */
  PARSNETS_FAILURE = 1,    /* the work itself failed: memory, disk, a solver */
  PARSNETS_USAGE = 2,      /* an argument or option is impossible */
  PARSNETS_BAD_INPUT = 3,  /* a file or array is missing, malformed or inconsistent */
  PARSNETS_CANCELLED = 130 /* the progress function asked to stop */
};

typedef struct parsnets_dataset parsnets_dataset; /* freed by parsnets_dataset_free */
typedef struct parsnets_options parsnets_options; /* freed by parsnets_options_free */
typedef struct parsnets_model parsnets_model;     /* freed by parsnets_model_free */

/* Why the last call in this thread that failed did so; "" if none has. Valid until the next failure in this thread. */
PARSNETS_API const char *parsnets_last_error(void);
/* "0.1.0"; never freed. */
PARSNETS_API const char *parsnets_version(void);
/* PARSNETS_ABI_VERSION of the library that is loaded. */
PARSNETS_API uint32_t parsnets_abi_version(void);

/* ---- Progress ---- */

/* How far a stage of the work is. */
typedef struct parsnets_progress {
  size_t size;       /* sizeof(parsnets_progress) */
  const char *stage; /* what is being done; valid during the call */
  uint64_t done;     /* of total */
  uint64_t total;    /* 0 when it is not known */
  const char *unit;  /* of done and total; may be "" */
} parsnets_progress;

/* Called in the thread that called the library. Returns 0 to go on, anything else to cancel. */
typedef int (*parsnets_progress_function)(const parsnets_progress *progress, void *user);

/* ---- Data sets: features, labels, class semantics and a split. Never changed once made. ---- */

/* What replaces missing attribute values. */
enum { PARSNETS_MISSING_ATTRIBUTE_MEAN = 0, PARSNETS_MISSING_ZERO = 1, PARSNETS_MISSING_REFUSE = 2 };

/* What parsnets_dataset_load reads. */
typedef struct parsnets_load_options {
  size_t size;                 /* sizeof(parsnets_load_options) */
  const char *features;        /* features file without its ending; or NULL: the only one there */
  const char *semantics;       /* xlsa17 folders: reads `<semantics>_splits.mat`; or NULL: "att". Others: or NULL */
  uint64_t seed;               /* of validation classes, where the folder names none */
  int32_t original_attributes; /* nonzero: original_att in place of att */
  int32_t missing;             /* PARSNETS_MISSING_... */
  const char *split;           /* split.json or *_splits.mat to read in place of the folder's own split; or NULL */
} parsnets_load_options;
/* The defaults: parsnets_load_options x = PARSNETS_LOAD_OPTIONS_INIT. */
#define PARSNETS_LOAD_OPTIONS_INIT \
  { sizeof(parsnets_load_options), NULL, NULL, 1, 0, PARSNETS_MISSING_ATTRIBUTE_MEAN, NULL }

/* Reads an xlsa17-style or plain folder (docs/data.md). A float32 features.npy stays mapped: replace it, do not write
 * into it. `options` or NULL: the defaults. `progress` or NULL. */
PARSNETS_API parsnets_status parsnets_dataset_load(const char *folder, const parsnets_load_options *options,
                                                   parsnets_progress_function progress, void *user,
                                                   parsnets_dataset **dataset);

/* A data set in memory, for parsnets_dataset_from_arrays. */
typedef struct parsnets_arrays {
  size_t size;                                     /* sizeof(parsnets_arrays) */
  size_t samples, dimensions, classes, attributes; /* n, d, C, m; all at least 1 */
  const float *features;                           /* n x d, finite */
  const int32_t *labels;                           /* n, classes from 0 to C - 1 */
  const float *semantics;                          /* C x m, finite */
  const char *const *class_names;                  /* C, all different, none empty */
  const char *const *attribute_names;              /* m; or NULL */
  const char *name;                                /* of the data set, for the model's record; or NULL: "arrays" */
  const uint8_t *test;                             /* n: nonzero keeps a sample out of training; or NULL: none is */
  uint64_t seed;                                   /* of the validation classes, which are drawn from the seen ones */
  size_t borrow_features;    /* nonzero: features are not copied; they must stay as they are until the set is freed */
  const uint8_t *validation; /* C: nonzero for the seen classes to validate on, fewer than all; or NULL: drawn */
} parsnets_arrays;
/* The defaults: parsnets_arrays x = PARSNETS_ARRAYS_INIT. */
#define PARSNETS_ARRAYS_INIT \
  { sizeof(parsnets_arrays), 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, NULL }

/* A data set from memory. A class without a training sample is unseen. Everything is copied, features unless borrowed.
 */
PARSNETS_API parsnets_status parsnets_dataset_from_arrays(const parsnets_arrays *arrays, parsnets_dataset **dataset);
/* Frees a handle; `dataset` or NULL. */
PARSNETS_API void parsnets_dataset_free(parsnets_dataset *dataset);

/* The sizes and arrays of a data set. */
typedef struct parsnets_dataset_facts {
  size_t size;                                       /* sizeof(parsnets_dataset_facts) */
  size_t samples, dimensions, classes, attributes;   /* n, d, C, m */
  size_t seen_classes;                               /* with training samples */
  size_t trainval, test_seen, test_unseen;           /* samples: of training, and to test on */
  size_t train, val;                                 /* parts of trainval with disjoint classes; 0: too few classes */
  const char *name, *features_name, *semantics_name; /* of the folder and of what was read from it */
  const float *features;  /* n x d; this and what follows stays valid until the data set is freed */
  const int32_t *labels;  /* n */
  const float *semantics; /* C x m */
} parsnets_dataset_facts;

/* Writes the facts; PARSNETS_USAGE for a `size` that is not set. */
PARSNETS_API parsnets_status parsnets_dataset_get_facts(const parsnets_dataset *dataset, parsnets_dataset_facts *facts);
/* The name of a class; `index` below C. */
PARSNETS_API parsnets_status parsnets_dataset_class_name(const parsnets_dataset *dataset, size_t index,
                                                         const char **name);
/* The name of an attribute, NULL when the data set names none; `index` below m. */
PARSNETS_API parsnets_status parsnets_dataset_attribute_name(const parsnets_dataset *dataset, size_t index,
                                                             const char **name);

/* The lists of a split. */
enum {
  PARSNETS_SPLIT_TRAINVAL = 0,
  PARSNETS_SPLIT_TEST_SEEN = 1,
  PARSNETS_SPLIT_TEST_UNSEEN = 2,
  PARSNETS_SPLIT_TRAIN = 3,
  PARSNETS_SPLIT_VAL = 4
};
/* Sample numbers of one list of the split, from 0; valid until the data set is freed. */
PARSNETS_API parsnets_status parsnets_dataset_split(const parsnets_dataset *dataset, int32_t list,
                                                    const int32_t **samples, size_t *count);

/* ---- Options of training, by the names and values of the command line (docs/options.md), and "seed" ---- */

/* The defaults, nothing set. */
PARSNETS_API parsnets_status parsnets_options_create(parsnets_options **options);
/* Frees a handle; `options` or NULL. */
PARSNETS_API void parsnets_options_free(parsnets_options *options);
/* parsnets_options_set(o, "lambda", "3"); flags take "true" or "false". An option that was set stays as it is: presets
 * and searches leave it alone. PARSNETS_USAGE for an unknown name or an impossible value, and then nothing changes. */
PARSNETS_API parsnets_status parsnets_options_set(parsnets_options *options, const char *name, const char *value);
/* Back to the defaults, nothing set. */
PARSNETS_API parsnets_status parsnets_options_reset(parsnets_options *options);
/* {"method": "parsnets", ...}: all options as they are now. Valid until the next call with these options. */
PARSNETS_API parsnets_status parsnets_options_json(parsnets_options *options, const char **json);
/* [{"name", "help", "expected", "default", "choices", "set"}, ...], in the order of the documentation. Valid as
 * above. */
PARSNETS_API parsnets_status parsnets_options_describe(parsnets_options *options, const char **json);

/* ---- Models ---- */

/* Trains on the training samples. The same data, options and seed give the bytes that `parsnets train` writes (load the
 * folder with the same seed, too). `progress` or NULL; cancelling gives PARSNETS_CANCELLED and no model. A checkpoint
 * that the options name is removed at the end. */
PARSNETS_API parsnets_status parsnets_train(const parsnets_dataset *dataset, const parsnets_options *options,
                                            uint32_t threads, parsnets_progress_function progress, void *user,
                                            parsnets_model **model);

/* Reads and checks a model file (docs/format.md), which is not needed afterwards. */
PARSNETS_API parsnets_status parsnets_model_load(const char *file, parsnets_model **model);
/* Writes atomically; the bytes depend on the model alone. */
PARSNETS_API parsnets_status parsnets_model_save(const parsnets_model *model, const char *file);
/* A copy with a class bank and a calibration of its own. The weights, which nothing changes, are shared, so that it
 * costs little; either may be freed first. */
PARSNETS_API parsnets_status parsnets_model_clone(const parsnets_model *model, parsnets_model **copy);
/* Frees a handle; `model` or NULL. */
PARSNETS_API void parsnets_model_free(parsnets_model *model);

/* The sizes, classes and record of a model. */
typedef struct parsnets_model_facts {
  size_t size;                    /* sizeof(parsnets_model_facts) */
  size_t dimensions;              /* d, features of a sample */
  size_t attributes;              /* m */
  size_t outputs;                 /* q, values of a class vector; fewer than m with whitening */
  size_t classes, seen_classes;   /* C, and those of them that had training samples */
  size_t networks, open_networks; /* K, and k open for a sample */
  size_t predicts_semantics;    /* 0: maps semantics to features; no parsnets_predict_semantics, no parsnets_explain */
  double gamma;                 /* subtracted from the scores of seen classes in generalised recognition */
  double temperature;           /* of the softmax that makes confidences */
  const char *method;           /* "" in a file that does not say */
  const char *options, *record; /* JSON: the options after selection, and the training record */
  const uint8_t *seen;          /* C; 1: had training samples */
  const float *semantics;       /* C x m, as given */
} parsnets_model_facts;

/* Pointers stay valid until the model is changed or freed. */
PARSNETS_API parsnets_status parsnets_model_get_facts(const parsnets_model *model, parsnets_model_facts *facts);
/* The name of a class; `index` below C. */
PARSNETS_API parsnets_status parsnets_model_class_name(const parsnets_model *model, size_t index, const char **name);
/* The name of an attribute, NULL when the model has none; `index` below m. */
PARSNETS_API parsnets_status parsnets_model_attribute_name(const parsnets_model *model, size_t index,
                                                           const char **name);
/* The name of a feature, NULL when they have none, which only the next function gives; `index` below d. */
PARSNETS_API parsnets_status parsnets_model_feature_name(const parsnets_model *model, size_t index, const char **name);
/* Names the features, for the model file; no result depends on them. `names`: `dimensions`, which is d; or NULL: none.
 */
PARSNETS_API parsnets_status parsnets_model_set_feature_names(parsnets_model *model, const char *const *names,
                                                              size_t dimensions);

/* Changes the class bank, without training. `semantics`: m finite values, `attributes` is m. The new class is the last
 * one and unseen; PARSNETS_BAD_INPUT for a name that is there already. */
PARSNETS_API parsnets_status parsnets_model_add_class(parsnets_model *model, const char *name, const float *semantics,
                                                      size_t attributes);
/* The same for several at once, all or none, in the time of one: `names` has `classes` entries, `semantics` is
 * classes x m, row by row. */
PARSNETS_API parsnets_status parsnets_model_add_classes(parsnets_model *model, const char *const *names,
                                                        const float *semantics, size_t classes, size_t attributes);
/* Later classes move up by one. PARSNETS_BAD_INPUT when there is no such class, or no other. */
PARSNETS_API parsnets_status parsnets_model_remove_class(parsnets_model *model, const char *name);
/* gamma from -1e40 to 1e40, temperature from 1e-45 to 1e45. (Device files hold 1e6, and 1e-9 to 1e9.) */
PARSNETS_API parsnets_status parsnets_model_calibrate(parsnets_model *model, double gamma, double temperature);
/* Sets both by labelled samples that training did not see, of seen and of unseen classes: gamma for the best harmonic
 * mean, the temperature for the best likelihood. `x` as in predictions; `labels`: class numbers. PARSNETS_BAD_INPUT
 * without samples of both kinds. */
PARSNETS_API parsnets_status parsnets_model_calibrate_on(parsnets_model *model, const float *x, const int32_t *labels,
                                                         size_t samples, size_t dimensions, uint32_t threads);

/* ---- Prediction. `dimensions` must be the model's d, `classes` its C, `attributes` its m (PARSNETS_BAD_INPUT); values
 * of x must be finite (PARSNETS_BAD_INPUT). Buffers belong to the caller. A few samples are scored in the calling
 * thread, whatever `threads` says; the work per class is done once and kept until the classes change. ---- */

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
/* The k best classes of each sample, best first: samples x k class numbers, and their confidences among those that
 * compete, or NULL. Ties go to the earlier class. PARSNETS_USAGE unless 1 <= k <= how many compete. */
PARSNETS_API parsnets_status parsnets_predict_top(const parsnets_model *model, const float *x, size_t samples,
                                                  size_t dimensions, int32_t among, size_t k, uint32_t threads,
                                                  int32_t *classes, float *confidences);
/* The same among `count` candidates given by number. Outputs are samples x k; `scores` (gamma applied) and
 * `confidences` may be NULL. PARSNETS_USAGE for a class that is not there or listed twice. */
PARSNETS_API parsnets_status parsnets_rank(const parsnets_model *model, const float *x, size_t samples,
                                           size_t dimensions, const int32_t *candidates, size_t count, size_t k,
                                           uint32_t threads, int32_t *classes, float *scores, float *confidences);
/* samples x m: predicted semantics, prepared as the model prepares those of its classes. */
PARSNETS_API parsnets_status parsnets_predict_semantics(const parsnets_model *model, const float *x, size_t samples,
                                                        size_t dimensions, uint32_t threads, float *semantics,
                                                        size_t attributes);

/* The decision between the best class and the next. */
typedef struct parsnets_explanation {
  size_t size;                          /* sizeof(parsnets_explanation) */
  int32_t winner, runner_up;            /* classes; the same one when there is no other */
  double winner_score, runner_up_score; /* gamma applied */
  double calibration;                   /* what gamma gave to the difference of the scores */
  double examples;                      /* what the training samples of both classes gave; attributes make up the rest */
} parsnets_explanation;

/* Why one sample (d values) was given its class, among all classes. `contributions` (m, by attribute): shares of
 * winner_score - runner_up_score (of the squared distances with similarity euclidean); `semantics` (m): as predicted;
 * `open_networks` (k): ascending. Each of the three or NULL; `attributes` is m and `open` is k where they are not.
 * PARSNETS_USAGE for models that do not predict semantics. */
PARSNETS_API parsnets_status parsnets_explain(const parsnets_model *model, const float *x, size_t dimensions,
                                              parsnets_explanation *explanation, float *contributions, float *semantics,
                                              size_t attributes, int32_t *open_networks, size_t open);

/* ---- Evaluation ---- */

/* The figures of the zero-shot protocol. */
typedef struct parsnets_evaluation {
  size_t size;                                   /* sizeof(parsnets_evaluation) */
  double zsl_top1_per_class, zsl_top1, zsl_top5; /* percent; unseen test samples among the unseen classes */
  double u, s, h;                                /* percent; among all classes, at gamma */
  double ausuc;                                  /* percent; area under the seen-unseen curve */
  double gamma;                                  /* the model's */
  uint64_t has_gzsl;                             /* 0: no test samples of seen classes, the five above are 0 */
  int64_t trained_samples; /* test samples that the model was trained on; -1: some, the number is not known */
} parsnets_evaluation;

/* The zero-shot protocol on the test samples; classes are matched by name. PARSNETS_BAD_INPUT without test samples of
 * unseen classes, when the model lacks one of those, or when it was trained on test samples. `progress` or NULL. */
PARSNETS_API parsnets_status parsnets_evaluate(const parsnets_model *model, const parsnets_dataset *dataset,
                                               uint32_t threads, parsnets_progress_function progress, void *user,
                                               parsnets_evaluation *evaluation);
/* The same, and by class of the data set (`classes` is its C): `zsl` and `gzsl`, C each, are top-1 accuracies in
 * percent among the unseen classes and among all at gamma, NaN without such test samples; `confusion`, C x C, counts
 * predictions among all classes at gamma, a row for each true class, 0 without GZSL. Each of the three or NULL. */
PARSNETS_API parsnets_status parsnets_evaluate_classes(const parsnets_model *model, const parsnets_dataset *dataset,
                                                       uint32_t threads, parsnets_progress_function progress,
                                                       void *user, parsnets_evaluation *evaluation, double *zsl,
                                                       double *gzsl, uint32_t *confusion, size_t classes);

/* What parsnets_evaluate_with_options allows. */
typedef struct parsnets_evaluate_options {
  size_t size;                  /* sizeof(parsnets_evaluate_options) */
  size_t allow_trained_samples; /* nonzero: evaluate on samples that the model was trained on, and count them */
} parsnets_evaluate_options;
/* The defaults: parsnets_evaluate_options x = PARSNETS_EVALUATE_OPTIONS_INIT. */
#define PARSNETS_EVALUATE_OPTIONS_INIT \
  { sizeof(parsnets_evaluate_options), 0 }

/* The same with options, or NULL: the defaults. */
PARSNETS_API parsnets_status parsnets_evaluate_with_options(const parsnets_model *model,
                                                            const parsnets_dataset *dataset, uint32_t threads,
                                                            parsnets_progress_function progress, void *user,
                                                            parsnets_evaluation *evaluation, double *zsl, double *gzsl,
                                                            uint32_t *confusion, size_t classes,
                                                            const parsnets_evaluate_options *options);

/* ---- Devices: a model as the small file that runtime/parsnets_rt.c runs, and that file run from here ---- */

typedef struct parsnets_device parsnets_device; /* freed by parsnets_device_free */

/* How weights are stored. */
enum { PARSNETS_PRECISION_CHOSEN = 0, PARSNETS_FLOAT32 = 1, PARSNETS_FLOAT16 = 2, PARSNETS_INT8 = 3 };

/* What parsnets_export writes, and what it may cost. */
typedef struct parsnets_export_options {
  size_t size;        /* sizeof(parsnets_export_options) */
  int32_t precision;  /* PARSNETS_PRECISION_CHOSEN: int8, or by max_bytes */
  int32_t rank;       /* networks that are stored, of which the others are mixtures; 0: all; -1: all, or by max_bytes */
  uint64_t max_bytes; /* 0: no bound; otherwise what is not given is chosen on validation classes */
  double max_drop;    /* points of ZSL or H that export may cost on validation classes */
} parsnets_export_options;
/* The defaults: parsnets_export_options x = PARSNETS_EXPORT_OPTIONS_INIT. */
#define PARSNETS_EXPORT_OPTIONS_INIT \
  { sizeof(parsnets_export_options), PARSNETS_PRECISION_CHOSEN, -1, 0, 0.5 }

/* How a model was exported, and what that cost. */
typedef struct parsnets_export_figures {
  size_t size;                                     /* sizeof(parsnets_export_figures) */
  int32_t precision;                               /* PARSNETS_FLOAT32 ... */
  int32_t rank;                                    /* 0: all networks */
  uint64_t has_validation;                         /* 0: no data set was given, the four below are 0 */
  double zsl_before, h_before, zsl_after, h_after; /* percent, on validation classes */
} parsnets_export_figures;

/* Exports a model that predicts semantics (else PARSNETS_USAGE). With `dataset`, the set it was trained on, the cost is
 * measured: PARSNETS_FAILURE when it is above max_drop or nothing fits in max_bytes. `dataset`, `options`, `progress`
 * and `figures` or NULL; max_bytes needs a data set (else PARSNETS_USAGE). */
PARSNETS_API parsnets_status parsnets_export(const parsnets_model *model, const parsnets_dataset *dataset,
                                             const parsnets_export_options *options, uint32_t threads,
                                             parsnets_progress_function progress, void *user, parsnets_device **device,
                                             parsnets_export_figures *figures);
/* Reads and checks a device file. */
PARSNETS_API parsnets_status parsnets_device_load(const char *file, parsnets_device **device);
/* Writes the device file atomically. */
PARSNETS_API parsnets_status parsnets_device_save(const parsnets_device *device, const char *file);
/* Writes a C header with the file as the const array `name`, a C identifier; atomically. */
PARSNETS_API parsnets_status parsnets_device_save_header(const parsnets_device *device, const char *file,
                                                         const char *name);
/* Frees a handle; `device` or NULL. */
PARSNETS_API void parsnets_device_free(parsnets_device *device);

/* The sizes and classes of a device model. */
typedef struct parsnets_device_facts {
  size_t size;                            /* sizeof(parsnets_device_facts) */
  size_t dimensions, attributes, outputs; /* d, m, q */
  size_t classes, seen_classes;           /* C, and those of them that had training samples */
  size_t bytes;                           /* of the file */
  size_t work_bytes;                      /* working memory of a prediction */
  uint64_t multiply_adds;                 /* of a prediction */
  double gamma;                           /* subtracted from the scores of seen classes */
  const char *instruction_set;            /* that the runtime uses here: "AVX2", "NEON" or "none" */
  const uint8_t *seen;                    /* C; valid until the device model is freed, as is what follows */
  const void *file;                       /* `bytes` bytes */
  int32_t precision;                      /* of the networks: PARSNETS_FLOAT32 ... */
  int32_t rank;                           /* networks that are stored, of which the others are mixtures; 0: all */
} parsnets_device_facts;

/* Pointers stay valid until the device model is freed. */
PARSNETS_API parsnets_status parsnets_device_get_facts(const parsnets_device *device, parsnets_device_facts *facts);
/* The name of a class; `index` below C. */
PARSNETS_API parsnets_status parsnets_device_class_name(const parsnets_device *device, size_t index, const char **name);
/* As parsnets_predict_scores, by the runtime, one sample at a time. */
PARSNETS_API parsnets_status parsnets_device_scores(const parsnets_device *device, const float *x, size_t samples,
                                                    size_t dimensions, uint32_t threads, float *scores, size_t classes);
/* As parsnets_rank. */
PARSNETS_API parsnets_status parsnets_device_rank(const parsnets_device *device, const float *x, size_t samples,
                                                  size_t dimensions, const int32_t *candidates, size_t count, size_t k,
                                                  uint32_t threads, int32_t *classes, float *scores,
                                                  float *confidences);
/* As parsnets_evaluate, by the runtime. */
PARSNETS_API parsnets_status parsnets_device_evaluate(const parsnets_device *device, const parsnets_dataset *dataset,
                                                      uint32_t threads, parsnets_progress_function progress, void *user,
                                                      parsnets_evaluation *evaluation);

/* ---- Report: runs as one self-contained HTML page (docs/report.md) ---- */

/* One run of a report. */
typedef struct parsnets_report_run {
  size_t size;                 /* sizeof(parsnets_report_run) */
  const char *name;            /* of the run, on the page */
  const parsnets_model *model; /* must outlive the call */
  const char *facts;           /* JSON, as `train --run` writes it to run.json; or NULL */
  const char *const *benches;  /* files of `bench --out`; or NULL */
  size_t bench_count;          /* number of those files */
} parsnets_report_run;

/* What a report shows. */
typedef struct parsnets_report_options {
  size_t size;             /* sizeof(parsnets_report_options) */
  size_t points;           /* of the t-SNE maps, at most */
  size_t explanations;     /* samples that are explained */
  size_t compare_mmg;      /* nonzero: fits once more without MMG, for models that use it */
  uint64_t seed;           /* of the t-SNE maps and the samples in them */
  const char *photographs; /* folder with thumbnails.jpg or .png (docs/report.md); or NULL: none */
} parsnets_report_options;
/* The defaults: parsnets_report_options x = PARSNETS_REPORT_OPTIONS_INIT. */
#define PARSNETS_REPORT_OPTIONS_INIT \
  { sizeof(parsnets_report_options), 3000, 12, 1, 1, NULL }

/* Writes the page atomically. `dataset`: the set that all `count` runs were trained on (else PARSNETS_BAD_INPUT).
 * `options` and `progress` or NULL. */
PARSNETS_API parsnets_status parsnets_report(const parsnets_report_run *const *runs, size_t count,
                                             const parsnets_dataset *dataset, const parsnets_report_options *options,
                                             uint32_t threads, parsnets_progress_function progress, void *user,
                                             const char *file);

#ifdef __cplusplus
}
#endif

#endif
