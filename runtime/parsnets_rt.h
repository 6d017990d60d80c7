/* ParsNets on the device: zero-shot recognition from a model in a memory buffer.
 *
 * Two C99 files that depend only on sqrtf. No allocation, no I/O, no global state: the caller owns all memory.
 * A pnrt_model is read-only after pnrt_open, so threads may share it if each has its own working memory.
 * Threads may read a pnrt_bank concurrently; calls that change it need exclusive access.
 *
 *   static uint32_t work[8192];                              pnrt_work_bytes(&model, NULL) bytes or more
 *   pnrt_model model;
 *   pnrt_match top[3];
 *   pnrt_verdict verdict;
 *   pnrt_status status = pnrt_open(&model, bytes, size);     bytes are used in place: a mapped file, flash
 *   if (status == PNRT_OK) status = pnrt_classify(&model, NULL, features, NULL, top, 3, &verdict, work, sizeof work);
 *   if (status == PNRT_OK) puts(pnrt_class_name(&model, NULL, top[0].index));
 *
 * docs/device.md describes the file format and the checks of pnrt_open. Models with int8 weights give bitwise identical
 * results on every machine with IEEE floats, with or without SIMD. Compile without -ffast-math or any of its parts;
 * with clang also without -ffp-contract=fast.
 */
#ifndef PARSNETS_RT_H
#define PARSNETS_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PNRT_FORMAT_VERSION 6 /* newest version of device files that pnrt_open accepts; it accepts all since 1 */
#define PNRT_NAME_BYTES 64    /* maximum for a class added at run time, including NUL */

/* Status of a call. */
typedef enum pnrt_status {
  PNRT_OK = 0,        /* success */
  PNRT_BAD_ARGUMENT,  /* a null pointer, an index out of range, k = 0 */
  PNRT_MISALIGNED,    /* model, working, bank or learning memory is not aligned to 4 bytes */
  PNRT_NOT_A_MODEL,   /* the buffer does not start with the magic of a device model, or of a saved bank */
  PNRT_OTHER_VERSION, /* a device model or saved bank of an unsupported format version */
  PNRT_TRUNCATED,     /* the buffer is shorter or longer than the header says */
  PNRT_DAMAGED,       /* the checksum does not match */
  PNRT_INVALID,       /* the checksum matches, but the contents are inconsistent */
  PNRT_NO_MEMORY,     /* working, bank, learning or saving memory is too small */
  PNRT_NOT_FINITE,    /* an input or a computed value is not finite */
  PNRT_BAD_NAME,      /* an empty name, or one of PNRT_NAME_BYTES bytes or more */
  PNRT_EXISTS,        /* a class of that name exists */
  PNRT_NOT_FOUND,     /* there is no class of that name, or no class at all */
  PNRT_FULL,          /* the bank has no free slot */
  PNRT_CANNOT_LEARN,  /* the bank has no learning memory, or its model no class space */
  PNRT_OTHER_MODEL,   /* the bank was saved with another model */
  PNRT_NO_REJECTION   /* the model cannot tell unknown samples: it was not calibrated for that before export */
} pnrt_status;

/* Description of a status; never null. */
const char* pnrt_status_text(pnrt_status status);

/* Storage of a section of the file. */
typedef enum pnrt_type { PNRT_ABSENT = 0, PNRT_F32 = 1, PNRT_F16 = 2, PNRT_I8 = 3, PNRT_BYTES = 4 } pnrt_type;
/* Instruction set of the products. */
typedef enum pnrt_path { PNRT_SCALAR = 0, PNRT_NEON = 1, PNRT_AVX2 = 2 } pnrt_path;

/* rows x cols, row-major; each int8 row has a scale. */
typedef struct pnrt_matrix {
  const void* data;    /* rows * cols values of `type` */
  const float* scale;  /* rows values; null unless int8 */
  uint32_t rows, cols; /* shape */
  uint32_t type;       /* a pnrt_type */
} pnrt_matrix;

/* The network that makes features out of photographs, and what it is given. Pointers are into the model's buffer. */
typedef struct pnrt_source {
  const uint8_t* sha256;  /* 32 bytes: SHA-256 of the network's file */
  const char* layer;      /* its output that features are read from; null-terminated */
  const char* backbone;   /* file name of the network, for messages; null-terminated */
  uint32_t dimensions;    /* values per photograph */
  uint16_t width, height; /* pixels of its input */
  uint8_t preset, fit;    /* its colours, the part of a photograph that it sees: codes of docs/device.md */
} pnrt_source;

