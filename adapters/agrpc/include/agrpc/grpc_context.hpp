// grpc_context: a completion queue of grpc++ as an execution context of Asio.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/impl/queue_operation.hpp"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/time.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

template <class Allocator, unsigned Options>
class BasicGrpcExecutor;
/// The executor of a GrpcContext.
using GrpcExecutor = BasicGrpcExecutor<std::allocator<void>, 0>;

namespace internal {

// A thread's run of a context, while it lasts. Runs of several contexts nest.
class running_frame {
 public:
  explicit running_frame(const GrpcContext& of) noexcept : of_(&of), outer_(innermost) { innermost = this; }
  running_frame(const running_frame&) = delete;
  running_frame& operator=(const running_frame&) = delete;
  ~running_frame() { innermost = outer_; }
  [[nodiscard]] static bool runs(const GrpcContext& context) noexcept {
    for (const running_frame* f = innermost; f; f = f->outer_)
      if (f->of_ == &context) return true;
    return false;
  }

 private:
  inline static thread_local running_frame* innermost = nullptr;
  const GrpcContext* of_;
  running_frame* outer_;
};

class context_access;

// Tells a GrpcContext from other execution contexts.
class grpc_context_mark : public asio::execution_context::service {
 public:
  using key_type = grpc_context_mark;
  inline static asio::execution_context::id id;
  explicit grpc_context_mark(asio::execution_context& of) : service(of) {}

 private:
  void shutdown() override {}
};
inline bool is_grpc_context(asio::execution_context& context) {
  return asio::has_service<grpc_context_mark>(context);
}

// Calls `function` in the run of a context of Asio: its allocator reuses the memory of handlers and coroutines only
// within one.
template <class Function>
bool reusing_memory(Function function) {
  asio::io_context of_asio(1);
  bool result = false;
  asio::post(of_asio, [&] { result = function(); });
  of_asio.run();
  return result;
}

// How long a run waits for the next event.
class patience {
 public:
  using time_point = std::chrono::system_clock::time_point;
  [[nodiscard]] static patience none() noexcept { return patience(time_point::min()); }
  [[nodiscard]] static patience endless() noexcept { return patience(time_point::max()); }
  [[nodiscard]] static patience until(time_point deadline) noexcept { return patience(deadline); }
  [[nodiscard]] static patience until(const gpr_timespec& deadline) {
    return patience(grpc::Timespec2Timepoint(deadline));
  }
  [[nodiscard]] bool polls() const noexcept { return deadline_ == time_point::min(); }
  [[nodiscard]] bool expired() const noexcept {
    return deadline_ != time_point::max() && deadline_ <= std::chrono::system_clock::now();
  }
  // With `now`, finds only events that have arrived.
  [[nodiscard]] grpc::CompletionQueue::NextStatus next(grpc::CompletionQueue& queue, bool now, void** tag,
                                                       bool* ok) const {
    if (now || polls()) return queue.AsyncNext(tag, ok, time_point());
    if (deadline_ != time_point::max()) return queue.AsyncNext(tag, ok, deadline_);
    return queue.Next(tag, ok) ? grpc::CompletionQueue::GOT_EVENT : grpc::CompletionQueue::SHUTDOWN;
  }

 private:
  explicit patience(time_point deadline) noexcept : deadline_(deadline) {}
  time_point deadline_;
};

}  // namespace internal

/// An execution context of Asio whose events are those of a grpc::CompletionQueue: RPCs, alarms, and the functions
/// that its executors are given.
///
/// Threads process its work in run() and in the functions beside it. Each operation in progress, each function that
/// waits and each executor with `outstanding_work.tracked` counts as work. When the last work ends, or by stop(), the
/// context is stopped, and run() returns.
///
/// Any thread may call the members, but those that say otherwise. Exceptions of handlers leave run() and its
/// siblings, which can be called again after that.
///
/// Destroy it after the server of its completion queue was shut down, and when no thread runs it. It destroys the
/// handlers of operations that have not ended without calling them.
class GrpcContext : public asio::execution_context {
 public:
  using executor_type = GrpcExecutor;
  using allocator_type = asio::recycling_allocator<void>;

