// protobuf_services: protobuf's own service interfaces (google::protobuf::Service, RpcChannel, RpcController)
// over gRPC.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/status.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/client/start.hpp"
#include "coracle/client/then.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/outcome.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/server/service.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/service.h>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coracle {

namespace protobuf_internal {

// Runs a closure of the program on the loop of the call, which has ended for it. An exception is logged.
inline void run_closure(google::protobuf::Closure& closure, const std::string& path) noexcept {
  try {
    closure.Run();
  } catch (...) {
    client::log_callback_failure(path.c_str(), std::current_exception());
  }
}

[[noreturn]] inline void throw_misuse(const std::string& path, const char* what) {
  base::throw_usage_error(("the call of " + path + " " + what).c_str());
}

}  // namespace protobuf_internal

/// Describes one call at a time, on the client: its options before the call, its end afterwards. It must live
/// until the call has ended, as protobuf requires of a controller; destroying it before aborts the program.
///
/// `co_await controller;` waits for the end of the call on the loop that started it, and wait() on a plain
/// thread. If the call has a closure, too, that runs independently of a thread in wait(), and before the task
/// resumes.
///
/// Threads: StartCancel() may be called from any thread, everything else by one thread at a time, and what
/// describes the end only after the end.
class protobuf_controller : public google::protobuf::RpcController {
 public:
  protobuf_controller() noexcept = default;
  /// Makes a controller whose calls have these options, such as coracle::within(1s).
  explicit protobuf_controller(call_options options) : options_(std::move(options)) {}
  protobuf_controller(const protobuf_controller&) = delete;
  protobuf_controller& operator=(const protobuf_controller&) = delete;
  ~protobuf_controller() override { require_idle(); }

  /// Returns the options of the next call.
  [[nodiscard]] call_options& options() noexcept { return options_; }

  /// Prepares the controller for another call, with the same options. No call may be in progress.
  void Reset() override {
    require_idle();
    status_ = {};
    phase_ = phase::idle;
  }
  /// Returns whether the last call failed.
  [[nodiscard]] bool Failed() const override { return !status_.ok(); }
  /// Returns the message of the status; empty if the call succeeded.
  [[nodiscard]] std::string ErrorText() const override { return std::string(status_.message()); }
  /// Returns the status of the last call.
  [[nodiscard]] const coracle::status& status() const noexcept { return status_; }
  /// Cancels the call: it ends with CANCELLED, unless it has ended.
  void StartCancel() override {
    const std::lock_guard lock(mutex_);
    if (running_) running_->cancel();
  }

  /// Blocks until the call has ended. For a plain thread: throws usage_error on a loop.
  void wait() const {
    CORACLE_REQUIRE(!loop::current(),
                    "protobuf_controller::wait() blocks: co_await the controller on a loop");
    phase_.wait(phase::calling);
  }

  class awaiter {
   public:
    explicit awaiter(protobuf_controller& of) noexcept : of_(of) {}
    [[nodiscard]] bool await_ready() const noexcept { return of_.phase_ != phase::calling; }
    void await_suspend(std::coroutine_handle<> h) const {
      if (loop::current() != of_.on_)
        protobuf_internal::throw_misuse(*of_.path_, "was awaited on another loop than that which started it");
      if (of_.waiter_)
        protobuf_internal::throw_misuse(*of_.path_,
                                        "has two concurrent waits for its end: let one task wait");
      of_.waiter_ = h;
    }
    /// Returns the status of the call.
    const coracle::status& await_resume() const noexcept { return of_.status_; }

   private:
    protobuf_controller& of_;
  };
  /// Waits for the end of the call that was started with this controller. The task must not be destroyed
  /// while it waits. A stop of the task does not end the wait: StartCancel() does.
  awaiter operator co_await() noexcept { return awaiter(*this); }

  // --- for servers, where protobuf_service makes the controllers
  /// Not for clients: throws usage_error.
  void SetFailed(const std::string& /*reason*/) override { refuse("SetFailed()"); }
  [[nodiscard]] bool IsCanceled() const override { refuse("IsCanceled()"); }
  void NotifyOnCancel(google::protobuf::Closure* /*callback*/) override { refuse("NotifyOnCancel()"); }

