// The client's side of calls with streams: client_streaming_call, server_streaming_call, bidi_call.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/rpc/call_channel.hpp"
#include "coracle/rpc/call_options.hpp"
#include "coracle/rpc/reader.hpp"
#include "coracle/rpc/stream.hpp"

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

namespace coracle {

namespace calls {

// Waits for a call's end; one at a time. A stop of the waiter's environment cancels the call, since nobody is
// left who would wait for it.
class end_operation : private coro::stop_callback {
 public:
  end_operation() noexcept : stop_callback(&end_operation::stopped) {}
  // Before its start.
  end_operation(end_operation&&) noexcept : end_operation() {}
  end_operation& operator=(end_operation&&) = delete;
  ~end_operation();

 protected:
  bool start(client_call& c, std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept;

 private:
  static void stopped(coro::stop_callback& self) noexcept;
  friend class client_call;
  client_call* call_ = nullptr;  // while pending
  std::coroutine_handle<> waiter_;
};

// A call as its stub hands it out. Nothing is sent before the first await, whose loop is the call's
// from then on and whose deadline it inherits. Destroying it cancels.
//
// A stop of the awaiter's environment ends a next(), read() or write() with CANCELLED and leaves the call as it
// was: a read that lost a race has taken no message. A stopped finish() cancels the call.
class client_stream {
 public:
  client_stream(client_stream&&) noexcept = default;
  client_stream& operator=(client_stream&&) noexcept = default;

  // Ends the call with CANCELLED, if it has not ended; what waits on it resumes. On its loop.
  void cancel();
  // What the server sent before its messages: complete once a first next() or finish() has resumed.
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
  client_stream(call_channel& channel, const char* path, const call_options& options);
  // The single request of a server-streaming call is serialized at once.
  client_stream(call_channel& channel, const char* path, const call_options& options, const codec& k,
                const void* request);

  std::unique_ptr<client_call, deleter> call_;
};

// The awaiters start the call on the first await, then wait as the handler's own do.
void ensure_begun(client_call& c, const coro::environment& inherited) noexcept;
call* stream_of(client_call& c) noexcept;
void half_close(client_call& c) noexcept;
// The next message is the one reply and goes to `into`, which must stay until the call's end.
void expect_reply(client_call& c, const codec& k, void* into) noexcept;
const status& status_of(client_call& c) noexcept;
loop& blocking_home_of(client_call& c);

template <class Awaiter>
class begun : public Awaiter {
 public:
  template <class... Args>
  explicit begun(client_call& c, Args&&... args) noexcept
      : Awaiter(stream_of(c), std::forward<Args>(args)...), client_(c) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(client_, coro::environment_of(h));
    return Awaiter::await_suspend(h);
  }
  [[nodiscard]] loop& blocking_home() const { return blocking_home_of(client_); }

 private:
  client_call& client_;
};

// finish() without a message: half-closes, waits for the end, gives the status.
class finish_awaiter : end_operation {
 public:
  explicit finish_awaiter(client_call& c) noexcept : call_(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(call_, coro::environment_of(h));
    half_close(call_);
    return start(call_, h, coro::environment_of(h).stop);
  }
  status await_resume() const { return status_of(call_); }
  [[nodiscard]] loop& blocking_home() const { return blocking_home_of(call_); }

 private:
  client_call& call_;
};

class writes_done_awaiter {
 public:
  explicit writes_done_awaiter(client_call& c) noexcept : call_(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(call_, coro::environment_of(h));
    half_close(call_);
    return false;
  }
  void await_resume() const noexcept {}
  [[nodiscard]] loop& blocking_home() const { return blocking_home_of(call_); }

