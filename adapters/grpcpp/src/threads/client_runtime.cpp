#include "adapters/grpcpp/src/threads/client_runtime.hpp"

#include "adapters/grpcpp/src/process/library_log.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <new>

namespace grpc::internal {
namespace {

std::atomic<coracle::runtime*> of_process{nullptr};
std::atomic<std::uint32_t> generation{0};

std::mutex& starting() {
  static std::mutex& only = *new std::mutex;
  return only;
}

// In the child: its memory has the runtime of the parent, without its thread.
void forget_runtime() noexcept {
  of_process.store(nullptr, std::memory_order_relaxed);
  generation.fetch_add(1, std::memory_order_relaxed);
  starting().unlock();
}

}  // namespace

std::uint32_t counted_generation() {
  static const bool noticed =
      ::pthread_atfork([] { starting().lock(); }, [] { starting().unlock(); }, &forget_runtime) == 0;
  if (!noticed) throw std::bad_alloc();
  return process_generation();
}

coracle::runtime& client_runtime() {
  if (coracle::runtime* const r = of_process.load(std::memory_order_acquire)) return *r;
  static_cast<void>(counted_generation());
  const std::lock_guard lock(starting());
  if (coracle::runtime* const r = of_process.load(std::memory_order_relaxed)) return *r;
  auto* const made = new coracle::runtime({.log = &library_log()});
  made->start();
  of_process.store(made, std::memory_order_release);
  return *made;
}

std::uint32_t process_generation() noexcept { return generation.load(std::memory_order_relaxed); }

}  // namespace grpc::internal
