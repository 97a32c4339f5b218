// server_callback_coroutine: methods of callback services as coroutines.
//
// A method that returns a reactor is a coroutine if it has a co_await or co_return:
//
//   grpc::ServerReadReactor<Request>* Upload(grpc::CallbackServerContext*, Response* response) override {
//     Request request;
//     co_await agrpc::initiate_read(request);
//     while (co_await agrpc::wait_for_read) co_await agrpc::initiate_read(request);
//     co_await agrpc::initiate_finish(grpc::Status::OK);
//   }
//
// The functions are those of the reactors of <agrpc/server_callback.hpp>. The coroutine begins in the method and continues
// on the thread that ends what it waits for, which may be one of grpc++. An RPC that it has not finished at its end is
// finished with CANCELLED, and with INTERNAL after an exception.
//
// A coroutine may also await operations of Asio with asio::deferred, whose error is thrown as a system_error, and any other
// awaitable object. Such an object resumes the coroutine on a thread of its choice.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/impl/reactor.hpp"
#include "agrpc/reactor_ptr.hpp"
#include "agrpc/server_callback.hpp"

#include <grpcpp/server_context.h>

#include <coroutine>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// Functions of the coroutine's reactor: `call(reactor)` returns what the coroutine gets.
template <class Call>
struct of_reactor {
  Call call;
};
template <class Call>
of_reactor(Call) -> of_reactor<Call>;

// A wait for an event, on the thread that sets it.
template <class Event>
class event_awaiter : Event::waiter {
  using waiter = typename Event::waiter;

 public:
  explicit event_awaiter(Event& of) noexcept : waiter{&event_awaiter::woken}, of_(of) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  // The coroutine may continue elsewhere as soon as the waiter is in the list.
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> waiting) {
    waiting_ = waiting;
    if (auto ready = of_.add(*this)) {
      values_ = *std::move(ready);
      return false;
    }
    return true;
  }
  auto await_resume() { return std::get<0>(std::move(values_)); }

 private:
  static void woken(waiter& w, typename Event::values&& with) {
    auto& self = static_cast<event_awaiter&>(w);
    self.values_ = std::move(with);
    self.waiting_.resume();
  }
  Event& of_;
  std::coroutine_handle<> waiting_;
  typename Event::values values_;
};
// The token that makes waits awaitable.
struct await_event {
  using is_agrpc_sender_token = void;
  template <class Event, class Owner>
  static auto wait_for(Event& event, const Owner&) noexcept {
    return event_awaiter<Event>(event);
  }
};

// An operation of Asio with asio::deferred.
template <class Operation, class... Args>
class deferred_awaiter {
 public:
  explicit deferred_awaiter(Operation&& operation) : operation_(std::move(operation)) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    Operation started = std::move(operation_);  // the coroutine may end meanwhile
    std::move(started)([this, waiting](Args... args) {
      result_.emplace(std::move(args)...);
      waiting.resume();
    });
  }
  auto await_resume() {
    return std::apply([](auto&... all) { return checked(all...); }, *result_);
  }

 private:
  template <class... All>
  static auto checked(error_code& error, All&... rest) {
    if (error) throw ::coracle::asio_internal::system_error(error);
    return value(rest...);
  }
  template <class... All>
  static auto checked(std::exception_ptr& error, All&... rest) {
    if (error) std::rethrow_exception(error);
    return value(rest...);
  }
  template <class... All>
  static auto checked(All&... all) {
    return value(all...);
  }
  static void value() {}
  template <class T>
  static T value(T& one) {
    return std::move(one);
  }
  template <class... All>
    requires(sizeof...(All) > 1)
  static std::tuple<All...> value(All&... all) {
    return {std::move(all)...};
  }
  Operation operation_;
  std::optional<std::tuple<std::decay_t<Args>...>> result_;
};

template <class T>
struct at_once {
  [[nodiscard]] static bool await_ready() noexcept { return true; }
  static void await_suspend(std::coroutine_handle<>) noexcept {}
  T await_resume() const { return static_cast<T>(*value); }
  std::remove_reference_t<T>* value;
};

template <class Reactor>
class reactor_promise {
 public:
  [[nodiscard]] auto* get_return_object() noexcept { return reactor_->get(); }
  [[nodiscard]] static std::suspend_never initial_suspend() noexcept { return {}; }
  [[nodiscard]] static std::suspend_never final_suspend() noexcept { return {}; }
  static void return_void() noexcept {}
  void unhandled_exception() {
    reactor_access::finish_once(*reactor_, grpc::Status(grpc::StatusCode::INTERNAL, "Unhandled exception"));
  }

