// dns_channel: a channel of c-ares, driven by a loop.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/dns/dns_question.hpp"

#include <ares.h>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace coracle::net {

// The defaults use the configuration of the machine. There is no public form of these settings: the name
// servers are configured once, for all programs of the machine.
struct dns_settings {
  dns_settings() noexcept {}
  std::string servers;      // "127.0.0.1:5353,[::1]:5353": replaces the servers of the machine
  std::string resolv_conf;  // path of a file that replaces /etc/resolv.conf
  bool hosts_from_environment = false;  // CARES_HOSTS names a file that replaces /etc/hosts
  int timeout_ms = 0;                   // of the first attempt; 0: c-ares' default
  int tries = 0;
};
static_assert(!std::is_aggregate_v<dns_settings>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::net

struct ares_channeldata;
struct ares_addrinfo;

namespace coracle::net {

// Fails with RESOURCE_EXHAUSTED or UNAVAILABLE when c-ares cannot open a channel. The caller destroys the
// channel.
result<ares_channel> open_ares_channel(const dns_settings& settings, ares_sock_state_cb socket_changed,
                                       void* context);

class socket_watch;  // dns_channel.cpp

// Lives on its loop, which alone drives c-ares: its sockets by polls of the backend, its clock by one timer.
// c-ares calls back only inside ask(), process() and close(), and these callbacks never run a coroutine.
class dns_channel : coro::timer {
 public:
  // The maximum number of queries that c-ares processes at a time, including cancelled ones. Each query sends
  // two datagrams at once to the same server; the socket buffers on both sides hold a few hundred. A datagram
  // that does not fit is lost, and its retransmission takes seconds.
  static constexpr std::size_t concurrent_max = 100;

  static result<std::unique_ptr<dns_channel>> open(loop& on, const dns_settings& settings);
  dns_channel(const dns_channel&) = delete;
  dns_channel& operator=(const dns_channel&) = delete;
  // close() must have been awaited.
  ~dns_channel();

  [[nodiscard]] loop& owner_loop() const noexcept { return on_; }
  // Submits a query, at once or when a slot is free. May deliver the answer before it returns.
  void ask(dns_question& q) noexcept;

  class [[nodiscard]] closing {
   public:
    explicit closing(dns_channel& c) noexcept : channel_(c) {}
    [[nodiscard]] bool await_ready() const noexcept { return channel_.watched_ == 0; }
    void await_suspend(std::coroutine_handle<> h) noexcept { channel_.closer_ = h; }
    void await_resume() const noexcept {}

   private:
    dns_channel& channel_;
  };
  // Cancels the remaining queries, for which no coroutine may be waiting, and waits until all sockets are
  // closed. A stop does not end this wait.
  closing close() noexcept;

 private:
  friend class socket_watch;
  explicit dns_channel(loop& on) noexcept;
  // The arguments are descriptors of c-ares, or -1.
  void process(int readable, int writable) noexcept;
  void watch_ended() noexcept;
  // Callbacks that c-ares invokes.
  static void socket_changed(void* self, int socket, int readable, int writable) noexcept;
  static void answered(void* record, int ares_status, int timeouts, ares_addrinfo* found) noexcept;
  static void answered_with(void* record, int ares_status, int timeouts, unsigned char* message,
                            int bytes) noexcept;
  void hand_over(dns_question& q) noexcept;
  void start_queued() noexcept;

  loop& on_;
  ares_channeldata* ares_ = nullptr;
  bool hosts_from_environment_ = false;
  base::intrusive_list<dns_question::queue_entry> queue_;
  std::size_t running_ = 0;
  std::vector<socket_watch*> watches_;  // the open sockets of c-ares: one or two per server
  std::size_t watched_ = 0;  // watches_ and the watches that are ending
  std::coroutine_handle<> closer_;
};

}  // namespace coracle::net
