/* Every path of this machine gives the bits of plain C for products of int8 rows: any number of rows and columns, and
 * the integers that are hardest to add up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../parsnets_rt.c"
#include "paths.h"

enum { kRows = 9 };

static uint32_t state = 1;

static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

static void* allocate(size_t bytes) {
  void* memory = calloc(bytes, 1);
  if (!memory) exit(2);
  return memory;
}

/* Drawn, all lowest, all highest, or a mixture of those two. */
static int32_t pick(int kind, int32_t lowest, int32_t highest) {
  const int low = kind == 1 || (kind == 3 && draw(2));
  return kind == 0 ? lowest + (int32_t)draw((uint32_t)(highest - lowest) + 1) : low ? lowest : highest;
}

/* 1 if the path gives the bits of plain C for this shape. The memory ends where kernels may no longer read. */
static int agrees(uint8_t path, uint32_t columns, int row_kind, int vector_kind) {
  const size_t bytes = (size_t)kRows * columns, padded = (columns + kAlign - 1) / kAlign * kAlign;
  int8_t* rows = allocate(bytes + kAlign);
  int16_t* integer = allocate(padded * sizeof *integer);
  float scale[kRows], plain[kRows], fast[kRows + 1];
  const int32_t limit = quantise_limit(columns);
  const pnrt_matrix a = {rows, scale, kRows, columns, PNRT_I8};
  const vector x = {0, integer, 0.37f};
  uint32_t first, count;
  size_t i;
  int good = 1;
  for (i = 0; i < bytes + kAlign; ++i) rows[i] = (int8_t)pick(row_kind, -128, 127);
  for (i = 0; i < columns; ++i) integer[i] = (int16_t)pick(vector_kind, -limit, limit);
  for (i = 0; i < kRows; ++i) scale[i] = 0.001f * (float)(i + 1);
  for (first = 0; first < 2; ++first)
    for (count = 1; first + count <= kRows; ++count) {
      memset(plain, 0, sizeof plain);
      memset(fast, 0, sizeof fast);
      multiply(PNRT_SCALAR, &a, first, count, &x, plain);
      multiply(path, &a, first, count, &x, fast);
      good = good && memcmp(plain, fast, sizeof plain) == 0 && fast[count] == 0;
    }
  free(rows);
  free(integer);
  return good;
}

int main(void) {
  static const uint32_t large[] = {511, 512, 513, 1000, 2048, 65535, 65536};
  uint8_t path = best_path();
  for (; path != PNRT_SCALAR; path = lower_path(path)) {
    uint32_t i;
    int kinds;
    for (i = 1; i <= 200 + sizeof large / sizeof large[0]; ++i)
      for (kinds = 0; kinds < 16; ++kinds) {
        const uint32_t columns = i <= 200 ? i : large[i - 201];
        if (!agrees(path, columns, kinds / 4, kinds % 4)) {
          fprintf(stderr, "%s: other bits than plain C with %u columns\n", path_names[path], (unsigned)columns);
          return 1;
        }
      }
    printf("%s gives the bits of plain C\n", path_names[path]);
  }
  return 0;
}
