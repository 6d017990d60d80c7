/* ParsNets on the device: zero-shot recognition from a model in a memory buffer.
 *
 * Two C99 files that depend only on sqrtf (on 64-bit ARM with Linux also on getauxval).
 * No allocation, no I/O, no global state: the caller owns all memory.
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
 *
 * These switches, defined for the runtime and for what includes this header, leave code out:
 *   PNRT_NO_LEARN    learning from samples (pnrt_adapt, pnrt_teach)
 *   PNRT_NO_SAVE     saving and loading of banks
 *   PNRT_NO_EXPLAIN  explanations
 *   PNRT_NO_REJECT   rejection of unknown samples
 *   PNRT_NO_FLOAT    models exported with float32 or float16 weights: int8 alone
 *   PNRT_NO_SIMD     instructions that not every processor of the target has
 * What is left gives the same bits.
 */
#ifndef PARSNETS_RT_H
#define PARSNETS_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PNRT_FORMAT_VERSION 8 /* the version of device files that pnrt_open accepts; 1 to 7 were never released */
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
  PNRT_NO_REJECTION,  /* the model cannot tell unknown samples: it was not calibrated for that before export */
  PNRT_LEFT_OUT       /* the model or the call needs code that a PNRT_NO_... switch left out */
} pnrt_status;

/* Description of a status; never null. */
const char* pnrt_status_text(pnrt_status status);

/* Storage of a section of the file. */
typedef enum pnrt_type { PNRT_ABSENT = 0, PNRT_F32 = 1, PNRT_F16 = 2, PNRT_I8 = 3, PNRT_BYTES = 4 } pnrt_type;
/* Instruction set of the products. VNNI is AVX2 with AVX-512 VNNI for int8, DOT is NEON with SDOT for int8, WASM is
 * SIMD128 of WebAssembly for int8. */
typedef enum pnrt_path {
  PNRT_SCALAR = 0,
  PNRT_NEON = 1,
  PNRT_AVX2 = 2,
  PNRT_VNNI = 3,
  PNRT_DOT = 4,
  PNRT_WASM = 5
} pnrt_path;

/* rows x cols, row-major; each int8 row has a scale. */
typedef struct pnrt_matrix {
  const void* data;    /* rows * cols values of `type` */
  const float* scale;  /* rows values; null unless int8 */
  uint32_t rows, cols; /* shape */
  uint32_t type;       /* a pnrt_type */
} pnrt_matrix;

/* The backbone that makes features out of photographs, and what it is given. Pointers are into the model's buffer. */
typedef struct pnrt_source {
  const uint8_t* sha256;  /* 32 bytes: SHA-256 of the backbone's file */
  const char* layer;      /* its output that features are read from; null-terminated */
  const char* backbone;   /* its file name, for messages; null-terminated */
  uint32_t dimensions;    /* values per photograph */
  uint16_t width, height; /* pixels of its input */
  uint8_t preset, fit;    /* its colours, the part of a photograph that it sees: codes of docs/device.md */
} pnrt_source;

/* ---- The layout of a device file. Its writer, its two readers and docs/device.md follow these tables. ----
 *
 * The magic "PARSNETS", then as u32 the format version, the bytes of the file and the CRC-32 of all bytes from
 * PNRT_SIZES_AT on; the sizes, numbers and choices in the order of the tables, the type of each section, and zeros up
 * to a multiple of 16. The sections follow, each with zeros up to a multiple of 16. */

/* X(name, least, most, meaning), u32 each. */
#define PNRT_SIZES(X)                                                                               \
  X(features, 1, 65536, "d: features per sample")                                                   \
  X(attributes, 1, 65536, "m: attributes per class")                                                \
  X(outputs, 1, 65536, "o: values of a prediction and of a class vector; q if S = 0")               \
  X(semantics, 1, 65536, "q: values of prepared attributes; m without `whitening`")                 \
  X(encoding, 0, 65536, "h: values of the encoding; 0: none")                                       \
  X(networks, 1, 65535, "K: networks; 1 with gates always, a divisor of e with gates energy")       \
  X(open, 1, 65535, "k: active networks, at most K")                                                \
  X(basis, 1, 65535, "r: stored networks, at most K; if fewer, the K are mixtures of them")         \
  X(classes, 1, 65535, "C: classes")                                                                \
  X(support, 0, 65536,                                                                              \
    "S: classes that define prototypes in class space; 0: predictions are prepared "                \
    "attributes; above 0 only with similarity cosine")                                              \
  X(tables, 0, 65536, "T: tables that the attributes come from, 2 to m; 0: one")                    \
  X(class_name_bytes, 1, 2147483647, "N: bytes of the class names")                                 \
  X(attribute_name_bytes, 0, 2147483647, "A: bytes of the attribute names; 0: no names")            \
  X(source_bytes, 0, 2147483647,                                                                    \
    "B: bytes of `source`, at least 34; 0: what made the features is not "                          \
    "known, and all fields of the source are 0")                                                    \
  X(source_dimensions, 0, 100000000, "values that the backbone gives for a photograph, at least 1") \
  X(source_width, 0, 8192, "width of the backbone's input in pixels, at least 1")                   \
  X(source_height, 0, 8192, "its height, at least 1")

