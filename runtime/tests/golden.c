/* Runs an int8 golden model on 10,000 samples and compares the CRC-32 of its predictions, scores and matches, and that
 * of its explanations, with the golden file; on every path this build has. The samples come from integers, so that
 * every machine makes the same. Usage: golden MODEL GOLDEN [SAMPLES]     (SAMPLES other than 10000: prints, compares
 * nothing) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsnets_rt.h"

enum { kSamples = 10000, kAdded = 40 };

typedef struct {
  uint32_t outputs, explanations; /* CRC-32 */
} sums;

static void feed(uint32_t* crc, const void* data, size_t bytes) {
  const unsigned char* p = data;
  size_t i;
  int bit;
  for (i = 0; i < bytes; ++i) {
    *crc ^= p[i];
    for (bit = 0; bit < 8; ++bit) *crc = *crc >> 1 ^ (0xedb88320u & (0u - (*crc & 1u)));
  }
}

static uint32_t state;
static float fraction(void) {
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / 16777216.0f;
}

static void* allocate(size_t bytes) {
  void* p = malloc(bytes);
  if (!p) exit(2);
  return p;
}

static void require(pnrt_status status, const char* what) {
  if (status == PNRT_OK) return;
  fprintf(stderr, "%s: %s\n", what, pnrt_status_text(status));
  exit(1);
}

static sums run(pnrt_model* model, int samples) {
  sums crc = {0xffffffffu, 0xffffffffu};
  const size_t bank_bytes = pnrt_bank_bytes(model, kAdded);
  void *memory = allocate(bank_bytes), *work;
  float* features = allocate(model->features * sizeof(float));
  float* attributes = allocate(model->attributes * sizeof(float));
  float *prediction = allocate(model->outputs * sizeof(float)), *scores;
  uint16_t* open = allocate(model->open * sizeof(uint16_t));
  size_t work_bytes, i;
  pnrt_bank bank;
  int s;
  require(pnrt_bank_init(&bank, model, kAdded, memory, bank_bytes), "bank");
  work_bytes = pnrt_work_bytes(model, &bank);
  work = allocate(work_bytes);
  scores = allocate(pnrt_class_slots(model, &bank) * sizeof(float));
  state = 1;
  for (s = 0; s < samples; ++s) {
    pnrt_match top[5];
    pnrt_verdict verdict;
    pnrt_explanation why;
    for (i = 0; i < model->features; ++i) {
      const float v = fraction();
      features[i] = v * v * v * 4;
    }
    if (s % 250 == 0 && s / 250 < kAdded) { /* classes come */
      char name[32];
      sprintf(name, "added %d", s / 250);
      for (i = 0; i < model->attributes; ++i) attributes[i] = fraction();
      require(pnrt_add_class(&bank, name, attributes, 0, work, work_bytes), "add");
    }
    if (s == samples / 2) { /* and go */
      require(pnrt_remove_class(&bank, "added 0"), "remove");
      require(pnrt_remove_class(&bank, pnrt_class_name(model, &bank, 1)), "remove");
    }
    require(pnrt_predict(model, features, prediction, open, work, work_bytes), "predict");
    require(pnrt_scores(model, &bank, features, scores, work, work_bytes), "scores");
    require(pnrt_classify(model, &bank, features, 0, top, 5, &verdict, work, work_bytes), "classify");
    feed(&crc.outputs, prediction, model->outputs * sizeof(float));
    feed(&crc.outputs, open, model->open * sizeof(uint16_t));
    feed(&crc.outputs, scores, pnrt_class_slots(model, &bank) * sizeof(float));
    feed(&crc.outputs, top, verdict.count * sizeof top[0]);
    if (s % 100 == 0) {
      require(pnrt_explain(model, &bank, features, &why, attributes, 0, work, work_bytes), "explain");
      feed(&crc.explanations, &why, sizeof why);
      feed(&crc.explanations, attributes, model->attributes * sizeof(float));
    }
  }
  free(memory);
  free(work);
  free(features);
  free(attributes);
  free(prediction);
  free(scores);
  free(open);
  crc.outputs = ~crc.outputs;
  crc.explanations = ~crc.explanations;
  return crc;
}

int main(int argc, char** argv) {
  const int samples = argc > 3 ? atoi(argv[3]) : kSamples;
  FILE* file = argc > 2 ? fopen(argv[1], "rb") : 0;
  void* bytes;
  long size;
  unsigned outputs = 0, explanations = 0;
  sums best, scalar;
  pnrt_model model;
  if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) <= 0 || fseek(file, 0, SEEK_SET) != 0) {
    fprintf(stderr, "usage: golden MODEL GOLDEN [SAMPLES]\n");
    return 2;
  }
  bytes = allocate((size_t)size);
  if (fread(bytes, 1, (size_t)size, file) != (size_t)size) return 2;
  fclose(file);
  require(pnrt_open(&model, bytes, (size_t)size), argv[1]);
  best = run(&model, samples);
  printf("%s path: outputs %08x, explanations %08x on %d samples\n",
         model.path == PNRT_AVX2   ? "AVX2"
         : model.path == PNRT_NEON ? "NEON"
                                   : "plain C",
         (unsigned)best.outputs, (unsigned)best.explanations, samples);
  model.path = PNRT_SCALAR;
  scalar = run(&model, samples);
  printf("plain C: outputs %08x, explanations %08x\n", (unsigned)scalar.outputs, (unsigned)scalar.explanations);
  free(bytes);
  if (best.outputs != scalar.outputs || best.explanations != scalar.explanations) {
    fprintf(stderr, "the paths differ\n");
    return 1;
  }
  if (samples != kSamples) return 0;
  file = fopen(argv[2], "r");
  if (!file || fscanf(file, "outputs %x explanations %x", &outputs, &explanations) != 2) {
    fprintf(stderr, "%s: expected 'outputs XXXXXXXX explanations XXXXXXXX'\n", argv[2]);
    return 2;
  }
  fclose(file);
  if (outputs != best.outputs || explanations != best.explanations) {
    fprintf(stderr, "the golden file says outputs %08x, explanations %08x\n", outputs, explanations);
    return 1;
  }
  return 0;
}
