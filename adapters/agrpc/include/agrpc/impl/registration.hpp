// registration: requests the RPCs of a method, and runs a handler for each.
//
// Programs over asio-grpc get alarms along with it.
#pragma once

#include "agrpc/alarm.hpp"
#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/context_of.hpp"
#include "agrpc/impl/initiate.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/queue_operation.hpp"
#include "agrpc/server_rpc.hpp"

#include <atomic>
#include <concepts>
#include <exception>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// An RPC with what belongs to it, in memory of its registration's allocator. It is alive until its handler has ended and,
// if it watches for its end, until that.
template <class Rpc>
class held_rpc {
 public:
  using request_type = typename Rpc::Request;
  explicit held_rpc(const typename Rpc::executor_type& executor) : rpc_(executor) {}
  held_rpc(const held_rpc&) = delete;
  held_rpc& operator=(const held_rpc&) = delete;
  virtual ~held_rpc() = default;
  [[nodiscard]] Rpc& rpc() noexcept { return rpc_; }
  [[nodiscard]] virtual request_type* request() noexcept = 0;
  // Destroys the RPC.
  virtual void dispose() noexcept = 0;

  template <class Service>
  void request_from(Service& service, GrpcContext& context, void* tag) {
    rpc_.request_from(service, request(), context.get_server_completion_queue(), tag);
  }
  void started([[maybe_unused]] GrpcContext& context) {
    rpc_.started_ = true;
    if constexpr (Rpc::watches) {
      ++owners_;
      rpc_.watch_.started(context, [](void* self) { static_cast<held_rpc*>(self)->release(); }, this);
    }
  }
  void handler_ended() {
    rpc_.cancel_unfinished();
    release();
  }

 private:
  void release() {
    if (--owners_ == 0) dispose();
  }
  std::atomic<int> owners_ = 1;
  Rpc rpc_;
};

// The factory of request messages that a handler has, by `request_message_factory()`, or else the one that makes them
// beside their RPC.
template <class Request>
class plain_factory {
 public:
  template <class T>
  T& create() noexcept {
    return request_;
  }

 private:
  Request request_;
};
template <class Handler>
concept has_factory = requires(Handler& h) { h.request_message_factory(); };
template <class Rpc>
inline constexpr bool has_one_request =
    Rpc::TYPE == ServerRPCType::UNARY || Rpc::TYPE == ServerRPCType::SERVER_STREAMING;
struct no_factory {};
template <class Rpc, class Handler>
auto factory_of([[maybe_unused]] Handler& handler) {
  if constexpr (!has_one_request<Rpc>) return no_factory();
  else if constexpr (has_factory<Handler>) return handler.request_message_factory();
  else return plain_factory<typename Rpc::Request>();
}

template <class Rpc, class Handler>
class rpc_of_handler : public held_rpc<Rpc> {
  using request_type = typename Rpc::Request;
  using factory_type = decltype(factory_of<Rpc>(std::declval<Handler&>()));

 public:
  rpc_of_handler(const typename Rpc::executor_type& executor, Handler& handler)
      : held_rpc<Rpc>(executor), factory_(factory_of<Rpc>(handler)) {
    if constexpr (has_one_request<Rpc>) request_ = &factory_.template create<request_type>();
  }
  ~rpc_of_handler() override {
    if constexpr (requires { factory_.destroy(*request_); })
      if (request_) factory_.destroy(*request_);
  }
  [[nodiscard]] request_type* request() noexcept override { return request_; }

  // Calls the handler with `first`, the request where the method has one, `more`, and the factory that the handler has.
  template <class First, class... More>
  decltype(auto) invoke(Handler& handler, First&& first, More&&... more) {
    if constexpr (!has_one_request<Rpc>) {
      return handler(std::forward<First>(first), std::forward<More>(more)...);
    } else if constexpr (has_factory<Handler>) {
      return handler(std::forward<First>(first), *request_, std::forward<More>(more)..., factory_);
    } else {
      return handler(std::forward<First>(first), *request_, std::forward<More>(more)...);
    }
  }

 private:
  factory_type factory_;
  request_type* request_ = nullptr;
};

struct dispose_of_rpc {
  template <class Held>
  void operator()(Held* held) const noexcept {
    held->dispose();
  }
};
template <class Rpc, class Handler>
using owned_rpc = std::unique_ptr<rpc_of_handler<Rpc, Handler>, dispose_of_rpc>;

template <class Rpc, class Handler, class Allocator>
class allocated_rpc final : public rpc_of_handler<Rpc, Handler> {
  using allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<allocated_rpc>;
  using traits = std::allocator_traits<allocator>;

