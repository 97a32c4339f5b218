// body_watch: ends a request whose body arrives too slowly.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/executor.hpp"

#include <cstddef>

namespace coracle::server_internal {

// The owner of a body_watch.
class body_receiver {
 public:
  // Fewer bytes than required have arrived within server_limits::stall_time. The watch may be destroyed in
  // this call.
  virtual void on_slow_body() noexcept = 0;

 protected:
  ~body_receiver() = default;
};

// Does for a body what server_call does for a message that arrives in parts (server_limits::stall_time). Part
// of an object that collects a body.
class body_watch final : private coro::timer {
 public:
  body_watch(body_receiver& of, duration stall_time, std::size_t stall_bytes) noexcept;
  body_watch(const body_watch&) = delete;
  body_watch& operator=(const body_watch&) = delete;
  ~body_watch() { stop(); }
  // Bytes have arrived, and more are missing.
  void arrived(std::size_t n) noexcept;
  // Nothing is missing.
  void stop() noexcept;

 private:
  void check() noexcept;

  body_receiver& of_;
  const duration stall_time_;
  const std::size_t stall_bytes_;
  std::size_t bytes_ = 0;  // since the last check
};

}  // namespace coracle::server_internal