 private:
  friend class protobuf_channel;
  enum class phase : int { idle, calling, ended };
  [[noreturn]] static void refuse(const char* member) {
    throw usage_error(std::string(member) +
                      " is for the server's side of a call, this controller is the client's");
  }
  void require_idle() const noexcept {
    CORACLE_ASSERT(phase_ != phase::calling,
                   ("the call of " + *path_ +
                    " has lost its controller: a protobuf_controller is destroyed or "
                    "reset after the end of its call")
                       .c_str());
  }
  void begin(loop& on, std::shared_ptr<const std::string> path) {
    if (phase_ == phase::calling)
      protobuf_internal::throw_misuse(*path,
                                      "was started with the controller of a call in progress: a "
                                      "protobuf_controller has one call at a time");
    path_ = std::move(path);
    status_ = {};
    on_ = &on;
    phase_ = phase::calling;
  }
  void end(coracle::status outcome, google::protobuf::Closure* done) noexcept {
    const std::shared_ptr<const std::string> path = path_;
    {
      const std::lock_guard lock(mutex_);
      running_.reset();
    }
    status_ = std::move(outcome);
    const auto waiter = std::exchange(waiter_, {});
    phase_ = phase::ended;  // a thread in wait() may destroy this from here on
    phase_.notify_all();
    if (done) protobuf_internal::run_closure(*done, *path);
    if (waiter) waiter.resume();
  }

  call_options options_;
  coracle::status status_;
  std::atomic<phase> phase_{phase::idle};
  loop* on_ = nullptr;
  std::coroutine_handle<> waiter_;
  std::shared_ptr<const std::string> path_;  // of the last call
  std::mutex mutex_;  // guards running_
  std::optional<started> running_;
};

/// Calls the methods of stock stubs: `EchoService_Stub stub(&channel)`. Sends what a Coracle or gRPC client
/// sends: unary calls over gRPC, by the names in the .proto.
///
/// CallMethod() starts the call and returns at once. The controller must be a protobuf_controller; it, the
/// response and the closure must live until the call has ended, the request only during CallMethod(). The
/// closure runs on the loop of the call, never inside CallMethod(): the current loop if it belongs to the
/// runtime of the channel, else a loop of that. Without a closure, the call is awaited by its controller.
///
/// Throws usage_error for a controller of another class, or one whose call is in progress, and for a
/// streaming method, which this interface cannot call. In a program without run-time type information, a
/// controller of another class is undefined behavior. May be used by several threads at the same time.
class protobuf_channel : public google::protobuf::RpcChannel {
 public:
  explicit protobuf_channel(channel to) noexcept : stub_(std::move(to)) {}

  void CallMethod(const google::protobuf::MethodDescriptor* method,
                  google::protobuf::RpcController* controller, const google::protobuf::Message* request,
                  google::protobuf::Message* response, google::protobuf::Closure* done) override {
#ifdef __cpp_rtti
    auto* const by = dynamic_cast<protobuf_controller*>(controller);
#else
    auto* const by = static_cast<protobuf_controller*>(controller);
#endif
    CORACLE_REQUIRE(by, "a protobuf_channel requires a coracle::protobuf_controller");
    CORACLE_REQUIRE(!method->client_streaming() && !method->server_streaming(),
                    "protobuf's services have no streams: call the method by a stub of protoc-gen-coracle");
    auto path = std::make_shared<const std::string>("/" + std::string(method->service()->full_name()) + "/" +
                                                    std::string(method->name()));
    call_options options = by->options_;
    const message_codec* const codec = std::exchange(options.codec, nullptr);
    std::string body;
    coracle::status encoded;
    if (codec) {
      options.content_subtype = codec->name();
      encoded = codec->write(*request, body);
    } else if (!request->SerializeToString(&body)) {
      encoded = status::internal("the request cannot be encoded: " + request->InitializationErrorString());
    }
    auto call = stub_.unary(path->c_str(), bytes_message(std::move(body)), options);
    loop& where = call.hold();
    by->begin(where, path);
    if (!encoded.ok()) return fail(*by, where, std::move(encoded), done);
    // The end of the call waits for this lock, and only then may the controller be destroyed.
    const std::lock_guard lock(by->mutex_);
    by->running_ =
        start(where, std::move(call),
              [by, response, done, codec, path = std::move(path)](outcome<result<bytes_message>> o) {
                by->end(received(std::move(o).value(), *response, codec), done);
              });
  }

