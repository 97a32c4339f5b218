// server_call_core: a call of a server, between its coroutine on a loop and its handler on a thread.
#pragma once

#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/server_call.h>
#include <grpcpp/server_context.h>

#include "handler_pool.hpp"

#include "coracle/base/status.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/security/auth_context.hpp"
#include "coracle/server/reader.hpp"
#include "coracle/server/server_context.hpp"
#include "coracle/server/writer.hpp"

#include <atomic>
#include <coroutine>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace grpc::internal {

// The coroutine of the call makes it, has a thread run the handler, and awaits the end: the handler has
// returned, or TryCancel() was called. In the latter case the handler goes on without a call: its operations
// fail. Both share the object.
//
// What belongs to the loop is used by the coroutine and by operations that the thread has the loop run. Of
// the coracle::server_context the thread reads the metadata alone, which are copied under a lock: by the
// thread when the program asks for them, and by the coroutine before it leaves a handler that still runs.
class server_call_core final : public server_call,
                               public handler_pool::job,
                               public std::enable_shared_from_this<server_call_core> {
 public:
  server_call_core(coracle::server_context& of, MethodHandler& handler, coracle::bytes_message request,
                   std::optional<coracle::reader<coracle::bytes_message>> reader,
                   std::optional<coracle::writer<coracle::bytes_message>> writer);

  // --- the coroutine, on the loop
  // Has a thread run the handler, and waits for the end. The result is the status of the call.
  [[nodiscard]] static coracle::task<coracle::status> run_handler(std::shared_ptr<server_call_core> self,
                                                                  handler_pool& on);
  // After the end, with OK.
  [[nodiscard]] coracle::bytes_message take_reply() { return coracle::bytes_message(std::move(reply_)); }

  // --- server_call, on the thread of the handler, or two
  ServerContext& context() override { return context_; }
  std::string take_request() override { return std::move(request_).bytes(); }
  bool read(std::string& into) override;
  bool write(std::string&& message, const WriteOptions& options) override;
  void send_initial_metadata() override;
  void finish(const Status& outcome, std::string&& reply) override;

  // --- ServerContext, any thread
  [[nodiscard]] bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
  void try_cancel();
  [[nodiscard]] const metadata_map& client_metadata();
  [[nodiscard]] std::string peer() const;
  [[nodiscard]] std::shared_ptr<const AuthContext> auth();

 private:
  // Resumes the coroutine that awaits it on the loop, once.
  class loop_signal : public coracle::coro::runnable {
   public:
    loop_signal() noexcept;
    [[nodiscard]] bool await_ready() const noexcept { return arrived_; }
    void await_suspend(std::coroutine_handle<> h) noexcept { waiter_ = h; }
    void await_resume() const noexcept {}
    // Any thread. The first call takes effect.
    void post_to(coracle::loop& where) noexcept;

   private:
    std::atomic<bool> posted_{false};
    bool arrived_ = false;
    std::coroutine_handle<> waiter_;
  };
  // Tells when the call ends before its handler.
  class cancel_hook : public coracle::coro::stop_callback {
   public:
    explicit cancel_hook(server_call_core& c) noexcept;

   private:
    server_call_core& of_;
  };
  // Counts an operation that a thread waits for.
  class operation_guard {
   public:
    explicit operation_guard(server_call_core& of) noexcept : of_(of) { ++of_.operations_; }
    operation_guard(const operation_guard&) = delete;
    operation_guard& operator=(const operation_guard&) = delete;
    ~operation_guard() {
      if (--of_.operations_ == 0 && of_.stop_.stop_requested()) of_.no_operations_.post_to(of_.where_);
    }

   private:
    server_call_core& of_;
  };

  void run() noexcept override;
  coracle::task<bool> read_one(coracle::bytes_message& into);
  coracle::task<bool> write_one(const coracle::bytes_message& message, coracle::write_options options);
  coracle::task<> send_headers();
  // On the loop: gives the initial metadata and the compression of the context to the call.
  void pass_initial_metadata();
  coracle::task<> leave_handler();
  void copy_of_call();  // the metadata; with the lock

  coracle::loop& where_;
  MethodHandler& handler_;
  coracle::bytes_message request_;
  ServerContext context_;
  std::atomic<bool> cancelled_{false};
  loop_signal ending_;  // of the handler, or by TryCancel()
  const coracle::net::address peer_address_;
  const std::shared_ptr<const coracle::auth_context> connection_;  // null in plaintext

  // Of the loop:
  coracle::server_context* call_;  // null after the end
  std::optional<coracle::reader<coracle::bytes_message>> reader_;
  std::optional<coracle::writer<coracle::bytes_message>> writer_;
  bool passed_initial_ = false;
  int operations_ = 0;
  loop_signal no_operations_;
  coracle::coro::stop_source stop_;  // ends the operations

  std::mutex changing_;  // guards what follows
  bool copied_ = false;
  metadata_map metadata_;
  std::shared_ptr<const AuthContext> auth_;
  bool cancelled_by_handler_ = false;
  bool finished_ = false;
  Status outcome_;
  std::string reply_;
};

}  // namespace grpc::internal
