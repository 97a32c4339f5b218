// start_scheduler: the scheduler that a sender's environment names while a task awaits it.
#pragma once

#include "coracle/coro/executor.hpp"
#include "coracle/execution/provider.hpp"
#include "coracle/runtime/loop.hpp"

#include <utility>

namespace coracle::senders {

class start_scheduler;

template <class Receiver>
class posted_operation : private coro::runnable {
 public:
  using operation_state_concept = provider::operation_state_t;

  posted_operation(loop& where, Receiver r) noexcept
      : runnable{&posted_operation::complete}, where_(&where), receiver_(std::move(r)) {}
  posted_operation(posted_operation&&) = delete;

  void start() & noexcept { where_->post(*this); }

 private:
  static void complete(coro::runnable& r) noexcept {
    provider::set_value(std::move(static_cast<posted_operation&>(r).receiver_));
  }

  loop* where_;
  Receiver receiver_;
};

class posted_sender {
 public:
  using sender_concept = provider::sender_t;
  using completion_signatures = provider::completion_signatures<provider::set_value_t()>;

  explicit posted_sender(loop& where) noexcept : where_(&where) {}

  template <provider::receiver Receiver>
  [[nodiscard]] posted_operation<Receiver> connect(Receiver r) const noexcept {
    return {*where_, std::move(r)};
  }

  class attributes {
   public:
    explicit attributes(loop& where) noexcept : where_(&where) {}
    [[nodiscard]] start_scheduler query(
        provider::get_completion_scheduler_t<provider::set_value_t>) const noexcept;

   private:
    loop* where_;
  };
  [[nodiscard]] attributes get_env() const noexcept { return attributes(*where_); }

 private:
  loop* where_;
};

// The loop of a task that awaits a sender. The operations of its senders cannot fail or be stopped, as P3941 requires
// of what a coroutine returns to, and are small. The loop runs at least until the task has ended.
class start_scheduler {
 public:
  using scheduler_concept = provider::scheduler_t;
  explicit start_scheduler(loop& where) noexcept : where_(&where) {}

  [[nodiscard]] loop& where() const noexcept { return *where_; }
  [[nodiscard]] posted_sender schedule() const noexcept { return posted_sender(*where_); }

  friend bool operator==(const start_scheduler&, const start_scheduler&) noexcept = default;

 private:
  loop* where_;
};

inline start_scheduler posted_sender::attributes::query(
    provider::get_completion_scheduler_t<provider::set_value_t>) const noexcept {
  return start_scheduler(*where_);
}

}  // namespace coracle::senders
