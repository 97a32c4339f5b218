// use_sender: operations of this library as senders of std::execution or stdexec, and a GrpcContext as a scheduler.
//
// They are senders of the standard library or of stdexec if it is in the include path. Without either, they have the members
// of senders alone: connect() with a receiver, and start() of what it returns.
#pragma once

#include "agrpc/grpc_context.hpp"
#include "agrpc/impl/event_sender.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/provider.hpp"
#include "agrpc/impl/queue_operation.hpp"

#include <concepts>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

class UseSender;

namespace internal {

template <class T>
struct completions_of {
  using type = provider::completion_signatures<provider::set_value_t(T), provider::set_stopped_t()>;
};
template <>
struct completions_of<void> {
  using type = provider::completion_signatures<provider::set_value_t(), provider::set_stopped_t()>;
};
template <class... Ts>
struct completions_of<std::tuple<Ts...>> {
  using type = provider::completion_signatures<provider::set_value_t(Ts...), provider::set_stopped_t()>;
};

// What a step has for a receiver: its result, or what it has when its event is ok, and a stop otherwise.
template <class Step>
struct sent_result {
  using type = typename Step::result;
};
template <class Step>
concept stops_if_not_ok = requires { typename Step::sent; };
template <stops_if_not_ok Step>
struct sent_result<Step> {
  using type = typename Step::sent;
};

// An operation with a receiver. It completes in a thread of the context: with the result, or with set_stopped() if it
// was stopped before its start, or if the context is being destroyed. A stop request cancels an operation in
// progress, whose result tells.
template <class Step, class Receiver>
class received_operation : public queue_operation {
  using token = std::remove_cvref_t<decltype(provider::get_stop_token(
      provider::get_env(std::declval<const Receiver&>())))>;

 public:
  using operation_state_concept = provider::operation_state_t;
  received_operation(GrpcContext& context, Step&& step, Receiver receiver)
      : queue_operation(&received_operation::processed),
        context_(&context),
        step_(std::move(step)),
        receiver_(std::move(receiver)) {}
  received_operation(received_operation&&) = delete;

  void start() & noexcept {
    const token stop = provider::get_stop_token(provider::get_env(receiver_));
    if (stop.stop_requested()) return provider::set_stopped(std::move(receiver_));
    context_->work_started();
    if constexpr (cancellable<Step>) {
      // A thread of the context waits in processed() until the callback is in its place.
      const std::lock_guard lock(starting_);
      step_.start(*context_, tag());
      callback_.emplace(stop, cancel{&step_});
    } else {
      step_.start(*context_, tag());
    }
  }

 private:
  struct cancel {
    Step* of;
    void operator()() const noexcept { of->cancel(); }
  };

  static void processed(queue_operation& o, event e, GrpcContext& context) {
    auto& self = static_cast<received_operation&>(o);
    if constexpr (cancellable<Step>) const std::lock_guard lock(self.starting_);
    if (e != event::abandoned && proceeds(self.step_, context, self.tag(), e == event::ok)) return;
    if constexpr (cancellable<Step>)
      self.callback_.reset();  // waits for a callback that runs on another thread
    Receiver receiver(std::move(self.receiver_));
    if (e == event::abandoned) return provider::set_stopped(std::move(receiver));
    if constexpr (stops_if_not_ok<Step>) {
      if (e != event::ok) return provider::set_stopped(std::move(receiver));
      auto sent = self.step_.take_sent();
      std::apply([&](auto&... all) { provider::set_value(std::move(receiver), std::move(all)...); }, sent);
    } else {
      auto result = internal::take(self.step_, e == event::ok);
      if constexpr (std::is_void_v<typename Step::result>) provider::set_value(std::move(receiver));
      else provider::set_value(std::move(receiver), std::move(result));
    }
  }

  GrpcContext* context_;
  Step step_;
  Receiver receiver_;
  std::mutex starting_;
  std::optional<typename ::coracle::senders::stop_callback_of<token, cancel>::type> callback_;
};

template <class Step>
class [[nodiscard]] step_sender {
 public:
  using sender_concept = provider::sender_t;
  using completion_signatures = typename completions_of<typename sent_result<Step>::type>::type;
  step_sender(GrpcContext& context, Step&& step) : context_(&context), step_(std::move(step)) {}

  template <class Receiver>
  [[nodiscard]] auto connect(Receiver receiver) && {
    return received_operation<Step, Receiver>(*context_, std::move(step_), std::move(receiver));
  }
  template <class Receiver>
    requires std::copy_constructible<Step>
  [[nodiscard]] auto connect(Receiver receiver) const& {
    return received_operation<Step, Receiver>(*context_, Step(step_), std::move(receiver));
  }

