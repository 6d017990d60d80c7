/* A stream of synthetic samples and what a bank learns from it, for golden.c and the tests of the engine. Samples come
 * from integers, so that every machine makes the same. */
#ifndef PARSNETS_RT_TESTS_STREAM_H
#define PARSNETS_RT_TESTS_STREAM_H

#include "parsnets_rt.h"

enum { kStreamSamples = 10000, kStreamBatch = 7, kStreamClusters = 24 };

static float stream_fraction(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 16777216.0f;
}

/* Sample number `number`: a mixture of what its cluster has in common and of noise. */
static void stream_sample(uint32_t number, uint32_t features, float* out) {
  uint32_t cluster = 1 + number * 2654435761u % kStreamClusters, noise = number + 1000000u, i;
  cluster *= 7919u;
  for (i = 0; i < features; ++i) {
    const float common = stream_fraction(&cluster), own = stream_fraction(&noise);
    const float mixed = common + 0.5f * own; /* exact product: fused or not, the sum is the same */
    out[i] = mixed * mixed * mixed * 2;
  }
}

static void stream_feed(uint32_t* crc, const void* data, size_t bytes) {
  const unsigned char* p = (const unsigned char*)data;
  size_t i;
  int bit;
  for (i = 0; i < bytes; ++i) {
    *crc ^= p[i];
    for (bit = 0; bit < 8; ++bit) *crc = *crc >> 1 ^ (0xedb88320u & (0u - (*crc & 1u)));
  }
}

/* Feeds the vectors of all classes. `vector` has o values. */
static pnrt_status stream_feed_places(const pnrt_bank* bank, float* vector, uint32_t* crc) {
  uint32_t c;
  for (c = 0; c < pnrt_class_slots(bank->model, bank); ++c) {
    const pnrt_status status = pnrt_class_vector(bank->model, bank, c, vector);
    if (status == PNRT_NOT_FOUND) continue;
    if (status != PNRT_OK) return status;
    stream_feed(crc, vector, bank->model->outputs * sizeof(float));
  }
  return PNRT_OK;
}

/* Adds a class. `attributes` has room for m values. */
static pnrt_status stream_add_class(pnrt_bank* bank, float* attributes, void* work, size_t work_bytes) {
  uint32_t state = 2, i;
  for (i = 0; i < bank->model->attributes; ++i) attributes[i] = stream_fraction(&state);
  return pnrt_add_class(bank, "added", attributes, 0, work, work_bytes);
}

#ifndef PNRT_NO_LEARN
/* Adapts to `samples` samples, now one at a time, now kStreamBatch. `batch` has room for kStreamBatch samples. */
static pnrt_status stream_adapt(pnrt_bank* bank, uint32_t samples, float* batch, uint32_t* moves, void* work,
                                size_t work_bytes) {
  uint32_t number = 0, moved, i;
  for (*moves = 0; number < samples; *moves += moved) {
    uint32_t count = number / 100 % 2 ? kStreamBatch : 1;
    pnrt_status status;
    if (count > samples - number) count = samples - number;
    for (i = 0; i < count; ++i, ++number)
      stream_sample(number, bank->model->features, batch + (size_t)i * bank->model->features);
    status = pnrt_adapt(bank, batch, count, &moved, work, work_bytes);
    if (status != PNRT_OK) return status;
  }
  return PNRT_OK;
}
#endif

#endif
