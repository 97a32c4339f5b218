// The client's side of calls with streams: client_streaming_call, server_streaming_call, bidi_call.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/call_options.hpp"
#include "coracle/client/impl/call_channel.hpp"
#include "coracle/client/impl/client_awaiters.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/rpc/reader.hpp"
#include "coracle/rpc/writer.hpp"

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

namespace coracle {

namespace client {

// A call as its stub hands it out. Nothing is sent before the first await, whose loop is the call's
// from then on and whose deadline it inherits. Destroying it cancels.
//
// A stop of the awaiter's environment ends a next(), read() or write() with CANCELLED and leaves the call as it
// was: a read that lost a race has taken no message. A stopped finish() cancels the call.
class client_stream {
 public:
  client_stream(client_stream&&) noexcept = default;
  client_stream& operator=(client_stream&&) noexcept = default;

  // co_await start(): begins the call before its first message, where the server shall hear of it early. Every other
  // operation begins it, too. Does not wait: the head leaves when there is a connection.
  [[nodiscard]] start_awaiter start() { return start_awaiter(*call_); }
  // Ends the call with CANCELLED, if it has not ended; what waits on it resumes. On its loop.
  void cancel();
  // co_await wait_for_initial_metadata(): begins the call, and waits for what the server sends before its messages, which
  // may be long before the first of them. OK: initial_metadata() is complete. Else how the call ended without any.
  [[nodiscard]] head_awaiter wait_for_initial_metadata() { return head_awaiter(*call_); }
  // What the server sent before its messages: complete once a first next() or finish() has resumed, or
  // wait_for_initial_metadata().
  [[nodiscard]] const metadata& initial_metadata() const noexcept;
  // What came with the status: after the end.
  [[nodiscard]] const metadata& trailing_metadata() const noexcept;
  // The reply that was read last came compressed.
  [[nodiscard]] bool read_compressed() const noexcept;
  [[nodiscard]] loop& blocking_home() const;

 protected:
  struct deleter {
    void operator()(client_call* c) const noexcept;
  };
  // one_reply: how the call ends is known when its reply has been decoded.
  client_stream(call_channel& channel, const char* path, const call_options& options, bool one_reply = false);
  // The single request of a server-streaming call is serialized at once.
  client_stream(call_channel& channel, const char* path, const call_options& options, const rpc::codec& k,
                const void* request);

  std::unique_ptr<client_call, deleter> call_;
};

}  // namespace client

// Many requests, one reply. One task at a time, but for cancel().
template <class Request, class Reply>
class [[nodiscard]] client_streaming_call : public client::client_stream {
 public:
  client_streaming_call(call_channel& channel, const char* path, const call_options& options)
      : client::client_stream(channel, path, options, true) {}
  // Waits while there is no room; throws call_ended with the call's status when the call is over.
  [[nodiscard]] auto write(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_awaiter<Request>>(*call_, m, options);
  }
  // status instead; OK is no promise of arrival.
  [[nodiscard]] auto write_result(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_result_awaiter<Request>>(*call_, m, options);
  }
  // The last message: as write(), and the client's side of the stream ends with it, in one frame.
  [[nodiscard]] auto write_last(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_awaiter<Request>>(*call_, m, options, true);
  }
  // Says that no more requests come, and waits for the end: result<Reply>.
  [[nodiscard]] client::reply_awaiter<Reply> finish() { return client::reply_awaiter<Reply>(*call_); }
};

// One request, many replies.
template <class Reply>
class [[nodiscard]] server_streaming_call : public client::client_stream {
 public:
  template <class Request>
  server_streaming_call(call_channel& channel, const char* path, const Request& request,
                        const call_options& options)
      : client::client_stream(channel, path, options, rpc::codec_of<Request>::get(),
                              rpc::codec_of<Request>::address(request)) {}
  // std::optional<Reply>: empty only when the call ended with OK; throws call_ended with any other status.
  [[nodiscard]] auto next() { return client::begun<rpc::next_awaiter<Reply>>(*call_); }
  // result<std::optional<Reply>>
  [[nodiscard]] auto next_result() { return client::begun<rpc::next_result_awaiter<Reply>>(*call_); }
  // bool, as next(), into a message that is used again.
  [[nodiscard]] auto read(Reply& into) { return client::begun<rpc::read_awaiter<Reply>>(*call_, into); }
  // Waits for the end, dropping replies that were not read: status.
  [[nodiscard]] client::finish_awaiter finish() { return client::finish_awaiter(*call_); }
};

// Many of both. One task may read while another writes.
template <class Request, class Reply>
class [[nodiscard]] bidi_call : public client::client_stream {
 public:
  bidi_call(call_channel& channel, const char* path, const call_options& options)
      : client::client_stream(channel, path, options) {}
  [[nodiscard]] auto write(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_awaiter<Request>>(*call_, m, options);
  }
  [[nodiscard]] auto write_result(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_result_awaiter<Request>>(*call_, m, options);
  }
  // The last message: as write(), then writes_done(), in one frame.
  [[nodiscard]] auto write_last(const Request& m, const write_options& options = {}) {
    return client::begun<rpc::write_awaiter<Request>>(*call_, m, options, true);
  }
  // No more requests come; replies still do. Does not wait.
  [[nodiscard]] client::writes_done_awaiter writes_done() { return client::writes_done_awaiter(*call_); }
  [[nodiscard]] auto next() { return client::begun<rpc::next_awaiter<Reply>>(*call_); }
  [[nodiscard]] auto next_result() { return client::begun<rpc::next_result_awaiter<Reply>>(*call_); }
  [[nodiscard]] auto read(Reply& into) { return client::begun<rpc::read_awaiter<Reply>>(*call_, into); }
  // writes_done() if that was not said, then waits for the end: status.
  [[nodiscard]] client::finish_awaiter finish() { return client::finish_awaiter(*call_); }
};

}  // namespace coracle
