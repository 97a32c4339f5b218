// queue_core: what a CompletionQueue is made of.
#pragma once

#include <grpcpp/completion_queue.h>

#include "adapters/grpcpp/src/threads/client_loop.hpp"
#include "adapters/grpcpp/src/threads/client_runtime.hpp"
#include "adapters/grpcpp/src/threads/queue_driver.hpp"

#include "coracle/coro/outcome.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/start.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace grpc::internal {

// An operation and, when it has ended, its entry in the queue.
class queue_event {
 public:
  explicit queue_event(void* tag) noexcept : tag_(tag) {}
  queue_event(const queue_event&) = delete;
  queue_event& operator=(const queue_event&) = delete;
  virtual ~queue_event() = default;

  bool ok = true;
  // Whether goes_back() may keep the event and push it later: the queue is not drained meanwhile.
  bool may_go_back = false;

 private:
  friend class queue_core;
  // In the thread that takes the event, before the program sees it.
  virtual void deliver() {}
  // After that: true if the program does not see the event. It waits again for what it is about if it has taken
  // `self`.
  virtual bool goes_back(std::unique_ptr<queue_event>& /*self*/) { return false; }
  void* tag_;
  std::unique_ptr<queue_event> next_;
};

// Shared by the queue of the program, and the operations that have not ended. Any thread. That of callbacks is a
// class of its own, which gives events to threads when the one that takes them is busy.
class queue_core {
 public:
  queue_core() = default;
  queue_core(const queue_core&) = delete;
  queue_core& operator=(const queue_core&) = delete;
  virtual ~queue_core();

  // An operation has started, which ends with push().
  void begin();
  // The same, but false, and nothing has started, if the queue is shut down: the program may know that it is
  // drained.
  [[nodiscard]] bool begin_unless_shut_down();
  // The same for an operation that start() starts: it has not started if that throws. Returns what it does.
  template <class Start>
  auto begin_with(Start start);
  // An operation that has started ends, and the program is not told.
  void end_without_event();
  void push(std::unique_ptr<queue_event> event) noexcept;
  CompletionQueue::NextStatus next(void** tag, bool* ok, gpr_timespec deadline);
  void shut_down();
  // Next() drives a loop of a server from now on. Another server that it drove is shut down.
  void set_driver(std::shared_ptr<queue_driver> driver);
  // Before a thread waits for other things, too: a descriptor that is readable while there is something to take, until
  // end_wait(). The watch drives the loop meanwhile.
  [[nodiscard]] int begin_wait();
  void end_wait() noexcept;
  // The index of that loop.
  [[nodiscard]] std::size_t loop_of_server() const noexcept {
    return loop_of_server_.load(std::memory_order_relaxed);
  }
  // The runtime of the calls of clients that end here, which Next() drives if it is not a server's queue.
  [[nodiscard]] virtual coracle::runtime& clients();
  // The program takes no event any more: its queue is destroyed.
  void abandon() noexcept;
  [[nodiscard]] bool is_abandoned();

 protected:
  // true: events go to divert() in place of next(). Returns those that waited, linked by next_of().
  [[nodiscard]] std::unique_ptr<queue_event> set_diverting(bool diverting) noexcept;
  static std::unique_ptr<queue_event> next_of(queue_event& event) noexcept { return std::move(event.next_); }
  virtual void divert(std::unique_ptr<queue_event> /*event*/) noexcept {}
  [[nodiscard]] const std::shared_ptr<queue_driver>& driver() const noexcept { return driver_; }
  // Delivers an event, and returns its tag.
  static void* delivered(queue_event& event) {
    event.deliver();
    return event.tag_;
  }
  static bool goes_back(std::unique_ptr<queue_event>& event) { return event->goes_back(event); }
  static void* tag_of(const queue_event& event) noexcept { return event.tag_; }

 private:
  // GOT_EVENT: the first event is in `taken`.
  CompletionQueue::NextStatus take(std::unique_ptr<queue_event>& taken, gpr_timespec deadline);
  // With the lock: there is no event, and there will be none.
  [[nodiscard]] bool drained() const noexcept { return shut_down_ && started_ == 0 && !first_; }
  // With the lock, which is released meanwhile: drives the loop until there is something to take, or `until`.
  // whole_turn: for one turn with its I/O. Returns false without a turn if others drive it.
  bool drive(std::unique_lock<std::mutex>& lock, coracle::time_point until, bool whole_turn);
  // With the lock: whether a thread in Next() drives the loop.
  [[nodiscard]] bool drives() noexcept;
  // With the lock: after each change of the members below.
  void changed() noexcept {
    ready_.store(first_ || drained(), std::memory_order_release);
    if (waiting_elsewhere_ > 0) [[unlikely]]
      signal(ready_);
  }
  // With the lock: makes the descriptor readable, or not.
  void signal(bool readable) noexcept;

