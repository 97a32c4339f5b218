// rejection: what a client gets whose call a server has not admitted. rejection_log: says so now and then.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "transport/header_block.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::server_internal {

// Prepared once, because a server that rejects calls does it often: its fields are encoded in advance.
class rejection {
 public:
  // limit: its name in metrics, a literal.
  rejection(status s, std::string_view limit);

  // UNAVAILABLE: no handler has seen the call, and retry policies of most service configs name this code.
  // When and whether to retry comes with it (gRFC A6, "Pushback").
  [[nodiscard]] static const rejection& overloaded();
  // What the client would get anyway, a moment later.
  [[nodiscard]] static const rejection& too_late();

  [[nodiscard]] const status& outcome() const noexcept { return outcome_; }
  // grpc-status and grpc-message.
  [[nodiscard]] bytes_view fields() const noexcept { return fields_.bytes(); }
  [[nodiscard]] std::string_view limit() const noexcept { return limit_; }

 private:
  status outcome_;
  transport::header_block fields_;
  std::string_view limit_;
};

// Counts rejected calls, also in the metrics, and logs them at intervals, because a line costs more than a
// rejection.
class rejection_log {
 public:
  // subject: what has rejected the calls, a literal.
  rejection_log(loop& on, std::string_view subject) noexcept : loop_(on), subject_(subject) {}
  void count(const rejection& r, const net::address& peer) noexcept;
  [[nodiscard]] std::uint64_t counted() const noexcept { return counted_; }

 private:
  void write(const rejection& last, const net::address& peer);

  loop& loop_;
  const std::string_view subject_;
  std::uint64_t counted_ = 0;
  std::uint64_t logged_ = 0;  // of them
  time_point log_at_{};
};

}  // namespace coracle::server_internal
