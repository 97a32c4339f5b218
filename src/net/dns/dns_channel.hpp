// dns_channel: one channel of c-ares at work on a loop.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/dns/dns_question.hpp"
#include "net/dns/dns_settings.hpp"

#include <ares.h>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <vector>

struct ares_channeldata;
struct ares_addrinfo;

namespace coracle::net {

// RESOURCE_EXHAUSTED or UNAVAILABLE when c-ares cannot. The caller destroys the channel.
result<ares_channel> open_ares_channel(const dns_settings& settings, ares_sock_state_cb socket_changed,
                                       void* context);

class socket_watch;

// Lives on its loop. c-ares is driven by that loop alone: its sockets by polls of the backend, its clock by
// one timer. It calls back only inside ask(), process() and close(), and never gets to run a coroutine there.
class dns_channel : coro::timer {
 public:
  // Questions that c-ares works on at a time, those given up included. Each is two datagrams at once to the same
  // server, whose socket and ours hold a few hundred: what does not fit is lost, and costs seconds.
  static constexpr std::size_t at_once_max = 100;

  static result<std::unique_ptr<dns_channel>> open(loop& on, const dns_settings& settings);
  dns_channel(const dns_channel&) = delete;
  dns_channel& operator=(const dns_channel&) = delete;
  // After co_await close().
  ~dns_channel();

  [[nodiscard]] loop& home() const noexcept { return on_; }
  // Asks, at once or when it is its turn. May give the answer before it returns.
  void ask(dns_question& q);

  class [[nodiscard]] closing {
   public:
    explicit closing(dns_channel& c) noexcept : channel_(c) {}
    [[nodiscard]] bool await_ready() const noexcept { return channel_.watched_ == 0; }
    void await_suspend(std::coroutine_handle<> h) noexcept { channel_.closer_ = h; }
    void await_resume() const noexcept {}

   private:
    dns_channel& channel_;
  };
  // Ends what is still asked, which nobody may be waiting for, and waits for the end of all sockets. Is not
  // itself ended by a stop.
  closing close() noexcept;

 private:
  friend class socket_watch;
  explicit dns_channel(loop& on) noexcept;
  // Descriptors of c-ares, or -1.
  void process(int readable, int writable) noexcept;
  void watch_ended() noexcept;
  // Called by c-ares.
  static void socket_changed(void* self, int socket, int readable, int writable) noexcept;
  static void answered(void* record, int ares_status, int timeouts, ares_addrinfo* found) noexcept;
  void hand_over(dns_question& q);
  void settle();

  loop& on_;
  ares_channeldata* ares_ = nullptr;
  bool hosts_from_environment_ = false;
  base::intrusive_list<dns_question::place_in_line> line_;
  std::size_t asked_ = 0;
  std::vector<socket_watch*> watches_;  // of c-ares' open sockets: one or two a server
  std::size_t watched_ = 0;  // those and the ones that are ending
  std::coroutine_handle<> closer_;
};

}  // namespace coracle::net
