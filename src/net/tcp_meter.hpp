// tcp_meter: what the kernel says about the TCP connections of a loop, as metrics (gRFC A80).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/metrics.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"
#include "runtime/tcp_statistics.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>

namespace coracle::net {

[[nodiscard]] std::span<const instrument* const> tcp_instruments() noexcept;

// One per loop. It keeps what it needs of each connection itself, so that connections are not larger while it
// is off, as it is by default. Connections that are open when it is enabled are not measured.
class tcp_meter final : public coro::executor_local, coro::timer {
 public:
  // Between two queries of a connection, of which the first comes after 10 % to 110 % of it, at random.
  static constexpr duration interval = std::chrono::minutes(5);
  // How often the connections are searched for those that are due.
  static constexpr duration search_interval = std::chrono::seconds(10);

  tcp_meter() noexcept;
  // addresses: whether the optional labels are reported, which costs two queries for each connection.
  void enable(loop& on, bool addresses) noexcept;
  void disable() noexcept;

  // A connection has begun. Returns whether it is measured until closing(). Throws std::bad_alloc.
  bool opened(runtime_internal::handle socket);
  // It ends; the socket is still open.
  void closing(runtime_internal::handle socket) noexcept;
  // Queries the connections that are due at `now`. The timer calls this.
  void query_due(time_point now) noexcept;

 private:
  struct connection {
    time_point due{};
    runtime_internal::tcp_statistics last;
    std::array<std::string, 4> labels;
  };
  void query(runtime_internal::handle socket, connection& c, bool last) noexcept;

  loop* loop_ = nullptr;  // null: disabled
  bool addresses_ = false;
  std::unordered_map<runtime_internal::handle, connection> connections_;
};

}  // namespace coracle::net
