/* How a microcontroller would use the runtime: the model is a const array in flash (firmware_model.h, written by
 * 'parsnets export --c-header'), all memory is one static block of 64 KB, and nothing is allocated. The only thing that
 * depends on the board is board_print.
 *
 * It names the class of a sample, takes the class away, which makes the sample something else, and learns the class
 * again from its attributes alone. */
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

enum { kMemory = 64 * 1024, kClasses = 8, kWork = 16 * 1024 };

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

int main(void) {
  void *work = memory, *bank_memory = memory + kWork / 4;
  const size_t bank_bytes = kMemory - kWork;
  pnrt_model model;
  pnrt_bank bank;
  unsigned sample;
  pnrt_status status = pnrt_open(&model, firmware_model, firmware_model_bytes);
  if (status != PNRT_OK) return fail("model", status);
  status = pnrt_bank_init(&bank, &model, kClasses, bank_memory, bank_bytes);
  if (status != PNRT_OK) return fail("bank", status);
  if (pnrt_work_bytes(&model, &bank) > kWork) return fail("memory", PNRT_NO_MEMORY);

  for (sample = 0; sample < firmware_sample_count; ++sample) {
    const float* features = firmware_samples[sample];
    const char* truth = firmware_sample_classes[sample];
    pnrt_match top[1];
    pnrt_verdict verdict;
    int round;
    for (round = 0; round < 3; ++round) {
      status = pnrt_classify(&model, &bank, features, 0, top, 1, &verdict, work, kWork);
      if (status != PNRT_OK) return fail("classify", status);
      board_print(round == 0 ? "" : round == 1 ? "  without it: " : "  taught again: ");
      if (round == 0) {
        board_print("a photo of ");
        board_print(truth);
        board_print(" is: ");
      }
      board_print(pnrt_class_name(&model, &bank, top[0].index));
      print_percent(top[0].confidence);
      if (round == 0) status = pnrt_remove_class(&bank, truth);
      if (round == 1) status = pnrt_add_class(&bank, truth, firmware_sample_attributes[sample], 0, work, kWork);
      if (status != PNRT_OK) return fail("classes", status);
    }
  }
  return 0;
}