 private:
  client_call& call_;
};

// finish() of a client-streaming call: half-closes, waits for the one reply and the end.
template <class Reply>
class reply_awaiter : end_operation {
 public:
  explicit reply_awaiter(client_call& c) noexcept : call_(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(call_, coro::environment_of(h));
    half_close(call_);
    expect_reply(call_, codec_of<Reply>::get(), codec_of<Reply>::address(message_));
    return start(call_, h, coro::environment_of(h).stop);
  }
  result<Reply> await_resume() {
    const status& s = status_of(call_);
    if (!s.ok()) return s;
    return std::move(message_);
  }
  [[nodiscard]] loop& blocking_home() const { return blocking_home_of(call_); }

 private:
  client_call& call_;
  Reply message_;
};

}  // namespace calls

// Many requests, one reply. One task at a time, but for cancel().
template <class Request, class Reply>
class [[nodiscard]] client_streaming_call : public calls::client_stream {
 public:
  client_streaming_call(call_channel& channel, const char* path, const call_options& options)
      : client_stream(channel, path, options) {}
  // Waits while there is no room; throws call_ended with the call's status when the call is over.
  [[nodiscard]] auto write(const Request& m, const write_options& options = {}) {
    return calls::begun<calls::write_awaiter<Request>>(*call_, m, options);
  }
  // status instead; OK is no promise of arrival.
  [[nodiscard]] auto write_result(const Request& m, const write_options& options = {}) {
    return calls::begun<calls::write_result_awaiter<Request>>(*call_, m, options);
  }
  // Says that no more requests come, and waits for the end: result<Reply>.
  [[nodiscard]] calls::reply_awaiter<Reply> finish() { return calls::reply_awaiter<Reply>(*call_); }
};

// One request, many replies.
template <class Reply>
class [[nodiscard]] server_streaming_call : public calls::client_stream {
 public:
  template <class Request>
  server_streaming_call(call_channel& channel, const char* path, const Request& request,
                        const call_options& options)
      : client_stream(channel, path, options, calls::codec_of<Request>::get(),
                      calls::codec_of<Request>::address(request)) {}
  // std::optional<Reply>: empty only when the call ended with OK; throws call_ended with any other status.
  [[nodiscard]] auto next() { return calls::begun<calls::next_awaiter<Reply>>(*call_); }
  // result<std::optional<Reply>>
  [[nodiscard]] auto next_result() { return calls::begun<calls::next_result_awaiter<Reply>>(*call_); }
  // bool, as next(), into a message that is used again.
  [[nodiscard]] auto read(Reply& into) { return calls::begun<calls::read_awaiter<Reply>>(*call_, into); }
  // Waits for the end, dropping replies that were not read: status.
  [[nodiscard]] calls::finish_awaiter finish() { return calls::finish_awaiter(*call_); }
};

// Many of both. One task may read while another writes.
template <class Request, class Reply>
class [[nodiscard]] bidi_call : public calls::client_stream {
 public:
  bidi_call(call_channel& channel, const char* path, const call_options& options)
      : client_stream(channel, path, options) {}
  [[nodiscard]] auto write(const Request& m, const write_options& options = {}) {
    return calls::begun<calls::write_awaiter<Request>>(*call_, m, options);
  }
  [[nodiscard]] auto write_result(const Request& m, const write_options& options = {}) {
    return calls::begun<calls::write_result_awaiter<Request>>(*call_, m, options);
  }
  // No more requests come; replies still do. Does not wait.
  [[nodiscard]] calls::writes_done_awaiter writes_done() { return calls::writes_done_awaiter(*call_); }
  [[nodiscard]] auto next() { return calls::begun<calls::next_awaiter<Reply>>(*call_); }
  [[nodiscard]] auto next_result() { return calls::begun<calls::next_result_awaiter<Reply>>(*call_); }
  [[nodiscard]] auto read(Reply& into) { return calls::begun<calls::read_awaiter<Reply>>(*call_, into); }
  // writes_done() if that was not said, then waits for the end: status.
  [[nodiscard]] calls::finish_awaiter finish() { return calls::finish_awaiter(*call_); }
};

}  // namespace coracle
