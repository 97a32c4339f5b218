// gpr_atm: whole numbers that several threads change. New code uses std::atomic.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <cstdint>

typedef std::intptr_t gpr_atm;
#define GPR_ATM_MAX INTPTR_MAX
#define GPR_ATM_MIN INTPTR_MIN

inline void gpr_atm_full_barrier() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline gpr_atm gpr_atm_acq_load(const gpr_atm* from) { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }
inline gpr_atm gpr_atm_no_barrier_load(const gpr_atm* from) {
  return __atomic_load_n(from, __ATOMIC_RELAXED);
}
inline void gpr_atm_rel_store(gpr_atm* to, gpr_atm value) { __atomic_store_n(to, value, __ATOMIC_RELEASE); }
inline void gpr_atm_no_barrier_store(gpr_atm* to, gpr_atm value) {
  __atomic_store_n(to, value, __ATOMIC_RELAXED);
}
/// These return the number that was there before.
inline gpr_atm gpr_atm_no_barrier_fetch_add(gpr_atm* to, gpr_atm delta) {
  return __atomic_fetch_add(to, delta, __ATOMIC_RELAXED);
}
inline gpr_atm gpr_atm_full_fetch_add(gpr_atm* to, gpr_atm delta) {
  return __atomic_fetch_add(to, delta, __ATOMIC_ACQ_REL);
}
inline gpr_atm gpr_atm_full_xchg(gpr_atm* to, gpr_atm value) {
  return __atomic_exchange_n(to, value, __ATOMIC_ACQ_REL);
}
/// These store `value` if `expected` was there, and return 1; else 0.
inline int gpr_atm_no_barrier_cas(gpr_atm* to, gpr_atm expected, gpr_atm value) {
  return __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ? 1 : 0;
}
inline int gpr_atm_acq_cas(gpr_atm* to, gpr_atm expected, gpr_atm value) {
  return __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ? 1 : 0;
}
inline int gpr_atm_rel_cas(gpr_atm* to, gpr_atm expected, gpr_atm value) {
  return __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED) ? 1 : 0;
}
inline int gpr_atm_full_cas(gpr_atm* to, gpr_atm expected, gpr_atm value) {
  return __atomic_compare_exchange_n(to, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED) ? 1 : 0;
}
/// Adds, within [least, most], and returns the sum.
inline gpr_atm gpr_atm_no_barrier_clamped_add(gpr_atm* to, gpr_atm delta, gpr_atm least, gpr_atm most) {
  for (;;) {
    const gpr_atm before = gpr_atm_no_barrier_load(to);
    gpr_atm sum = 0;
    if (__builtin_add_overflow(before, delta, &sum)) sum = delta < 0 ? least : most;
    sum = sum < least ? least : sum > most ? most : sum;
    if (sum == before || gpr_atm_no_barrier_cas(to, before, sum)) return sum;
  }
}
