// register_sender_rpc_handler: handlers that return senders.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/impl/registration.hpp"
#include "agrpc/impl/senders.hpp"
#include "agrpc/server_rpc.hpp"
#include "agrpc/use_sender.hpp"

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

template <class Rpc, class Service, class Handler, class Receiver>
class received_registration final : public registration<Rpc, Service, Handler> {
  using base = registration<Rpc, Service, Handler>;

 public:
  received_registration(GrpcContext& context, const typename Rpc::executor_type& executor, Service& service,
                        Handler&& handler, Receiver& receiver)
      : base(context, executor, service, std::move(handler)), receiver_(receiver) {
    callback_.emplace(stop_token(), stop{this->stopped()});
  }

 private:
  using token = std::remove_cvref_t<decltype(provider::get_stop_token(
      provider::get_env(std::declval<const Receiver&>())))>;
  struct stop {
    std::shared_ptr<std::atomic<bool>> flag;
    void operator()() const noexcept { *flag = true; }
  };
  [[nodiscard]] token stop_token() const noexcept {
    return provider::get_stop_token(provider::get_env(receiver_));
  }
  [[nodiscard]] owned_rpc<Rpc, Handler> make_rpc(const typename Rpc::executor_type& executor,
                                                 Handler& with) override {
    return allocated_rpc<Rpc, Handler, std::allocator<void>>::make({}, executor, with);
  }
  using returned = decltype(std::declval<rpc_of_handler<Rpc, Handler>&>().invoke(std::declval<Handler&>(),
                                                                                 std::declval<Rpc&>()));
  void handle(running_rpc<Rpc, Handler> rpc) override {
    auto self = this->shared_from_this();
    auto make = [self](running_rpc<Rpc, Handler>& of) { return of->invoke(self->handler(), of->rpc()); };
    auto done = [self](const std::exception_ptr& error) { self->handler_done(error); };
    detached_sender<returned, held, decltype(make), decltype(done)>::start(held{std::move(rpc)},
                                                                           std::move(make), std::move(done));
  }
  void complete(const std::exception_ptr& error) override {
    callback_.reset();  // waits for a callback that runs on another thread
    if (error) provider::set_error(std::move(receiver_), std::exception_ptr(error));
    else provider::set_stopped(std::move(receiver_));
  }
  struct held {
    running_rpc<Rpc, Handler> of;
    running_rpc<Rpc, Handler>& operator*() noexcept { return of; }
  };
  Receiver& receiver_;
  std::optional<typename ::coracle::senders::stop_callback_of<token, stop>::type> callback_;
};

template <class Rpc, class Service, class Handler, class Receiver>
class registration_operation {
 public:
  using operation_state_concept = provider::operation_state_t;
  registration_operation(const typename Rpc::executor_type& executor, Service& service, Handler&& handler,
                         Receiver receiver)
      : executor_(executor),
        service_(service),
        handler_(std::move(handler)),
        receiver_(std::move(receiver)) {}
  registration_operation(registration_operation&&) = delete;
  void start() & noexcept {
    if (provider::get_stop_token(provider::get_env(receiver_)).stop_requested())
      return provider::set_stopped(std::move(receiver_));
    std::make_shared<received_registration<Rpc, Service, Handler, Receiver>>(
        context_of(executor_), executor_, service_, std::move(handler_), receiver_)
        ->request_next();
  }

 private:
  typename Rpc::executor_type executor_;
  Service& service_;
  Handler handler_;
  Receiver receiver_;
};

template <class Rpc, class Service, class Handler>
class [[nodiscard]] registration_sender {
 public:
  using sender_concept = provider::sender_t;
  using completion_signatures =
      provider::completion_signatures<provider::set_value_t(), provider::set_error_t(std::exception_ptr),
                                      provider::set_stopped_t()>;
  registration_sender(const typename Rpc::executor_type& executor, Service& service, Handler handler)
      : executor_(executor), service_(&service), handler_(std::move(handler)) {}
  template <class Receiver>
  [[nodiscard]] auto connect(Receiver receiver) && {
    return registration_operation<Rpc, Service, Handler, Receiver>(executor_, *service_, std::move(handler_),
                                                                   std::move(receiver));
  }

 private:
  typename Rpc::executor_type executor_;
  Service* service_;
  Handler handler_;
};

}  // namespace internal

/// As register_awaitable_rpc_handler(), with a handler that returns a sender, and with a sender as result: it completes
/// with set_stopped() where the others complete, or with set_error(std::exception_ptr) after the first exception or error of
/// a handler. Handlers
/// run in the context. A stop request ends it as a cancellation does.
template <class Rpc, class Service, class Handler>
auto register_sender_rpc_handler(const internal::registration_executor<Rpc>& on, Service& service,
                                 Handler handler) {
  return internal::registration_sender<Rpc, Service, Handler>(on.get(), service, std::move(handler));
}

}  // namespace agrpc::inline CORACLE_ASIO
