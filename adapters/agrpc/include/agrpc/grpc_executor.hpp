// grpc_executor: the executor of a GrpcContext.
#pragma once

#include "agrpc/grpc_context.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/queue_operation.hpp"
#include "agrpc/impl/senders.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/execution/allocator.hpp>
#include <asio/execution/blocking.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution/mapping.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/execution/relationship.hpp>
#else
#include <boost/asio/execution/allocator.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/mapping.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution/relationship.hpp>
#endif

#include <memory>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// Options of an executor.
inline constexpr unsigned never_blocks = 1;
inline constexpr unsigned tracks_work = 2;
inline constexpr unsigned continues = 4;

template <class Executor>
class schedule_sender;  // of <agrpc/use_sender.hpp>

}  // namespace internal

/// Runs functions in the threads that process the work of a GrpcContext. It meets the requirements of Asio's
/// executors and of those of the Networking TS. Copies are cheap, and any thread may use them.
///
/// Properties that require() and prefer() change: blocking (`possibly`, which runs a function at once in a thread
/// that runs the context, or `never`), outstanding_work, relationship and allocator. mapping is `thread`.
template <class Allocator = std::allocator<void>, unsigned Options = 0>
class BasicGrpcExecutor {
  template <class, unsigned>
  friend class BasicGrpcExecutor;
  static constexpr bool tracks = (Options & internal::tracks_work) != 0;
  static constexpr bool has_allocator = !std::is_same_v<Allocator, std::allocator<void>>;
  template <unsigned Set, unsigned Cleared = 0>
  using with = BasicGrpcExecutor<Allocator, (Options & ~Cleared) | Set>;

 public:
  using allocator_type = Allocator;
  using scheduler_concept = internal::scheduler_tag;

  /// An executor of no context: it can be assigned to and destroyed.
  BasicGrpcExecutor() noexcept
    requires std::is_default_constructible_v<Allocator>
  = default;
  explicit BasicGrpcExecutor(GrpcContext& of, const Allocator& allocator = Allocator()) noexcept
      : of_(&of), allocator_(allocator) {
    started();
  }
  BasicGrpcExecutor(const BasicGrpcExecutor& other) noexcept : of_(other.of_), allocator_(other.allocator_) {
    started();
  }
  BasicGrpcExecutor(BasicGrpcExecutor&& other) noexcept
      : of_(tracks ? std::exchange(other.of_, nullptr) : other.of_),
        allocator_(std::move(other.allocator_)) {}
  BasicGrpcExecutor& operator=(BasicGrpcExecutor other) noexcept {
    std::swap(of_, other.of_);
    std::destroy_at(&allocator_);
    std::construct_at(&allocator_, other.allocator_);
    return *this;
  }
  ~BasicGrpcExecutor() {
    if constexpr (tracks)
      if (of_) of_->work_finished();
  }

