// completion: one operation that ends with one event; event_queue: where events wait to be taken.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "coracle/rpc/metadata.hpp"

#include "runtimes.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace coracle::c_abi {

class completion;

// Events of operations, in the order in which they ended. The loops append to it, once for each of their
// turns, and any thread takes.
class event_queue : public std::enable_shared_from_this<event_queue> {
 public:
  static constexpr handle_kind kind_of_handle = handle_kind::queue;
  event_queue(std::shared_ptr<shared_runtime> of, const coracle_queue_options& options);
  ~event_queue();

  // An operation will complete here, or a server's method may: the queue cannot be destroyed until then.
  void expect();
  void forget() noexcept;
  // On a loop: queues the event of an operation that was expected.
  void deliver(std::unique_ptr<completion> ended) noexcept;
  // Takes up to `max` events; waits at most `timeout_ns` for the first one.
  std::size_t take(coracle_event* events, std::size_t event_size, std::size_t max, std::int64_t timeout_ns);
  void close();
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] const std::shared_ptr<shared_runtime>& owner() const noexcept { return owner_; }

 private:
  // What one loop has completed in this turn.
  struct batch : coro::runnable {
    std::shared_ptr<event_queue> to;  // while there is something
    completion* first = nullptr;
    completion* last = nullptr;
    std::uint32_t count = 0;
  };
  static void flush(coro::runnable& w) noexcept;
  void append(completion* first, completion* last, std::uint32_t count) noexcept;
  completion* pop() noexcept;

  const std::shared_ptr<shared_runtime> owner_;
  void (*const wake_)(void*);
  void* const context_;
  int descriptor_ = -1;
  std::vector<batch> batches_;  // by the index of the loop

  std::mutex changing_;
  std::condition_variable changed_;
  completion* first_ = nullptr;
  completion* last_ = nullptr;
  std::size_t pending_ = 0;
  std::uint32_t flushing_ = 0;  // loops that are about to call wake_
  std::uint32_t waiting_ = 0;   // threads in take()
  bool signalled_ = false;      // the descriptor is readable
  bool closed_ = false;
};

// Keeps a queue from being destroyed while it may get events.
class reservation {
 public:
  reservation() noexcept = default;
  explicit reservation(std::shared_ptr<event_queue> q) : queue_(std::move(q)) {
    if (queue_) queue_->expect();
  }
  reservation(reservation&& other) noexcept = default;
  reservation& operator=(reservation&& other) noexcept {
    std::swap(queue_, other.queue_);
    return *this;
  }
  ~reservation() {
    if (queue_) queue_->forget();
  }

 private:
  std::shared_ptr<event_queue> queue_;
};

// A thread that waits for an operation.
class blocked_thread {
 public:
  void deliver(std::unique_ptr<completion> ended) noexcept;
  [[nodiscard]] std::unique_ptr<completion> wait();

 private:
  std::mutex changing_;
  std::condition_variable changed_;
  std::unique_ptr<completion> ended_;
};

// Where the event of an operation goes. A value.
struct destination {
  std::shared_ptr<event_queue> queue;
  std::uint64_t tag = 0;
  coracle_callback callback = nullptr;
  void* context = nullptr;
  blocked_thread* thread = nullptr;  // none of the three: no event

  // Checks and reads a coracle_completion for an operation on a runtime. Null: no event.
  static destination of(const coracle_completion* c, const shared_runtime& on, bool required = true);
  static destination of(blocked_thread& t) noexcept {
    destination d;
    d.thread = &t;
    return d;
  }
};

// An operation in progress, and then its event. The operation owns it until finish().
class completion {
 public:
  completion(std::uint32_t kind, const destination& to);
  completion(const completion&) = delete;
  completion& operator=(const completion&) = delete;
  virtual ~completion();

  // On a loop: passes the event on. `ended` may be null: then nothing happens.
  static void finish(std::unique_ptr<completion> ended) noexcept;
  // Copies the event to the caller, who owns it from then on.
  static void hand_out(std::unique_ptr<completion> ended, coracle_event* to, std::size_t size) noexcept;

  bytes_message message;
  status outcome;
  metadata initial;
  metadata trailing;
  std::string method;
  std::string peer;
  std::int64_t timeout_ns = 0;
  bool has_message = false;
  coracle_call call = 0;
  [[nodiscard]] const destination& to() const noexcept { return to_; }

 protected:
  // The path of the method; empty: that of the call whose handle is `call`.
  [[nodiscard]] virtual const std::string& path() const noexcept { return method; }

 private:
  friend class event_queue;
  void on_callback_exception() noexcept;
  void fill();
  destination to_;
  coracle_event event_{};
  std::vector<coracle_pair> pairs_;
  completion* next_ = nullptr;
  bool expected_ = false;  // by the queue
};

}  // namespace coracle::c_abi
