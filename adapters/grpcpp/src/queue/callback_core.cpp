#include "adapters/grpcpp/src/queue/callback_core.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <utility>

namespace grpc::internal {
namespace {

// A callback that takes so long is worth the hop to a thread of its own, as far as time alone tells.
constexpr std::chrono::microseconds callback_long{200};
// What a long one counts for; a short one takes back one. Others may have had the core for a while.
constexpr int long_weighs = 64;
constexpr int long_max = 16 * long_weighs;

// Chooses one callback of four, in no order: the callbacks of a call come in a pattern.
class sample {
 public:
  bool next() noexcept {
    state_ = state_ * 1664525U + 1013904223U;
    return state_ >> 30U == 0;
  }

 private:
  std::uint32_t state_ = 0;
};

}  // namespace

class callback_core::callback final : public handler_pool::job {
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

void callback_core::start() {
  if (!driver()) return set_left(true);  // without a loop there is no watch
  driver()->when_left([this](bool left) { set_left(left); });
  try {
    leader_ = std::thread([this] { lead(); });
    ::pthread_setname_np(leader_.native_handle(), thread_name);
  } catch (const std::system_error&) {  // no thread can be started: the watch drives
    set_left(true);
  }
}

void callback_core::start_for_process() {
  start();
  if (leader_.joinable()) leader_.detach();
}

void callback_core::stop() noexcept {
  shut_down();
  if (leader_.joinable()) leader_.join();
  threads_.stop();
}

void callback_core::post(callback_tag& tag, bool ok) {
  push_now(*this, std::make_unique<queue_event>(&tag), ok);
}

void callback_core::lead() noexcept {
  bool ended = false;
  sample chosen;
  while (!ended && !driver()->is_with_watch()) {
    const bool measured = long_ > 0 || chosen.next();
    auto began = std::chrono::steady_clock::time_point::max();
    call_program([&] {
      void* tag = nullptr;
      bool ok = false;
      ended = next(&tag, &ok, gpr_inf_future(GPR_CLOCK_MONOTONIC)) == CompletionQueue::SHUTDOWN;
      if (measured) began = std::chrono::steady_clock::now();
      if (!ended) static_cast<callback_tag*>(tag)->run(ok);
    });
    if (!measured) continue;
    if (std::chrono::steady_clock::now() - began < callback_long) long_ = std::max(long_ - 1, 0);
    else long_ += long_weighs;
    if (long_ >= long_max) driver()->leave_to_watch();
  }
  if (!ended) set_left(true);
}

void callback_core::set_left(bool left) noexcept {
  std::unique_ptr<queue_event> waited = set_diverting(left);
  while (waited) {
    std::unique_ptr<queue_event> after = next_of(*waited);
    divert(std::exchange(waited, std::move(after)));
  }
}

bool callback_core::went_back(std::unique_ptr<queue_event>& event) {
  begin();
  const bool hidden = goes_back(event);
  if (event) end_without_event();
  return hidden;
}

void callback_core::divert(std::unique_ptr<queue_event> event) noexcept {
  const auto next = std::make_shared<callback>(*this, std::move(event));
  // The system refuses a thread: then this one has to do, which is that of the loop.
  if (threads_.run(next) != handler_pool::outcome::accepted) next->run();
}

}  // namespace grpc::internal