/* X(name, least, most, meaning), f32 each. */
#define PNRT_NUMBERS(X)                                                                                \
  X(gamma, -1e6f, 1e6f, "subtracted from the scores of seen classes")                                  \
  X(temperature, 1e-9f, 1e9f, "of the softmax that gives confidences")                                 \
  X(width, 0, 1e6f, "w of the prototype kernel, at least 0.001; 0: the linear kernel")                 \
  X(example_prior, 1e-6f, 1e6f, "learning: examples that the prototype of a class counts as")          \
  X(strength, 1e-6f, 1e6f, "learning: unlabelled samples that the prototype of a class counts as")     \
  X(sharpness, 1e-6f, 1e4f, "learning: of the softmax that assigns unlabelled samples")                \
  X(certainty, 0, 0.999999f, "learning: least share of that softmax that counts")                      \
  X(gamma_shift, -1e6f, 1e6f, "learning: added to gamma, times how far unseen classes follow samples") \
  X(least_length, 0, 1e6f, "learning: length over root o below which unlabelled samples are left out")

/* X(name, most, meaning), u8 each. */
#define PNRT_CHOICES(X)                                                                    \
  X(feature_scaling, 2, "0 none, 1 unit length, 2 signed square root, then unit length")   \
  X(semantic_scaling, 2, "0 none, 1 unit length (of each table), 2 binary")                \
  X(gates, 2, "0 always, 1 energy, 2 anchor")                                              \
  X(similarity, 2, "0 cosine, 1 dot, 2 euclidean")                                         \
  X(sees_encoding, 1, "1: the input of the networks is the encoding (no effect if h = 0)") \
  X(relu, 1, "1: the output of each network is cut off at 0")                              \
  X(source_preset, 2, "colours of the backbone's input: 0 torchvision, 1 caffe, 2 tf")     \
  X(source_fit, 3,                                                                         \
    "part of a photograph that the backbone sees: 0 centre, 1 whole; 2 more if the "       \
    "features are averages and then maxima over positions")

