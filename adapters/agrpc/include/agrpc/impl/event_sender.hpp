// event_sender: what ends at any time on any thread, as a sender: a wait for a manual_event, a call by callback.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/impl/provider.hpp"

#include <grpcpp/support/status.h>

#include <atomic>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO::internal {

// An operation with a receiver that may end before its start has returned. It completes on the thread that does the later
// one of both, when its stop callback has returned.
template <class Receiver, class OnStop, class... Values>
class two_sided_operation {
  using token = std::remove_cvref_t<decltype(provider::get_stop_token(
      provider::get_env(std::declval<const Receiver&>())))>;

 public:
  using operation_state_concept = provider::operation_state_t;
  two_sided_operation(two_sided_operation&&) = delete;

 protected:
  explicit two_sided_operation(Receiver receiver) : receiver_(std::move(receiver)) {}
  ~two_sided_operation() = default;

  // Whether there was a stop before the start, which completes the operation.
  [[nodiscard]] bool stopped_before() noexcept {
    if (!stop().stop_requested()) return false;
    provider::set_stopped(std::move(receiver_));
    return true;
  }
  // The last act of the start.
  void started(OnStop on_stop) noexcept {
    callback_.emplace(stop(), on_stop);
    arrive();
  }
  void end(std::tuple<Values...> with) noexcept {
    result_.emplace(std::move(with));
    arrive();
  }
  void end_stopped() noexcept { arrive(); }

 private:
  [[nodiscard]] token stop() const noexcept { return provider::get_stop_token(provider::get_env(receiver_)); }
  void arrive() noexcept {
    if (--missing_ != 0) return;
    callback_.reset();  // waits for a callback that runs on another thread
    Receiver receiver(std::move(receiver_));
    if (!result_) return provider::set_stopped(std::move(receiver));
    auto result = std::move(*result_);
    std::apply([&](auto&... all) { provider::set_value(std::move(receiver), std::move(all)...); }, result);
  }

  Receiver receiver_;
  std::optional<std::tuple<Values...>> result_;
  std::optional<typename ::coracle::senders::stop_callback_of<token, OnStop>::type> callback_;
  std::atomic<int> missing_ = 2;  // the start and the end
};

template <class Receiver, class Event, class Owner, class Values>
class event_operation;
template <class Event>
struct stop_waiting {
  void operator()() const noexcept { operation(of); }
  void (*operation)(typename Event::waiter&);
  typename Event::waiter& of;
};

// A wait for an event. After a stop it completes with set_stopped().
template <class Receiver, class Event, class Owner, class... Values>
class event_operation<Receiver, Event, Owner, std::tuple<Values...>>
    : public Event::waiter, public two_sided_operation<Receiver, stop_waiting<Event>, Values...> {
  using base = two_sided_operation<Receiver, stop_waiting<Event>, Values...>;
  using waiter = typename Event::waiter;

 public:
  event_operation(Event& of, const Owner& owner, Receiver receiver)
      : waiter{&event_operation::woken}, base(std::move(receiver)), of_(of), owner_(owner) {}

  void start() & noexcept {
    if (this->stopped_before()) return;
    held_.emplace(owner_.hold());
    if (auto ready = of_.add(*this)) this->end(*std::move(ready));
    this->started({&event_operation::stop, *this});
  }

 private:
  static void woken(waiter& w, std::tuple<Values...>&& with) {
    static_cast<event_operation&>(w).end(std::move(with));
  }
  static void stop(waiter& w) {
    auto& self = static_cast<event_operation&>(w);
    if (self.of_.remove(self)) self.end_stopped();
  }
  Event& of_;
  [[no_unique_address]] Owner owner_;
  std::optional<decltype(std::declval<const Owner&>().hold())> held_;
};

template <class Event, class Owner, class Values>
class event_sender;
template <class Event, class Owner, class... Values>
class [[nodiscard]] event_sender<Event, Owner, std::tuple<Values...>> {
 public:
  using sender_concept = provider::sender_t;
  using completion_signatures =
      provider::completion_signatures<provider::set_value_t(Values...), provider::set_stopped_t()>;
  event_sender(Event& of, const Owner& owner) noexcept : of_(&of), owner_(owner) {}
  template <class Receiver>
  [[nodiscard]] auto connect(Receiver receiver) const {
    return event_operation<Receiver, Event, Owner, std::tuple<Values...>>(*of_, owner_, std::move(receiver));
  }

 private:
  Event* of_;
  [[no_unique_address]] Owner owner_;
};

template <class Call>
struct cancel_call {
  void operator()() const noexcept { of->cancel(); }
  const Call* of;
};

// A unary call by a callback. A stop cancels the call, whose status tells.
template <class Receiver, class Call>
class call_operation : public two_sided_operation<Receiver, cancel_call<Call>, grpc::Status> {
  using base = two_sided_operation<Receiver, cancel_call<Call>, grpc::Status>;

 public:
  call_operation(const Call& call, Receiver receiver) : base(std::move(receiver)), call_(call) {}
  void start() & noexcept {
    if (this->stopped_before()) return;
    call_.start([this](grpc::Status status) { this->end({std::move(status)}); });
    this->started({&call_});
  }

 private:
  Call call_;
};

template <class Call>
class [[nodiscard]] call_sender {
 public:
  using sender_concept = provider::sender_t;
  using completion_signatures =
      provider::completion_signatures<provider::set_value_t(grpc::Status), provider::set_stopped_t()>;
  explicit call_sender(const Call& call) : call_(call) {}
  template <class Receiver>
  [[nodiscard]] auto connect(Receiver receiver) const {
    return call_operation<Receiver, Call>(call_, std::move(receiver));
  }

 private:
  Call call_;
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
