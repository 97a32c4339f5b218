// grpc_executor: the executor of a GrpcContext.
#pragma once

#include "agrpc/grpc_context.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/provider.hpp"
#include "agrpc/impl/queue_operation.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// Options of an executor.
inline constexpr unsigned may_block = 1;
inline constexpr unsigned tracks_work = 2;
inline constexpr unsigned continues = 4;

// The context of an executor. With `Tracks`, each copy counts as work of it.
template <bool Tracks>
class context_of_executor {
 public:
  context_of_executor() noexcept = default;
  explicit context_of_executor(GrpcContext* of) noexcept : of_(of) {}
  [[nodiscard]] GrpcContext* get() const noexcept { return of_; }

 private:
  GrpcContext* of_ = nullptr;
};
template <>
class context_of_executor<true> {
 public:
  context_of_executor() noexcept = default;
  explicit context_of_executor(GrpcContext* of) noexcept : of_(of) {
    if (of_) of_->work_started();
  }
  context_of_executor(const context_of_executor& other) noexcept : context_of_executor(other.of_) {}
  context_of_executor(context_of_executor&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  context_of_executor& operator=(context_of_executor other) noexcept {
    std::swap(of_, other.of_);
    return *this;
  }
  ~context_of_executor() {
    if (of_) of_->work_finished();
  }
  [[nodiscard]] GrpcContext* get() const noexcept { return of_; }

 private:
  GrpcContext* of_ = nullptr;
};

// The allocator of an executor, which can be assigned even if the allocator itself cannot.
template <class Allocator>
class allocator_of_executor {
 public:
  allocator_of_executor() = default;
  explicit allocator_of_executor(const Allocator& allocator) noexcept : allocator_(allocator) {}
  allocator_of_executor(const allocator_of_executor&) = default;
  allocator_of_executor& operator=(const allocator_of_executor& other) noexcept {
    if (this == &other) return *this;
    std::destroy_at(&allocator_);
    std::construct_at(&allocator_, other.allocator_);
    return *this;
  }
  [[nodiscard]] const Allocator& get() const noexcept { return allocator_; }

 private:
  [[no_unique_address]] Allocator allocator_;
};
template <>  // so that an executor is trivial
class allocator_of_executor<std::allocator<void>> {
 public:
  allocator_of_executor() = default;
  explicit allocator_of_executor(const std::allocator<void>&) noexcept {}
  [[nodiscard]] static std::allocator<void> get() noexcept { return {}; }
};

template <class Executor>
class schedule_sender;

}  // namespace internal

/// Runs functions in the threads that process the work of a GrpcContext. It meets the requirements of Asio's
/// executors, and of those of the Networking TS unless Asio is compiled without them. Copies are cheap, and any thread may use them.
///
/// Properties that require() and prefer() change: blocking (`never`, or `possibly`, which runs a function at once in a
/// thread that runs the context), outstanding_work, relationship and allocator. mapping is `thread`. Executors are equal if
/// their contexts, properties and allocators are.
template <class Allocator = std::allocator<void>, unsigned Options = 0>
class BasicGrpcExecutor {
  template <class, unsigned>
  friend class BasicGrpcExecutor;
  static constexpr bool tracks = (Options & internal::tracks_work) != 0;
  template <unsigned Set, unsigned Cleared = 0>
  using with = BasicGrpcExecutor<Allocator, (Options & ~Cleared) | Set>;

 public:
  using allocator_type = Allocator;
  using scheduler_concept = internal::provider::scheduler_t;

  /// An executor of no context: it can be assigned to and destroyed.
  BasicGrpcExecutor() noexcept
    requires std::is_default_constructible_v<Allocator>
  = default;
  explicit BasicGrpcExecutor(GrpcContext& of, const Allocator& allocator = Allocator()) noexcept
      : of_(&of), allocator_(allocator) {}

  /// The context. Precondition: the executor has one.
  [[nodiscard]] GrpcContext& context() const noexcept { return *of_.get(); }
  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_.get(); }
  /// Whether the calling thread processes the work of the context.
  [[nodiscard]] bool running_in_this_thread() const noexcept {
    return internal::running_frame::runs(context());
  }

  /// Runs `function` in a thread of the context. Exceptions leave the context's run(), or this function if it runs
  /// the function at once.
  template <class Function>
  void execute(Function&& function) const {
    if constexpr ((Options & internal::may_block) != 0) {
      if (running_in_this_thread()) {
        std::decay_t<Function> here(std::forward<Function>(function));
        std::move(here)();
        return;
      }
    }
    submit(std::forward<Function>(function), get_allocator());
  }

  /// The sender of std::execution::schedule().
  template <class Sender = internal::schedule_sender<BasicGrpcExecutor>>
  [[nodiscard]] Sender schedule() const {
    return Sender(*this);
  }

