/* What the runtime needs of the C library: WebAssembly has it as an instruction. */
static inline float sqrtf(float v) { return __builtin_sqrtf(v); }