  /// For clients, and for one thread in run().
  GrpcContext() : GrpcContext(std::make_unique<grpc::CompletionQueue>()) {}
  /// For clients. Up to `concurrency_hint` threads are expected to process its work at the same time; the hint
  /// changes nothing else.
  explicit GrpcContext(std::size_t concurrency_hint)
      : GrpcContext(std::make_unique<grpc::CompletionQueue>(), concurrency_hint) {}
  /// For clients, with a completion queue of the caller. Only the context takes its events.
  explicit GrpcContext(std::unique_ptr<grpc::CompletionQueue> queue, std::size_t concurrency_hint = 1)
      : own_queue_(std::move(queue)), queue_(own_queue_.get()), several_threads_(concurrency_hint > 1) {
    mark();
  }
  /// For servers and clients: the argument is what grpc::ServerBuilder::AddCompletionQueue() returns.
  explicit GrpcContext(std::unique_ptr<grpc::ServerCompletionQueue> queue, std::size_t concurrency_hint = 1)
      : own_server_queue_(std::move(queue)),
        queue_(own_server_queue_.get()),
        several_threads_(concurrency_hint > 1) {
    mark();
  }
  ~GrpcContext() {
    stopped_ = true;
    closing_ = true;
    asio::execution_context::shutdown();
    queue_->Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_->Next(&tag, &ok)) {
      if (tag != &wake_up_)
        static_cast<internal::queue_operation*>(tag)->process(internal::event::abandoned, *this);
      abandon_functions();
    }
    abandon_functions();
    asio::execution_context::destroy();
  }

  /// Processes work until the context is out of work or stopped, and waits for it meanwhile. Returns whether it
  /// has processed any. Clears a stop() of before, unless another thread runs the context. Upon return the context
  /// is stopped.
  bool run() {
    return run_with(true, internal::patience::endless(), [] { return true; });
  }
  /// As run(), but returns at `deadline`, too, a time of the system's clock or a gpr_timespec. The context is not stopped
  /// then.
  template <class Deadline>
  bool run_until(const Deadline& deadline) {
    return run_with(true, internal::patience::until(deadline), [] { return true; });
  }
  /// As run(), while `condition()` is true, which is asked before each event, and again after functions that were ready.
  template <class Condition>
  bool run_while(Condition&& condition) {
    return run_with(true, internal::patience::endless(), condition);
  }
  /// Processes what is ready and does not wait. The context is stopped upon return only if it is out of work.
  bool poll() {
    return process(true, internal::patience::none(), [] { return true; });
  }
  /// As run(), for events of the completion queue alone: functions that executors were given stay where they are,
  /// for threads in run() or poll().
  bool run_completion_queue() {
    return run_with(false, internal::patience::endless(), [] { return true; });
  }
  /// As poll(), for events of the completion queue alone.
  bool poll_completion_queue() {
    return process(false, internal::patience::none(), [] { return true; });
  }

  /// Has all threads return from run() and its siblings as soon as they have processed their event.
  void stop() {
    stopped_ = true;
    if (threads_ != 0) wake();
  }
  /// Clears stop().
  void reset() noexcept { stopped_ = false; }
  /// Returns whether the context is out of work or was stopped.
  [[nodiscard]] bool is_stopped() const noexcept { return stopped_; }

  /// Counts a piece of work, until work_finished().
  void work_started() noexcept { work_.fetch_add(1, std::memory_order_relaxed); }
  /// Ends work_started().
  void work_finished() {
    if (work_.fetch_sub(1) != 1) return;
    stopped_ = true;
    if (threads_ > (internal::running_frame::runs(*this) ? 1 : 0)) wake();
  }

  [[nodiscard]] executor_type get_executor() noexcept;
  /// The same object, as a scheduler of std::execution.
  [[nodiscard]] executor_type get_scheduler() noexcept;
  [[nodiscard]] allocator_type get_allocator() const noexcept { return {}; }
  /// The completion queue, to start operations whose tags the caller gets from this library. It belongs to the
  /// context.
  [[nodiscard]] grpc::CompletionQueue* get_completion_queue() noexcept { return queue_; }
  /// The same for servers. Null for a context that was made for clients.
  [[nodiscard]] grpc::ServerCompletionQueue* get_server_completion_queue() noexcept {
    return own_server_queue_.get();
  }

 private:
  void mark() { asio::make_service<internal::grpc_context_mark>(*this); }
  friend class internal::context_access;
  template <class Allocator, unsigned Options>
  friend class BasicGrpcExecutor;

  // Takes a function, and counts its work.
  void post(internal::queue_operation& function) {
    work_started();
    {
      const std::lock_guard lock(mutex_);
      functions_.push(function);
      ready_ = functions_.size();
    }
    // A thread that is about to wait looks for functions after it has counted itself.
    if (waiting_ != 0) wake();
  }
  // From where an operation was started on the completion queue or posted.
  void process_one(internal::queue_operation& operation, internal::event e) {
    const one_less_work done(*this);
    operation.process(e, *this);
  }

  class [[nodiscard]] one_less_work {
   public:
    explicit one_less_work(GrpcContext& of) noexcept : of_(of) {}
    one_less_work(const one_less_work&) = delete;
    one_less_work& operator=(const one_less_work&) = delete;
    ~one_less_work() { of_.work_finished(); }

   private:
    GrpcContext& of_;
  };
  class [[nodiscard]] running_thread {
   public:
    running_thread(GrpcContext& of, bool clears_stop) : of_(of), frame_(of) {
      if (++of_.threads_ == 1 && clears_stop) of_.stopped_ = false;
    }
    running_thread(const running_thread&) = delete;
    running_thread& operator=(const running_thread&) = delete;
    // It has perhaps taken the event that was to wake another thread.
    ~running_thread() {
      if (--of_.threads_ == 0) return;
      if (of_.stopped_ || of_.work_ == 0 || of_.ready_ != 0) of_.wake();
    }

   private:
    GrpcContext& of_;
    internal::running_frame frame_;
  };

  template <class Condition>
  bool run_with(bool with_functions, const internal::patience& how, Condition&& condition) {
    return internal::reusing_memory([&] { return process(with_functions, how, condition); });
  }
  template <class Condition>
  bool process(bool with_functions, const internal::patience& how, Condition&& condition,
               bool clears_stop = true) {
    const running_thread here(*this, clears_stop);
    bool any = false;
    while (!stopped_ && condition()) {
      if (with_functions && process_functions()) {
        any = true;
        if (stopped_ || !condition()) break;
      }
      if (work_ == 0) {
        if (clears_stop) stopped_ = true;
        break;
      }
      bool more = false;
      switch (process_event(with_functions, how, more)) {
        case grpc::CompletionQueue::GOT_EVENT: any = true; break;
        case grpc::CompletionQueue::SHUTDOWN: return any;
        case grpc::CompletionQueue::TIMEOUT:
          if (!more && how.expired()) return any;
          break;
      }
    }
    return any;
  }
  // Those that are there now: what they post waits for the next event.
  bool process_functions() {
    bool any = false;
    for (std::size_t ready = ready_; ready != 0 && !stopped_; --ready) {
      internal::queue_operation* const next = take_function();
      if (!next) break;
      any = true;
      if (several_threads_ && ready > 1 && waiting_ != 0) wake();
      process_one(*next, internal::event::ok);
    }
    return any;
  }
  internal::queue_operation* take_function() {
    const std::lock_guard lock(mutex_);
    internal::queue_operation* const taken = functions_.pop();
    ready_ = functions_.size();
    return taken;
  }
  // `more`: whether there are functions to process.
  grpc::CompletionQueue::NextStatus process_event(bool with_functions, const internal::patience& how,
                                                  bool& more) {
    void* tag = nullptr;
    bool ok = false;
    if (with_functions) ++waiting_;
    more = with_functions && ready_ != 0;
    const auto status = how.next(*queue_, more, &tag, &ok);
    if (with_functions) --waiting_;
    if (status != grpc::CompletionQueue::GOT_EVENT) return status;
    if (tag == &wake_up_) {
      awake_ = false;
      more = true;  // look again
      if (!with_functions && waiting_ != 0 && ready_ != 0) wake();
      return grpc::CompletionQueue::TIMEOUT;
    }
    process_one(*static_cast<internal::queue_operation*>(tag),
                ok ? internal::event::ok : internal::event::failed);
    return status;
  }
  // Calls wait() if no function is ready: it ends if the queue has an event, which wake() pushes.
  template <class Wait>
  void wait_elsewhere(bool with_functions, Wait wait) {
    struct [[nodiscard]] counted {
      counted(GrpcContext& context, bool waits_for_functions) : of(context), functions(waits_for_functions) {
        ++of.threads_;
        if (functions) ++of.waiting_;
      }
      counted(const counted&) = delete;
      counted& operator=(const counted&) = delete;
      ~counted() {
        if (functions) --of.waiting_;
        --of.threads_;
      }
      GrpcContext& of;
      const bool functions;
    };
    const counted here(*this, with_functions);
    if (!stopped_ && !(with_functions && ready_ != 0)) wait();
  }
  // Has one thread that waits for an event look again.
  void wake() {
    if (!closing_ && !awake_.exchange(true))
      alarm_.Set(queue_, std::chrono::system_clock::time_point(), &wake_up_);
  }
  void abandon_functions() {
    while (internal::queue_operation* const next = take_function())
      next->process(internal::event::abandoned, *this);
  }

  std::unique_ptr<grpc::CompletionQueue> own_queue_;
  std::unique_ptr<grpc::ServerCompletionQueue> own_server_queue_;
  grpc::CompletionQueue* queue_;
  const bool several_threads_;
  std::atomic<long> work_ = 0;
  std::atomic<int> threads_ = 0;  // in run() and its siblings
  std::atomic<int> waiting_ = 0;  // of those, the ones that wait for an event and process functions, too
  std::atomic<bool> stopped_ = false;
  std::atomic<bool> closing_ = false;
  std::atomic<bool> awake_ = false;  // the alarm is set, and its event was not yet taken
  char wake_up_ = 0;  // its address is the tag of the alarm
  grpc::Alarm alarm_;
  std::mutex mutex_;
  internal::operation_list functions_;
  std::atomic<std::size_t> ready_ = 0;  // of functions_, for threads without the mutex
};

