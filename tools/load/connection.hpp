// connection: a connection to a server for load calls, and the outcome of a call.
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
  // The key under which the outcome is counted, "UNAVAILABLE" or "HTTP 500"; empty for a call that ended with
  // OK.
  [[nodiscard]] const std::string& status() const noexcept { return status_; }
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

  // Sizes of messages, without their framing.
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;

 private:
  std::string status_;
  std::string message_;
};

// Bytes of a connection with all framing, but without TLS: HTTP/2 frames, or requests and responses of
// HTTP/1.1.
struct wire_bytes {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;

  wire_bytes& operator+=(const wire_bytes& more) noexcept {
    sent += more.sent;
    received += more.received;
    return *this;
  }
  wire_bytes& operator-=(const wire_bytes& less) noexcept {
    sent -= less.sent;
    received -= less.received;
    return *this;
  }
};

// Belongs to one loop; supports many concurrent calls. Throws only coro::cancelled. A stop ends pending
// waits, with either a failure or the exception.
class connection {
 public:
  virtual ~connection() = default;
  // Connects and waits until calls can be made.
  [[nodiscard]] virtual task<call_end> open(duration at_most) = 0;
  [[nodiscard]] virtual task<call_end> call(const request_source& source, request_place which) = 0;
  // The number of connections made after the one of open(): to replace a lost one or, with HTTP/1.1, because
  // all others were busy.
  [[nodiscard]] virtual std::uint64_t reconnects() const noexcept = 0;
  // Since the connection was made, and of those that replaced it.
  [[nodiscard]] virtual wire_bytes wire() const noexcept = 0;
};

struct server_identity {
  std::string address;  // that the connection led to, with names resolved
  std::string software;  // the server's "server" header; often empty
};

// Makes connections, on every loop concurrently, and outlives them.
class connector {
 public:
  virtual ~connector() = default;
  [[nodiscard]] virtual std::unique_ptr<connection> make() = 0;
  // Makes a connection, identifies the server, and closes it.
  [[nodiscard]] virtual task<call_end> reach(duration at_most, server_identity& identity) = 0;
};

}  // namespace coracle::tools::load
