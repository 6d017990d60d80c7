/* Runs an int8 golden model on 10,000 samples and compares the CRC-32 of its predictions, scores and matches, with
 * rejection also of its verdicts, with a source also of that, and the CRC-32 of its explanations, with the golden file;
 * in class space also that of the places of classes after adapting to 10,000 samples, and of what teaching, saving and
 * loading make of them; on every path this machine has. Parts that a PNRT_NO_... switch leaves out are not compared.
 * The samples come from integers, so that every machine makes the same. Usage: golden MODEL GOLDEN [SAMPLES] (SAMPLES
 * other than 10000: prints, compares nothing) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsnets_rt.h"
#include "paths.h"
#include "stream.h"

enum { kSamples = kStreamSamples, kAdded = 40 };

typedef struct {
  uint32_t outputs, explanations; /* CRC-32 */
  uint32_t adapted, learned;      /* the same; 0 without class space */
} sums;

static void feed(uint32_t* crc, const void* data, size_t bytes) { stream_feed(crc, data, bytes); }

static uint32_t state;
static float fraction(void) { return stream_fraction(&state); }

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

#if !defined(PNRT_NO_LEARN) && !defined(PNRT_NO_SAVE) && !defined(PNRT_NO_EXPLAIN)
/* Unlabelled samples, then examples of classes old and new; saved, forgotten and loaded again. */
static void learn(pnrt_model* model, int samples, sums* crc) {
  const size_t bank_bytes = pnrt_bank_bytes(model, 2);
  void *memory = allocate(bank_bytes), *learning, *work, *saved;
  float* batch = allocate(kStreamBatch * model->features * sizeof(float));
  float* vector = allocate((model->outputs + model->attributes) * sizeof(float));
  size_t learning_bytes, work_bytes, saved_bytes, i;
  uint32_t moves, known;
  pnrt_explanation why;
  pnrt_verdict verdict;
  pnrt_match best;
  pnrt_bank bank;
  require(pnrt_bank_init(&bank, model, 2, memory, bank_bytes), "bank");
  learning_bytes = pnrt_learning_bytes(&bank);
  learning = allocate(learning_bytes);
  work_bytes = pnrt_work_bytes(model, &bank);
  work = allocate(work_bytes);
  require(pnrt_bank_learn(&bank, learning, learning_bytes), "learn");
  require(stream_add_class(&bank, vector, work, work_bytes), "add");
  require(stream_adapt(&bank, (uint32_t)samples, batch, &moves, work, work_bytes), "adapt");
  if (samples == kSamples && moves == 0) {
    fprintf(stderr, "no class moved\n");
    exit(1);
  }
  crc->adapted = crc->learned = 0xffffffffu;
  require(stream_feed_places(&bank, vector, &crc->adapted), "places");
  crc->adapted = ~crc->adapted;
  for (known = 0; known < 5; ++known) {
    const char* name = known == 4 ? "added" : pnrt_class_name(model, &bank, known);
    for (i = 0; i <= known; ++i) stream_sample(known + 5 * (uint32_t)i, model->features, batch + i * model->features);
    require(pnrt_teach(&bank, name, batch, known + 1, work, work_bytes), "teach");
  }
  require(pnrt_remove_class(&bank, pnrt_class_name(model, &bank, 1)), "remove");
  require(stream_adapt(&bank, 200, batch, &moves, work, work_bytes), "adapt again");
  saved_bytes = pnrt_saved_bytes(&bank);
  saved = allocate(saved_bytes);
  require(pnrt_bank_save(&bank, saved, saved_bytes), "save");
  feed(&crc->learned, (const char*)saved + 24, saved_bytes - 24); /* without what names the file of the model */
  require(pnrt_forget(&bank), "forget");
  require(stream_feed_places(&bank, vector, &crc->learned), "places");
  require(pnrt_bank_load(&bank, saved, saved_bytes), "load");
  require(stream_feed_places(&bank, vector, &crc->learned), "places");
  for (i = 0; i < 100; ++i) {
    stream_sample((uint32_t)i, model->features, batch);
    require(pnrt_explain(model, &bank, batch, &why, vector, 0, work, work_bytes), "explain");
    require(pnrt_classify(model, &bank, batch, 0, &best, 1, &verdict, work, work_bytes), "classify");
    feed(&crc->learned, &why, sizeof why);
    feed(&crc->learned, &best, sizeof best);
    feed(&crc->learned, vector, model->attributes * sizeof(float));
  }
  crc->learned = ~crc->learned;
  free(memory);
  free(learning);
  free(work);
  free(saved);
  free(batch);
  free(vector);
}

#else
#define PARTS_ARE_MISSING 1
static void learn(pnrt_model* model, int samples, sums* crc) { (void)model, (void)samples, (void)crc; }
#endif

