#include "callback_queue.hpp"

#include "client_runtime.hpp"
#include "handler_pool.hpp"
#include "queue_core.hpp"

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

namespace grpc::internal {
namespace {

class callback_core final : public queue_core {
 public:
  void begin() override {}
  void push(std::unique_ptr<queue_event> event) noexcept override {
    const auto next = std::make_shared<callback>(std::move(event));
    // The system refuses a thread: then this one has to do, which is that of the loop.
    if (!threads_.run(next)) next->run();
  }

 private:
  class callback final : public handler_pool::job {
   public:
    explicit callback(std::unique_ptr<queue_event>&& event) noexcept : event_(std::move(event)) {}
    void run() noexcept override {
      call_program([this] {
        void* const tag = delivered(*event_);
        const bool ok = event_->ok;
        event_.reset();
        static_cast<callback_tag*>(tag)->run(ok);
      });
    }

   private:
    std::unique_ptr<queue_event> event_;
  };
  handler_pool threads_{std::numeric_limits<std::size_t>::max(), "grpcpp-callback"};
};

struct queue_of_process {
  std::uint32_t generation = process_generation();
  CompletionQueue queue{std::make_shared<callback_core>()};
};

}  // namespace

CompletionQueue& callback_queue() {
  static std::atomic<queue_of_process*> current{nullptr};
  queue_of_process* found = current.load(std::memory_order_acquire);
  while (!found || found->generation != process_generation()) [[unlikely]] {
    auto made = std::make_unique<queue_of_process>();
    // That of the parent of a fork() has no threads here, and is left as it is.
    if (current.compare_exchange_strong(found, made.get())) return made.release()->queue;
  }
  return found->queue;
}

void post_callback(callback_tag& tag, bool ok) {
  auto event = std::make_unique<queue_event>(&tag);
  event->ok = ok;
  callback_queue().core()->push(std::move(event));
}

}  // namespace grpc::internal
