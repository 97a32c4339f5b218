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
    // Step 1: suspend, and add an entry and a waiter to the loop.
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) {}
    void await_resume() const noexcept {}

   private:
    [[maybe_unused]] io_loop& on_;
    [[maybe_unused]] int fd_;
    [[maybe_unused]] short events_;
  };
  // Waits until a read (a write) on the descriptor would not block.
  io_awaiter readable(int fd) noexcept { return io_awaiter(*this, fd, POLLIN); }
  io_awaiter writable(int fd) noexcept { return io_awaiter(*this, fd, POLLOUT); }

 protected:
  // Step 2: without entries there is nothing to wait for. Else call poll() without a limit on the time (a signal may end
  // it: EINTR). Hand the waiters of all entries whose `revents` are not 0 to resume_later(), and remove these entries.
  bool wait_for_events() override { return false; }

 private:
  std::vector<pollfd> entries_;
  std::vector<std::coroutine_handle<>> waiters_;  // waiters_[i] waits for entries_[i]
};

// Reads what has arrived, at most `into.size()` bytes, and waits if nothing has. Returns 0 at the end.
// Step 3: try recv() first; where it fails with EAGAIN, wait until the descriptor is readable, and try again.
inline task<std::size_t> read(io_loop&, int, std::span<char>) { co_return 0; }

// Writes all of `bytes`, which must stay in place until then.
// Step 4: send() may take only a part. MSG_NOSIGNAL makes a broken connection an error in place of a signal.
inline task<> write_all(io_loop&, int, std::string_view) { co_return; }

// Waits for the next connection.
// Step 5: the same with accept4() and its flags SOCK_NONBLOCK | SOCK_CLOEXEC.
inline task<descriptor> accept(io_loop&, const descriptor&) { co_return descriptor(); }

// Sends everything back until the peer closes its sending direction.
// Step 6: with the operations above.
inline task<> echo(io_loop&, descriptor) { co_return; }

}  // namespace lab
