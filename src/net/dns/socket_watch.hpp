// socket_watch: polls a socket of c-ares on the loop.
#pragma once

#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

namespace coracle::net {

class dns_channel;

// c-ares opens and closes its sockets at any time, even while the kernel polls one, and the system may reuse
// the descriptor's number at once. A watch therefore polls a duplicate of the descriptor, which it closes
// after its polls have ended. Lives on the heap, owns itself from retire() on, and notifies its channel when
// it ends.
class socket_watch {
 public:
  // Takes ownership of `ours`, the duplicate.
  socket_watch(dns_channel& of, int theirs, runtime_internal::handle ours) noexcept;
  socket_watch(const socket_watch&) = delete;
  socket_watch& operator=(const socket_watch&) = delete;

  [[nodiscard]] int theirs() const noexcept { return theirs_; }
  void want(bool readable, bool writable) noexcept;
  // c-ares has closed its descriptor: cancels the polls in flight, then destroys this.
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
  bool busy_ = false;  // inside ready(), where c-ares may retire this
  bool retired_ = false;
};

}  // namespace coracle::net
