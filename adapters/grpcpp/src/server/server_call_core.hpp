// server_call_core: a call of a server, between its coroutine on a loop and the program.
#pragma once

#include <grpcpp/impl/call_children.h>
#include <grpcpp/impl/metadata_map.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "adapters/grpcpp/src/server/json_messages.hpp"
#include "adapters/grpcpp/src/server/server_metrics.hpp"
#include "adapters/grpcpp/src/threads/handler_pool.hpp"

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
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace grpc::internal {

class server_call_core;
using metadata_pairs = std::vector<std::pair<std::string, std::string>>;

// What is sent before the first message: a copy, because the program may destroy its context before that.
struct sent_headers {
  sent_headers() = default;
  sent_headers(metadata_pairs&& sent, std::optional<grpc_compression_algorithm> with)
      : pairs(std::move(sent)), compression(with) {}
  metadata_pairs pairs;
  std::optional<grpc_compression_algorithm> compression;
};

// What the program ends a call with.
struct call_end {
  Status outcome;
  sent_headers headers;
  metadata_pairs trailing;
  std::string reply;  // of a call that has one; sent with OK
  std::optional<coracle::bytes_message> last_message;  // of a stream of replies; sent before the status
  coracle::write_options last_options;
  handler_pool::made_reply counted;  // of a handler on a thread
};

// Is told once that something has ended.
class end_observer {
 public:
  virtual ~end_observer() = default;
  // On the loop, or within the function that was given the observer. `self` owns the object.
  virtual void ended(std::unique_ptr<end_observer> self, bool cancelled) noexcept = 0;
  static void tell(std::unique_ptr<end_observer> who, bool cancelled) noexcept {
    end_observer& told = *who;
    told.ended(std::move(who), cancelled);
  }
};

// Begins the calls of a method. There is one kind for each API: handlers on threads, queues, callbacks.
class call_starter {
 public:
  virtual ~call_starter() = default;
  // On the loop, once for each call. The starter has the call end by server_call_core::finish(), and binds a
  // ServerContext to it on the thread of the program. An error ends the call.
  virtual coracle::status begin(std::shared_ptr<server_call_core> call) = 0;
  // On the loop, before the end of a call that was cancelled: the starter may not have given it to the
  // program yet.
  virtual void forget(server_call_core& /*call*/) noexcept {}
};

// The coroutine of the call makes the object, has a starter begin the call, and awaits its end: finish(), or
// a cancellation, by the client, a deadline or TryCancel(). In the latter case the program goes on without a
// call: its operations fail. Both share the object, which outlives the server if the program keeps it.
//
// The operations are tasks of the loop. The synchronous API blocks on them, other APIs start them with
// coracle::start(). Each belongs to an `operation`, which the program makes before: without one the loop may
// be gone.
//
// Of the coracle::server_context, other threads read the metadata alone, which are copied under a lock: by
// the thread that asks for them, and by the coroutine at the end.
class server_call_core final : public std::enable_shared_from_this<server_call_core> {
 public:
  server_call_core(coracle::server_context& of, coracle::bytes_message request,
                   std::optional<coracle::reader<coracle::bytes_message>> reader,
                   std::optional<coracle::writer<coracle::bytes_message>> writer);
  // The client has messages as JSON. Before run().
  void use_json(const json_messages& by) { json_ = by; }
  // The program may record the load of the call. Before run().
  void record_load() { records_load_ = true; }

  // An operation of the program, from its start to its end: the call does not end before.
  class operation {
   public:
    operation() noexcept = default;
    operation(operation&& other) noexcept = default;
    operation& operator=(operation&&) = delete;
    ~operation() {
      if (of_) of_->end_operation();
    }
    // False: the call is over, and the operation fails.
    explicit operator bool() const noexcept { return of_ != nullptr; }
    [[nodiscard]] server_call_core& call() const noexcept { return *of_; }

   private:
    friend class server_call_core;
    explicit operation(std::shared_ptr<server_call_core> of) noexcept : of_(std::move(of)) {}
    std::shared_ptr<server_call_core> of_;
  };

  // --- the coroutine, on the loop
  // Before run().
  void set_method(std::string_view method) { method_ = method; }
  // Has the call begun, and waits for its end. The result is the status of the call.
  [[nodiscard]] static coracle::task<coracle::status> run(std::shared_ptr<server_call_core> self,
                                                          call_starter& by);
  // After the end, with OK.
  [[nodiscard]] coracle::bytes_message take_reply() { return coracle::bytes_message(std::move(reply_)); }

  // --- the program, any thread
  [[nodiscard]] operation begin_operation();
  // Ends the call, once: when the operations have ended, but for reads, which then fail. `done` may be null.
  // It is told that the call was cancelled if its status was not sent.
  void finish(call_end&& end, std::unique_ptr<end_observer> done);
  // Sets who else is told of the end, once.
  void observe_end(std::unique_ptr<end_observer> by);
  void try_cancel() noexcept;
  [[nodiscard]] bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
  [[nodiscard]] const metadata_map& client_metadata();
  // Of the generic service; empty for other calls.
  [[nodiscard]] const std::string& method() const noexcept { return method_; }
  [[nodiscard]] const std::string& authority() const noexcept { return authority_; }
  // For interceptors, before the handler.
  [[nodiscard]] metadata_map::map_type& changeable_client_metadata() {
    static_cast<void>(client_metadata());
    return metadata_.changeable_map();
  }
  [[nodiscard]] std::string peer() const;
  // Whose call it is, for handler_pool.
  [[nodiscard]] std::size_t client() const noexcept;
  [[nodiscard]] std::shared_ptr<const AuthContext> auth();
  // The calls of clients that end with this one.
  [[nodiscard]] std::shared_ptr<call_children> children();
  [[nodiscard]] gpr_timespec deadline() const noexcept { return deadline_; }
  // Null if the server does not record it. Belongs to the call.
  [[nodiscard]] call_metrics* load();
  // The request of a call that has one; by one thread, once.
  [[nodiscard]] std::string take_request() { return std::move(request_).bytes(); }

  // --- the operations, each of which is begun on loop(). False: the call is over.
  [[nodiscard]] coracle::loop& loop() const noexcept { return where_; }
  // False, too: there is no message any more.
  [[nodiscard]] static coracle::task<bool> read(operation of, coracle::bytes_message& into);
  // `message` lasts until the end of the operation.
  [[nodiscard]] static coracle::task<bool> write(operation of, const coracle::bytes_message& message,
                                                 coracle::write_options options, sent_headers headers);
  [[nodiscard]] static coracle::task<bool> send_initial_metadata(operation of, sent_headers headers);

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
  // Tells when the call ends before the program ends it.
  class cancel_hook : public coracle::coro::stop_callback {
   public:
    explicit cancel_hook(server_call_core& c) noexcept;

   private:
    server_call_core& of_;
  };

  void end_operation() noexcept;
  // Ends the call as if it was cancelled, but with this status, unless the program has ended it. Operations that
  // begin from then on fail. Any thread.
  template <class MakeStatus>
  void end_with(MakeStatus early) noexcept;
  // On the loop: no operation begins from now on. The result is what the program ends the call with.
  [[nodiscard]] std::optional<call_end> close();
  void pass(sent_headers&& headers);
  [[nodiscard]] coracle::task<bool> write_one(const coracle::bytes_message& message,
                                              coracle::write_options options);
  [[nodiscard]] coracle::status send_end(call_end& end);
  void send_load();
  // On the loop: the call leaves the object, which the program may still have.
  void leave(bool cancelled) noexcept;
  void copy_of_call();  // the metadata; with the lock

  coracle::loop& where_;
  const gpr_timespec deadline_;
  coracle::bytes_message request_;
  std::string method_;
  bool records_load_ = false;
  std::atomic<bool> cancelled_{false};
  loop_signal ending_;  // by finish(), or because the call is cancelled
  loop_signal no_operations_;
  const std::string authority_;
  const coracle::net::address peer_address_;
  const std::shared_ptr<const coracle::auth_context> connection_;  // null in plaintext

  // Of the loop:
  std::optional<coracle::reader<coracle::bytes_message>> reader_;
  std::optional<coracle::writer<coracle::bytes_message>> writer_;
  bool has_initial_ = false;
  coracle::coro::stop_source reads_;
  coracle::coro::stop_source operations_;
  std::string reply_;
  std::optional<json_messages> json_;

  std::mutex changing_;  // guards what follows
  coracle::server_context* call_;  // null after the end; the loop reads it without the lock
  int started_ = 0;  // operations that have not ended
  bool closed_ = false;
  std::optional<coracle::status> early_;  // ended here, before the program ended the call
  bool left_ = false;
  std::optional<call_end> end_;
  std::unique_ptr<end_observer> done_;
  std::unique_ptr<end_observer> observer_;
  bool copied_ = false;
  metadata_map metadata_;
  std::shared_ptr<const AuthContext> auth_;
  std::shared_ptr<call_children> children_;
  std::unique_ptr<call_metrics> load_;
  std::set<std::pair<std::string, std::string>> consumed_;  // metadata that the program does not see
};

}  // namespace grpc::internal