 public:
  [[nodiscard]] static owned_rpc<Rpc, Handler> make(const Allocator& from,
                                                    const typename Rpc::executor_type& executor,
                                                    Handler& handler) {
    allocator memory(from);
    const typename traits::pointer place = traits::allocate(memory, 1);
    try {
      return owned_rpc<Rpc, Handler>(::new (static_cast<void*>(std::to_address(place)))
                                         allocated_rpc(memory, executor, handler));
    } catch (...) {
      traits::deallocate(memory, place, 1);
      throw;
    }
  }
  void dispose() noexcept override {
    allocator memory(memory_);
    const auto place = std::pointer_traits<typename traits::pointer>::pointer_to(*this);
    this->~allocated_rpc();
    traits::deallocate(memory, place, 1);
  }

 private:
  allocated_rpc(const allocator& memory, const typename Rpc::executor_type& executor, Handler& handler)
      : rpc_of_handler<Rpc, Handler>(executor, handler), memory_(memory) {}
  ~allocated_rpc() override = default;
  [[no_unique_address]] allocator memory_;
};

// What runs of a handler: the RPC ends with it.
template <class Rpc, class Handler>
class running_rpc {
 public:
  explicit running_rpc(rpc_of_handler<Rpc, Handler>* of) noexcept : of_(of) {}
  running_rpc(running_rpc&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  running_rpc& operator=(running_rpc&&) = delete;
  ~running_rpc() {
    if (of_) of_->handler_ended();
  }
  [[nodiscard]] rpc_of_handler<Rpc, Handler>& operator*() const noexcept { return *of_; }
  [[nodiscard]] rpc_of_handler<Rpc, Handler>* operator->() const noexcept { return of_; }

 private:
  rpc_of_handler<Rpc, Handler>* of_;
};

// Requests RPCs until the server is shut down, a handler has ended with an exception, or it was stopped, after which the
// RPC that it has asked for is handled, too. It completes after the last handler, or at once with the first exception;
// later ones are dropped.
template <class Rpc, class Service, class Handler>
class registration : public queue_operation,
                     public std::enable_shared_from_this<registration<Rpc, Service, Handler>> {
 public:
  registration(GrpcContext& context, const typename Rpc::executor_type& executor, Service& service,
               Handler&& handler)
      : queue_operation(&registration::processed),
        context_(context),
        executor_(executor),
        service_(service),
        handler_(std::move(handler)) {}
  virtual ~registration() = default;

  void request_next() {
    next_ = make_rpc(executor_, handler_);
    keep_ = this->shared_from_this();
    context_.work_started();
    next_->request_from(service_, context_, tag());
  }
  [[nodiscard]] Handler& handler() noexcept { return handler_; }
  // A handler has ended.
  void handler_done(const std::exception_ptr& error) {
    if (error) {
      failed_ = true;
      complete_once(error);
    }
    one_less();
  }

 protected:
  using stop_flag = std::shared_ptr<std::atomic<bool>>;
  // Asks for no more RPCs if it is set. Who sets it may outlive the registration.
  [[nodiscard]] const stop_flag& stopped() const noexcept { return stopped_; }
  [[nodiscard]] virtual owned_rpc<Rpc, Handler> make_rpc(const typename Rpc::executor_type& executor,
                                                         Handler& handler) = 0;
  // Starts the handler; handler_done() follows.
  virtual void handle(running_rpc<Rpc, Handler> rpc) = 0;
  virtual void complete(const std::exception_ptr& error) = 0;

 private:
  static void processed(queue_operation& o, event e, GrpcContext& context) {
    auto& self = static_cast<registration&>(o);
    const std::shared_ptr<registration> keep = std::move(self.keep_);
    owned_rpc<Rpc, Handler> begun = std::move(self.next_);
    if (e == event::abandoned) return;
    if (e == event::failed) return self.one_less();
    begun->started(context);
    ++self.active_;
    running_rpc<Rpc, Handler> rpc(begun.release());
    if (self.failed_) {
      self.one_less();
      self.one_less();
    } else if (*self.stopped_) {
      self.handle(std::move(rpc));
      self.one_less();
    } else {
      self.request_next();
      self.handle(std::move(rpc));
    }
  }
  void one_less() {
    if (--active_ == 0) complete_once(nullptr);
  }
  void complete_once(const std::exception_ptr& error) {
    if (!completed_.exchange(true)) complete(error);
  }

  GrpcContext& context_;
  typename Rpc::executor_type executor_;
  Service& service_;
  Handler handler_;
  owned_rpc<Rpc, Handler> next_;
  std::shared_ptr<registration> keep_;  // while a request is in progress
  std::atomic<long> active_ = 1;  // the requests, and running handlers
  std::atomic<bool> failed_ = false;
  std::atomic<bool> completed_ = false;
  stop_flag stopped_ = std::make_shared<std::atomic<bool>>(false);
};

// The completion of a registration with a handler of Asio.
template <class Completion, class Candidate>
class registration_completion
    : public ::coracle::asio_internal::completion<registration_completion<Completion, Candidate>, Completion,
                                                  Candidate> {
  using base = ::coracle::asio_internal::completion<registration_completion, Completion, Candidate>;
  friend base;

 public:
  template <class H>
  registration_completion(H&& handler, const Candidate& candidate)
      : base(std::forward<H>(handler), candidate) {}
  void finish_with(std::exception_ptr error) {
    error_ = std::move(error);
    this->finish();
  }
  [[nodiscard]] Completion& completion_handler() noexcept { return const_cast<Completion&>(this->handler()); }
  // Has all types of cancellation set the flag.
  void connect_slot(const std::shared_ptr<std::atomic<bool>>& stopped) {
    this->template connect<canceller>(canceller{stopped});
  }

 private:
  struct canceller {
    std::shared_ptr<std::atomic<bool>> stopped;
    void operator()(asio::cancellation_type asked) const noexcept {
      if (asked != asio::cancellation_type::none) *stopped = true;
    }
  };
  template <class Executor>
  [[nodiscard]] static bool completes_here(const Executor& executor) noexcept {
    return runs_here(executor);
  }
  [[nodiscard]] std::exception_ptr take_result() { return std::move(error_); }
  static void call(Completion&& handler, std::exception_ptr&& error) { std::move(handler)(std::move(error)); }
  std::exception_ptr error_;
};

// `Start::start(registration, executor, completion handler, rpc)` starts a handler of its kind.
template <class Start, class Rpc, class Service, class Handler, class Completion>
class handled_registration final : public registration<Rpc, Service, Handler> {
  using base = registration<Rpc, Service, Handler>;
  using candidate = typename Rpc::executor_type;
  using completion_type = registration_completion<Completion, candidate>;

