/* How a microcontroller would use the runtime: the model is a const array in flash (firmware_model.h, written by
 * 'parsnets export --c-header'), all memory is one static block of 64 KB, and nothing is allocated. The only thing that
 * depends on the board is board_print.
 *
 * It names the class of a sample, takes the class away, which makes the sample something else or unknown, and learns
 * the class again from its attributes alone. Frames that show no class at all, a dark one and noise, are unknown. */
#include <stdint.h>

#include "firmware_model.h"
#include "firmware_samples.h"
#include "parsnets_rt.h"

#if defined(__unix__) /* stands in for a UART */
#include <unistd.h>
static void board_print(const char* text) {
  size_t length = 0;
  while (text[length]) ++length;
  if (write(1, text, length) < 0) _exit(1);
}
#else
void board_print(const char* text);
#endif

enum { kMemory = 64 * 1024, kClasses = 8, kWork = 16 * 1024, kFrame = 2 * 1024 };

static uint32_t memory[kMemory / 4];

static void print_percent(float share) {
  char text[8];
  const int value = (int)(share * 100 + 0.5f);
  text[0] = ' ';
  text[1] = value >= 100 ? '1' : ' ';
  text[2] = value >= 10 ? (char)('0' + value / 10 % 10) : ' ';
  text[3] = (char)('0' + value % 10);
  text[4] = ' ';
  text[5] = '%';
  text[6] = '\n';
  text[7] = 0;
  board_print(text);
}

static int fail(const char* what, pnrt_status status) {
  board_print(what);
  board_print(": ");
  board_print(pnrt_status_text(status));
  board_print("\n");
  return 1;
}

/* Prints the class of a sample, or that it is of none. */
static pnrt_status name_class(const pnrt_bank* bank, const float* features, void* work) {
  const pnrt_query query = {bank->model->rejection != 0, PNRT_ALL};
  pnrt_match top[1];
  pnrt_verdict verdict;
  const pnrt_status status = pnrt_classify(bank->model, bank, features, &query, top, 1, &verdict, work, kWork);
  if (status != PNRT_OK) return status;
  if (verdict.unknown) {
    board_print("unknown\n");
  } else {
    board_print(pnrt_class_name(bank->model, bank, top[0].index));
    print_percent(top[0].confidence);
  }
  return PNRT_OK;
}

/* Stands in for a camera: a dark frame, or noise. */
static void take_frame(float* frame, uint32_t features, int noise) {
  uint32_t state = 1, i;
  for (i = 0; i < features; ++i) {
    state = state * 1664525u + 1013904223u;
    frame[i] = noise ? (float)(state >> 8) / 16777216.0f : 0;
  }
}

int main(void) {
  void *work = memory, *bank_memory = memory + (kWork + kFrame) / 4;
  float* frame = (float*)(memory + kWork / 4);
  const size_t bank_bytes = kMemory - kWork - kFrame;
  pnrt_model model;
  pnrt_bank bank;
  unsigned sample;
  int noise;
  pnrt_status status = pnrt_open(&model, firmware_model, firmware_model_bytes);
  if (status != PNRT_OK) return fail("model", status);
  status = pnrt_bank_init(&bank, &model, kClasses, bank_memory, bank_bytes);
  if (status != PNRT_OK) return fail("bank", status);
  if (pnrt_work_bytes(&model, &bank) > kWork || model.features * 4 > kFrame) return fail("memory", PNRT_NO_MEMORY);

  for (sample = 0; sample < firmware_sample_count; ++sample) {
    const float* features = firmware_samples[sample];
    const char* truth = firmware_sample_classes[sample];
    int round;
    for (round = 0; round < 3; ++round) {
      board_print(round == 0 ? "" : round == 1 ? "  without it: " : "  taught again: ");
      if (round == 0) {
        board_print("a photo of ");
        board_print(truth);
        board_print(" is: ");
      }
      status = name_class(&bank, features, work);
      if (status != PNRT_OK) return fail("classify", status);
      if (round == 0) status = pnrt_remove_class(&bank, truth);
      if (round == 1) status = pnrt_add_class(&bank, truth, firmware_sample_attributes[sample], 0, work, kWork);
      if (status != PNRT_OK) return fail("classes", status);
    }
  }
  for (noise = 0; noise < 2; ++noise) {
    take_frame(frame, model.features, noise);
    board_print(noise ? "noise is: " : "a dark frame is: ");
    status = name_class(&bank, frame, work);
    if (status != PNRT_OK) return fail("classify", status);
  }
  return 0;
}
