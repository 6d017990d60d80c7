// Names the class of a sample, then adds a class from its description. The model is a const array in flash:
// `parsnets export MODEL --c-header model.h` writes yours.
#include <parsnets_rt.h>

#include "firmware_model.h"
#include "firmware_samples.h"

static uint32_t work[4096], memory[2048];
static pnrt_model model;
static pnrt_bank bank;

static void say(pnrt_status status, const pnrt_match& best) {
  Serial.println(status == PNRT_OK ? pnrt_class_name(&model, &bank, best.index) : pnrt_status_text(status));
}

static pnrt_status classify(const float* features, pnrt_match* best) {
  pnrt_verdict verdict;
  return pnrt_classify(&model, &bank, features, nullptr, best, 1, &verdict, work, sizeof work);
}

void setup() {
  Serial.begin(115200);
  pnrt_match best = {};
  pnrt_status status = pnrt_open(&model, firmware_model, firmware_model_bytes);
  if (status == PNRT_OK) status = pnrt_bank_init(&bank, &model, 4, memory, sizeof memory);
  if (status == PNRT_OK) status = classify(firmware_samples[0], &best);
  say(status, best);
  if (status == PNRT_OK) status = pnrt_remove_class(&bank, firmware_sample_classes[0]);
  if (status == PNRT_OK)
    status = pnrt_add_class(&bank, firmware_sample_classes[0], firmware_sample_attributes[0], nullptr, work, sizeof work);
  if (status == PNRT_OK) status = classify(firmware_samples[0], &best);
  say(status, best);
}

void loop() {}
