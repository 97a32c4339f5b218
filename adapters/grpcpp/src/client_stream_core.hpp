// client_stream_core: a streaming call of a client.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/impl/call_op_set.h>

#include "channel_core.hpp"

#include "coracle/client/client_stream.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/bytes_message.hpp"

#include <memory>

namespace grpc::internal {

// All kinds of streams are streams of bytes in both directions. Shared by the reader or writer of the
// program, its context, and a request to cancel on its way to the loop.
//
// The operations are awaitables of the loop of the call. The synchronous API blocks on them; other APIs start
// them with coracle::start() and are told of their ends.
class client_stream_core final : public cancel_target,
                                 public std::enable_shared_from_this<client_stream_core> {
 public:
  using call_type = coracle::bidi_call<coracle::bytes_message, coracle::bytes_message>;
  // The path outlives the call, as those of generated stubs do.
  client_stream_core(channel_on& by, const char* path, ClientContext& context,
                     const coracle::call_options& options);

  // Begins the call, with its only request if `request` is not null, and does not wait.
  void begin(coracle::bytes_message* request);
  // Any thread, with the lock of the context.
  void cancel() noexcept override;

  // The same, awaited.
  coracle::task<bool> start();
  // False: the call has ended without any.
  coracle::task<bool> wait_for_initial_metadata();
  coracle::task<bool> read(coracle::bytes_message& into);
  coracle::task<bool> write(const coracle::bytes_message& message, WriteOptions options);
  coracle::task<bool> writes_done();
  coracle::task<coracle::status> finish(coracle::bytes_message* reply, bool& has_reply);

  [[nodiscard]] coracle::loop& loop() const noexcept { return loop_; }
  [[nodiscard]] ClientContext& context() const noexcept { return context_; }

 private:
  // On the loop: gives the initial metadata to the context, once.
  void take_initial_metadata();
  static coracle::task<> cancel_call(std::shared_ptr<client_stream_core> self);

  coracle::loop& loop_;
  ClientContext& context_;
  call_type call_;
  bool has_initial_ = false;
  bool half_closed_ = false;
};

}  // namespace grpc::internal