/* What made the features, if the model says. */
static void feed_source(uint32_t* crc, const pnrt_source* source) {
  uint32_t numbers[5];
  if (!source) return;
  numbers[0] = source->dimensions;
  numbers[1] = source->width;
  numbers[2] = source->height;
  numbers[3] = source->preset;
  numbers[4] = source->fit;
  feed(crc, source->sha256, 32);
  feed(crc, source->layer, strlen(source->layer));
  feed(crc, source->backbone, strlen(source->backbone));
  feed(crc, numbers, sizeof numbers);
}

static sums run(pnrt_model* model, int samples) {
  sums crc = {0xffffffffu, 0xffffffffu, 0, 0};
  const size_t bank_bytes = pnrt_bank_bytes(model, kAdded);
  void *memory = allocate(bank_bytes), *work;
  float* features = allocate(model->features * sizeof(float));
  float* attributes = allocate(model->attributes * sizeof(float));
  float *prediction = allocate(model->outputs * sizeof(float)), *scores;
  uint16_t* open = allocate(model->open * sizeof(uint16_t));
  const pnrt_query query = {model->rejection != 0, PNRT_ALL};
  size_t work_bytes, i;
  pnrt_bank bank;
  int s, unknown = 0;
  require(pnrt_bank_init(&bank, model, kAdded, memory, bank_bytes), "bank");
  work_bytes = pnrt_work_bytes(model, &bank);
  work = allocate(work_bytes);
  scores = allocate(pnrt_class_slots(model, &bank) * sizeof(float));
  state = 1;
  feed_source(&crc.outputs, pnrt_feature_source(model));
  for (s = 0; s < samples; ++s) {
    pnrt_match top[5];
    pnrt_verdict verdict;
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
    require(pnrt_classify(model, &bank, features, &query, top, 5, &verdict, work, work_bytes), "classify");
    feed(&crc.outputs, prediction, model->outputs * sizeof(float));
    feed(&crc.outputs, open, model->open * sizeof(uint16_t));
    feed(&crc.outputs, scores, pnrt_class_slots(model, &bank) * sizeof(float));
    feed(&crc.outputs, top, verdict.count * sizeof top[0]);
    if (query.reject) feed(&crc.outputs, &verdict, sizeof verdict);
    unknown += (int)verdict.unknown;
#ifndef PNRT_NO_EXPLAIN
    if (s % 100 == 0) {
      pnrt_explanation why;
      require(pnrt_explain(model, &bank, features, &why, attributes, 0, work, work_bytes), "explain");
      feed(&crc.explanations, &why, sizeof why);
      feed(&crc.explanations, attributes, model->attributes * sizeof(float));
    }
#endif
  }
  if (query.reject && samples == kSamples && (unknown < samples / 10 || unknown > samples - samples / 10)) {
    fprintf(stderr, "%d of %d samples are unknown\n", unknown, samples);
    exit(1);
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
  if (model->support > 0) learn(model, samples, &crc);
  return crc;
}

/* The line of a golden file. */
static void write_sums(const sums* crc, char* line) {
  int length = sprintf(line, "outputs %08x explanations %08x", (unsigned)crc->outputs, (unsigned)crc->explanations);
  if (crc->adapted || crc->learned)
    length += sprintf(line + length, " adapted %08x learned %08x", (unsigned)crc->adapted, (unsigned)crc->learned);
  sprintf(line + length, "\n");
}

int main(int argc, char** argv) {
  const int samples = argc > 3 ? atoi(argv[3]) : kSamples;
  FILE* file = argc > 2 ? fopen(argv[1], "rb") : 0;
  void* bytes;
  long size;
  char found[80], expected[80] = "";
  sums best;
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
  write_sums(&best, found);
  printf("%s path on %d samples: %s", path_names[model.path], samples, found);
  while (model.path != PNRT_SCALAR) { /* the others that this machine has */
    sums other;
    model.path = lower_path(model.path);
    other = run(&model, samples);
    if (memcmp(&best, &other, sizeof best) != 0) {
      write_sums(&other, expected);
      fprintf(stderr, "%s gives: %s", path_names[model.path], expected);
      return 1;
    }
  }
  free(bytes);
  if (samples != kSamples) return 0;
  file = fopen(argv[2], "r");
  if (!file || !fgets(expected, sizeof expected, file)) {
    fprintf(stderr, "%s: expected a line such as the one above\n", argv[2]);
    return 2;
  }
  fclose(file);
#ifdef PARTS_ARE_MISSING
  {
#ifdef PNRT_NO_EXPLAIN
    const size_t length = strlen("outputs 12345678");
#else
    const size_t length = strlen("outputs 12345678 explanations 12345678");
#endif
    found[length] = expected[length] = 0;
  }
#endif
  if (strcmp(found, expected) != 0) {
    fprintf(stderr, "the golden file says: %s", expected);
    return 1;
  }
  return 0;
}
