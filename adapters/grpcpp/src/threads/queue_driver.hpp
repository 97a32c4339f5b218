// queue_driver: has the thread that takes the events of a queue drive the loop where they arise.
#pragma once

#include "adapters/grpcpp/src/threads/client_runtime.hpp"

#include "coracle/base/clock.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/runtime.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace grpc::internal {

// A server with a queue that one thread polls makes no hop: the thread drives the loop within Next(), and finds
// the event that the loop has put there. Between two calls the loop belongs to no thread. The calls of a client
// are the same: a client_loop has such a driver. So are callbacks, whose leader is such a thread.
//
// Calls do not depend on that thread: until it comes first, and if none has driven the loop for one to two
// periods, the watch, a thread of the library, drives it until one comes. And it drives the loop for good, while
// Next() takes events alone, from the time that
// - a second thread comes to Next() while the first one drives,
// - the watch has driven several times, because the program works long on each event, or takes those of several
//   queues in turn,
// - the server is shut down, or
// - Next() is called within a turn of another loop.
//
// The loop is one of a runtime without threads of its own, and uses epoll: a ring belongs to a thread, and cannot
// be taken from one that never comes back. Any thread may call the functions. The queue may keep the object
// longer than the server.
class queue_driver : public std::enable_shared_from_this<queue_driver> {
 public:
  // Takes over a loop that no thread drives.
  explicit queue_driver(coracle::loop& of);
  queue_driver(const queue_driver&) = delete;
  queue_driver& operator=(const queue_driver&) = delete;
  ~queue_driver() { detach(); }

  // In Next(): drives the loop on this thread until keep_going() is false, or `until`; if that has passed, for
  // one turn that does not wait. A turn in which it becomes false ends before its I/O.
  enum class driven { no, without_io, with_io };  // no: another thread drives it for good
  driven drive(const std::function<bool()>& keep_going, coracle::time_point until);
  // This thread will wait for something else: the watch is to drive what the thread drove last.
  static void caller_leaves() noexcept;
  // On a loop with a driver: whether a watch drives it, in place of the thread that takes the events.
  [[nodiscard]] static bool is_on_watch() noexcept;
  // Whether this thread is in drive(): what happens on the loop is done by the thread that takes the events.
  [[nodiscard]] static bool is_driven_by_caller() noexcept;
  // The result of keep_going() has changed. On any thread, the loop included.
  void wake() noexcept;
  // The watch drives the loop for good; returns when no other thread does.
  void leave_to_watch();
  // False: it belongs to the parent of this process, which was forked since. Its lock may never be free here.
  [[nodiscard]] bool is_of_process() const noexcept { return generation_ == process_generation(); }
  // A queue begins to use the loop, on this thread, or has ended. Until its first Next() the watch drives the
  // loop, unless this thread was the last in it, and will come again.
  void begin_queue() noexcept;
  void end_queue() noexcept;
  // Whether the watch drives the loop for good.
  [[nodiscard]] bool is_with_watch() const noexcept { return for_good_.load(std::memory_order_acquire); }
  // The watch calls call(true) when it begins to drive the loop, and the caller that comes back calls call(false).
  void when_left(std::function<void(bool)> call);
  // The runtime ends after this: no thread drives the loop any more, nor will. None is in drive().
  void detach() noexcept;
  // This object and its runtime last until the process ends, and serve one queue after another.
  void keep_for_process() noexcept;
  [[nodiscard]] coracle::time_point now() const noexcept;
  // Before detach().
  [[nodiscard]] std::size_t loop_index() const noexcept { return loop_.load()->index(); }

  // For tests: how often the watch has taken the loop, whether it has it now, and whether for good.
  struct handovers {
    std::size_t to_watch = 0;
    bool on_watch = false;
    bool for_good = false;
  };
  [[nodiscard]] handovers counted() const;

 private:
  enum class driven_by { none, caller, watch };
  // Posted to the loop, makes the thread that drives it look at its condition before it waits.
  struct nudge : coracle::coro::runnable {
    explicit nudge(queue_driver& d) noexcept;
    queue_driver& of;
  };
  // Ends the wait of the loop, no more.
  struct alarm : coracle::coro::timer {
    alarm() noexcept : timer{[](timer&) noexcept {}} {}
  };
  void watch() noexcept;
  // Drives the loop on this thread while both are true; the first may change on the loop, and by wake().
  template <class InTime>
  void run(const std::function<bool()>& keep_going, InTime in_time);
  void end_turn_when_done(coracle::loop& on) const;
  // With the lock: the watch drives the loop for good, once the thread that drives it has left.
  void give_to_watch() noexcept;
  // With the lock, which is released meanwhile.
  void tell_left(std::unique_lock<std::mutex>& lock, bool left);
  // Tells the driver of the loop that this thread drove last, if it was another one.
  void become_last_of_thread();
  static void leave_last(bool for_another) noexcept;
  // In the watch, with the lock, which is released meanwhile.
  void drive_for_good(std::unique_lock<std::mutex>& lock);
  // With the lock: the loop belongs to no thread any more.
  void left() noexcept;
  void wake_locked() noexcept;

  const std::uint32_t generation_ = counted_generation();
  std::atomic<coracle::loop*> loop_;  // null after detach()
  nudge nudge_;
  std::atomic<bool> nudged_{false};
  // Of the thread that drives the loop:
  const std::function<bool()>* keep_going_ = nullptr;
  alarm alarm_;
  coracle::time_point alarm_at_ = coracle::never;

  mutable std::mutex changing_;  // guards what follows
  std::condition_variable changed_;
  driven_by by_ = driven_by::none;
  std::size_t wanting_ = 0;  // callers that wait for the watch to leave
  std::size_t turns_ = 0;  // how often a caller has left
  std::atomic<bool> for_good_{false};  // is read without the lock
  handovers handovers_;
  bool expected_ = false;  // a caller, soon
  std::atomic<bool> ended_{false};  // is read without the lock
  std::size_t left_alone_ = 0;  // how often the watch has driven the loop instead, less what was made up for
  std::size_t good_periods_ = 0;
  std::function<void(bool)> when_left_;
  bool left_ = false;  // as when_left_ was told
  bool dormant_ = false;  // the watch waits for a caller to leave
  std::condition_variable watch_changed_;
  std::thread watch_;
};

}  // namespace grpc::internal
