#include "coracle/net/listener.hpp"

#include "net/connect.hpp"
#include "net/io_error.hpp"
#include "net/io_wait.hpp"
#include "net/listening_socket.hpp"
#include "net/open_stream.hpp"

#include <cerrno>

namespace coracle::net {

namespace {

// accept(2): errors of the connection that waited come out of accept() itself.
bool is_fault_of_the_newcomer(std::int64_t result) noexcept {
  return result == -ECONNABORTED || result == -EPROTO || result == -ENETDOWN || result == -ENETUNREACH ||
         result == -EHOSTUNREACH || result == -ETIMEDOUT || result == -EPERM;
}

// Waits until no accept() uses the socket. Not ended by a stop: what it waits for has been interrupted
// already.
class accept_done : coro::work {
 public:
  explicit accept_done(listening_socket& s) noexcept : socket_(s) {
    run = [](coro::work& w) noexcept { static_cast<accept_done&>(w).waiter_.resume(); };
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
  listening_socket& s = *socket_;  // stays where it is when the listener moves
  CORACLE_ASSERT(!s.accepting, "one accept() waits on a listener at a time");
  loop& on = s.on;
  std::int64_t got = 0;
  do {
    io_wait accepting(on, io::operation::kind::accept, s.socket);
    s.accepting = &accepting;
    got = co_await accepting;
    s.accepting = nullptr;
    if (!accepting.ended_early().ok()) {
      // The closer destroys `s` in a later work: not before this coroutine is done with it.
      if (s.closer) on.post(*std::exchange(s.closer, nullptr));
      co_return accepting.ended_early();
    }
  } while (is_fault_of_the_newcomer(got) && !s.closer);
  if (s.closer) on.post(*std::exchange(s.closer, nullptr));
  if (got >= 0) co_return stream(std::make_unique<open_stream>(on, static_cast<io::handle>(got)));
  co_return stream_error(got, "accepting");
}

task<void> listener::close() {
  const std::unique_ptr<listening_socket> s = std::move(socket_);
  if (!s) co_return;
  if (s->accepting) s->accepting->interrupt(status::cancelled("the listener was closed"));
  accept_done done(*s);
  co_await done;
}

const address& listener::local_address() const noexcept {
  CORACLE_ASSERT(socket_, "this listener is closed, or was moved from");
  return socket_->local;
}

}  // namespace coracle::net