 public:
  using handler_executor = typename asio::associated_executor<Completion, candidate>::type;
  using handler_allocator = typename completion_type::handler_allocator;

  template <class C>
  handled_registration(GrpcContext& context, const candidate& executor, Service& service, Handler&& handler,
                       C&& completion)
      : base(context, executor, service, std::move(handler)),
        handlers_on_(asio::associated_executor<Completion, candidate>::get(completion, executor)),
        completion_(completion_type::make(std::forward<C>(completion), executor)),
        memory_(completion_.get_allocator()) {
    completion_.get()->connect_slot(this->stopped());
  }

 private:
  [[nodiscard]] owned_rpc<Rpc, Handler> make_rpc(const candidate& executor, Handler& handler) override {
    return allocated_rpc<Rpc, Handler, handler_allocator>::make(memory_, executor, handler);
  }
  void handle(running_rpc<Rpc, Handler> rpc) override {
    Start::start(this->shared_from_this(), handlers_on_, completion_.get()->completion_handler(),
                 std::move(rpc));
  }
  void complete(const std::exception_ptr& error) override { completion_.release()->finish_with(error); }

  handler_executor handlers_on_;
  typename completion_type::owner completion_;
  [[no_unique_address]] handler_allocator memory_;
};

template <class Start, class Rpc, class Service>
class start_registration : public ::coracle::asio_internal::with_executor<typename Rpc::executor_type> {
  using executor = typename Rpc::executor_type;

 public:
  start_registration(const executor& on, Service& service)
      : ::coracle::asio_internal::with_executor<executor>(on), service_(&service) {}
  template <class Completion, class Handler>
  void operator()(Completion&& completion, Handler handler) const {
    const executor on = this->get_executor();
    using made = handled_registration<Start, Rpc, Service, Handler, std::decay_t<Completion>>;
    const auto memory =
        asio::associated_allocator<std::decay_t<Completion>, asio::recycling_allocator<void>>::get(
            completion, asio::recycling_allocator<void>());
    std::allocate_shared<made>(memory, context_of(on), on, *service_, std::move(handler),
                               std::forward<Completion>(completion))
        ->request_next();
  }

 private:
  Service* service_;
};

// Where the handlers of RPCs run: the executor of a context, or one that the caller gives.
template <class Rpc>
class registration_executor {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  registration_executor(GrpcContext& context) : executor_(context.get_executor()) {}
  template <std::convertible_to<typename Rpc::executor_type> Executor>
  registration_executor(const Executor& executor) : executor_(executor) {}
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] const typename Rpc::executor_type& get() const noexcept { return executor_; }

 private:
  typename Rpc::executor_type executor_;
};

template <class Start, class Rpc, class Service, class Handler, class Token>
auto register_handler(const registration_executor<Rpc>& on, Service& service, Handler&& handler,
                      Token&& token) {
  return asio::async_initiate<Token, void(std::exception_ptr)>(
      start_registration<Start, Rpc, Service>(on.get(), service), token,
      std::decay_t<Handler>(std::forward<Handler>(handler)));
}

}  // namespace internal
}  // namespace agrpc::inline CORACLE_ASIO
