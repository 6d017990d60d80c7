/* A model on a bare Cortex-M: adds a class, classifies and adapts to the stream of stream.h, and tells the CRC-32 of
 * what came out, instructions per prediction and stack, over semihosting. Compiled for a system it takes the name of
 * the file, and tells the CRC-32, working memory and, with a second argument, nanoseconds per prediction. MODEL: name
 * of the file to include. scripts/microcontroller.sh and scripts/targets.sh run it. */
#include <stdint.h>

#include "parsnets_rt.h"
#include "stream.h"

enum { kPredictions = 20 };

#if defined(__thumb__) && !defined(__linux__)
#define BARE
__asm__(".section .rodata\n.balign 16\n.global model_file, model_end\nmodel_file: .incbin \"" MODEL
        "\"\n"
        "model_end: .balign 16\n.text\n");
extern const unsigned char model_file[], model_end[];
extern uint32_t stack_bottom[], stack_top[], data_start[], data_end[], data_load[], bss_start[], bss_end[];
static uint32_t memory[MEMORY / 4];

static int host(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static void tell(const char* text) { host(4, text); }

static void finish(int failed) {
  host(0x18, (const void*)(uintptr_t)(failed ? 0x20023u : 0x20026u)); /* run-time error, application exit */
  for (;;) {
  }
}

#define SYSTICK ((volatile uint32_t*)0xe000e010u)
static uint32_t ticks(void) { return SYSTICK[2]; } /* counts down from 2^24 - 1 */
static uint32_t since(uint32_t start) { return (start - ticks()) & 0xffffffu; }

/* Ticks of 300,000 instructions. */
static uint32_t calibrate(void) {
  const uint32_t start = ticks();
  uint32_t n = 100000;
  __asm__ volatile(".syntax unified\n1: nop\n subs %0, %0, #1\n bne 1b\n" : "+l"(n) : : "cc");
  return since(start);
}

void reset(void);
__attribute__((section(".vectors"), used)) static const void* const vectors[16] = {stack_top, (void*)(uintptr_t)reset};
#else
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
enum { kTimed = 2000 };
static int timed; /* whether predictions are */
static uint32_t memory[64 << 20 >> 2];
static unsigned char model_file[16 << 20] __attribute__((aligned(16)));
static void tell(const char* text) { fputs(text, stdout); }
static void finish(int failed) { exit(failed); }
static uint32_t ticks(void) { return 0; }
static uint32_t since(uint32_t start) { return start; }
#endif

static void tell_number(const char* name, uint32_t value, uint32_t base) {
  char text[12], *p = text + sizeof text - 1;
  *p = 0;
  do *--p = "0123456789abcdef"[value % base], value /= base;
  while (value > 0);
  tell(name);
  tell(p);
}

static void require(pnrt_status status, const char* what) {
  if (status == PNRT_OK) return;
  tell(what);
  tell(": ");
  tell(pnrt_status_text(status));
  tell("\n");
  finish(1);
}

static void* take(size_t bytes) {
  static size_t used;
  void* out = (char*)memory + used;
  used += (bytes + 15) & ~(size_t)15;
  require(used <= sizeof memory ? PNRT_OK : PNRT_NO_MEMORY, "memory of the test");
  return out;
}

__attribute__((noinline)) static void run(size_t size) {
  static pnrt_model model;
  static pnrt_bank bank;
  pnrt_match top[3];
  pnrt_verdict verdict;
  uint32_t crc = 0xffffffffu, i, spent = 0, start;
  float *x, *attributes;
  void* work;
  size_t work_bytes, bank_bytes;
  require(pnrt_open(&model, model_file, size), "open");
  bank_bytes = pnrt_bank_bytes(&model, 1);
  require(pnrt_bank_init(&bank, &model, 1, take(bank_bytes), bank_bytes), "bank");
  work_bytes = pnrt_work_bytes(&model, &bank);
  work = take(work_bytes);
  x = (float*)take(model.features * sizeof(float));
  attributes = (float*)take((model.attributes > model.outputs ? model.attributes : model.outputs) * sizeof(float));
  require(stream_add_class(&bank, attributes, work, work_bytes), "add");
  for (i = 0; i < kPredictions; ++i) {
    stream_sample(i, model.features, x);
    start = ticks();
    require(pnrt_classify(&model, &bank, x, 0, top, 3, &verdict, work, work_bytes), "classify");
    spent += since(start);
    stream_feed(&crc, top, verdict.count * sizeof top[0]);
  }
#ifndef BARE
  {
    const clock_t begin = clock();
    for (i = 0; timed && i < kTimed; ++i)
      require(pnrt_classify(&model, &bank, x, 0, top, 3, &verdict, work, work_bytes), "classify");
    spent = (uint32_t)((double)(clock() - begin) / CLOCKS_PER_SEC / kTimed * 1e9);
  }
#endif
#ifndef PNRT_NO_LEARN
  if (pnrt_learning_bytes(&bank) > 0 && sizeof memory >= LEARNING) {
    const size_t bytes = pnrt_learning_bytes(&bank);
    uint32_t moved;
    require(pnrt_bank_learn(&bank, take(bytes), bytes), "learn");
    for (i = 0; i < 100; ++i) {
      stream_sample(i, model.features, x);
      require(pnrt_adapt(&bank, x, 1, &moved, work, work_bytes), "adapt");
    }
    require(stream_feed_places(&bank, attributes, &crc), "places");
  }
#endif
#ifndef PNRT_NO_EXPLAIN
  {
    pnrt_explanation why;
    require(pnrt_explain(&model, &bank, x, &why, attributes, 0, work, work_bytes), "explain");
    stream_feed(&crc, &why, sizeof why);
    stream_feed(&crc, attributes, model.attributes * sizeof(float));
  }
#endif
  tell_number("crc ", ~crc, 16);
  tell_number(" work ", (uint32_t)work_bytes, 10);
#ifdef BARE
  tell_number(" instructions ", (uint32_t)((uint64_t)spent * 300000u / calibrate() / kPredictions), 10);
  for (i = 0; stack_bottom + i < stack_top && stack_bottom[i] == 0x5a5a5a5au; ++i) {
  }
  tell_number(" stack ", (uint32_t)(4 * (stack_top - (stack_bottom + i))), 10);
#else
  if (timed) tell_number(" nanoseconds ", spent, 10);
#endif
  tell("\n");
}

#ifdef BARE
void reset(void) {
  uint32_t *p, *q = data_load, *sp;
  for (p = data_start; p < data_end;) *p++ = *q++;
  for (p = bss_start; p < bss_end;) *p++ = 0;
  __asm__ volatile("mov %0, sp" : "=r"(sp));
  for (p = stack_bottom; p < sp;) *(volatile uint32_t*)p++ = 0x5a5a5a5au; /* no call of memset, which has a stack */
#if defined(__ARM_FP)
  *(volatile uint32_t*)0xe000ed88u |= 0xf00000u; /* the coprocessor for floats */
#endif
  SYSTICK[1] = 0xffffffu;
  SYSTICK[2] = 0;
  SYSTICK[0] = 5; /* counts processor cycles, no interrupt */
  run((size_t)(model_end - model_file));
  finish(0);
}
#else
int main(int argc, char** argv) {
  FILE* file = argc > 1 ? fopen(argv[1], "rb") : 0;
  size_t size;
  if (!file) return 2;
  timed = argc > 2;
  size = fread(model_file, 1, sizeof model_file, file);
  fclose(file);
  run(size);
  return 0;
}
#endif
