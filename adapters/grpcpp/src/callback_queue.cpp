#include "callback_queue.hpp"

#include "client_runtime.hpp"
#include "handler_pool.hpp"
#include "queue_core.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace grpc::internal {
namespace {

// A callback that takes so long is worth the hop to a thread of its own, as far as time alone tells.
constexpr std::chrono::microseconds callback_long{200};
// What a long one counts for; a short one takes back one. Others may have had the core for a while.
constexpr int long_weighs = 64;
constexpr int long_max = 16 * long_weighs;

// One thread, the leader, drives the loop of the calls and runs the callbacks: nothing hops. While it is held
// up by a callback, the watch drives the loop, and threads run the callbacks.
class callback_core final : public queue_core {
 public:
  // It lasts until the process ends, and so does its thread.
  void start() {
    static_cast<void>(clients());
    if (!driver()) return set_left(true);  // without a loop there is no watch
    driver()->when_left([this](bool left) { set_left(left); });
    try {
      std::thread leader([this] { lead(); });
      ::pthread_setname_np(leader.native_handle(), thread_name);
      leader.detach();
    } catch (const std::system_error&) {  // no thread can be started: the watch drives
      set_left(true);
    }
  }

 private:
  class callback final : public handler_pool::job {
   public:
    callback(callback_core& of, std::unique_ptr<queue_event>&& event) noexcept
        : of_(of), event_(std::move(event)) {}
    void run() noexcept override {
      call_program([this] {
        void* const tag = delivered(*event_);
        if (event_->may_go_back && of_.went_back(event_)) return;
        const bool ok = event_->ok;
        event_.reset();
        static_cast<callback_tag*>(tag)->run(ok);
      });
    }

   private:
    callback_core& of_;
    std::unique_ptr<queue_event> event_;
  };

  bool went_back(std::unique_ptr<queue_event>& event) {
    begin();
    const bool hidden = goes_back(event);
    if (event) stays();
    return hidden;
  }
  void lead() noexcept {
    while (!driver()->is_with_runtime()) {
      std::chrono::steady_clock::time_point began;
      call_program([&] {
        void* tag = nullptr;
        bool ok = false;
        next(&tag, &ok, gpr_inf_future(GPR_CLOCK_MONOTONIC));
        began = std::chrono::steady_clock::now();
        static_cast<callback_tag*>(tag)->run(ok);
      });
      if (std::chrono::steady_clock::now() - began < callback_long) long_ = std::max(long_ - 1, 0);
      else long_ += long_weighs;
      if (long_ >= long_max) driver()->leave_to_runtime();
    }
    set_left(true);
  }
  // Whether the leader is held up.
  void set_left(bool left) noexcept {
    std::unique_ptr<queue_event> waited = set_diverting(left);
    while (waited) {
      std::unique_ptr<queue_event> after = next_of(*waited);
      divert(std::exchange(waited, std::move(after)));
    }
  }
  void divert(std::unique_ptr<queue_event> event) noexcept override {
    const auto next = std::make_shared<callback>(*this, std::move(event));
    // The system refuses a thread: then this one has to do, which is that of the loop.
    if (!threads_.run(next)) next->run();
  }

  static constexpr const char* thread_name = "grpcpp-callback";
  int long_ = 0;
  handler_pool threads_{std::numeric_limits<std::size_t>::max(), thread_name};
};

struct queue_of_process {
  std::uint32_t generation = counted_generation();
  std::shared_ptr<callback_core> core = std::make_shared<callback_core>();
  CompletionQueue queue{core};
};

}  // namespace

CompletionQueue& callback_queue() {
  static std::atomic<queue_of_process*> current{nullptr};
  queue_of_process* found = current.load(std::memory_order_acquire);
  while (!found || found->generation != process_generation()) [[unlikely]] {
    auto made = std::make_unique<queue_of_process>();
    // That of the parent of a fork() has no threads here, and is left as it is.
    if (!current.compare_exchange_strong(found, made.get())) continue;
    found = made.release();
    found->core->start();
  }
  return found->queue;
}

void post_callback(callback_tag& tag, bool ok) {
  auto event = std::make_unique<queue_event>(&tag);
  push_now(*callback_queue().core(), std::move(event), ok);
}

}  // namespace grpc::internal
