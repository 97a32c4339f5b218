// listening_socket: a bound socket that listens; listener and acceptor use it.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/acceptor.hpp"
#include "runtime/backend.hpp"

#include <coroutine>
#include <memory>

namespace coracle::net {

// Awaitable, repeatedly, for runtime_internal::accept_pause_time. A stop and the deadline of the awaiter's
// environment end the pause early without an error: the next operation reports them. Belongs to the listening
// socket. Resumes the awaiter on its loop, from the timers, never inside end() or a stop.
class accept_pause : coro::timer, coro::stop_callback {
 public:
  explicit accept_pause(loop& owner_loop) noexcept;
  accept_pause(const accept_pause&) = delete;
  accept_pause& operator=(const accept_pause&) = delete;

  // Ends the pause early. Has no effect when no coroutine waits.
  void end() noexcept;

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return start(h, coro::environment_of(h));
  }
  void await_resume() const noexcept {}

 private:
  bool start(std::coroutine_handle<> h, const coro::environment& e) noexcept;

  loop& loop_;
  std::coroutine_handle<> waiter_;
};

class io_wait;
struct inherited_socket;

// Owns the handle, and the file of a UNIX socket that it opened. Destroys both with itself, on the loop's
// thread; no operation may be in flight.
class listening_socket {
 public:
  static result<std::unique_ptr<listening_socket>> open(loop& on, const address& at,
                                                        const listen_options& options);
  // Adopts a socket that the service manager has opened; the socket and its file outlive this object.
  static result<std::unique_ptr<listening_socket>> adopt(loop& on, const inherited_socket& from);
  listening_socket(loop& owner_loop, runtime_internal::handle handle, address bound,
                   sharing with_others) noexcept
      : on(owner_loop), socket(handle), local(std::move(bound)), shared(with_others), pause(owner_loop) {}
  listening_socket(const listening_socket&) = delete;
  listening_socket& operator=(const listening_socket&) = delete;
  ~listening_socket();

  // Nothing is added to the queue of connections any more, unless the socket is shared. Idempotent.
  void release_address() noexcept;

  loop& on;
  const runtime_internal::handle socket;
  const address local;
  sharing shared;
  // Used by the listener. While an accept() is in flight, it waits for a connection or for the end of a
  // pause.
  bool accepting = false;
  io_wait* waiting = nullptr;
  accept_pause pause;
  bool exhaustion_logged = false;  // exhaustion was logged since the last connection
  coro::runnable* closer = nullptr;  // the close() that waits for the accept() to end

 private:
  bool released_ = false;
};

}  // namespace coracle::net