/* X(kind, name, rows, columns, present, meaning). VECTOR: f32. MATRIX: f32, f16 or int8. The others are bytes. */
#define PNRT_SECTIONS(X)                                                                                        \
  X(VECTOR, feature_mean, 1, d, MAY, "subtracted from scaled features")                                         \
  X(VECTOR, feature_factor, 1, d, MAY, "times that")                                                            \
  X(MATRIX, encoder, h, d, h > 0, "features to encoding")                                                       \
  X(MATRIX, anchors, K, e, gates == 2, "rows of unit length (not checked)")                                     \
  X(MATRIX, network_weights, (r * o), z, MUST, "row b * o + j gives output j of stored network b")              \
  X(VECTOR, network_bias, 1, (r * o), MUST, "added to that")                                                    \
  X(VECTOR, mixing, 1, (K * r), r < K, "network i is the sum over b of mixing[i * r + b] x stored network b")   \
  X(MATRIX, shared, o, d, MAY, "the network that is always active")                                             \
  X(VECTOR, bias, 1, o, MUST, "added to predictions")                                                           \
  X(VECTOR, semantic_mean, 1, m, MAY, "subtracted from attributes")                                             \
  X(VECTOR, semantic_factor, 1, m, MAY, "times that")                                                           \
  X(VECTOR, whitening_centre, 1, m, HAS(whitening), "subtracted from scaled attributes")                        \
  X(MATRIX, whitening, q, m, MAY, "scaled attributes to prepared ones")                                         \
  X(VECTOR, semantic_centre, 1, o, MAY, "subtracted from predictions; if S = 0, also from prepared attributes") \
  X(MATRIX, prototype_support, S, q, S > 0, "prepared attributes of unit length")                               \
  X(MATRIX, prototype_weights, o, S, S > 0, "kernel values to class vector")                                    \
  X(MATRIX, class_vectors, C, o, MUST, "as compared with predictions; unit length for cosine (not checked)")    \
  X(MATRIX, class_attributes, C, m, MUST, "as given by the user")                                               \
  X(U8, class_seen, 1, C, MUST, "1: the class had training samples")                                            \
  X(U16, class_order, 1, C, MUST, "class indices in ascending order of name (bytewise)")                        \
  X(U32, class_name_offsets, 1, C, MUST, "offset of the name of each class in `class_names`")                   \
  X(TEXT, class_names, 1, N, MUST, "C names, each ended by a zero byte")                                        \
  X(TEXT, attribute_names, 1, A, A > 0, "m names, each ended by a zero byte")                                   \
  X(MATRIX, attribute_head, m, o, S > 0, "predictions to attributes")                                           \
  X(VECTOR, attribute_offset, 1, m, S > 0, "added to that")                                                     \
  X(VECTOR, class_lengths, 1, C, S > 0, "at least 0: lengths of the class vectors before scaling")              \
  X(VECTOR, class_predicted, 1, C, S > 0, "0 to 1: weight of what the attributes predict")                      \
  X(U32, table_attributes, 1, T, T > 0, "attributes of each table, at least 1 each, m in all")                  \
  X(VECTOR, rejection, 1, 28, MAY_IF(S > 0), "weights of the evidence, its range, thresholds (below)")          \
  X(MATRIX, span, o, o, MAY_IF(HAS(rejection)), "of the linear map from x to class space; missing rows are 0")  \
  X(VECTOR, span_offset, 1, o, HAS(span), "subtracted from predictions before `span`")                          \
  X(U8, source, 1, B, B > 0, "SHA-256 of the backbone (32 bytes), its layer and file name, each ended by a zero byte")

/* What the shapes are made of, for `file` a pointer to a struct with the sizes and choices. */
#define PNRT_SYMBOLS(file)                                                                                         \
  const uint64_t d = (file)->features, m = (file)->attributes, o = (file)->outputs, q = (file)->semantics,         \
                 h = (file)->encoding, K = (file)->networks, r = (file)->basis, C = (file)->classes,               \
                 S = (file)->support, T = (file)->tables, N = (file)->class_name_bytes,                            \
                 A = (file)->attribute_name_bytes, B = (file)->source_bytes, gates = (file)->gates, e = h ? h : d, \
                 z = h && (file)->sees_encoding ? h : d

#define PNRT_ONE_MORE(...) +1
#define PNRT_SECTION_NUMBER(kind, name, rows, columns, present, meaning) PNRT_SECTION_##name,
enum { PNRT_SECTIONS(PNRT_SECTION_NUMBER) PNRT_SECTION_COUNT };
enum { PNRT_SIZE_COUNT = 0 PNRT_SIZES(PNRT_ONE_MORE), PNRT_NUMBER_COUNT = 0 PNRT_NUMBERS(PNRT_ONE_MORE) };
enum { /* offsets in the file */
       PNRT_SIZES_AT = 20,
       PNRT_NUMBERS_AT = PNRT_SIZES_AT + 4 * PNRT_SIZE_COUNT,
       PNRT_CHOICES_AT = PNRT_NUMBERS_AT + 4 * PNRT_NUMBER_COUNT,
       PNRT_TYPES_AT = PNRT_CHOICES_AT + (0 PNRT_CHOICES(PNRT_ONE_MORE)),
       PNRT_HEADER_BYTES = (PNRT_TYPES_AT + PNRT_SECTION_COUNT + 15) / 16 * 16
};

#define PNRT_SIZE_FIELD(name, least, most, meaning) uint32_t name;
#define PNRT_NUMBER_FIELD(name, least, most, meaning) float name;
#define PNRT_CHOICE_FIELD(name, most, meaning) uint8_t name;
#define PNRT_FIELD_VECTOR(name) const float* name;
#define PNRT_FIELD_MATRIX(name) pnrt_matrix name;
#define PNRT_FIELD_U8(name) const uint8_t* name;
#define PNRT_FIELD_U16(name) const uint16_t* name;
#define PNRT_FIELD_U32(name) const uint32_t* name;
#define PNRT_FIELD_TEXT(name) const char* name;
#define PNRT_SECTION_FIELD(kind, name, rows, columns, present, meaning) PNRT_FIELD_##kind(name)