  template <class Call>
  [[nodiscard]] auto await_transform(of_reactor<Call> function) {
    using result = decltype(function.call(*reactor_));
    if constexpr (std::is_void_v<result>) {
      function.call(*reactor_);
      return std::suspend_never();
    } else if constexpr (std::is_reference_v<result>) {
      return at_once<result>{&function.call(*reactor_)};
    } else {
      return function.call(*reactor_);
    }
  }
  template <template <class, class, class...> class Deferred, class... Args, class Initiation,
            class... InitArgs>
  [[nodiscard]] auto await_transform(Deferred<void(Args...), Initiation, InitArgs...> operation) {
    return deferred_awaiter<Deferred<void(Args...), Initiation, InitArgs...>, Args...>(std::move(operation));
  }
  template <class Awaitable>
  [[nodiscard]] Awaitable&& await_transform(Awaitable&& other) noexcept {
    return std::forward<Awaitable>(other);
  }

 private:
  ReactorPtr<Reactor> reactor_ = agrpc::make_reactor<Reactor>(asio::system_executor());
};

}  // namespace internal

/// `auto& reactor = co_await agrpc::get_reactor;`
inline constexpr internal::of_reactor get_reactor{[](auto& r) -> auto& { return r; }};
inline constexpr internal::of_reactor initiate_send_initial_metadata{
    [](auto& r) { r.initiate_send_initial_metadata(); }};
inline constexpr internal::of_reactor wait_for_send_initial_metadata{
    [](auto& r) { return r.wait_for_send_initial_metadata(internal::await_event()); }};
inline constexpr internal::of_reactor wait_for_read{
    [](auto& r) { return r.wait_for_read(internal::await_event()); }};
inline constexpr internal::of_reactor wait_for_write{
    [](auto& r) { return r.wait_for_write(internal::await_event()); }};
inline constexpr internal::of_reactor wait_for_finish{
    [](auto& r) { return r.wait_for_finish(internal::await_event()); }};
/// The message must outlive the operation.
template <class Request>
[[nodiscard]] auto initiate_read(Request& message) noexcept {
  return internal::of_reactor{[to = &message](auto& r) { r.initiate_read(*to); }};
}
/// The message must outlive the operation.
template <class Response>
[[nodiscard]] auto initiate_write(const Response& response, grpc::WriteOptions options = {}) noexcept {
  return internal::of_reactor{[from = &response, options](auto& r) { r.initiate_write(*from, options); }};
}
/// The message must outlive the RPC.
template <class Response>
[[nodiscard]] auto initiate_write_and_finish(const Response& response, grpc::Status status,
                                             grpc::WriteOptions options = {}) {
  return internal::of_reactor{[from = &response, status = std::move(status), options](auto& r) {
    r.initiate_write_and_finish(*from, status, options);
  }};
}
[[nodiscard]] inline auto initiate_finish(grpc::Status status) {
  return internal::of_reactor{[status = std::move(status)](auto& r) { r.initiate_finish(status); }};
}

}  // namespace agrpc::inline CORACLE_ASIO

// `Service` is a class of whose methods these are, or a lambda.
template <class Service, class Request, class Response>
struct std::coroutine_traits<grpc::ServerUnaryReactor*, Service, grpc::CallbackServerContext*, const Request*,
                             Response*> {
  using promise_type = agrpc::internal::reactor_promise<agrpc::ServerUnaryReactor>;
};
template <class Service, class Request, class Response>
struct std::coroutine_traits<grpc::ServerReadReactor<Request>*, Service, grpc::CallbackServerContext*,
                             Response*> {
  using promise_type = agrpc::internal::reactor_promise<agrpc::ServerReadReactor<Request>>;
};
template <class Service, class Request, class Response>
struct std::coroutine_traits<grpc::ServerWriteReactor<Response>*, Service, grpc::CallbackServerContext*,
                             const Request*> {
  using promise_type = agrpc::internal::reactor_promise<agrpc::ServerWriteReactor<Response>>;
};
template <class Service, class Request, class Response>
struct std::coroutine_traits<grpc::ServerBidiReactor<Request, Response>*, Service,
                             grpc::CallbackServerContext*> {
  using promise_type = agrpc::internal::reactor_promise<agrpc::ServerBidiReactor<Request, Response>>;
};
