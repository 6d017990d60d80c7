/* Makes N predictions and prints the last class: the same program for 1 and for 2 predictions tells what one costs, for
 * example in instructions under an emulator (scripts/cross.sh).
 * Usage: predictions MODEL N */
#include <stdio.h>
#include <stdlib.h>

#include "parsnets_rt.h"

int main(int argc, char** argv) {
  FILE* file = argc == 3 ? fopen(argv[1], "rb") : 0;
  const int count = argc == 3 ? atoi(argv[2]) : 0;
  long size = 0;
  void *bytes, *work;
  float* features;
  uint32_t state = 1, i;
  int n;
  pnrt_model model;
  pnrt_match top[5];
  pnrt_verdict verdict;
  if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) <= 0 || fseek(file, 0, SEEK_SET) != 0 ||
      count < 1) {
    fprintf(stderr, "usage: predictions MODEL N\n");
    return 2;
  }
  bytes = malloc((size_t)size);
  if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size) return 2;
  fclose(file);
  if (pnrt_open(&model, bytes, (size_t)size) != PNRT_OK) return 3;
  work = malloc(pnrt_work_bytes(&model, 0));
  features = malloc(model.features * sizeof(float));
  if (!work || !features) return 2;
  for (i = 0; i < model.features; ++i) {
    state = state * 1664525u + 1013904223u;
    features[i] = (float)(state >> 8) / 16777216.0f;
  }
  for (n = 0; n < count; ++n)
    if (pnrt_classify(&model, 0, features, 0, top, 5, &verdict, work, pnrt_work_bytes(&model, 0)) != PNRT_OK) return 1;
  printf("%s, %lu multiply-adds each\n", pnrt_class_name(&model, 0, top[0].index),
         (unsigned long)pnrt_multiply_adds(&model, 0));
  free(features);
  free(work);
  free(bytes);
  return 0;
}
