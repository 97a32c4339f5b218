#include "coracle/net/listener.hpp"

#include "coracle/base/usage_error.hpp"
#include "net/connect.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/listening_socket.hpp"
#include "net/open_stream.hpp"

#include <cerrno>

namespace coracle::net {

namespace {

// accept(2) itself reports errors of the connection that waited in the queue.
bool is_per_connection_error(std::int64_t result) noexcept {
  return result == -ECONNABORTED || result == -EPROTO || result == -ENETDOWN || result == -ENETUNREACH ||
         result == -EHOSTUNREACH || result == -ETIMEDOUT || result == -EPERM;
}

bool is_exhaustion(std::int64_t result) noexcept {
  return result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -ENOBUFS;
}

bool is_retryable(std::int64_t result) noexcept {
  return is_per_connection_error(result) || is_exhaustion(result);
}

status was_closed() { return status::cancelled("the listener was closed"); }

// Logs the first failure only, not each retry.
void log_exhaustion(listening_socket& s, std::int64_t error) {
  if (std::exchange(s.exhaustion_logged, true)) return;
  s.on.log().write(
      log_room::net, log_level::warning,
      stream_error(error, "cannot accept connections on " + s.local.to_string() + ", retrying every 50 ms")
          .message());
}

// Waits until no accept() uses the socket. A stop does not end this wait: the accept() has already been
// interrupted.
class accept_done : coro::runnable {
 public:
  explicit accept_done(listening_socket& s) noexcept : socket_(s) {
    run = [](coro::runnable& w) noexcept { static_cast<accept_done&>(w).waiter_.resume(); };
  }
  [[nodiscard]] bool await_ready() const noexcept { return !socket_.accepting; }
  void await_suspend(std::coroutine_handle<> h) noexcept {
    waiter_ = h;
    socket_.closer = this;
  }
  void await_resume() const noexcept {}

 private:
  listening_socket& socket_;
  std::coroutine_handle<> waiter_;
};

}  // namespace

listener::listener() noexcept = default;
listener::listener(std::unique_ptr<listening_socket> s) noexcept : socket_(std::move(s)) {}
listener::listener(listener&&) noexcept = default;
listener& listener::operator=(listener&&) noexcept = default;
listener::~listener() = default;

result<listener> listener::open(const address& at, const listen_options& options) {
  result<std::unique_ptr<listening_socket>> opened = listening_socket::open(current_loop(), at, options);
  if (!opened) return opened.status();
  return listener(*std::move(opened));
}

task<result<stream>> listener::accept() {
  if (!socket_) co_return status::cancelled("the listener is closed");
  listening_socket& s = *socket_;  // stays in place when the listener is moved
  CORACLE_REQUIRE(!s.accepting, "concurrent accept() calls on one listener: await one before the next");
  s.accepting = true;
  loop& on = s.on;
  std::int64_t got = 0;
  status early;
  do {
    io_wait next(on, runtime_internal::operation::kind::accept, s.socket);
    s.waiting = &next;
    got = co_await next;
    s.waiting = nullptr;
    early = next.ended_early();
    if (is_exhaustion(got)) {
      log_exhaustion(s, got);
      co_await s.pause;
    }
  } while (early.ok() && is_retryable(got) && !s.closer);
  if (got >= 0) s.exhaustion_logged = false;
  s.accepting = false;
  // The closer destroys `s` in a later work, after this coroutine no longer uses it.
  coro::runnable* const closer = std::exchange(s.closer, nullptr);
  if (closer) on.post(*closer);
  if (got >= 0)
    co_return stream(std::make_unique<open_stream>(on, static_cast<runtime_internal::handle>(got)));
  if (!early.ok()) co_return early;
  if (closer) co_return was_closed();
  co_return stream_error(got, "accepting");
}

task<void> listener::close() {
  const std::unique_ptr<listening_socket> s = std::move(socket_);
  if (!s) co_return;
  if (s->waiting) s->waiting->interrupt(was_closed());
  s->pause.end();
  accept_done done(*s);
  co_await done;
}

const address& listener::local_address() const noexcept {
  CORACLE_ASSERT(socket_, "this listener is closed, or was moved from");
  return socket_->local;
}

}  // namespace coracle::net
