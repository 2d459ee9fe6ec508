// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tilewright::runtime {

/// Gives kernels the floating-point state they expect (round to nearest, no traps, subnormals kept
/// or flushed) and the caller his own back.
class FloatState {
 public:
  explicit FloatState(bool flush_subnormals) : saved_(get()) { set(wanted(flush_subnormals)); }
  ~FloatState() { set(saved_); }
  FloatState(const FloatState&) = delete;
  FloatState& operator=(const FloatState&) = delete;

 private:
#if defined(__x86_64__)
  static uint64_t get() { return __builtin_ia32_stmxcsr(); }
  static void set(uint64_t state) { __builtin_ia32_ldmxcsr(static_cast<uint32_t>(state)); }
  static uint64_t wanted(bool flush) { return flush ? 0x9fc0 : 0x1f80; }
#elif defined(__aarch64__)
  static uint64_t get() {
    uint64_t state;
    asm volatile("mrs %0, fpcr" : "=r"(state));
    return state;
  }
  static void set(uint64_t state) { asm volatile("msr fpcr, %0" ::"r"(state) : "memory"); }
  static uint64_t wanted(bool flush) { return flush ? uint64_t{1} << 24 : 0; }
#elif defined(__riscv)
  static uint64_t get() {
    uint64_t state;
    asm volatile("frcsr %0" : "=r"(state));
    return state;
  }
  static void set(uint64_t state) { asm volatile("fscsr %0" ::"r"(state) : "memory"); }
  static uint64_t wanted(bool) { return 0; }
#else
  static uint64_t get() { return 0; }
  static void set(uint64_t) {}
  static uint64_t wanted(bool) { return 0; }
#endif

  uint64_t saved_;
};

}  // namespace tilewright::runtime