#if defined(CORACLE_ASIO_TS_EXECUTORS)
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
  void on_work_started() const noexcept { context().work_started(); }
  void on_work_finished() const { context().work_finished(); }
#endif

  // The properties, as Asio asks for them.
  [[nodiscard]] auto require(asio::execution::blocking_t::possibly_t) const noexcept {
    return with<internal::may_block>(context(), get_allocator());
  }
  [[nodiscard]] auto require(asio::execution::blocking_t::never_t) const noexcept {
    return with<0, internal::may_block>(context(), get_allocator());
  }
  [[nodiscard]] auto require(asio::execution::outstanding_work_t::tracked_t) const noexcept {
    return with<internal::tracks_work>(context(), get_allocator());
  }
  [[nodiscard]] auto require(asio::execution::outstanding_work_t::untracked_t) const noexcept {
    return with<0, internal::tracks_work>(context(), get_allocator());
  }
  [[nodiscard]] auto require(asio::execution::relationship_t::fork_t) const noexcept {
    return with<0, internal::continues>(context(), get_allocator());
  }
  [[nodiscard]] auto require(asio::execution::relationship_t::continuation_t) const noexcept {
    return with<internal::continues>(context(), get_allocator());
  }
  [[nodiscard]] auto require(asio::execution::allocator_t<void>) const noexcept {
    return BasicGrpcExecutor<std::allocator<void>, Options>(context());
  }
  template <class OtherAllocator>
  [[nodiscard]] auto require(const asio::execution::allocator_t<OtherAllocator>& a) const noexcept {
    return BasicGrpcExecutor<OtherAllocator, Options>(context(), a.value());
  }
  [[nodiscard]] static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
    if constexpr ((Options & internal::may_block) != 0) return asio::execution::blocking.possibly;
    else return asio::execution::blocking.never;
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
    return get_allocator();
  }
  [[nodiscard]] allocator_type query(asio::execution::allocator_t<void>) const noexcept {
    return get_allocator();
  }
  template <class Query>
    requires std::is_same_v<Query, asio::execution::context_t>
  [[nodiscard]] GrpcContext& query(Query) const noexcept {
    return context();
  }

  template <class OtherAllocator, unsigned OtherOptions>
  friend bool operator==(const BasicGrpcExecutor& a,
                         const BasicGrpcExecutor<OtherAllocator, OtherOptions>& b) noexcept {
    if constexpr (Options != OtherOptions || !std::is_same_v<Allocator, OtherAllocator>) return false;
    else return a.of_.get() == b.of_.get() && a.get_allocator() == b.get_allocator();
  }
  template <class OtherAllocator, unsigned OtherOptions>
  friend bool operator!=(const BasicGrpcExecutor& a,
                         const BasicGrpcExecutor<OtherAllocator, OtherOptions>& b) noexcept {
    return !(a == b);
  }

 private:
  template <class Function, class OtherAllocator>
  void submit(Function&& function, const OtherAllocator& a) const {
    // Freed before the function is called, so that what it starts finds the memory again.
    if constexpr (std::is_same_v<OtherAllocator, std::allocator<void>>) {
      context().post(internal::posted_function<std::decay_t<Function>, GrpcContext::allocator_type>::make(
          std::forward<Function>(function), context().get_allocator()));
    } else {
      context().post(internal::posted_function<std::decay_t<Function>, OtherAllocator>::make(
          std::forward<Function>(function), a));
    }
  }

  internal::context_of_executor<tracks> of_;
  [[no_unique_address]] internal::allocator_of_executor<Allocator> allocator_;
};

inline GrpcContext::executor_type GrpcContext::get_executor() noexcept { return executor_type(*this); }
inline GrpcContext::executor_type GrpcContext::get_scheduler() noexcept { return executor_type(*this); }

}  // namespace agrpc::inline CORACLE_ASIO

// schedule(), and the token, which programs over asio-grpc get along with each of its headers. It needs the executor.
#include "agrpc/use_sender.hpp"
