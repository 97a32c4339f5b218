// completion: an operation in progress with the completion handler that Asio made for it.
//
// This header needs Asio alone: it is used without Coracle's library, too.
#pragma once

#include "coracle/asio/library.hpp"

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace coracle::inline CORACLE_ASIO::asio_internal {

// Whether an executor of this type is told that an operation will complete on it.
template <class Executor>
inline constexpr bool counts_work = true;

// An operation in progress, in memory of the handler's allocator. It is destroyed on the handler's executor, before
// the handler is called. The cancellation slot is used there only.
//
// `Operation` derives from this class, and declares it a friend. It has
//   - completes_here(executor): whether the handler is called where finish() is called, without its executor;
//   - take_result(): the result, moved out of the operation;
//   - call(handler, result): a static function that calls the handler.
// `Candidate` is the executor of a handler that has none.
template <class Operation, class Handler, class Candidate>
class completion {
 public:
  using executor = typename asio::associated_executor<Handler, Candidate>::type;
  using handler_allocator =
      typename asio::associated_allocator<Handler, asio::recycling_allocator<void>>::type;

  completion(const completion&) = delete;
  completion& operator=(const completion&) = delete;

  // Destroys the operation unless it was released: an executor may drop what it was given.
  class owner {
   public:
    using allocator_type = handler_allocator;
    explicit owner(Operation* of) noexcept : of_(of) {}
    owner(owner&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    owner& operator=(owner&&) = delete;
    ~owner() {
      if (of_) of_->abandon();
    }
    [[nodiscard]] allocator_type get_allocator() const noexcept {
      return allocator_type(allocator_of(of_->handler_));
    }
    [[nodiscard]] Operation* get() const noexcept { return of_; }
    [[nodiscard]] Operation* release() noexcept { return std::exchange(of_, nullptr); }
    void operator()() { static_cast<completion*>(release())->complete(); }

   private:
    Operation* of_;
  };

  // Makes an operation from the handler and `args`.
  template <class H, class... Args>
  [[nodiscard]] static owner make(H&& handler, const Candidate& candidate, Args&&... args) {
    allocator memory = allocator_of(handler);
    const typename traits::pointer place = traits::allocate(memory, 1);
    try {
      return owner(::new (static_cast<void*>(std::to_address(place)))
                       Operation(std::forward<H>(handler), candidate, std::forward<Args>(args)...));
    } catch (...) {
      traits::deallocate(memory, place, 1);
      throw;
    }
  }

  // Calls the handler with the result, on its executor. The last act of the operation.
  void finish() {
    if constexpr (counts_work<executor>) {
      if (!operation().completes_here(work_.get_executor())) {
        owner continues(&operation());
        asio::dispatch(work_.get_executor(), std::move(continues));
        return;
      }
    }
    complete();
  }
  // The same, and never within this function.
  void finish_later() {
    owner continues(&operation());
    asio::post(work_.get_executor(), std::move(continues));
  }
  // Destroys the operation and its handler without a call.
  void abandon() noexcept {
    disconnect();
    Handler handler(std::move(handler_));
    destroy(handler);
  }

 protected:
  template <class H>
  completion(H&& handler, const Candidate& candidate)
      : handler_(std::forward<H>(handler)),
        work_(asio::associated_executor<Handler, Candidate>::get(handler_, candidate)) {}
  ~completion() = default;

  // Has the handler's cancellation slot call `Canceller(args...)` with the kind of cancellation.
  template <class Canceller, class... Args>
  void connect(Args&&... args) {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.template emplace<Canceller>(std::forward<Args>(args)...);
  }
  [[nodiscard]] const Handler& handler() const noexcept { return handler_; }

 private:
  using allocator = typename std::allocator_traits<handler_allocator>::template rebind_alloc<Operation>;
  using traits = std::allocator_traits<allocator>;
  struct no_work {
    explicit no_work(const executor&) noexcept {}
  };

  static allocator allocator_of(const std::remove_cvref_t<Handler>& handler) noexcept {
    return allocator(asio::associated_allocator<Handler, asio::recycling_allocator<void>>::get(
        handler, asio::recycling_allocator<void>()));
  }
  [[nodiscard]] Operation& operation() noexcept { return static_cast<Operation&>(*this); }
  void disconnect() noexcept {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) slot.clear();
  }
  void complete() {
    disconnect();
    auto result = operation().take_result();
    Handler handler(std::move(handler_));
    destroy(handler);
    Operation::call(std::move(handler), std::move(result));
  }
  void destroy(const Handler& handler) noexcept {
    allocator memory = allocator_of(handler);
    Operation* const self = &operation();
    const auto place = std::pointer_traits<typename traits::pointer>::pointer_to(*self);
    self->~Operation();
    traits::deallocate(memory, place, 1);
  }

  Handler handler_;
  std::conditional_t<counts_work<executor>, asio::executor_work_guard<executor>, no_work> work_;
};

// What an initiation inherits to tell a completion token which executor its operation has.
template <class Candidate>
class with_executor {
 public:
  using executor_type = Candidate;
  explicit with_executor(const Candidate& candidate) noexcept : candidate_(candidate) {}
  [[nodiscard]] executor_type get_executor() const noexcept { return candidate_; }

 private:
  Candidate candidate_;
};

template <class T>
concept executor = asio::execution::is_executor<T>::value || asio::is_executor<T>::value;
template <executor Executor>
using default_token = typename asio::default_completion_token<Executor>::type;

}  // namespace coracle::inline CORACLE_ASIO::asio_internal