/* A view of the buffer given to pnrt_open. Callers may read the sizes, numbers and choices of the tables above;
 * everything else is internal. Sections that the file lacks are null. */
typedef struct pnrt_model {
  PNRT_SIZES(PNRT_SIZE_FIELD)
  PNRT_NUMBERS(PNRT_NUMBER_FIELD)
  PNRT_CHOICES(PNRT_CHOICE_FIELD)
  PNRT_SECTIONS(PNRT_SECTION_FIELD)
  uint32_t checksum;          /* of the file */
  uint8_t integer;            /* 1: at least one matrix is int8 */
  uint8_t path;               /* a pnrt_path, chosen by pnrt_open; may be set to a lower one of the machine */
  pnrt_source feature_source; /* what pnrt_feature_source returns; its sha256 is null: not known */
} pnrt_model;

/* Opens and validates a buffer of `size` bytes, aligned to 4, which must outlive the model. */
pnrt_status pnrt_open(pnrt_model* model, const void* buffer, size_t size);

/* The backbone that the features of the model must come from: compare its sha256 and layer with those of the one on
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

#ifndef PNRT_NO_LEARN
/* ---- Learning on the device: samples move the prototypes of classes (docs/device.md). Class space only. ---- */

/* Size of the learning memory of a bank; 0 if its model has no class space, or if it exceeds size_t. */
size_t pnrt_learning_bytes(const pnrt_bank* bank);
/* Attaches learning memory (aligned to 4), which must outlive the bank, and clears it: nothing has been learned. */
pnrt_status pnrt_bank_learn(pnrt_bank* bank, void* memory, size_t bytes);
/* Learns from `count` unlabelled samples of d raw features each, all with the places as they are before the call.
 * Moves unseen classes, which includes added ones, and with them gamma. `moved` receives their number; may be null.
 * Nothing changes unless PNRT_OK is returned. */
pnrt_status pnrt_adapt(pnrt_bank* bank, const float* features, uint32_t count, uint32_t* moved, void* work,
                       size_t work_bytes);
/* Learns from `count` examples of a class, seen or unseen. Nothing changes unless PNRT_OK is returned. */
pnrt_status pnrt_teach(pnrt_bank* bank, const char* name, const float* features, uint32_t count, void* work,
                       size_t work_bytes);
/* Forgets all samples: classes are back in the places of the model or of their attributes. */
pnrt_status pnrt_forget(pnrt_bank* bank);
#endif

#ifndef PNRT_NO_SAVE
/* Size of what pnrt_bank_save writes now; 0 if it exceeds 2^31 - 1 bytes. */
size_t pnrt_saved_bytes(const pnrt_bank* bank);
/* Writes added and removed classes and what was learned: pnrt_saved_bytes bytes, of any alignment. */
pnrt_status pnrt_bank_save(const pnrt_bank* bank, void* buffer, size_t bytes);
/* Replaces the contents of the bank by saved ones (of exactly `bytes` bytes, of any alignment). Needs the same model,
 * enough capacity, and learning memory if something had been learned. Nothing changes unless PNRT_OK is returned. */
pnrt_status pnrt_bank_load(pnrt_bank* bank, const void* buffer, size_t bytes);
#endif

/* ---- Below, `bank` may be null: the classes of the model. ---- */

/* Number of class slots, including removed and free ones. */
uint32_t pnrt_class_slots(const pnrt_model* model, const pnrt_bank* bank);
/* Name of a class; null if there is none with that index. */
const char* pnrt_class_name(const pnrt_model* model, const pnrt_bank* bank, uint32_t index);
/* Name of an attribute; null if out of range or if the model has no names. */
const char* pnrt_attribute_name(const pnrt_model* model, uint32_t attribute);
/* Finds the index of a class; PNRT_NOT_FOUND if there is no class of that name. */
pnrt_status pnrt_find_class(const pnrt_model* model, const pnrt_bank* bank, const char* name, uint32_t* index);

/* What is subtracted from the scores of seen classes: gamma of the model, plus `gamma_shift` times the mean over unseen
 * classes of n/(n + `strength`), n the unlabelled samples that move a class. Takes no memory; 0 if `model` is null. */
float pnrt_gamma(const pnrt_model* model, const pnrt_bank* bank);
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

#ifndef PNRT_NO_EXPLAIN
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
#endif

#ifdef __cplusplus
}
#endif
#endif