 private:
  GrpcContext* context_;
  Step step_;
};

// An executor that names UseSender as the default token of the operations of its I/O objects.
template <class Executor>
class sending_executor : public Executor {
 public:
  using default_completion_token_type = UseSender;
  // As the executors of as_default_on_t of Asio.
  template <class Other>
    requires(!std::same_as<Other, sending_executor> && std::convertible_to<const Other&, Executor>)
  sending_executor(const Other& other) noexcept : Executor(other) {}  // NOLINT(google-explicit-constructor)
};

}  // namespace internal

/// The token that makes a function of this library return a sender. The operation starts when the sender is started,
/// and completes in a thread of the GrpcContext with set_value(result); see the function for its type. What the
/// function takes by reference must outlive the operation. A stop request cancels it if it can be cancelled. The waits of
/// alarms complete with set_value(), or set_value(BasicAlarm) where the operation owns the alarm, and with set_stopped()
/// after a cancellation.
///
/// Free functions that get their context from the token take `use_sender(grpc_context)`, or an executor of it.
///
/// The waits of Waiter, CancelSafe and GrpcStream, ServerRPC::wait_for_done() and the reactors complete on the thread that
/// ends them, with the values that follow the error_code of their signature; after a stop request, with set_stopped().
class UseSender {
 public:
  /// An I/O object type of this library whose functions return senders by default.
  template <class T>
  using as_default_on_t =
      typename T::template rebind_executor<internal::sending_executor<typename T::executor_type>>::other;
  using is_agrpc_sender_token = void;
  class bound {
   public:
    using is_agrpc_sender_token = void;
    explicit bound(GrpcContext& context) noexcept : context_(&context) {}
    [[nodiscard]] GrpcContext& context() const noexcept { return *context_; }
    template <class Step>
    static auto make(GrpcContext& context, Step step) {
      return internal::step_sender<Step>(context, std::move(step));
    }
    template <class Event, class Owner>
    static auto wait_for(Event& event, const Owner& owner) {
      return internal::event_sender<Event, Owner, typename Event::values>(event, owner);
    }
    template <class Call>
    static auto call(const Call& call) {
      return internal::call_sender<Call>(call);
    }

   private:
    GrpcContext* context_;
  };
  [[nodiscard]] bound operator()(GrpcContext& context) const noexcept { return bound(context); }
  template <class Allocator, unsigned Options>
  [[nodiscard]] bound operator()(const BasicGrpcExecutor<Allocator, Options>& executor) const noexcept {
    return bound(executor.context());
  }
  template <class Step>
  static auto make(GrpcContext& context, Step step) {
    return internal::step_sender<Step>(context, std::move(step));
  }
  template <class Event, class Owner>
  static auto wait_for(Event& event, const Owner& owner) {
    return bound::wait_for(event, owner);
  }
  template <class Call>
  static auto call(const Call& call) {
    return bound::call(call);
  }
};
/// The token of that type.
inline constexpr UseSender use_sender{};

namespace internal {

template <class Receiver>
class schedule_operation : public queue_operation {
 public:
  using operation_state_concept = provider::operation_state_t;
  schedule_operation(GrpcContext& context, Receiver receiver)
      : queue_operation(&schedule_operation::processed), context_(&context), receiver_(std::move(receiver)) {}
  schedule_operation(schedule_operation&&) = delete;
  void start() & noexcept { context_access::post(*context_, *this); }

 private:
  static void processed(queue_operation& o, event e, GrpcContext&) {
    auto& self = static_cast<schedule_operation&>(o);
    Receiver receiver(std::move(self.receiver_));
    if (e == event::abandoned || provider::get_stop_token(provider::get_env(receiver)).stop_requested())
      return provider::set_stopped(std::move(receiver));
    provider::set_value(std::move(receiver));
  }
  GrpcContext* context_;
  Receiver receiver_;
};

template <class Executor>
class [[nodiscard]] schedule_sender {
 public:
  using sender_concept = provider::sender_t;
  using completion_signatures =
      provider::completion_signatures<provider::set_value_t(), provider::set_stopped_t()>;
  explicit schedule_sender(const Executor& on) noexcept : on_(on) {}
  template <class Receiver>
  [[nodiscard]] auto connect(Receiver receiver) const {
    return schedule_operation<Receiver>(on_.context(), std::move(receiver));
  }
  class environment {
   public:
    explicit environment(const Executor& on) noexcept : on_(on) {}
    [[nodiscard]] Executor query(provider::get_completion_scheduler_t<provider::set_value_t>) const noexcept {
      return on_;
    }

   private:
    Executor on_;
  };
  [[nodiscard]] environment get_env() const noexcept { return environment(on_); }

 private:
  Executor on_;
};

}  // namespace internal
}  // namespace agrpc::inline CORACLE_ASIO
