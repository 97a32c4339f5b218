// repeatedly_request: handles all RPCs of a method of a server.
#pragma once

#include "agrpc/impl/free_functions.hpp"
#include "agrpc/impl/generic.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/senders.hpp"
#include "agrpc/repeatedly_request_context.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/awaitable.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#else
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#endif

#include <grpcpp/server_context.h>

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// One RPC: its objects, and how it is requested.
template <class Implementation, class Request, class Responder>
struct unary_rpc {
  static constexpr bool has_request = true;
  using method = unary_request_function<Implementation, Request, Responder>;
  using service = Implementation;
  void request_from(service& s, method function, grpc::ServerCompletionQueue* queue, void* tag) {
    (s.*function)(&server_context, &request, &responder, queue, queue, tag);
  }
  [[nodiscard]] auto args() noexcept { return std::tie(server_context, request, responder); }
  grpc::ServerContext server_context;
  Request request;
  Responder responder{&server_context};
};
template <class Implementation, class Responder>
struct stream_rpc {
  static constexpr bool has_request = false;
  using method = stream_request_function<Implementation, Responder>;
  using service = Implementation;
  void request_from(service& s, method function, grpc::ServerCompletionQueue* queue, void* tag) {
    (s.*function)(&server_context, &responder, queue, queue, tag);
  }
  [[nodiscard]] auto args() noexcept { return std::tie(server_context, responder); }
  grpc::ServerContext server_context;
  Responder responder{&server_context};
};
#if !defined(AGRPC_WITHOUT_GENERIC_SERVERS)
struct generic_rpc {
  static constexpr bool has_request = false;
  struct method {};
  using service = grpc::AsyncGenericService;
  void request_from(service& s, method, grpc::ServerCompletionQueue* queue, void* tag) {
    s.RequestCall(&server_context, &responder, queue, queue, tag);
  }
  [[nodiscard]] auto args() noexcept { return std::tie(server_context, responder); }
  grpc::GenericServerContext server_context;
  grpc::GenericServerAsyncReaderWriter responder{&server_context};
};
#endif

template <class T>
inline constexpr bool is_awaitable = false;
template <class T, class Executor>
inline constexpr bool is_awaitable<asio::awaitable<T, Executor>> = true;

template <class T>
struct executor_of_awaitable;
template <class T, class Executor>
struct executor_of_awaitable<asio::awaitable<T, Executor>> {
  using type = Executor;
};

// What a handler returns for the arguments of an RPC.
template <class Handler, class Args>
struct applied {
  static constexpr bool possible = false;
  using type = void;
};
template <class Handler, class... Args>
  requires std::invocable<Handler&, Args...>
struct applied<Handler, std::tuple<Args...>> {
  static constexpr bool possible = true;
  using type = std::invoke_result_t<Handler&, Args...>;
};

// Requests an RPC, and when one has begun the next one. It ends when the server was shut down.
template <class Rpc, class Service, class Handler>
class request_loop : public queue_operation {
  using args = decltype(std::declval<Rpc&>().args());
  using returned = typename applied<Handler, args>::type;

 public:
  request_loop(GrpcContext& context, Service& service, typename Rpc::method method, Handler handler)
      : queue_operation(&request_loop::processed),
        context_(context),
        service_(service),
        method_(method),
        handler_(std::make_shared<Handler>(std::move(handler))) {}
  virtual ~request_loop() = default;

  void request_next() {
    next_ = std::make_unique<Rpc>();
    context_.work_started();
    typename Rpc::service& implementation = service_;
    next_->request_from(implementation, method_, context_.get_server_completion_queue(), tag());
  }

 protected:
  [[nodiscard]] const Handler& handler() const noexcept { return *handler_; }
  // After the last request. `abandoned`: the context is being destroyed.
  virtual void end(bool abandoned) = 0;