  std::mutex changing_;
  std::condition_variable changed_;
  std::unique_ptr<queue_event> first_;
  queue_event* last_ = nullptr;
  std::size_t started_ = 0;  // operations that have not ended
  bool shut_down_ = false;
  bool abandoned_ = false;
  bool diverting_ = false;
  std::atomic<bool> ready_{false};
  std::shared_ptr<queue_driver> driver_;  // null: others drive the loops
  std::atomic<std::size_t> loop_of_server_{0};
  client_loop* loop_ = nullptr;  // if the driver is that of clients
  std::atomic<coracle::runtime*> clients_{nullptr};
  std::atomic<std::uint32_t> generation_{0};  // of the process, when clients_ was set
  bool driving_ = false;  // this queue drives it, as far as it knows
  int signal_ = -1;  // the descriptor for threads that wait elsewhere
  std::uint32_t signal_generation_ = 0;  // of the process that it belongs to
  bool signalled_ = false;  // it is readable
  int waiting_elsewhere_ = 0;
  int taken_in_a_row_ = 0;  // since the last I/O of the loop
  std::chrono::steady_clock::time_point last_io_;
};

// Puts the event of an operation that waits for nothing into the queue.
inline void push_now(queue_core& queue, std::unique_ptr<queue_event> event, bool ok) {
  event->ok = ok;
  queue.begin();
  queue.push(std::move(event));
}

template <class Start>
auto queue_core::begin_with(Start start) {
  begin();
  try {
    return start();
  } catch (...) {
    end_without_event();
    throw;
  }
}

// An event and the wait that ends with it, in one object. The wait is a task, which is destroyed on its loop, or
// an awaiter. That is destroyed with the event, by the thread that takes it: the call and its loop may be gone
// then, and the destructor must not need them.
template <class Event, class Wait>
class awaited_event final : public Event {
 public:
  // make(event) is the wait, which may refer to the event.
  template <class Make, class... Args>
  awaited_event(std::shared_ptr<queue_core> queue, Make& make, Args&&... args)
      : Event(std::forward<Args>(args)...),
        running_(std::in_place, make(static_cast<Event&>(*this)), done{this, std::move(queue)}) {}
  // Call begin() of the queue first. The event is pushed into it when the wait ends. Throws std::bad_alloc.
  static void start(std::unique_ptr<awaited_event> self, coracle::loop& where) {
    self->running_.start(where);
    static_cast<void>(self.release());
  }

 private:
  struct done {
    awaited_event* event;
    std::shared_ptr<queue_core> queue;
    void operator()(coracle::outcome<bool> o, Wait& wait)
      requires(!coracle::coro::awaited_by_itself<Wait>)
    {
      {
        const Wait ended(std::move(wait));
      }  // its parameters may keep the call
      end([&] { return std::move(o).value(); });
    }
    void operator()(const std::exception_ptr& error, Wait& wait) {
      end([&] { return !error && wait.await_resume(); });
    }
    template <class Result>
    void end(Result ok) {
      try {
        event->ok = ok();
      } catch (...) {
        event->ok = false;
      }
      queue->push(std::unique_ptr<queue_event>(event));
    }
  };
  coracle::operation<Wait, done> running_;
};

// Starts the wait make(event) on a loop; what it gives becomes `ok`, which is false if it throws. The event,
// Event(args...), is pushed into the queue at its end.
template <class Event, class Make, class... Args>
void start_for(std::shared_ptr<queue_core> queue, coracle::loop& where, Make make, Args&&... args) {
  using awaited = awaited_event<Event, std::invoke_result_t<Make&, Event&>>;
  queue_core& to = *queue;  // it has the event, or ends after a failed start
  auto event = std::make_unique<awaited>(std::move(queue), make, std::forward<Args>(args)...);
  to.begin_with([&] { awaited::start(std::move(event), where); });
}

}  // namespace grpc::internal