  /// The context. Precondition: the executor has one.
  [[nodiscard]] GrpcContext& context() const noexcept { return *of_; }
  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_; }
  /// Whether the calling thread processes the work of the context.
  [[nodiscard]] bool running_in_this_thread() const noexcept { return internal::running_frame::runs(*of_); }

  /// Runs `function` in a thread of the context. Exceptions leave the context's run(), or this function if it runs
  /// the function at once.
  template <class Function>
  void execute(Function&& function) const {
    if constexpr ((Options & internal::never_blocks) == 0) {
      if (running_in_this_thread()) {
        std::decay_t<Function> here(std::forward<Function>(function));
        std::move(here)();
        return;
      }
    }
    submit(std::forward<Function>(function), allocator_);
  }

  /// The sender of std::execution::schedule(). Requires <agrpc/use_sender.hpp>.
  template <class Sender = internal::schedule_sender<BasicGrpcExecutor>>
  [[nodiscard]] Sender schedule() const {
    return Sender(*this);
  }

  // The requirements of the Networking TS.
  template <class Function, class OtherAllocator>
  void dispatch(Function&& function, const OtherAllocator& a) const {
    if (running_in_this_thread()) {
      std::decay_t<Function> here(std::forward<Function>(function));
      std::move(here)();
    } else {
      submit(std::forward<Function>(function), a);
    }
  }
  template <class Function, class OtherAllocator>
  void post(Function&& function, const OtherAllocator& a) const {
    submit(std::forward<Function>(function), a);
  }
  template <class Function, class OtherAllocator>
  void defer(Function&& function, const OtherAllocator& a) const {
    submit(std::forward<Function>(function), a);
  }
  void on_work_started() const noexcept { of_->work_started(); }
  void on_work_finished() const { of_->work_finished(); }

  // The properties, as Asio asks for them.
  [[nodiscard]] auto require(asio::execution::blocking_t::possibly_t) const noexcept {
    return with<0, internal::never_blocks>(*of_, allocator_);
  }
  [[nodiscard]] auto require(asio::execution::blocking_t::never_t) const noexcept {
    return with<internal::never_blocks>(*of_, allocator_);
  }
  [[nodiscard]] auto require(asio::execution::outstanding_work_t::tracked_t) const noexcept {
    return with<internal::tracks_work>(*of_, allocator_);
  }
  [[nodiscard]] auto require(asio::execution::outstanding_work_t::untracked_t) const noexcept {
    return with<0, internal::tracks_work>(*of_, allocator_);
  }
  [[nodiscard]] auto require(asio::execution::relationship_t::fork_t) const noexcept {
    return with<0, internal::continues>(*of_, allocator_);
  }
  [[nodiscard]] auto require(asio::execution::relationship_t::continuation_t) const noexcept {
    return with<internal::continues>(*of_, allocator_);
  }
  [[nodiscard]] auto require(asio::execution::allocator_t<void>) const noexcept {
    return BasicGrpcExecutor<std::allocator<void>, Options>(*of_);
  }
  template <class OtherAllocator>
  [[nodiscard]] auto require(const asio::execution::allocator_t<OtherAllocator>& a) const noexcept {
    return BasicGrpcExecutor<OtherAllocator, Options>(*of_, a.value());
  }
  [[nodiscard]] static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    if constexpr ((Options & internal::never_blocks) != 0) return asio::execution::blocking.never;
    else return asio::execution::blocking.possibly;
  }
  [[nodiscard]] static constexpr asio::execution::outstanding_work_t query(
      asio::execution::outstanding_work_t) noexcept {
    if constexpr (tracks) return asio::execution::outstanding_work.tracked;
    else return asio::execution::outstanding_work.untracked;
  }
  [[nodiscard]] static constexpr asio::execution::relationship_t query(
      asio::execution::relationship_t) noexcept {
    if constexpr ((Options & internal::continues) != 0) return asio::execution::relationship.continuation;
    else return asio::execution::relationship.fork;
  }
  [[nodiscard]] static constexpr asio::execution::mapping_t query(asio::execution::mapping_t) noexcept {
    return asio::execution::mapping.thread;
  }
  template <class OtherAllocator>
  [[nodiscard]] allocator_type query(const asio::execution::allocator_t<OtherAllocator>&) const noexcept {
    return allocator_;
  }
  [[nodiscard]] allocator_type query(asio::execution::allocator_t<void>) const noexcept { return allocator_; }
  template <class Query>
    requires std::is_same_v<Query, asio::execution::context_t>
  [[nodiscard]] GrpcContext& query(Query) const noexcept {
    return *of_;
  }

  friend bool operator==(const BasicGrpcExecutor& a, const BasicGrpcExecutor& b) noexcept {
    return a.of_ == b.of_ && a.allocator_ == b.allocator_;
  }
  friend bool operator!=(const BasicGrpcExecutor& a, const BasicGrpcExecutor& b) noexcept {
    return !(a == b);
  }

 private:
  void started() const noexcept {
    if constexpr (tracks)
      if (of_) of_->work_started();
  }
  template <class Function, class OtherAllocator>
  void submit(Function&& function, const OtherAllocator& a) const {
    // Freed before the function is called, so that what it starts finds the memory again.
    if constexpr (std::is_same_v<OtherAllocator, std::allocator<void>>) {
      of_->post(internal::posted_function<std::decay_t<Function>, GrpcContext::allocator_type>::make(
          std::forward<Function>(function), of_->get_allocator()));
    } else {
      of_->post(internal::posted_function<std::decay_t<Function>, OtherAllocator>::make(
          std::forward<Function>(function), a));
    }
  }

  GrpcContext* of_ = nullptr;
  [[no_unique_address]] Allocator allocator_;
};

inline GrpcContext::executor_type GrpcContext::get_executor() noexcept { return executor_type(*this); }
inline GrpcContext::executor_type GrpcContext::get_scheduler() noexcept { return executor_type(*this); }

}  // namespace agrpc::inline CORACLE_ASIO
