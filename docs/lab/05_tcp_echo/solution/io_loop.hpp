// A scheduler that waits for sockets with poll(2), and the operations of a TCP server.
#pragma once

#include "../../03_scheduler/solution/scheduler.hpp"
#include "../../sockets.hpp"

#include <poll.h>
#include <cerrno>
#include <coroutine>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace lab {

class io_loop : public scheduler {
 public:
  class io_awaiter {
   public:
    io_awaiter(io_loop& on, int fd, short events) noexcept : on_(on), fd_(fd), events_(events) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) {
      const pollfd entry{fd_, events_, 0};
      on_.entries_.push_back(entry);
      on_.waiters_.push_back(h);
    }
    void await_resume() const noexcept {}

   private:
    io_loop& on_;
    int fd_;
    short events_;
  };
  // Waits until a read (a write) on the descriptor would not block.
  io_awaiter readable(int fd) noexcept { return io_awaiter(*this, fd, POLLIN); }
  io_awaiter writable(int fd) noexcept { return io_awaiter(*this, fd, POLLOUT); }

 protected:
  bool wait_for_events() override {
    if (entries_.empty()) return false;
    int ready = -1;
    do ready = ::poll(entries_.data(), entries_.size(), -1);
    while (ready < 0 && errno == EINTR);
    checked(ready, "poll");
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].revents != 0) {
        resume_later(waiters_[i]);
      } else {
        entries_[kept] = entries_[i];
        waiters_[kept++] = waiters_[i];
      }
    }
    entries_.resize(kept);
    waiters_.resize(kept);
    return true;
  }

 private:
  std::vector<pollfd> entries_;
  std::vector<std::coroutine_handle<>> waiters_;  // waiters_[i] waits for entries_[i]
};

// Reads what has arrived, at most `into.size()` bytes, and waits if nothing has. Returns 0 at the end.
inline task<std::size_t> read(io_loop& on, int fd, std::span<char> into) {
  for (;;) {
    const ssize_t n = ::recv(fd, into.data(), into.size(), 0);
    if (n >= 0) co_return static_cast<std::size_t>(n);
    if (errno != EAGAIN && errno != EINTR) throw_errno("recv");
    co_await on.readable(fd);
  }
}

// Writes all of `bytes`, which must stay in place until then.
inline task<> write_all(io_loop& on, int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else {
      if (errno != EAGAIN && errno != EINTR) throw_errno("send");
      co_await on.writable(fd);
    }
  }
}

// Waits for the next connection.
inline task<descriptor> accept(io_loop& on, const descriptor& listener) {
  for (;;) {
    const int fd = ::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) co_return descriptor(fd);
    if (errno != EAGAIN && errno != EINTR) throw_errno("accept4");
    co_await on.readable(listener.get());
  }
}

// Sends everything back until the peer closes its sending direction.
inline task<> echo(io_loop& on, descriptor connection) {
  char room[4096];
  for (;;) {
    const std::size_t n = co_await read(on, connection.get(), room);
    if (n == 0) co_return;
    co_await write_all(on, connection.get(), std::string_view(room, n));
  }
}

}  // namespace lab