 private:
  static coracle::status received(result<bytes_message> reply, google::protobuf::Message& into,
                                  const message_codec* codec) {
    if (!reply) return reply.status();
    if (codec) return codec->read(into, reply->view());
    if (into.ParseFromString(reply->bytes())) return {};
    return status::internal("the reply cannot be decoded as " + std::string(into.GetTypeName()));
  }
  // Ends a call that was not sent, as others end: later, on a loop.
  static void fail(protobuf_controller& by, loop& where, coracle::status reason,
                   google::protobuf::Closure* done) {
    const auto nothing = []() -> task<> { co_return; };
    const std::lock_guard lock(by.mutex_);
    by.running_ = start(where, nothing(), [&by, reason = std::move(reason), done](const outcome<void>&) {
      by.end(reason, done);
    });
  }
  generic_stub stub_;
};

/// The controller that a method of a protobuf_service gets, until it has run its closure.
///
/// Threads: it may be used by any thread, one at a time apart from IsCanceled().
class protobuf_server_controller : public google::protobuf::RpcController {
 public:
  /// Fails the call with UNKNOWN and this message. fail() chooses the code.
  void SetFailed(const std::string& reason) override { fail(coracle::status(status_code::unknown, reason)); }
  /// Fails the call with `reason`, which is not OK. The response is then not sent.
  void fail(coracle::status reason) { status_ = std::move(reason); }
  /// Returns whether the call has ended early: the client cancelled it or is gone, or the deadline has passed.
  [[nodiscard]] bool IsCanceled() const override { return cancelled_.load(std::memory_order_acquire); }
  /// Runs `callback` once, on the loop of the call: when the call ends early, or else when it ends, after the
  /// closure of the method has run or the method has thrown. IsCanceled() tells which. If the call has ended
  /// early before, runs it immediately. One callback for each call; an exception of it is logged.
  void NotifyOnCancel(google::protobuf::Closure* callback) override {
    {
      const std::lock_guard lock(mutex_);
      if (!cancelled_) {
        if (on_cancel_)
          protobuf_internal::throw_misuse(
              path_, "got a second callback of NotifyOnCancel(): pass one for each call");
        on_cancel_ = callback;
        return;
      }
    }
    callback->Run();
  }

  // --- for clients, where protobuf_controller is the controller
  /// Not for servers: throws usage_error.
  void Reset() override { refuse("Reset()"); }
  [[nodiscard]] bool Failed() const override { refuse("Failed()"); }
  [[nodiscard]] std::string ErrorText() const override { refuse("ErrorText()"); }
  void StartCancel() override { refuse("StartCancel()"); }

 private:
  friend class protobuf_service;
  [[noreturn]] static void refuse(const char* member) {
    throw usage_error(std::string(member) +
                      " is for the client's side of a call, this controller is the server's");
  }
  void run_callback(bool cancelled) {
    google::protobuf::Closure* callback = nullptr;
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = cancelled;
      callback = std::exchange(on_cancel_, nullptr);
    }
    if (callback) protobuf_internal::run_closure(*callback, path_);
  }
  std::string path_;
  coracle::status status_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;  // guards on_cancel_
  google::protobuf::Closure* on_cancel_ = nullptr;
};

/// Serves an object of a class that stock protoc generated for a service:
///
///   my_echo_service echo;                     // derives from EchoService
///   coracle::protobuf_service served(echo);
///   server.add(served);
///
/// A method runs on the loop of its call, and must not block it. It runs its closure once, when the response
/// is complete: at once, or later and from any thread. The request, the response and the controller live
/// until then, also if the call has ended early. The call that arrives is an ordinary one: it has the
/// interceptors, limits, deadline and protocols of the server.
///
/// A method that throws ends its call with UNKNOWN, as every handler does, and must not run its closure later.
/// Running a closure twice aborts the program.
///
/// Both objects must outlive the server. The constructor throws usage_error if a method is streaming, because
/// this interface has no streams.
class protobuf_service final : public service {
 public:
  explicit protobuf_service(google::protobuf::Service& of) : of_(of), table_(table_of(*of.GetDescriptor())) {}

  [[nodiscard]] method_table methods() const noexcept override { return table_.rows; }

