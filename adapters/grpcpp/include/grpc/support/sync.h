// gpr_mu, gpr_cv, gpr_once, gpr_event, gpr_refcount: locks and what is made of them. New code uses std::mutex and its sisters.
#pragma once

#include <grpc/support/atm.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <pthread.h>

#include <cstdint>
#include <ctime>

/// A lock that one thread holds at a time, until it lets go.
typedef pthread_mutex_t gpr_mu;
inline void gpr_mu_init(gpr_mu* mu) { GPR_ASSERT(pthread_mutex_init(mu, nullptr) == 0); }
inline void gpr_mu_destroy(gpr_mu* mu) { GPR_ASSERT(pthread_mutex_destroy(mu) == 0); }
inline void gpr_mu_lock(gpr_mu* mu) { GPR_ASSERT(pthread_mutex_lock(mu) == 0); }
inline void gpr_mu_unlock(gpr_mu* mu) { GPR_ASSERT(pthread_mutex_unlock(mu) == 0); }
/// Returns 1 if the thread has the lock now, 0 if another one has it.
inline int gpr_mu_trylock(gpr_mu* mu) { return pthread_mutex_trylock(mu) == 0 ? 1 : 0; }

/// A condition to wait for. It may wake a thread without a signal.
typedef pthread_cond_t gpr_cv;
inline void gpr_cv_init(gpr_cv* cv) { GPR_ASSERT(pthread_cond_init(cv, nullptr) == 0); }
inline void gpr_cv_destroy(gpr_cv* cv) { GPR_ASSERT(pthread_cond_destroy(cv) == 0); }
inline void gpr_cv_signal(gpr_cv* cv) { GPR_ASSERT(pthread_cond_signal(cv) == 0); }
inline void gpr_cv_broadcast(gpr_cv* cv) { GPR_ASSERT(pthread_cond_broadcast(cv) == 0); }
/// Lets go of the lock, waits, and takes the lock again. The deadline is a time of any clock, or a span from
/// now. Returns 1 if it has passed, else 0.
inline int gpr_cv_wait(gpr_cv* cv, gpr_mu* mu, gpr_timespec deadline) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    GPR_ASSERT(pthread_cond_wait(cv, mu) == 0);
    return 0;
  }
  const gpr_timespec end = gpr_convert_clock_type(deadline, GPR_CLOCK_REALTIME);
  timespec until{};
  until.tv_sec = end.tv_sec < 0 ? 0 : static_cast<std::time_t>(end.tv_sec);
  until.tv_nsec = end.tv_nsec;
  return pthread_cond_timedwait(cv, mu, &until) == 0 ? 0 : 1;
}

typedef pthread_once_t gpr_once;
#define GPR_ONCE_INIT PTHREAD_ONCE_INIT
/// Calls the function if no thread has, and returns when it has returned.
inline void gpr_once_init(gpr_once* once, void (*function)()) {
  GPR_ASSERT(pthread_once(once, function) == 0);
}

/// A pointer that is set once, and that threads wait for. It needs no destruction, and may go as soon as one of
/// them has the value.
struct gpr_event {
  gpr_atm state;
};
#define GPR_EVENT_INIT {0}

namespace grpc::internal {

// All events share these: the one that was set may be gone before its setter has woken those who wait.
inline gpr_mu events_lock = PTHREAD_MUTEX_INITIALIZER;
inline gpr_cv events_set = PTHREAD_COND_INITIALIZER;

}  // namespace grpc::internal

inline void gpr_event_init(gpr_event* event) { event->state = 0; }
/// At most once, with a value that is not null.
inline void gpr_event_set(gpr_event* event, void* value) {
  gpr_mu_lock(&grpc::internal::events_lock);
  GPR_ASSERT(value != nullptr && gpr_atm_acq_load(&event->state) == 0);
  gpr_atm_rel_store(&event->state, reinterpret_cast<gpr_atm>(value));
  gpr_cv_broadcast(&grpc::internal::events_set);
  gpr_mu_unlock(&grpc::internal::events_lock);
}
/// Returns null before it is set.
inline void* gpr_event_get(gpr_event* event) {
  return reinterpret_cast<void*>(gpr_atm_acq_load(&event->state));  // NOLINT(performance-no-int-to-ptr)
}
/// Returns null if the deadline passes first.
inline void* gpr_event_wait(gpr_event* event, gpr_timespec deadline) {
  if (void* const value = gpr_event_get(event)) return value;
  const gpr_timespec end = gpr_convert_clock_type(deadline, GPR_CLOCK_REALTIME);
  gpr_mu_lock(&grpc::internal::events_lock);
  while (gpr_event_get(event) == nullptr) {
    if (gpr_cv_wait(&grpc::internal::events_set, &grpc::internal::events_lock, end)) break;
  }
  gpr_mu_unlock(&grpc::internal::events_lock);
  return gpr_event_get(event);
}

struct gpr_refcount {
  gpr_atm count;
};
inline void gpr_ref_init(gpr_refcount* references, int n) { gpr_atm_rel_store(&references->count, n); }
inline void gpr_refn(gpr_refcount* references, int n) { gpr_atm_no_barrier_fetch_add(&references->count, n); }
inline void gpr_ref(gpr_refcount* references) { gpr_refn(references, 1); }
/// Ends the program if there is no reference.
inline void gpr_ref_non_zero(gpr_refcount* references) {
  GPR_ASSERT(gpr_atm_no_barrier_fetch_add(&references->count, 1) > 0);
}
/// Returns 1 if that was the last one, else 0.
inline int gpr_unref(gpr_refcount* references) {
  const gpr_atm before = gpr_atm_full_fetch_add(&references->count, -1);
  GPR_ASSERT(before > 0);
  return before == 1 ? 1 : 0;
}
inline int gpr_ref_is_unique(gpr_refcount* references) {
  return gpr_atm_acq_load(&references->count) == 1 ? 1 : 0;
}

struct gpr_stats_counter {
  gpr_atm value;
};
#define GPR_STATS_INIT {0}
inline void gpr_stats_init(gpr_stats_counter* counter, std::intptr_t n) {
  gpr_atm_no_barrier_store(&counter->value, n);
}
inline void gpr_stats_inc(gpr_stats_counter* counter, std::intptr_t n) {
  gpr_atm_no_barrier_fetch_add(&counter->value, n);
}
inline std::intptr_t gpr_stats_read(const gpr_stats_counter* counter) {
  return gpr_atm_no_barrier_load(&counter->value);
}
