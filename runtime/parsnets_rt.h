/* ParsNets on the device: zero-shot recognition from a model in a memory buffer.
 *
 * C99, two files, no dependency but sqrtf. No allocation, no I/O, no global state: the caller owns all memory.
 * A pnrt_model is read-only after pnrt_open, so any number of threads may use one, each with working memory of its own.
 * A pnrt_bank may be read by many threads at once; adding and removing classes needs exclusive access to it.
 *
 *   static uint32_t work[8192];                              pnrt_work_bytes(&model, NULL) bytes or more
 *   pnrt_model model;
 *   pnrt_match top[3];
 *   pnrt_verdict verdict;
 *   pnrt_status status = pnrt_open(&model, bytes, size);     bytes stay where they are: a mapped file, flash
 *   if (status == PNRT_OK) status = pnrt_classify(&model, NULL, features, NULL, top, 3, &verdict, work, sizeof work);
 *   if (status == PNRT_OK) puts(pnrt_class_name(&model, NULL, top[0].index));
 *
 * The file format and every check of pnrt_open are in docs/device.md. Models with int8 weights give the same bits on
 * every machine with IEEE floats, with or without SIMD. Compile without -ffast-math or any of its parts; with clang
 * also without -ffp-contract=fast.
 */
#ifndef PARSNETS_RT_H
#define PARSNETS_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PNRT_FORMAT_VERSION 1 /* of the device files that pnrt_open reads */
#define PNRT_NAME_BYTES 64    /* of a class added at run time, with its NUL */

/* What every call returns. */
typedef enum pnrt_status {
  PNRT_OK = 0,        /* done */
  PNRT_BAD_ARGUMENT,  /* a null pointer, an index out of range, k = 0 */
  PNRT_MISALIGNED,    /* model, working or bank memory is not aligned to 4 bytes */
  PNRT_NOT_A_MODEL,   /* the buffer does not begin as a device model does */
  PNRT_OTHER_VERSION, /* a device model of another format version */
  PNRT_TRUNCATED,     /* the buffer is shorter or longer than the model says */
  PNRT_DAMAGED,       /* the checksum is wrong */
  PNRT_INVALID,       /* the checksum is right but the contents contradict each other */
  PNRT_NO_MEMORY,     /* working or bank memory is too small */
  PNRT_NOT_FINITE,    /* an input, or what the model makes of it, is no finite number */
  PNRT_BAD_NAME,      /* an empty name, or one of PNRT_NAME_BYTES bytes or more */
  PNRT_EXISTS,        /* there is a class of that name */
  PNRT_NOT_FOUND,     /* there is no class of that name, or no class at all */
  PNRT_FULL           /* the bank has no free place */
} pnrt_status;

/* A sentence for a status; never null. */
const char* pnrt_status_text(pnrt_status status);

/* How a section of the file is stored. */
typedef enum pnrt_type { PNRT_ABSENT = 0, PNRT_F32 = 1, PNRT_F16 = 2, PNRT_I8 = 3, PNRT_BYTES = 4 } pnrt_type;
/* The instructions that products use. */
typedef enum pnrt_path { PNRT_SCALAR = 0, PNRT_NEON = 1, PNRT_AVX2 = 2 } pnrt_path;

/* rows x cols, row-major; int8 rows have a scale each. */
typedef struct pnrt_matrix {
  const void* data;    /* rows * cols values of `type` */
  const float* scale;  /* rows values; null unless int8 */
  uint32_t rows, cols; /* its shape */
  uint32_t type;       /* a pnrt_type */
} pnrt_matrix;

/* A view of the buffer given to pnrt_open. The numbers may be read; the rest is the runtime's. */
typedef struct pnrt_model {
  uint32_t features;               /* d: values of a sample */
  uint32_t attributes;             /* m: values that describe a class */
  uint32_t outputs;                /* q: values of a class vector */
  uint32_t encoding;               /* h, 0: none */
  uint32_t networks, open, basis;  /* K, k, and the r stored networks whose mixtures the K are (r = K: themselves) */
  uint32_t classes, support;       /* C, and S classes that prototypes are made from */
  float gamma, temperature, width; /* subtracted from seen classes, of the softmax, of the prototypes' kernel */
  uint8_t feature_scaling, semantic_scaling, gates, similarity; /* codes of docs/device.md */
  uint8_t sees_encoding, relu, integer;                         /* 0 or 1; integer: some matrix is int8 */
  uint8_t path; /* a pnrt_path: chosen by pnrt_open; may be set to PNRT_SCALAR */
  const float *feature_mean, *feature_factor, *network_bias, *mixing, *bias;         /* sections of docs/device.md */
  const float *semantic_mean, *semantic_factor, *whitening_centre, *semantic_centre; /* sections */
  pnrt_matrix encoder, anchors, weights, shared, whitening, prototype_support, prototype_weights; /* sections */
  pnrt_matrix class_vectors, class_attributes;                                                    /* sections */
  const uint8_t* class_seen;                                                                      /* C values, 0 or 1 */
  const uint16_t* class_order;               /* class indices by name */
  const uint32_t* class_name_offsets;        /* of each class in class_names */
  const char *class_names, *attribute_names; /* each name ends in NUL */
} pnrt_model;

