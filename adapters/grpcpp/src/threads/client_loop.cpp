#include "adapters/grpcpp/src/threads/client_loop.hpp"

#include "adapters/grpcpp/src/process/library_log.hpp"
#include "adapters/grpcpp/src/threads/client_runtime.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace grpc::internal {
namespace {

// More threads than cores do not run at the same time: what has more queues has them for other reasons.
std::size_t loops_max() noexcept { return std::max(std::thread::hardware_concurrency(), 4u); }

struct loops_of_process {
  const std::uint32_t generation = counted_generation();
  std::mutex changing;
  std::size_t made = 0;
  std::vector<client_loop*> unused;  // the one that was used last is at the end
};

// A child of fork() gets its own, and leaves those of its parent, which have no threads there, as they are.
loops_of_process& loops() {
  static std::atomic<loops_of_process*> current{nullptr};
  loops_of_process* found = current.load(std::memory_order_acquire);
  while (!found || found->generation != process_generation()) [[unlikely]] {
    auto made = std::make_unique<loops_of_process>();
    if (current.compare_exchange_strong(found, made.get())) return *made.release();
  }
  return *found;
}

}  // namespace

client_loop::client_loop()
    : runtime_({.loops = 1,
                .backend = coracle::backend_choice::epoll,
                .log = &library_log(),
                .own_threads = false}),
      driver_(std::make_shared<queue_driver>(runtime_.at(0))) {
  driver_->keep_for_process();
}

client_loop* client_loop::take() noexcept {
  try {
    loops_of_process& all = loops();
    const std::lock_guard lock(all.changing);
    if (!all.unused.empty()) {
      client_loop* const taken = all.unused.back();
      all.unused.pop_back();
      taken->driver_->begin_queue();
      return taken;
    }
    if (all.made == loops_max()) return nullptr;
    all.unused.reserve(all.made + 1);  // give_back() needs no memory
    auto* const made = new client_loop;
    ++all.made;
    return made;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void client_loop::give_back() noexcept {
  if (!driver_->is_of_process()) return;
  driver_->end_queue();
  loops_of_process& all = loops();
  const std::lock_guard lock(all.changing);
  all.unused.push_back(this);
}

}  // namespace grpc::internal
