/* Classifies the rows of a feature file with a device model, as one would on a Raspberry Pi.
 *
 *   classify MODEL.pnrt FEATURES.npy [UNKNOWN_BELOW]
 *
 * FEATURES.npy holds rows of float32 or float16 (numpy.save). The model is mapped, not read: its pages are shared
 * between processes and loaded as they are used. Prints one line per row: the class, its confidence, the runner-up. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parsnets_rt.h"

static const void* map_file(const char* path, size_t* size) {
  struct stat info;
  void* bytes;
  const int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &info) != 0) {
    perror(path);
    exit(3);
  }
  if (!S_ISREG(info.st_mode) || info.st_size == 0) {
    fprintf(stderr, "%s: %s\n", path, S_ISREG(info.st_mode) ? "the file is empty" : "not a file");
    exit(3);
  }
  *size = (size_t)info.st_size;
  bytes = mmap(0, *size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) {
    perror(path);
    exit(1);
  }
  close(file);
  return bytes;
}

typedef struct {
  const unsigned char* values; /* a .npy header need not end at a multiple of 4 */
  unsigned long rows, cols;
  size_t bytes; /* of one value */
} npy;

/* The rows of a version 1 .npy file of float32 or float16 values in C order; 0 if it is anything else. */
static int open_npy(npy* out, const unsigned char* file, size_t size) {
  char header[512];
  size_t length;
  const char* shape;
  if (size < 10 || memcmp(file, "\x93NUMPY\x01", 7) != 0) return 0;
  length = (size_t)file[8] | (size_t)file[9] << 8;
  if (length >= sizeof header || 10 + length > size) return 0;
  memcpy(header, file + 10, length);
  header[length] = 0;
  shape = strstr(header, "'shape': (");
  out->bytes = strstr(header, "'<f4'") ? 4 : strstr(header, "'<f2'") ? 2 : 0;
  out->values = file + 10 + length;
  return out->bytes && strstr(header, "'fortran_order': False") && shape &&
         sscanf(shape, "'shape': (%lu, %lu)", &out->rows, &out->cols) == 2 && out->cols > 0 &&
         out->rows <= (size - 10 - length) / out->bytes / out->cols;
}

static void read_row(const npy* in, unsigned long row, float* out) {
  const unsigned char* p = in->values + row * in->cols * in->bytes;
  unsigned long i;
  if (in->bytes == 4) memcpy(out, p, in->cols * 4);
  for (i = 0; in->bytes == 2 && i < in->cols; ++i) {
    const int bits = p[2 * i] | p[2 * i + 1] << 8, exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                       : exponent == 0 ? ldexpf((float)fraction, -24)
                                       : ldexpf((float)(fraction + 1024), exponent - 25);
    out[i] = bits & 0x8000 ? -size : size;
  }
}

int main(int argc, char** argv) {
  size_t model_bytes, feature_bytes, work_bytes;
  unsigned long r;
  const void *model_file, *feature_file;
  float* features;
  npy input;
  pnrt_query query = {0, PNRT_ALL};
  pnrt_model model;
  pnrt_status status;
  void* work;
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: classify MODEL.pnrt FEATURES.npy [UNKNOWN_BELOW]\n");
    return 2;
  }
  if (argc == 4) query.unknown_below = (float)atof(argv[3]);
  model_file = map_file(argv[1], &model_bytes);
  status = pnrt_open(&model, model_file, model_bytes);
  if (status != PNRT_OK) {
    fprintf(stderr, "%s: %s\n", argv[1], pnrt_status_text(status));
    return 3;
  }
  feature_file = map_file(argv[2], &feature_bytes);
  if (!open_npy(&input, feature_file, feature_bytes) || input.cols != model.features) {
    fprintf(stderr, "%s: expected rows of %lu float32 or float16 values, saved with numpy.save\n", argv[2],
            (unsigned long)model.features);
    return 3;
  }
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
