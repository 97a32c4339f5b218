// client_awaiters: the waits of a streaming call other than for its messages: for its beginning and its end.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/impl/call_channel.hpp"
#include "coracle/client/with_callbacks.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/rpc/impl/operations.hpp"

#include <coroutine>
#include <utility>

namespace coracle::client {

// Waits for the end of a call; one at a time. A stop of the waiter's environment cancels the call, since no
// other task would receive its result.
class end_operation : private coro::stop_callback {
 public:
  end_operation() noexcept : stop_callback(&end_operation::stopped) {}
  // Only before start().
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

// Waits for the connection of a call or for its response headers, or for the end of a call that has none.
// One at a time of each, in addition to a reader and a writer. A stop of the waiter's environment ends only
// the wait, with CANCELLED.
class headers_operation : private coro::runnable, private coro::stop_callback {
 public:
  enum class awaited : unsigned char { connection, headers };
  explicit headers_operation(awaited what) noexcept
      : stop_callback(&headers_operation::stopped), what_(what) {}
  // Only before start().
  headers_operation(headers_operation&& other) noexcept : headers_operation(other.what_) {}
  headers_operation& operator=(headers_operation&&) = delete;
  ~headers_operation();

 protected:
  bool start(client_call& c, std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept;
  [[nodiscard]] const status& outcome() const noexcept { return outcome_; }

 private:
  static void stopped(coro::stop_callback& self) noexcept;
  friend class client_call;
  const awaited what_;
  client_call* call_ = nullptr;  // while pending
  std::coroutine_handle<> waiter_;
  status outcome_;
};

// The awaiters begin the call on the first await, then wait as those of a handler do.
void ensure_begun(client_call& c, const coro::environment& inherited) noexcept;
rpc::call* stream_of(client_call& c) noexcept;
void half_close(client_call& c) noexcept;
// The next message is the only reply, and is decoded into `into`, which must live until the end of the call.
void expect_reply(client_call& c, const rpc::codec& k, void* into) noexcept;
const status& status_of(client_call& c) noexcept;
loop& blocking_loop_of(client_call& c);
loop& hold_call(client_call& c);
void let_go(client_call& c) noexcept;
void cancel(client_call& c) noexcept;
const char* method_of(const client_call& c) noexcept;

// Keeps a call for what follows an operation; may be empty. On the loop of the call.
class stream_hold {
 public:
  stream_hold() noexcept = default;
  explicit stream_hold(client_call& c) : of_(&c) { hold_call(c); }
  stream_hold(stream_hold&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  stream_hold& operator=(stream_hold&&) = delete;
  ~stream_hold() {
    if (of_) let_go(*of_);
  }
  void cancel() noexcept {
    if (of_) client::cancel(*of_);
  }

 private:
  client_call* of_ = nullptr;
};

// One operation of a streaming call. It may be moved until it is awaited.
class call_operation {
 public:
  call_operation(const call_operation&) = delete;
  call_operation& operator=(const call_operation&) = delete;
  // The loop on which a plain thread may run the operation.
  [[nodiscard]] loop& blocking_loop() const { return blocking_loop_of(of_); }
  // Makes the operation independent of the call object, which may then be destroyed at any time: that cancels
  // the call, and the operation ends with CANCELLED. Returns the loop on which to start the operation.
  loop& hold() {
    loop& where = hold_call(of_);
    holds_ = true;
    return where;
  }
  // For then(), on the loop of the call.
  [[nodiscard]] const char* method() const noexcept { return method_of(of_); }
  [[nodiscard]] stream_hold another_hold() { return stream_hold(of_); }
  void cancel_call() noexcept { cancel(of_); }

 protected:
  explicit call_operation(client_call& c) noexcept : of_(c) {}
  call_operation(call_operation&& other) noexcept
      : of_(other.of_), holds_(std::exchange(other.holds_, false)) {}
  ~call_operation() {
    if (holds_) let_go(of_);
  }
  client_call& of_;

 private:
  bool holds_ = false;
};

template <class Awaiter>
class begun : public call_operation, public Awaiter, public stream_callbacks<begun<Awaiter>> {
 public:
  template <class... Args>
  explicit begun(client_call& c, Args&&... args) noexcept
      : call_operation(c), Awaiter(stream_of(c), std::forward<Args>(args)...) {}
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(of_, coro::environment_of(h));
    return Awaiter::await_suspend(h);
  }
  loop& hold() {
    if constexpr (requires(Awaiter& a) { a.own_message(); }) this->own_message();
    return call_operation::hold();
  }
};

// finish() without a reply: half-closes, waits for the end, returns the status.
class finish_awaiter : public call_operation, end_operation, public stream_callbacks<finish_awaiter> {
 public:
  explicit finish_awaiter(client_call& c) noexcept : call_operation(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(of_, coro::environment_of(h));
    half_close(of_);
    return start(of_, h, coro::environment_of(h).stop);
  }
  status await_resume() const { return status_of(of_); }
};

class start_awaiter : public call_operation, public stream_callbacks<start_awaiter> {
 public:
  explicit start_awaiter(client_call& c) noexcept : call_operation(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(of_, coro::environment_of(h));
    return false;
  }
  void await_resume() const noexcept {}
};

class headers_awaiter : public call_operation, headers_operation, public stream_callbacks<headers_awaiter> {
 public:
  using headers_operation::awaited;
  headers_awaiter(client_call& c, awaited what) noexcept : call_operation(c), headers_operation(what) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(of_, coro::environment_of(h));
    return start(of_, h, coro::environment_of(h).stop);
  }
  status await_resume() const { return outcome(); }
};

class writes_done_awaiter : public call_operation, public stream_callbacks<writes_done_awaiter> {
 public:
  explicit writes_done_awaiter(client_call& c) noexcept : call_operation(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(of_, coro::environment_of(h));
    half_close(of_);
    return false;
  }
  void await_resume() const noexcept {}
};

// finish() of a client-streaming call: half-closes, waits for the reply and the end.
template <class Reply>
class reply_awaiter : public call_operation, end_operation, public stream_callbacks<reply_awaiter<Reply>> {
 public:
  explicit reply_awaiter(client_call& c) noexcept : call_operation(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(of_, coro::environment_of(h));
    half_close(of_);
    expect_reply(of_, rpc::codec_of<Reply>::get(), rpc::codec_of<Reply>::address(message_));
    return start(of_, h, coro::environment_of(h).stop);
  }
  result<Reply> await_resume() {
    const status& s = status_of(of_);
    if (!s.ok()) return s;
    return std::move(message_);
  }

 private:
  Reply message_;
};

}  // namespace coracle::client
