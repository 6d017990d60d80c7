/* Classifies the rows of a feature file with a device model, as one would on a Raspberry Pi.
 *
 *   classify MODEL.pnrt FEATURES.npy
 *
 * FEATURES.npy holds rows of float32 or float16 (numpy.save). The model is mapped, not read: its pages are shared
 * between processes and loaded as they are used. Prints one line per row: the class, its confidence, the runner-up. A
 * model that was calibrated for unknown samples has `unknown` for a class where it rejects one. */
#define _POSIX_C_SOURCE 200809L
#include "npy.h"
#include "parsnets_rt.h"

int main(int argc, char** argv) {
  size_t model_bytes, work_bytes;
  unsigned long r;
  const void* model_file;
  float* features;
  npy input;
  pnrt_query query;
  pnrt_model model;
  pnrt_status status;
  void* work;
  if (argc != 3) {
    fprintf(stderr, "usage: classify MODEL.pnrt FEATURES.npy\n");
    return 2;
  }
  model_file = map_file(argv[1], &model_bytes);
  status = pnrt_open(&model, model_file, model_bytes);
  if (status != PNRT_OK) {
    fprintf(stderr, "%s: %s\n", argv[1], pnrt_status_text(status));
    return 3;
  }
  query.reject = model.rejection != 0;
  query.among = PNRT_ALL;
  input = need_npy(argv[2], 0, model.features);
  work_bytes = pnrt_work_bytes(&model, 0);
  work = malloc(work_bytes); /* once; the runtime itself never allocates */
  features = malloc(model.features * sizeof(float));
  if (!work || !features) return 1;
  for (r = 0; r < input.rows; ++r) {
    pnrt_match top[2];
    pnrt_verdict verdict;
    read_row(&input, r, features);
    status = pnrt_classify(&model, 0, features, &query, top, 2, &verdict, work, work_bytes);
    if (status != PNRT_OK) {
      fprintf(stderr, "row %lu: %s\n", r, pnrt_status_text(status));
      return 3;
    }
    printf("%lu\t%s\t%.3f", r, verdict.unknown ? "unknown" : pnrt_class_name(&model, 0, top[0].index),
           (double)top[0].confidence);
    if (verdict.count > 1) printf("\t%s\t%.3f", pnrt_class_name(&model, 0, top[1].index), (double)top[1].confidence);
    printf("\n");
  }
  free(features);
  free(work);
  return 0;
}
