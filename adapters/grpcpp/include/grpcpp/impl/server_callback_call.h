// Calls of the callback API of a server with messages as bytes: the core below the reactors.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/callback_tag.h>
#include <grpcpp/impl/queued_message.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace grpc {

class CallbackServerContext;

namespace internal {

class callback_method;  // private: src/server/callback_method.hpp
class intercepted_operation;  // private: src/interceptors/intercepted_operation.hpp
class server_call_core;  // private: src/server/server_call_core.hpp
struct server_interceptors;  // private: src/interceptors/interception.hpp

// What a call is made from.
struct callback_call_seed {
  std::shared_ptr<server_call_core> call;
  std::shared_ptr<callback_method> method;
  std::shared_ptr<const server_interceptors> interceptors;  // null: there are none
};

// The handler of a method in the callback API.
class callback_handler : public MethodHandler {
 public:
  void run(server_call&) final {}
  // On the loop: begins a call, which destroys itself at its end.
  virtual void begin(callback_call_seed&& seed) = 0;
};

// A call of any kind. The class of the reactor's kind derives from it, and is told what has ended, by the threads
// that run callbacks.
//
// The object counts what OnDone() waits for: the function of the method, Finish(), the end of the call,
// operations and reactions that run. Then it calls done(), and destroys itself. Any thread.
class server_callback_call {
 public:
  server_callback_call(const server_callback_call&) = delete;
  server_callback_call& operator=(const server_callback_call&) = delete;

  // Has open() called.
  void start();

 protected:
  server_callback_call(callback_call_seed&& seed, CallbackServerContext& context);
  virtual ~server_callback_call();

  std::string take_request();
  // At the end of open(): the reactor is there.
  void opened();
  // The operations of a reactor.
  void send_initial_metadata();
  // `into` is what take_message() fills.
  void start_read(void* into);
  void start_write(serialized_message&& message, const WriteOptions& options);
  void finish(const Status& outcome);
  // With OK, of a call that has one reply.
  void finish(serialized_message&& reply);
  void finish_with_last(serialized_message&& message, const WriteOptions& options, const Status& outcome);
  // Within open().
  [[nodiscard]] bool parsed() const noexcept { return parsed_; }

 private:
  class end_of_call;
  class end_of_finish;
  class end_of_seen_finish;
  struct end_of_operation;
  struct end_of_seen_operation;
  struct interception;
  // Of a call that has one request.
  virtual bool parse_request() { return true; }
  virtual void* request() { return nullptr; }
  // Calls the function of the method.
  virtual void open() = 0;
  virtual void initial_metadata_sent(bool ok) = 0;
  // Parses a message that has come.
  virtual bool take_message(std::string&&) { return false; }
  virtual void read_done(bool) {}
  virtual void write_done(bool) {}
  virtual void cancelled() = 0;
  virtual void done() = 0;

  // A tag: calls a function of the call.
  class reaction final : public callback_tag {
   public:
    using function = void (server_callback_call::*)(bool ok);
    reaction(server_callback_call& of, function react) : of_(of), react_(react) {}
    void run(bool ok) override;

   private:
    server_callback_call& of_;
    function react_;
  };
  // Has a thread for callbacks run the reaction.
  void post(reaction& to, bool ok);
  void call_open(bool);
  void end_headers(bool ok);
  void end_read(bool ok);
  void end_write(bool ok);
  void tell_cancelled(bool);
  void call_done(bool);
  // For interceptors.
  void start_seen();
  [[nodiscard]] std::unique_ptr<intercepted_operation> make_seen(reaction& to) const;
  void finish_seen(std::unique_ptr<intercepted_operation> op, const Status& outcome, const WriteOptions* last);
  void end_finish(bool) { release(true); }
  void end_seen_call(bool was_cancelled);
  // The operations; `End` says who is told of their ends.
  template <class End>
  void begin_headers(End told);
  template <class End>
  void begin_read(End told);
  template <class End>
  void begin_write(serialized_message&& message, const WriteOptions& options, End told);
  // On the loop.
  void end(bool was_cancelled);
  // In a function of the program or of its end, or elsewhere.
  void release(bool in_reaction);
  void leave_cancel(bool in_reaction);

  const std::shared_ptr<server_call_core> call_;
  const std::shared_ptr<callback_method> method_;
  bool parsed_ = false;
  CallbackServerContext& context_;
  std::unique_ptr<interception> seen_;  // null: no interceptors see the call
  std::atomic<int> outstanding_{3};
  std::atomic<int> cancel_waits_for_{2};  // the reactor, and a cancellation
  reaction open_{*this, &server_callback_call::call_open};
  reaction headers_{*this, &server_callback_call::end_headers};
  reaction read_{*this, &server_callback_call::end_read};
  reaction write_{*this, &server_callback_call::end_write};
  reaction cancel_{*this, &server_callback_call::tell_cancelled};
  reaction done_{*this, &server_callback_call::call_done};
};

}  // namespace internal
}  // namespace grpc
