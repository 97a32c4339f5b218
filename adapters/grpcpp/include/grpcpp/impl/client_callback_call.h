// Calls of the callback API of a client with messages as bytes: the core below the reactors.
#pragma once

#include <grpcpp/impl/callback_tag.h>
#include <grpcpp/impl/client_queue_call.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace grpc::internal {

// A call of any kind. The class of the reactor's kind derives from it, and is told of the ends of operations,
// on threads for callbacks. Operations that come before start_call() begin with it.
//
// The object counts what the end of the call waits for: operations, reactions that run, holds, start_call().
// Then it calls done(), in which the object destroys itself. Any thread.
class client_callback_call {
 public:
  client_callback_call(const client_callback_call&) = delete;
  client_callback_call& operator=(const client_callback_call&) = delete;

 protected:
  // A stream, with its only request or without one. `reply` is empty if the call has many.
  client_callback_call(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                       const message_target& reply);
  client_callback_call(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                       serialized_message&& request, const message_target& reply);
  virtual ~client_callback_call() = default;

  void start_call();
  void start_read(const message_target& into);
  void start_write(serialized_message&& message, const WriteOptions& options);
  void start_writes_done();
  void add_holds(int count) { outstanding_.fetch_add(count, std::memory_order_relaxed); }
  void remove_hold() { release(false); }

 private:
  virtual void initial_metadata_done(bool ok) = 0;
  virtual void read_done(bool) {}
  virtual void write_done(bool) {}
  virtual void writes_done_done(bool) {}
  virtual void done(const Status& outcome) = 0;

  // A tag: calls a function of the call.
  class reaction final : public callback_tag {
   public:
    using function = void (client_callback_call::*)(bool ok);
    reaction(client_callback_call& of, function react) : of_(of), react_(react) {}
    void run(bool ok) override { (of_.*react_)(ok); }

   private:
    client_callback_call& of_;
    function react_;
  };
  // The ends of operations.
  void end_initial_metadata(bool ok);
  void end_read(bool ok);
  void end_write(bool ok);
  void end_writes_done(bool ok);
  void end_call(bool) { release(true); }
  void call_done(bool) { done(outcome_); }
  // Before start_call(): has `begin` called by it.
  template <class Begin>
  [[nodiscard]] bool postponed(Begin&& begin);
  void release(bool in_reaction);

  client_queue_stream stream_;
  const message_target reply_;
  Status outcome_;
  std::atomic<int> outstanding_{1};
  std::atomic<bool> started_{false};
  std::atomic<bool> knows_initial_{false};
  std::mutex starting_;  // guards what follows
  std::optional<bool> early_read_;  // a read that has ended before the initial metadata
  std::optional<message_target> first_read_;
  struct writing {
    serialized_message message;
    WriteOptions options;
  };
  std::optional<writing> first_write_;
  bool first_writes_done_ = false;

  reaction initial_{*this, &client_callback_call::end_initial_metadata};
  reaction read_{*this, &client_callback_call::end_read};
  reaction write_{*this, &client_callback_call::end_write};
  reaction writes_done_{*this, &client_callback_call::end_writes_done};
  reaction finish_{*this, &client_callback_call::end_call};
  reaction last_{*this, &client_callback_call::call_done};
};

// A unary call, which begins at once. `done` is called on a thread for callbacks.
void start_callback_unary(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                    serialized_message&& request, const message_target& reply,
                    std::function<void(Status)>&& done);

}  // namespace grpc::internal
