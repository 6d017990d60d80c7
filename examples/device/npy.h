/* Files for the examples: mapped, and read as .npy arrays. Functions end the program if a file cannot be used. */
#ifndef PARSNETS_EXAMPLES_NPY_H
#define PARSNETS_EXAMPLES_NPY_H

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

static size_t integer_bytes(const char* header) {
  const char* type = strstr(header, "'descr': '");
  if (!type || !strchr("|<", type[10]) || !strchr("iu", type[11]) || !strchr("1248", type[12])) return 0;
  return (size_t)(type[12] - '0');
}

/* The rows of a version 1 .npy file of float32 or float16 values, or one column of unsigned or signed integers, in C
 * order; 0 if it is anything else. */
static int open_npy(npy* out, int labels, const unsigned char* file, size_t size) {
  char header[512];
  size_t length;
  const char* shape;
  if (size < 10 || memcmp(file, "\x93NUMPY\x01", 7) != 0) return 0;
  length = (size_t)file[8] | (size_t)file[9] << 8;
  if (length >= sizeof header || 10 + length > size) return 0;
  memcpy(header, file + 10, length);
  header[length] = 0;
  shape = strstr(header, "'shape': (");
  out->bytes = labels ? integer_bytes(header) : strstr(header, "'<f4'") ? 4 : strstr(header, "'<f2'") ? 2 : 0;
  out->values = file + 10 + length;
  out->cols = 1;
  return out->bytes && strstr(header, "'fortran_order': False") && shape &&
         sscanf(shape, labels ? "'shape': (%lu,)" : "'shape': (%lu, %lu)", &out->rows, &out->cols) == 2 - labels &&
         out->cols > 0 && out->rows <= (size - 10 - length) / out->bytes / out->cols;
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

/* Opens features of d columns, or labels. */
static npy need_npy(const char* path, int labels, unsigned long d) {
  npy out;
  size_t size;
  const void* file = map_file(path, &size);
  if (open_npy(&out, labels, file, size) && (labels || out.cols == d)) return out;
  if (labels)
    fprintf(stderr, "%s: expected one column of integers, saved with numpy.save\n", path);
  else
    fprintf(stderr, "%s: expected rows of %lu float32 or float16 values, saved with numpy.save\n", path, d);
  exit(3);
}

#endif
