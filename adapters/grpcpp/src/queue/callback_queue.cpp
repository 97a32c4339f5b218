#include "adapters/grpcpp/src/queue/callback_queue.hpp"

#include "adapters/grpcpp/src/queue/callback_core.hpp"
#include "adapters/grpcpp/src/threads/client_runtime.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace grpc::internal {
namespace {

struct queue_of_process {
  std::uint32_t generation = counted_generation();
  std::shared_ptr<callback_core> core = std::make_shared<callback_core>();
  CompletionQueue queue{core};
};

queue_of_process& callbacks_of_process() {
  static std::atomic<queue_of_process*> current{nullptr};
  queue_of_process* found = current.load(std::memory_order_acquire);
  while (!found || found->generation != process_generation()) [[unlikely]] {
    auto made = std::make_unique<queue_of_process>();
    // That of the parent of a fork() has no threads here, and is left as it is.
    if (!current.compare_exchange_strong(found, made.get())) continue;
    found = made.release();
    static_cast<void>(found->core->clients());  // takes a loop
    found->core->start_for_process();
  }
  return *found;
}

}  // namespace

CompletionQueue& callback_queue() { return callbacks_of_process().queue; }
void post_callback(callback_tag& tag, bool ok) { callbacks_of_process().core->post(tag, ok); }

}  // namespace grpc::internal
