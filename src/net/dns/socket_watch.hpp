// socket_watch: the loop looks at a socket of c-ares.
#pragma once

#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

namespace coracle::net {

class dns_channel;

// c-ares opens and closes its sockets whenever it likes, also while the kernel is at work on a poll; and the number
// may be another socket's in the same breath. So this polls a duplicate of the descriptor, which is
// closed when its polls have ended. On the heap, owned by itself from retire() on; tells its channel of its end.
class socket_watch {
 public:
  // `ours` is the duplicate, and is this one's to close.
  socket_watch(dns_channel& of, int theirs, runtime_internal::handle ours) noexcept;
  socket_watch(const socket_watch&) = delete;
  socket_watch& operator=(const socket_watch&) = delete;

  [[nodiscard]] int theirs() const noexcept { return theirs_; }
  void want(bool readable, bool writable) noexcept;
  // c-ares has closed its descriptor: ends what is in flight, then this.
  void retire() noexcept;

 private:
  struct side : runtime_internal::operation {
    side(socket_watch& w, runtime_internal::operation::kind k, runtime_internal::handle h) noexcept;
    socket_watch& owner;
    bool wanted = false;
    bool in_flight = false;
  };
  ~socket_watch();
  void look(side& s) noexcept;
  void ready(side& s, std::int64_t outcome) noexcept;
  void end_if_idle() noexcept;

  dns_channel& channel_;
  const int theirs_;
  const runtime_internal::handle ours_;
  side reading_;
  side writing_;
  bool busy_ = false;  // inside ready(): c-ares may retire this there
  bool retired_ = false;
};

}  // namespace coracle::net
