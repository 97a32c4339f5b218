// connection: one way to a server, over which calls are made; and how a call ended.
#pragma once

#include "tools/load/request_source.hpp"

#include <coracle/base/clock.hpp>
#include <coracle/coro/task.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace coracle::tools::load {

class call_end {
 public:
  call_end() noexcept = default;
  static call_end failed(std::string status, std::string message) {
    call_end e;
    e.status_ = std::move(status);
    e.message_ = std::move(message);
    return e;
  }

  [[nodiscard]] bool ok() const noexcept { return status_.empty(); }
  // What it is counted under, "UNAVAILABLE" or "HTTP 500"; empty when it ended well.
  [[nodiscard]] const std::string& status() const noexcept { return status_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

  // Of messages, without what surrounds them on the wire.
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;

 private:
  std::string status_;
  std::string message_;
};

// Lives on one loop; many calls at a time. Throws nothing but coro::cancelled. A stop ends what waits, in whatever way.
class connection {
 public:
  virtual ~connection() = default;
  // Connects and waits until calls can be made.
  [[nodiscard]] virtual task<call_end> open(duration at_most) = 0;
  [[nodiscard]] virtual task<call_end> call(const request_source& what, request_place which) = 0;
  // Runs beside the calls, after open(), until it is stopped: keeps reconnects() up to date where the calls cannot.
  [[nodiscard]] virtual task<> watch() { co_return; }
  // How many connections were made after the one of open(): in place of a lost one or, with HTTP/1.1, because every other
  // one was busy.
  [[nodiscard]] std::uint64_t reconnects() const noexcept { return reconnects_; }

 protected:
  std::uint64_t reconnects_ = 0;
};

struct server_identity {
  std::string address;  // that the connection led to, with names resolved
  std::string software;  // what the server calls itself in its "server" header; often nothing
};

// Makes connections, from every loop at the same time, and outlives them.
class connector {
 public:
  virtual ~connector() = default;
  [[nodiscard]] virtual std::unique_ptr<connection> make() = 0;
  // Makes a connection, finds out which server it leads to, and closes it.
  [[nodiscard]] virtual task<call_end> reach(duration at_most, server_identity& who) = 0;
};

}  // namespace coracle::tools::load