 private:
  struct table {
    std::deque<std::string> paths;
    std::vector<method> rows;
    std::unordered_map<std::string_view, const google::protobuf::MethodDescriptor*> by_path;
  };
  // A call of a method until its closure has run. It is the closure.
  class served_call final : public google::protobuf::Closure, private coro::runnable {
   public:
    served_call(const google::protobuf::Message& request_type, const google::protobuf::Message& response_type,
                std::string_view path)
        : request(request_type.New()), response(response_type.New()), on_(coro::this_executor()), done_(on_) {
      controller.path_ = path;
      runnable::run = [](coro::runnable& self) noexcept { static_cast<served_call&>(self).arrived(); };
    }
    // Any thread.
    void Run() override {
      auto expected = phase::running;
      if (phase_.compare_exchange_strong(expected, phase::answered)) return on_.post(*this);
      CORACLE_ASSERT(
          expected == phase::abandoned,
          ("the call of " + controller.path_ + " was answered twice: answer each call once").c_str());
      delete this;
    }
    // The handler waits for the closure, and gives up the call if it is stopped.
    class handle {
     public:
      explicit handle(served_call* c) noexcept : call_(c) {}
      handle(const handle&) = delete;
      handle& operator=(const handle&) = delete;
      ~handle() {
        if (call_) call_->abandon(threw_);
      }
      served_call* operator->() const noexcept { return call_; }
      void method_threw() noexcept { threw_ = true; }

     private:
      served_call* call_;
      bool threw_ = false;
    };

    std::unique_ptr<google::protobuf::Message> request;
    std::unique_ptr<google::protobuf::Message> response;
    protobuf_server_controller controller;
    [[nodiscard]] event<>& done() noexcept { return done_; }

   private:
    enum class phase : int { running, answered, abandoned };
    ~served_call() override = default;
    void arrived() noexcept {
      arrived_ = true;
      if (left_) delete this;
      else done_.set();
    }
    // A method that has thrown does not run the closure any more.
    void abandon(bool threw) noexcept {
      left_ = true;
      controller.run_callback(!arrived_ && !threw);
      const bool ran = phase_.exchange(threw ? phase::answered : phase::abandoned) == phase::answered;
      if (ran ? arrived_ : threw) delete this;  // else arrived() does, or Run()
    }
    coro::executor& on_;
    event<> done_;
    std::atomic<phase> phase_{phase::running};
    bool arrived_ = false;  // the closure has run and its message has arrived on the loop
    bool left_ = false;  // the handler has ended
  };

  static table table_of(const google::protobuf::ServiceDescriptor& service) {
    table made;
    for (int i = 0; i < service.method_count(); ++i) {
      const google::protobuf::MethodDescriptor& m = *service.method(i);
      CORACLE_REQUIRE(!m.client_streaming() && !m.server_streaming(),
                      "a protobuf_service with a streaming method: protobuf's services have no streams, use "
                      "protoc-gen-coracle for this service");
      const std::string& path =
          made.paths.emplace_back("/" + std::string(service.full_name()) + "/" + std::string(m.name()));
      made.rows.push_back(unary_method<&protobuf_service::handle>(path.c_str()));
      made.by_path.emplace(path, &m);
    }
    return made;
  }

  reply<bytes_message> handle(server_context& context, const bytes_message& request) {
    const google::protobuf::MethodDescriptor& method = *table_.by_path.find(context.method())->second;
    served_call::handle call(new served_call(of_.GetRequestPrototype(&method),
                                             of_.GetResponsePrototype(&method), context.method()));
    const message_codec* const codec = context.content_subtype() == "json" ? &json_codec() : nullptr;
    coracle::status decoded;
    if (codec) decoded = codec->read(*call->request, request.view());
    else if (!call->request->ParseFromString(request.bytes()))
      decoded =
          status::internal("the request cannot be decoded as " + std::string(call->request->GetTypeName()));
    if (!decoded.ok()) {
      call.method_threw();
      co_return decoded;
    }
    try {
      of_.CallMethod(&method, &call->controller, call->request.get(), call->response.get(),
                     call.operator->());
    } catch (...) {
      call.method_threw();
      throw;
    }
    co_await call->done();
    if (!call->controller.status_.ok()) co_return call->controller.status_;
    std::string body;
    if (codec) {
      coracle::status encoded = codec->write(*call->response, body);
      if (!encoded.ok()) co_return encoded;
    } else if (!call->response->SerializeToString(&body)) {
      co_return status::internal("the response lacks required fields: " +
                                 call->response->InitializationErrorString());
    }
    co_return bytes_message(std::move(body));
  }

  google::protobuf::Service& of_;
  const table table_;
};

}  // namespace coracle
