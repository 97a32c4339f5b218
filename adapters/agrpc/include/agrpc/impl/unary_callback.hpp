// unary_callback: a unary call by a callback of grpc++.
#pragma once

#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO::internal {

template <class StubAsync, class Request, class Response>
struct unary_callback {
  void start(std::function<void(grpc::Status)> done) const {
    (stub->*function)(client_context, message, response, std::move(done));
  }
  void cancel() const { client_context->TryCancel(); }
  void (StubAsync::*function)(grpc::ClientContext*, const Request*, Response*,
                              std::function<void(grpc::Status)>);
  StubAsync* stub;
  grpc::ClientContext* client_context;
  const Request* message;
  Response* response;
};

// The call with a completion handler of Asio.
template <class Call, class Handler>
class handled_unary_callback
    : public ::coracle::asio_internal::completion<handled_unary_callback<Call, Handler>, Handler,
                                                  asio::system_executor> {
  using base = ::coracle::asio_internal::completion<handled_unary_callback, Handler, asio::system_executor>;
  friend base;

 public:
  template <class H>
  handled_unary_callback(H&& handler, const asio::system_executor& candidate)
      : base(std::forward<H>(handler), candidate) {}
  template <class H>
  static void start(H&& handler, const Call& call) {
    auto owned = base::make(std::forward<H>(handler), asio::system_executor());
    handled_unary_callback* const made = owned.release();
    made->template connect<canceller>(canceller{call});
    call.start([made](grpc::Status status) {
      made->status_ = std::move(status);
      made->finish();
    });
  }

 private:
  struct canceller {
    Call of;
    void operator()(asio::cancellation_type asked) const {
      constexpr auto honoured = asio::cancellation_type::terminal | asio::cancellation_type::partial;
      if ((asked & honoured) != asio::cancellation_type::none) of.cancel();
    }
  };
  template <class Executor>
  [[nodiscard]] static bool completes_here(const Executor&) noexcept {
    return false;
  }
  [[nodiscard]] grpc::Status take_result() { return std::move(status_); }
  static void call(Handler&& handler, grpc::Status&& status) { std::move(handler)(std::move(status)); }
  grpc::Status status_;
};

struct start_unary_callback {
  template <class Handler, class Call>
  void operator()(Handler&& handler, const Call& call) const {
    handled_unary_callback<Call, std::decay_t<Handler>>::start(std::forward<Handler>(handler), call);
  }
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
