/* Learns from a stream of unlabelled samples, as a device would in the field: each row is one call.
 *
 *   adapt MODEL.pnrt FEATURES.npy [LABELS.npy [SAVED]]
 *
 * FEATURES.npy holds rows of float32 or float16, LABELS.npy the number of each row's class in the model (numpy.save).
 * Labels are used to measure, not to learn. SAVED keeps what was learned between runs: it is read if it is there, and
 * written at the end. Prints how far each class moved and, with labels, the share of right answers before and after. */
#define _POSIX_C_SOURCE 200809L
#include "npy.h"
#include "parsnets_rt.h"

typedef struct {
  pnrt_model model;
  pnrt_bank bank;
  void* work;
  size_t work_bytes;
  float* features;
} device;

static void* need_memory(size_t bytes) {
  void* p = malloc(bytes);
  if (p) return p;
  fprintf(stderr, "out of memory\n");
  exit(1);
}

static void need(pnrt_status status, const char* what) {
  if (status == PNRT_OK) return;
  fprintf(stderr, "%s: %s\n", what, pnrt_status_text(status));
  exit(3);
}

/* All memory is allocated here, once; a microcontroller would have static arrays. */
static void open_device(device* d, const char* path) {
  size_t bytes;
  const void* file = map_file(path, &bytes);
  need(pnrt_open(&d->model, file, bytes), path);
  bytes = pnrt_bank_bytes(&d->model, 0);
  need(pnrt_bank_init(&d->bank, &d->model, 0, need_memory(bytes), bytes), "bank");
  bytes = pnrt_learning_bytes(&d->bank);
  need(pnrt_bank_learn(&d->bank, need_memory(bytes ? bytes : 1), bytes), path);
  printf("%lu bytes to learn in\n", (unsigned long)bytes);
  d->work_bytes = pnrt_work_bytes(&d->model, &d->bank);
  d->work = need_memory(d->work_bytes);
  d->features = need_memory(d->model.features * sizeof(float));
}

static void load(device* d, const char* path) {
  size_t bytes;
  const void* saved;
  if (access(path, F_OK) != 0) return;
  saved = map_file(path, &bytes);
  need(pnrt_bank_load(&d->bank, saved, bytes), path);
}

static void save(device* d, const char* path) {
  const size_t bytes = pnrt_saved_bytes(&d->bank);
  void* saved = need_memory(bytes);
  FILE* file = fopen(path, "wb");
  need(pnrt_bank_save(&d->bank, saved, bytes), "save");
  if (!file || fwrite(saved, 1, bytes, file) != bytes || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
  free(saved);
}

/* Label number `row`: the lower 32 bits, as no model has more classes. */
static unsigned long read_label(const npy* in, unsigned long row) {
  const unsigned char* p = in->values + row * in->bytes;
  unsigned long label = 0;
  size_t i;
  for (i = 0; i < in->bytes && i < 4; ++i) label |= (unsigned long)p[i] << (8 * i);
  return label;
}

/* Shares of right answers among all classes. */
typedef struct {
  double unseen, seen, mean; /* for samples of unseen and of seen classes; their harmonic mean */
} accuracy;

static accuracy measure(device* d, const npy* input, const npy* labels) {
  unsigned long r, right[2] = {0, 0}, all[2] = {0, 0};
  accuracy found = {0, 0, 0};
  for (r = 0; r < input->rows; ++r) {
    const unsigned long label = read_label(labels, r);
    pnrt_match top;
    pnrt_verdict verdict;
    int seen;
    if (label >= d->model.classes) continue;
    seen = d->model.class_seen[label];
    read_row(input, r, d->features);
    need(pnrt_classify(&d->model, &d->bank, d->features, 0, &top, 1, &verdict, d->work, d->work_bytes), "classify");
    right[seen] += verdict.count == 1 && top.index == label;
    ++all[seen];
  }
  if (all[0]) found.unseen = 100.0 * (double)right[0] / (double)all[0];
  if (all[1]) found.seen = 100.0 * (double)right[1] / (double)all[1];
  if (found.unseen + found.seen > 0) found.mean = 2 * found.unseen * found.seen / (found.unseen + found.seen);
  return found;
}

/* Degrees between two class vectors. */
static double angle(const float* a, const float* b, unsigned n) {
  double product = 0, squares_a = 0, squares_b = 0, cosine;
  unsigned j;
  for (j = 0; j < n; ++j) {
    product += (double)a[j] * b[j];
    squares_a += (double)a[j] * a[j];
    squares_b += (double)b[j] * b[j];
  }
  cosine = squares_a > 0 && squares_b > 0 ? product / sqrt(squares_a * squares_b) : 1;
  return acos(cosine < 1 ? cosine : 1) * 57.29577951308232;
}

int main(int argc, char** argv) {
  device d;
  npy input, labels = {0, 0, 0, 0};
  float *before, *now;
  accuracy old = {0, 0, 0}, now_right;
  unsigned long r;
  uint32_t c;
  if (argc < 3 || argc > 5) {
    fprintf(stderr, "usage: adapt MODEL.pnrt FEATURES.npy [LABELS.npy [SAVED]]\n");
    return 2;
  }
  open_device(&d, argv[1]);
  input = need_npy(argv[2], 0, d.model.features);
  if (argc > 3) labels = need_npy(argv[3], 1, 1);
  if (argc > 3 && labels.rows != input.rows) {
    fprintf(stderr, "%s: expected %lu labels, one per row\n", argv[3], input.rows);
    return 3;
  }
  if (argc > 4) load(&d, argv[4]);
  if (argc > 3) old = measure(&d, &input, &labels);
  before = need_memory(d.model.classes * d.model.outputs * sizeof(float));
  now = need_memory(d.model.outputs * sizeof(float));
  for (c = 0; c < d.model.classes; ++c)
    need(pnrt_class_vector(&d.model, &d.bank, c, before + (size_t)c * d.model.outputs), "class");

  for (r = 0; r < input.rows; ++r) {
    read_row(&input, r, d.features);
    need(pnrt_adapt(&d.bank, d.features, 1, 0, d.work, d.work_bytes), "adapt");
  }

  for (c = 0; c < d.model.classes; ++c) {
    double degrees;
    need(pnrt_class_vector(&d.model, &d.bank, c, now), "class");
    degrees = angle(before + (size_t)c * d.model.outputs, now, d.model.outputs);
    if (degrees > 0.05) printf("%s\tmoved by %.1f degrees\n", pnrt_class_name(&d.model, &d.bank, c), degrees);
  }
  if (argc > 3) {
    now_right = measure(&d, &input, &labels);
    printf("before: unseen classes %.1f %% right, seen %.1f %%, harmonic mean %.1f\n", old.unseen, old.seen, old.mean);
    printf("after %lu samples: unseen classes %.1f %% right, seen %.1f %%, harmonic mean %.1f\n", input.rows,
           now_right.unseen, now_right.seen, now_right.mean);
  }
  if (argc > 4) save(&d, argv[4]);
  return 0;
}
