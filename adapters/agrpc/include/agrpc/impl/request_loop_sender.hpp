// request_loop_sender: agrpc::repeatedly_request() as a sender.
#pragma once

#include "agrpc/impl/event_sender.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/repeatedly_request.hpp"

#include <atomic>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO::internal {

template <class Rpc, class Service, class Handler, class Receiver>
class received_request_loop final
    : public request_loop<received_request_loop<Rpc, Service, Handler, Receiver>, Rpc, Service, Handler> {
  using base = request_loop<received_request_loop, Rpc, Service, Handler>;
  using token = std::remove_cvref_t<decltype(provider::get_stop_token(
      provider::get_env(std::declval<const Receiver&>())))>;

 public:
  using operation_state_concept = provider::operation_state_t;
  received_request_loop(GrpcContext& context, Service& service, typename Rpc::method method, Handler handler,
                        Receiver receiver)
      : base(context, service, method, std::move(handler)), receiver_(std::move(receiver)) {}
  received_request_loop(received_request_loop&&) = delete;

  void start() & noexcept {
    const token stop = provider::get_stop_token(provider::get_env(receiver_));
    if (stop.stop_requested()) return provider::set_stopped(std::move(receiver_));
    callback_.emplace(stop, remember{this});
    this->request_next();
  }

  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  void end(bool abandoned) {
    Receiver receiver = done();
    if (abandoned || stopped_) provider::set_stopped(std::move(receiver));
    else provider::set_value(std::move(receiver));
  }
  void fail(std::exception_ptr error) {
    Receiver receiver = done();
    provider::set_error(std::move(receiver), std::move(error));
  }

 private:
  struct remember {
    received_request_loop* of;
    void operator()() const noexcept { of->stopped_ = true; }
  };
  [[nodiscard]] Receiver done() {
    callback_.reset();
    return std::move(receiver_);
  }
  Receiver receiver_;
  std::atomic<bool> stopped_ = false;
  std::optional<typename ::coracle::senders::stop_callback_of<token, remember>::type> callback_;
};

template <class Rpc, class Service, class Handler>
class [[nodiscard]] request_loop_sender {
 public:
  using sender_concept = provider::sender_t;
  using completion_signatures =
      provider::completion_signatures<provider::set_value_t(), provider::set_error_t(std::exception_ptr),
                                      provider::set_stopped_t()>;
  request_loop_sender(GrpcContext& context, Service& service, typename Rpc::method method, Handler handler)
      : context_(&context), service_(&service), method_(method), handler_(std::move(handler)) {}
  template <class Receiver>
  [[nodiscard]] auto connect(Receiver receiver) && {
    return received_request_loop<Rpc, Service, Handler, Receiver>(*context_, *service_, method_,
                                                                  std::move(handler_), std::move(receiver));
  }

 private:
  GrpcContext* context_;
  Service* service_;
  typename Rpc::method method_;
  Handler handler_;
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