/* A view of the buffer given to pnrt_open. Callers may read the numbers; everything else is internal. */
typedef struct pnrt_model {
  uint32_t features;               /* d: features per sample */
  uint32_t attributes;             /* m: attributes per class */
  uint32_t outputs;                /* o: dimensions of a class vector */
  uint32_t semantics;              /* q: dimensions of prepared attributes; o unless class_targets */
  uint32_t placed;                 /* outputs in class space; the others, up to o, are those of the semantic head */
  uint32_t encoding;               /* h; 0: none */
  uint32_t networks, open, basis;  /* K, k, and the r stored networks that are mixed into K (r = K: not mixed) */
  uint32_t classes, support;       /* C, and the number of classes that define the prototypes */
  uint32_t tables;                 /* tables that the attributes come from; 0: one */
  float gamma, temperature, width; /* gamma of seen classes; of the softmax; of the prototype kernel, 0: linear */
  float head_weight;               /* of the semantic head beside class space; 0: none */
  float example_prior, strength;   /* samples that the place of a class counts as: against examples, unlabelled ones */
  float sharpness, certainty;      /* of the softmax of adapting, and the least share of it that counts */
  uint32_t checksum;               /* of the file */
  uint8_t feature_scaling, semantic_scaling, gates, similarity; /* codes of docs/device.md */
  uint8_t sees_encoding, relu, integer;                         /* 0 or 1; integer: at least one matrix is int8 */
  uint8_t class_targets; /* 1: a class vector is a place in class space that attributes only predict */
  uint8_t path;          /* a pnrt_path, chosen by pnrt_open; may be set to PNRT_SCALAR */
  const float *feature_mean, *feature_factor, *network_bias, *mixing, *bias;         /* sections of docs/device.md */
  const float *semantic_mean, *semantic_factor, *whitening_centre, *semantic_centre; /* sections */
  pnrt_matrix encoder, anchors, weights, shared, whitening, prototype_support, prototype_weights; /* sections */
  pnrt_matrix class_vectors, class_attributes, attribute_head;                                    /* sections */
  const float *attribute_offset, *class_lengths, *class_predicted;                                /* sections */
  const float *rejection, *span_offset;      /* sections; null: the model has no rejection, or no span */
  pnrt_matrix span;                          /* section */
  const uint8_t* class_seen;                 /* C values, 0 or 1 */
  const uint16_t* class_order;               /* class indices, sorted by name */
  const uint32_t* class_name_offsets;        /* of each class in class_names */
  const uint32_t* table_attributes;          /* of each table, m in all; null: one table */
  const char *class_names, *attribute_names; /* null-terminated names */
  pnrt_source source;                        /* what pnrt_feature_source returns; its sha256 is null: not known */
} pnrt_model;

/* Opens and validates a buffer of `size` bytes, aligned to 4, which must outlive the model. */
pnrt_status pnrt_open(pnrt_model* model, const void* buffer, size_t size);

/* The network that the features of the model must come from: compare its sha256 and layer with those of the network on
 * the device. Valid as long as the model and its buffer; null if the file does not say, or if `model` is null. Takes no
 * memory and cannot fail. */
const pnrt_source* pnrt_feature_source(const pnrt_model* model);

/* Classes that are added and removed at run time, in the caller's memory. Class i of the model keeps index i; added
 * classes have indices from model->classes on, and freed indices are reused. */
typedef struct pnrt_bank {
  const pnrt_model* model;  /* must outlive the bank */
  unsigned char* memory;    /* owned by the caller */
  uint32_t capacity, added; /* maximum and current number of added classes */
  float* learning;          /* learning memory, owned by the caller; null: none */
} pnrt_bank;

/* Size of a bank that can hold `capacity` added classes; 0 if it exceeds size_t. */
size_t pnrt_bank_bytes(const pnrt_model* model, uint32_t capacity);
/* Initialises an empty bank without learning memory in `memory` (aligned to 4), which must outlive it. */
pnrt_status pnrt_bank_init(pnrt_bank* bank, const pnrt_model* model, uint32_t capacity, void* memory, size_t bytes);
/* Adds a class with m raw attributes; the scores of other classes do not change. `index` may be null. The class is
 * unseen, even under the name of a removed seen class: gamma is not subtracted from its score. In an int8 model its
 * vector is computed with rounded whitening and prototypes, so its score differs by a few hundredths from that of an
 * exported class. */
pnrt_status pnrt_add_class(pnrt_bank* bank, const char* name, const float* attributes, uint32_t* index, void* work,
                           size_t work_bytes);
/* Removes a class, either an added one or one of the model, and what was learned of it. */
pnrt_status pnrt_remove_class(pnrt_bank* bank, const char* name);

/* ---- Learning on the device: samples move the places of classes (docs/device.md). Class space only. ---- */

/* Size of the learning memory of a bank; 0 if its model has no class space, or if it exceeds size_t. */
size_t pnrt_learning_bytes(const pnrt_bank* bank);
/* Attaches learning memory (aligned to 4), which must outlive the bank, and clears it: nothing has been learned. */
pnrt_status pnrt_bank_learn(pnrt_bank* bank, void* memory, size_t bytes);
/* Learns from `count` unlabelled samples of d raw features each, all with the places as they are before the call.
 * Moves unseen classes, which includes added ones. `moved` receives their number; may be null. Nothing changes unless
 * PNRT_OK is returned. */
pnrt_status pnrt_adapt(pnrt_bank* bank, const float* features, uint32_t count, uint32_t* moved, void* work,
                       size_t work_bytes);
/* Learns from `count` examples of a class, seen or unseen. Nothing changes unless PNRT_OK is returned. */
pnrt_status pnrt_teach(pnrt_bank* bank, const char* name, const float* features, uint32_t count, void* work,
                       size_t work_bytes);
