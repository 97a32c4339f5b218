#include "failure.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace coracle::c_abi {
namespace {

// A plain process reads it once a call.
std::atomic<bool> is_child{false};
std::atomic<bool> is_used{false};

std::string& last_error() noexcept {
  thread_local std::string text;
  return text;
}

void in_child() noexcept {
  if (is_used.load(std::memory_order_relaxed)) is_child.store(true, std::memory_order_relaxed);
}

}  // namespace

bool forked() noexcept { return is_child.load(std::memory_order_relaxed); }

void mark_used() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (pthread_atfork(nullptr, nullptr, &in_child) != 0) throw std::bad_alloc();
  });
  is_used.store(true, std::memory_order_relaxed);
}

int fail(coracle_error code, std::string_view text) noexcept {
  try {
    last_error().assign(text);
  } catch (...) {
    last_error().clear();
  }
  return code;
}

}  // namespace coracle::c_abi

extern "C" {

const char* coracle_last_error(void) { return coracle::c_abi::last_error().c_str(); }

const char* coracle_error_name(int error) {
  switch (error) {
    case CORACLE_OK: return "CORACLE_OK";
    case CORACLE_INVALID_HANDLE: return "CORACLE_INVALID_HANDLE";
    case CORACLE_INVALID_ARGUMENT: return "CORACLE_INVALID_ARGUMENT";
    case CORACLE_FORKED: return "CORACLE_FORKED";
    case CORACLE_OUT_OF_MEMORY: return "CORACLE_OUT_OF_MEMORY";
    case CORACLE_WOULD_DEADLOCK: return "CORACLE_WOULD_DEADLOCK";
    case CORACLE_WRONG_STATE: return "CORACLE_WRONG_STATE";
    case CORACLE_BUSY: return "CORACLE_BUSY";
    case CORACLE_TIMED_OUT: return "CORACLE_TIMED_OUT";
    case CORACLE_SHUT_DOWN: return "CORACLE_SHUT_DOWN";
    case CORACLE_FAILED: return "CORACLE_FAILED";
    default: return "unknown error";
  }
}

}  // extern "C"
