// repeatedly_request: handles all RPCs of a method of a server.
#pragma once

#include "agrpc/impl/free_functions.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/senders.hpp"
#include "agrpc/repeatedly_request_context.hpp"

#include "coracle/asio/completion.hpp"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_context.h>

#include <atomic>
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

// Requests an RPC, and when one has begun the next one. It ends when the server was shut down, or after stop() with the
// next RPC. `Derived` has
//   - stopped(): whether that was asked for;
//   - end(abandoned): the last act. `abandoned`: the context is being destroyed;
// and if the exceptions of the handler are not to leave run()
//   - fail(error): the last act, too.
template <class Derived, class Rpc, class Service, class Handler>
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

  void request_next() {
    next_ = std::make_unique<Rpc>();
    context_.work_started();
    typename Rpc::service& implementation = service_;
    next_->request_from(implementation, method_, context_.get_server_completion_queue(), tag());
  }

 protected:
  ~request_loop() = default;

 private:
  static void processed(queue_operation& o, event e, GrpcContext&) {
    auto& self = static_cast<Derived&>(static_cast<request_loop&>(o));
    std::unique_ptr<Rpc> rpc = std::move(self.next_);
    if (e != event::ok) return self.end(e == event::abandoned);
    const std::shared_ptr<Handler> handler = self.handler_;
    if constexpr (requires { self.fail(std::exception_ptr()); }) {
      if (auto error = error_of(handler, std::move(rpc))) return self.fail(std::move(error));
      self.go_on();
    } else {
      self.go_on();
      handle(handler, std::move(rpc));
    }
  }
  void go_on() {
    auto& self = static_cast<Derived&>(*this);
    if (self.stopped()) self.end(false);
    else self.request_next();
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
  // The exception of a handler that was called and returns a sender. The sender's own error is not seen.
  static std::exception_ptr error_of(const std::shared_ptr<Handler>& handler, std::unique_ptr<Rpc> rpc) {
    std::exception_ptr error;
    start_detached<returned>(std::move(rpc), [handler, to = &error](Rpc& r) {  // called before it returns
      try {
        return std::apply(*handler, r.args());
      } catch (...) {
        *to = std::current_exception();
        throw;
      }
    });
    return error;
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
class detached_request_loop final
    : public request_loop<detached_request_loop<Rpc, Service, Handler>, Rpc, Service, Handler> {
  using base = request_loop<detached_request_loop, Rpc, Service, Handler>;

 public:
  using base::base;
  [[nodiscard]] static bool stopped() noexcept { return false; }
  void end(bool) { delete this; }
};

// The completion of a loop with a handler of Asio, which it outlives: a cancellation may come meanwhile.
template <class Completion, class Candidate>
class request_loop_completion
    : public ::coracle::asio_internal::completion<request_loop_completion<Completion, Candidate>, Completion,
                                                  Candidate> {
  using base = ::coracle::asio_internal::completion<request_loop_completion, Completion, Candidate>;
  friend base;
  struct nothing_to_tell {};

 public:
  template <class H>
  request_loop_completion(H&& handler, const Candidate& candidate)
      : base(std::forward<H>(handler), candidate) {}
  void connect_slot() { this->template connect<canceller>(canceller{this}); }
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

 private:
  struct canceller {
    request_loop_completion* of;
    void operator()(asio::cancellation_type asked) const noexcept {
      if (asked != asio::cancellation_type::none) of->stopped_ = true;
    }
  };
  template <class Executor>
  [[nodiscard]] static bool completes_here(const Executor& executor) noexcept {
    return runs_here(executor);
  }
  [[nodiscard]] static nothing_to_tell take_result() noexcept { return {}; }
  static void call(Completion&& handler, nothing_to_tell&&) { std::move(handler)(); }
  std::atomic<bool> stopped_ = false;
};

template <class Rpc, class Service, class Handler, class Completion, class Candidate>
class handled_request_loop final
    : public request_loop<handled_request_loop<Rpc, Service, Handler, Completion, Candidate>, Rpc, Service,
                          Handler> {
  using base = request_loop<handled_request_loop, Rpc, Service, Handler>;
  using completion_type = request_loop_completion<Completion, Candidate>;

 public:
  template <class C>
  handled_request_loop(GrpcContext& context, Service& service, typename Rpc::method method, Handler handler,
                       C&& completion, const Candidate& candidate)
      : base(context, service, method, std::move(handler)),
        completion_(completion_type::make(std::forward<C>(completion), candidate)) {
    completion_.get()->connect_slot();
  }
  [[nodiscard]] bool stopped() const noexcept { return completion_.get()->stopped(); }
  void end(bool abandoned) {
    auto owned = std::move(completion_);
    delete this;
    if (!abandoned) owned.release()->finish();
  }

 private:
  typename completion_type::owner completion_;
};

template <class Rpc, class Service, class Executor>
class start_request_loop : public ::coracle::asio_internal::with_executor<Executor> {
 public:
  start_request_loop(const Executor& executor, Service& service, typename Rpc::method method)
      : ::coracle::asio_internal::with_executor<Executor>(executor), service_(&service), method_(method) {}
  template <class Completion, class Handler>
  void operator()(Completion&& completion, Handler handler) const {
    const Executor on = this->get_executor();
    (new handled_request_loop<Rpc, Service, Handler, std::decay_t<Completion>, Executor>(
         context_of(on), *service_, method_, std::move(handler), std::forward<Completion>(completion), on))
        ->request_next();
  }

 private:
  Service* service_;
  typename Rpc::method method_;
};

// No completion token.
struct no_token {};

template <class Rpc, class Service, class Handler>
class request_loop_sender;

struct repeatedly_request_function {
  template <class Implementation, class Service, class Request, class Responder, class Handler,
            class Token = no_token>
  auto operator()(unary_request_function<Implementation, Request, Responder> method, Service& service,
                  Handler handler, Token&& token = Token()) const {
    return start<unary_rpc<Implementation, Request, Responder>>(method, service, std::move(handler),
                                                                std::forward<Token>(token));
  }
  template <class Implementation, class Service, class Responder, class Handler, class Token = no_token>
  auto operator()(stream_request_function<Implementation, Responder> method, Service& service,
                  Handler handler, Token&& token = Token()) const {
    return start<stream_rpc<Implementation, Responder>>(method, service, std::move(handler),
                                                        std::forward<Token>(token));
  }
  template <class Handler, class Token = no_token>
  auto operator()(grpc::AsyncGenericService& service, Handler handler, Token&& token = Token()) const {
    return start<generic_rpc>(generic_rpc::method(), service, std::move(handler), std::forward<Token>(token));
  }

 private:
  template <class Rpc, class Service, class Handler, class Token>
  static auto start(typename Rpc::method method, Service& service, Handler handler, Token&& token) {
    if constexpr (sender_token<Token>) {
      return request_loop_sender<Rpc, Service, Handler>(context_of_sender(token, handler), service, method,
                                                        std::move(handler));
    } else {
      const auto executor = asio::get_associated_executor(handler);
      if constexpr (std::same_as<std::remove_cvref_t<Token>, no_token>) {
        (new detached_request_loop<Rpc, Service, Handler>(context_of(executor), service, method,
                                                          std::move(handler)))
            ->request_next();
      } else {
        return asio::async_initiate<Token, void()>(
            start_request_loop<Rpc, Service, std::remove_cv_t<decltype(executor)>>(executor, service, method),
            token, std::move(handler));
      }
    }
  }
  template <class Token, class Handler>
  static GrpcContext& context_of_sender(const Token& token, const Handler& handler) {
    if constexpr (requires { token.context(); }) return token.context();
    else return context_of(asio::get_associated_executor(handler));
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
///
/// A completion token may follow. It is told when the last request was made, whether or not the RPCs have ended: when the
/// server was shut down, or with the first RPC after a cancellation of any type, which is handled. Its signature is
/// `void()`. With `use_sender(grpc_context)`, the handler returns a sender and needs no executor; an exception that it
/// throws ends the requests with set_error(), and a stop with set_stopped().
inline constexpr internal::repeatedly_request_function repeatedly_request{};

}  // namespace agrpc::inline CORACLE_ASIO

#if defined(AGRPC_HAS_SENDERS)
#include "agrpc/impl/request_loop_sender.hpp"
#endif
