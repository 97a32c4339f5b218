// client_awaiters: the waits of a streaming call other than for its messages: for its beginning and its end.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/impl/call_channel.hpp"
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

// Waits for the response headers, or for the end of a call that has none. One at a time, in addition to a
// reader and a writer. A stop of the waiter's environment ends only the wait, with CANCELLED.
class headers_operation : private coro::runnable, private coro::stop_callback {
 public:
  headers_operation() noexcept : stop_callback(&headers_operation::stopped) {}
  // Only before start().
  headers_operation(headers_operation&&) noexcept : headers_operation() {}
  headers_operation& operator=(headers_operation&&) = delete;
  ~headers_operation();

 protected:
  bool start(client_call& c, std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept;
  [[nodiscard]] const status& outcome() const noexcept { return outcome_; }

 private:
  static void stopped(coro::stop_callback& self) noexcept;
  friend class client_call;
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
  [[nodiscard]] loop& blocking_loop() const { return blocking_loop_of(client_); }

 private:
  client_call& client_;
};

// finish() without a reply: half-closes, waits for the end, returns the status.
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
  [[nodiscard]] loop& blocking_loop() const { return blocking_loop_of(call_); }

 private:
  client_call& call_;
};

class start_awaiter {
 public:
  explicit start_awaiter(client_call& c) noexcept : call_(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(call_, coro::environment_of(h));
    return false;
  }
  void await_resume() const noexcept {}
  [[nodiscard]] loop& blocking_loop() const { return blocking_loop_of(call_); }

 private:
  client_call& call_;
};

class headers_awaiter : headers_operation {
 public:
  explicit headers_awaiter(client_call& c) noexcept : call_(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(call_, coro::environment_of(h));
    return start(call_, h, coro::environment_of(h).stop);
  }
  status await_resume() const { return outcome(); }
  [[nodiscard]] loop& blocking_loop() const { return blocking_loop_of(call_); }

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
  [[nodiscard]] loop& blocking_loop() const { return blocking_loop_of(call_); }

 private:
  client_call& call_;
};

// finish() of a client-streaming call: half-closes, waits for the reply and the end.
template <class Reply>
class reply_awaiter : end_operation {
 public:
  explicit reply_awaiter(client_call& c) noexcept : call_(c) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    ensure_begun(call_, coro::environment_of(h));
    half_close(call_);
    expect_reply(call_, rpc::codec_of<Reply>::get(), rpc::codec_of<Reply>::address(message_));
    return start(call_, h, coro::environment_of(h).stop);
  }
  result<Reply> await_resume() {
    const status& s = status_of(call_);
    if (!s.ok()) return s;
    return std::move(message_);
  }
  [[nodiscard]] loop& blocking_loop() const { return blocking_loop_of(call_); }

 private:
  client_call& call_;
  Reply message_;
};

}  // namespace coracle::client
