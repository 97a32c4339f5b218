// client_stream_core: a streaming call of a client.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/impl/call_op_set.h>

#include "adapters/grpcpp/src/client/channel_core.hpp"

#include "coracle/client/client_stream.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "coracle/rpc/message_sink.hpp"

#include <atomic>
#include <coroutine>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace grpc::internal {

// Copies a message that arrives.
inline coracle::message_sink sink_of(std::string& text) noexcept {
  return {&text, [](void* to, coracle::bytes_view bytes) {
            static_cast<std::string*>(to)->assign(coracle::as_text(bytes));
            return true;
          }};
}

// All kinds of streams are streams of bytes in both directions. Shared by the reader or writer of the
// program, its context, and a request to cancel on its way to the loop.
//
// The operations are awaitables of the loop of the call. The synchronous API blocks on them; other APIs start
// them, and are told of their ends.
class client_stream_core final : public cancel_target,
                                 public std::enable_shared_from_this<client_stream_core> {
 public:
  using call_type = coracle::bidi_call<coracle::bytes_message, coracle::message_sink>;
  // The path outlives the call, as those of generated stubs do.
  client_stream_core(channel_on& by, coracle::method_path path, ClientContext& context,
                     const coracle::call_options& options);

  // Begins the call, with its only request if `request` is not null, and does not wait.
  void begin(coracle::bytes_message* request);
  // Any thread, with the lock of the context.
  void cancel() noexcept override;

  // The same, awaited.
  coracle::task<bool> start();
  // True if the server has sent it, or has ended the call without any. False: the call was cancelled, its deadline has
  // passed, or it has not reached a server.
  coracle::task<bool> wait_for_initial_metadata();
  // After that wait: whether the call ended without initial metadata.
  [[nodiscard]] bool trailers_only() const noexcept { return trailers_only_; }
  // The sink and the message outlive the await.
  auto read(coracle::message_sink& into) { return reading{call_.read(into), *this}; }
  auto write(const coracle::bytes_message& message, const WriteOptions& options) {
    return writing{*this, message, options, std::nullopt};
  }
  coracle::task<bool> writes_done();
  coracle::task<coracle::status> finish(coracle::message_sink* reply, bool& has_reply);

  [[nodiscard]] coracle::loop& loop() const noexcept { return loop_; }
  [[nodiscard]] ClientContext& context() const noexcept { return context_; }

 private:
  // Reads and writes are no coroutines, because there are many. False: there is no message any more.
  struct reading {
    decltype(std::declval<call_type&>().read(std::declval<coracle::message_sink&>())) wait;
    client_stream_core& of;
    [[nodiscard]] bool await_ready() const noexcept { return wait.await_ready(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return wait.await_suspend(h);
    }
    bool await_resume() {
      const coracle::result<bool> got = wait.await_resume();
      const bool message = got.ok() && *got;
      if (message) of.take_initial_metadata();
      return message;
    }
  };
  // False: the call is over, or its last message was written before.
  struct writing {
    client_stream_core& of;
    const coracle::bytes_message& message;
    WriteOptions options;
    std::optional<decltype(std::declval<call_type&>().write(message))> wait;
    [[nodiscard]] bool await_ready() {
      if (of.half_closed_) return true;
      of.half_closed_ = options.is_last_message();
      const coracle::write_options with{.compress = !options.get_no_compression()};
      if (of.half_closed_) wait.emplace(of.call_.write_last(message, with));
      else wait.emplace(of.call_.write(message, with));
      return wait->await_ready();
    }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return wait->await_suspend(h);
    }
    bool await_resume() const { return wait && wait->await_resume().ok(); }
  };
  // On the loop: gives the initial metadata to the context, once.
  void take_initial_metadata();
  static coracle::task<> cancel_call(std::shared_ptr<client_stream_core> self);

  coracle::loop& loop_;
  ClientContext& context_;
  call_type call_;
  std::atomic<bool> cancelled_ = false;  // set by cancel()
  bool has_initial_ = false;
  bool trailers_only_ = false;
  bool half_closed_ = false;
};

}  // namespace grpc::internal