/* Checks every byte of the buffer (`size` bytes, aligned to 4), which must outlive the model. */
pnrt_status pnrt_open(pnrt_model* model, const void* buffer, size_t size);

/* Classes that come and go at run time, in the caller's memory. Class i of the model keeps index i; added classes have
 * the indices from model->classes on, and a freed index is used again. */
typedef struct pnrt_bank {
  const pnrt_model* model;  /* must outlive the bank */
  unsigned char* memory;    /* the caller's */
  uint32_t capacity, added; /* classes that it can take, and that it has */
} pnrt_bank;

/* Bytes for a bank that can take `capacity` classes more; 0 if that is beyond size_t. */
size_t pnrt_bank_bytes(const pnrt_model* model, uint32_t capacity);
/* An empty bank on `memory` (aligned to 4), which must outlive it. */
pnrt_status pnrt_bank_init(pnrt_bank* bank, const pnrt_model* model, uint32_t capacity, void* memory, size_t bytes);
/* Adds a class described by m raw attributes; no other score changes. `index` may be null. The class counts as unseen,
 * even under the name of a seen one that was removed: gamma is not taken from it. With an int8 model its vector comes
 * from rounded whitening and prototypes and differs from an exported one by some hundredths in the score. */
pnrt_status pnrt_add_class(pnrt_bank* bank, const char* name, const float* attributes, uint32_t* index, void* work,
                           size_t work_bytes);
/* Removes a class, be it added or one of the model's. */
pnrt_status pnrt_remove_class(pnrt_bank* bank, const char* name);

/* ---- In all that follows `bank` may be null: the model's own classes. ---- */

/* How many class indices there are, removed and free ones included. */
uint32_t pnrt_class_slots(const pnrt_model* model, const pnrt_bank* bank);
/* Name of a class; null where there is none of that index. */
const char* pnrt_class_name(const pnrt_model* model, const pnrt_bank* bank, uint32_t index);
/* Name of an attribute; null out of range or when the model has no names. */
const char* pnrt_attribute_name(const pnrt_model* model, uint32_t attribute);
/* Index of a class; PNRT_NOT_FOUND if there is none of that name. */
pnrt_status pnrt_find_class(const pnrt_model* model, const pnrt_bank* bank, const char* name, uint32_t* index);

/* Working memory that suffices for any call below and for pnrt_add_class; 0 if that is beyond size_t. */
size_t pnrt_work_bytes(const pnrt_model* model, const pnrt_bank* bank);
/* Multiply-adds of one pnrt_scores. */
uint64_t pnrt_multiply_adds(const pnrt_model* model, const pnrt_bank* bank);

/* d raw features to q values of the space of classes; `open` (k ascending network indices) may be null. */
pnrt_status pnrt_predict(const pnrt_model* model, const float* features, float* prediction, uint16_t* open, void* work,
                         size_t work_bytes);
/* d raw features to one score per class slot, higher is better; gamma is not applied. Slots without a class get
 * -FLT_MAX. */
pnrt_status pnrt_scores(const pnrt_model* model, const pnrt_bank* bank, const float* features, float* scores,
                        void* work, size_t work_bytes);

/* Which classes compete. */
typedef enum pnrt_among { PNRT_ALL = 0, PNRT_SEEN = 1, PNRT_UNSEEN = 2 } pnrt_among;

/* What pnrt_classify looks for. */
typedef struct pnrt_query {
  float unknown_below; /* the verdict is `unknown` when the best confidence is below this; 0: never */
  uint32_t among;      /* a pnrt_among: which classes compete */
} pnrt_query;

/* A class that a sample is given. */
typedef struct pnrt_match {
  uint32_t index;   /* of the class */
  float score;      /* with gamma subtracted from seen classes */
  float confidence; /* softmax of scores / temperature over the classes that compete */
} pnrt_match;

/* How many classes pnrt_classify found. */
typedef struct pnrt_verdict {
  uint32_t count;   /* matches written: at most k, best first; equal scores by index */
  uint32_t unknown; /* 1: none of the classes */
} pnrt_verdict;

/* The k best classes. `query` may be null: all classes, never unknown. */
pnrt_status pnrt_classify(const pnrt_model* model, const pnrt_bank* bank, const float* features,
                          const pnrt_query* query, pnrt_match* top, uint32_t k, pnrt_verdict* verdict, void* work,
                          size_t work_bytes);

/* The decision between the best class and the next. */
typedef struct pnrt_explanation {
  uint32_t winner, runner_up;          /* equal when there is one class */
  float winner_score, runner_up_score; /* with gamma */
  float calibration;                   /* what gamma gave to the difference of the scores */
  float rest;                          /* what prototypes (and rounding) gave */
} pnrt_explanation;

/* Why the best class won against the second: contributions[j] is what attribute j gave to the difference of their
 * scores (for Euclidean models: of minus their squared distances); with calibration and rest they add up to it.
 * `predicted` (m values: the sample's semantics) may be null. */
pnrt_status pnrt_explain(const pnrt_model* model, const pnrt_bank* bank, const float* features,
                         pnrt_explanation* explanation, float* contributions, float* predicted, void* work,
                         size_t work_bytes);

#ifdef __cplusplus
}
#endif
#endif