namespace internal {

// What the rest of this library needs of a context beyond its public members.
class context_access {
 public:
  // Has a thread of the context process the operation, and counts it as work.
  static void post(GrpcContext& context, queue_operation& operation) { context.post(operation); }
  // Processes an operation whose work was counted.
  static void process(GrpcContext& context, queue_operation& operation, event e) {
    context.process_one(operation, e);
  }
  // poll() and poll_completion_queue() that leave a stop() as it is.
  static bool poll(GrpcContext& context, bool with_functions) {
    return context.process(with_functions, patience::none(), [] { return true; }, false);
  }
  // As run_while(), and leaves a stop() as it is.
  template <class Condition>
  static bool run_while(GrpcContext& context, bool with_functions, Condition condition) {
    return context.process(with_functions, patience::endless(), condition, false);
  }
  template <class Wait>
  static void wait_elsewhere(GrpcContext& context, bool with_functions, Wait wait) {
    context.wait_elsewhere(with_functions, wait);
  }
  // Processes functions that are ready and one event, for which it waits that time, and leaves a stop() as it is.
  static bool run_one(GrpcContext& context, bool with_functions, std::chrono::microseconds wait) {
    const auto how =
        wait.count() == 0 ? patience::none() : patience::until(std::chrono::system_clock::now() + wait);
    const GrpcContext::running_thread here(context, false);
    bool any = !context.stopped_ && with_functions && context.process_functions();
    bool more = false;
    if (!context.stopped_ && context.work_ != 0 &&
        context.process_event(with_functions, how, more) == grpc::CompletionQueue::GOT_EVENT)
      any = true;
    return any;
  }
  // Whether it is stopped or out of work.
  static bool is_finished(const GrpcContext& context) noexcept {
    return context.stopped_ || context.work_ == 0;
  }
};

}  // namespace internal
}  // namespace agrpc::inline CORACLE_ASIO

#include "agrpc/grpc_executor.hpp"