 private:
  static void processed(queue_operation& o, event e, GrpcContext&) {
    auto& self = static_cast<request_loop&>(o);
    std::unique_ptr<Rpc> rpc = std::move(self.next_);
    if (e != event::ok) return self.end(e == event::abandoned);
    const std::shared_ptr<Handler> handler = self.handler_;
    self.request_next();
    handle(handler, std::move(rpc));
  }
  static void handle(const std::shared_ptr<Handler>& handler, std::unique_ptr<Rpc> rpc) {
    if constexpr (!applied<Handler, args>::possible) {
      (*handler)(RepeatedlyRequestContext<Rpc>(std::move(rpc)));
    } else if constexpr (is_awaitable<returned>) {
      using executor = typename executor_of_awaitable<returned>::type;
      const executor on = asio::get_associated_executor(*handler);
      asio::co_spawn(on, run(handler, std::move(rpc)), [](const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
      });
    } else {
      static_assert(is_sender<returned>,
                    "a handler of repeatedly_request() returns an awaitable or a sender, or takes a "
                    "RepeatedlyRequestContext");
      start_detached<returned>(std::move(rpc), [handler](Rpc& r) { return std::apply(*handler, r.args()); });
    }
  }
  // The handler's coroutine refers to both.
  static returned run(std::shared_ptr<Handler> handler, std::unique_ptr<Rpc> rpc)
    requires is_awaitable<returned>
  {
    auto work = std::apply(*handler, rpc->args());
    co_await std::move(work);
  }

  GrpcContext& context_;
  Service& service_;
  typename Rpc::method method_;
  std::shared_ptr<Handler> handler_;
  std::unique_ptr<Rpc> next_;
};

template <class Rpc, class Service, class Handler>
class detached_request_loop final : public request_loop<Rpc, Service, Handler> {
 public:
  using request_loop<Rpc, Service, Handler>::request_loop;

 private:
  void end(bool) override { delete this; }
};

struct repeatedly_request_function {
  template <class Implementation, class Service, class Request, class Responder, class Handler>
  void operator()(unary_request_function<Implementation, Request, Responder> method, Service& service,
                  Handler handler) const {
    start<unary_rpc<Implementation, Request, Responder>>(method, service, std::move(handler));
  }
  template <class Implementation, class Service, class Responder, class Handler>
  void operator()(stream_request_function<Implementation, Responder> method, Service& service,
                  Handler handler) const {
    start<stream_rpc<Implementation, Responder>>(method, service, std::move(handler));
  }
#if !defined(AGRPC_WITHOUT_GENERIC_SERVERS)
  template <class Handler>
  void operator()(grpc::AsyncGenericService& service, Handler handler) const {
    start<generic_rpc>(generic_rpc::method(), service, std::move(handler));
  }
#endif

 private:
  template <class Rpc, class Service, class Handler>
  static void start(typename Rpc::method method, Service& service, Handler handler) {
    GrpcContext& context = context_of(asio::get_associated_executor(handler));
    (new detached_request_loop<Rpc, Service, Handler>(context, service, method, std::move(handler)))
        ->request_next();
  }
};

}  // namespace internal

/// `repeatedly_request(&AsyncService::RequestX, service, handler)` and `repeatedly_request(async_generic_service,
/// handler)` call `handler` for each RPC of the method until the server is shut down, several at a time. The executor
/// that is associated with the handler (asio::bind_executor()) must be that of a GrpcContext of the server.
///
/// The handler is one of
///   - a function that takes `(ServerContext&, Request&, Responder&)`, or `(ServerContext&, Responder&)` where
///     requests are a stream, and returns an asio::awaitable or a sender. The arguments live until that has completed;
///   - a function that takes a RepeatedlyRequestContext, which it keeps.
///
/// Exceptions of the handler and of its coroutine leave the context's run(). The service must outlive the context's
/// work.
inline constexpr internal::repeatedly_request_function repeatedly_request{};

}  // namespace agrpc::inline CORACLE_ASIO
