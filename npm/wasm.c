/* The runtime as a WebAssembly module without a host: one instance holds one model and its bank. JavaScript writes to
 * and reads from the memory that allocate() gives; nothing is freed but with the instance. */
#include "parsnets_rt.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

extern unsigned char __heap_base;

static pnrt_model model;
static pnrt_bank bank;
static uintptr_t top;
static void *work, *learning;
static size_t work_bytes;

void* memset(void* to, int value, size_t bytes) {
  unsigned char* p = to;
  while (bytes-- > 0) *p++ = (unsigned char)value;
  return to;
}

void* memcpy(void* restrict to, const void* restrict from, size_t bytes) {
  unsigned char* p = to;
  const unsigned char* q = from;
  while (bytes-- > 0) *p++ = *q++;
  return to;
}

/* Null: the memory cannot grow by that. */
void* EXPORT(allocate)(size_t bytes) {
  const uintptr_t from = top ? top : ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
  const uintptr_t to = from + ((bytes + 31) & ~(size_t)15); /* kernels may read 16 bytes past the end */
  const size_t pages = __builtin_wasm_memory_size(0);
  if (to < from) return 0;
  if (to > pages << 16 && __builtin_wasm_memory_grow(0, (to - (pages << 16) + 65535) >> 16) == (size_t)-1) return 0;
  top = to;
  return (void*)from;
}

/* The bytes at `file` become the model; they stay in use. */
int EXPORT(open)(const void* file, size_t bytes) { return pnrt_open(&model, file, bytes); }

/* Room for `capacity` added classes, and for learning where the model can. What was added or learned is kept. */
int EXPORT(reserve)(uint32_t capacity) {
  const size_t saved_bytes = bank.model ? pnrt_saved_bytes(&bank) : 0, bank_bytes = pnrt_bank_bytes(&model, capacity);
  void* saved = saved_bytes ? allocate(saved_bytes) : 0;
  void* memory = allocate(bank_bytes);
  pnrt_status status;
  if (!memory || (saved_bytes && !saved)) return PNRT_NO_MEMORY;
  if (saved) {
    status = pnrt_bank_save(&bank, saved, saved_bytes);
    if (status != PNRT_OK) return status;
  }
  status = pnrt_bank_init(&bank, &model, capacity, memory, bank_bytes);
  if (status != PNRT_OK) return status;
  if (pnrt_learning_bytes(&bank)) {
    learning = allocate(pnrt_learning_bytes(&bank));
    if (!learning) return PNRT_NO_MEMORY;
    status = pnrt_bank_learn(&bank, learning, pnrt_learning_bytes(&bank));
    if (status != PNRT_OK) return status;
  }
  work_bytes = pnrt_work_bytes(&model, &bank);
  work = allocate(work_bytes);
  if (!work) return PNRT_NO_MEMORY;
  return saved ? pnrt_bank_load(&bank, saved, saved_bytes) : PNRT_OK;
}

/* What a model is: numbers that JavaScript asks for by their position. */
double EXPORT(fact)(uint32_t which) {
  switch (which) {
    case 0: return model.features;
    case 1: return model.attributes;
    case 2: return model.outputs;
    case 3: return model.classes;
    case 4: return model.open;
    case 5: return pnrt_gamma(&model, &bank);
    case 6: return model.temperature;
    case 7: return model.rejection != 0;
    case 8: return pnrt_learning_bytes(&bank) > 0;
    case 9: return bank.capacity;
    case 10: return bank.added;
    case 11: return pnrt_class_slots(&model, &bank);
    case 12: return (double)pnrt_multiply_adds(&model, &bank);
    case 13: return (double)work_bytes;
    case 14: return (double)pnrt_saved_bytes(&bank);
    default: return -1;
  }
}

const char* EXPORT(status_text)(int status) { return pnrt_status_text((pnrt_status)status); }
const char* EXPORT(class_name)(uint32_t index) { return pnrt_class_name(&model, &bank, index); }
const char* EXPORT(attribute_name)(uint32_t index) { return pnrt_attribute_name(&model, index); }
int EXPORT(is_seen)(uint32_t index) { return index < model.classes && model.class_seen[index]; }
int EXPORT(find_class)(const char* name, uint32_t* index) { return pnrt_find_class(&model, &bank, name, index); }
int EXPORT(add_class)(const char* name, const float* attributes, uint32_t* index) {
  return pnrt_add_class(&bank, name, attributes, index, work, work_bytes);
}
int EXPORT(remove_class)(const char* name) { return pnrt_remove_class(&bank, name); }
int EXPORT(class_vector)(uint32_t index, float* values) { return pnrt_class_vector(&model, &bank, index, values); }
int EXPORT(predict)(const float* features, float* prediction, uint16_t* active) {
  return pnrt_predict(&model, features, prediction, active, work, work_bytes);
}
int EXPORT(scores)(const float* features, float* out) {
  return pnrt_scores(&model, &bank, features, out, work, work_bytes);
}
int EXPORT(classify)(const float* features, uint32_t reject, uint32_t among, pnrt_match* matches, uint32_t k,
                     pnrt_verdict* verdict) {
  const pnrt_query query = {reject, among};
  return pnrt_classify(&model, &bank, features, &query, matches, k, verdict, work, work_bytes);
}
int EXPORT(explain)(const float* features, pnrt_explanation* why, float* contributions, float* predicted) {
  return pnrt_explain(&model, &bank, features, why, contributions, predicted, work, work_bytes);
}
int EXPORT(adapt)(const float* features, uint32_t count, uint32_t* moved) {
  return pnrt_adapt(&bank, features, count, moved, work, work_bytes);
}
int EXPORT(teach)(const char* name, const float* features, uint32_t count) {
  return pnrt_teach(&bank, name, features, count, work, work_bytes);
}
int EXPORT(forget)(void) { return pnrt_forget(&bank); }
int EXPORT(save)(void* to, size_t bytes) { return pnrt_bank_save(&bank, to, bytes); }
int EXPORT(restore)(const void* from, size_t bytes) { return pnrt_bank_load(&bank, from, bytes); }