/* Forgets all samples: classes are back in the places of the model or of their attributes. */
pnrt_status pnrt_forget(pnrt_bank* bank);

/* Size of what pnrt_bank_save writes now; 0 if it exceeds 2^31 - 1 bytes. */
size_t pnrt_saved_bytes(const pnrt_bank* bank);
/* Writes added and removed classes and what was learned: pnrt_saved_bytes bytes, of any alignment. */
pnrt_status pnrt_bank_save(const pnrt_bank* bank, void* buffer, size_t bytes);
/* Replaces the contents of the bank by saved ones (of exactly `bytes` bytes, of any alignment). Needs the same model,
 * enough capacity, and learning memory if something had been learned. Nothing changes unless PNRT_OK is returned. */
pnrt_status pnrt_bank_load(pnrt_bank* bank, const void* buffer, size_t bytes);

/* ---- Below, `bank` may be null: the classes of the model. ---- */

/* Number of class slots, including removed and free ones. */
uint32_t pnrt_class_slots(const pnrt_model* model, const pnrt_bank* bank);
/* Name of a class; null if there is none with that index. */
const char* pnrt_class_name(const pnrt_model* model, const pnrt_bank* bank, uint32_t index);
/* Name of an attribute; null if out of range or if the model has no names. */
const char* pnrt_attribute_name(const pnrt_model* model, uint32_t attribute);
/* Finds the index of a class; PNRT_NOT_FOUND if there is no class of that name. */
pnrt_status pnrt_find_class(const pnrt_model* model, const pnrt_bank* bank, const char* name, uint32_t* index);

/* The o values that predictions are compared with for a class; PNRT_NOT_FOUND if there is none with that index. */
pnrt_status pnrt_class_vector(const pnrt_model* model, const pnrt_bank* bank, uint32_t index, float* values);

/* Working memory for any call that takes some, in bytes; 0 if it exceeds size_t. */
size_t pnrt_work_bytes(const pnrt_model* model, const pnrt_bank* bank);
/* Multiply-adds of one call of pnrt_scores. */
uint64_t pnrt_multiply_adds(const pnrt_model* model, const pnrt_bank* bank);

/* Maps d raw features to the o dimensions of class vectors. `open` receives the k active networks, ascending; may be
 * null. */
pnrt_status pnrt_predict(const pnrt_model* model, const float* features, float* prediction, uint16_t* open, void* work,
                         size_t work_bytes);
/* Maps d raw features to one score per class slot; higher is better, gamma is not applied. Slots without a class get
 * -FLT_MAX. */
pnrt_status pnrt_scores(const pnrt_model* model, const pnrt_bank* bank, const float* features, float* scores,
                        void* work, size_t work_bytes);

/* Which classes compete. */
typedef enum pnrt_among { PNRT_ALL = 0, PNRT_SEEN = 1, PNRT_UNSEEN = 2 } pnrt_among;

/* Options of pnrt_classify. */
typedef struct pnrt_query {
  uint32_t reject; /* 1: the model's rejection tells unknown samples, PNRT_NO_REJECTION if it has none; 0: not asked */
  uint32_t among;  /* a pnrt_among: which classes compete */
} pnrt_query;

/* A predicted class. */
typedef struct pnrt_match {
  uint32_t index;   /* of the class */
  float score;      /* with gamma subtracted from seen classes */
  float confidence; /* softmax of scores / temperature over the competing classes */
} pnrt_match;

/* Result of pnrt_classify. */
typedef struct pnrt_verdict {
  uint32_t count;    /* number of matches written, at most k; best first, ties by index */
  uint32_t unknown;  /* 1: the sample is of no class, or no class competes */
  float known_score; /* what `unknown` follows from: higher is more like known samples, -FLT_MAX unlike all of them;
                      * 0 unless rejection was asked for */
} pnrt_verdict;

/* Finds the k best classes. `query` may be null: all classes, without rejection. */
pnrt_status pnrt_classify(const pnrt_model* model, const pnrt_bank* bank, const float* features,
                          const pnrt_query* query, pnrt_match* top, uint32_t k, pnrt_verdict* verdict, void* work,
                          size_t work_bytes);

/* Comparison of the best class with the second. */
typedef struct pnrt_explanation {
  uint32_t winner, runner_up;          /* equal if there is only one class */
  float winner_score, runner_up_score; /* with gamma applied */
  float calibration;                   /* contribution of gamma to the difference of the scores */
  float examples;                      /* contribution of the training samples of both classes (and rounding) */
} pnrt_explanation;

/* Explains why the best class beats the second: contributions[j] is the contribution of attribute j to the difference
 * of their scores (for Euclidean models: of their negative squared distances). Contributions, calibration and examples
 * add up to the difference. `predicted` (m values, the predicted semantics) may be null. */
pnrt_status pnrt_explain(const pnrt_model* model, const pnrt_bank* bank, const float* features,
                         pnrt_explanation* explanation, float* contributions, float* predicted, void* work,
                         size_t work_bytes);

#ifdef __cplusplus
}
#endif
#endif
