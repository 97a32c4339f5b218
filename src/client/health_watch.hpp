// health_watch: asks a server over one of its connections whether it serves (gRFC A17, grpc.health.v1.Health/Watch).
#pragma once

#include "client/backoff.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"
#include "transport/connection.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

class health_watch;

class health_watch_owner {
 public:
  // verdict() is another. From between the connection's events, or a timer's.
  virtual void on_health(health_watch& w) noexcept = 0;

 protected:
  ~health_watch_owner() = default;
};

// The two messages of that service are one field each, so they are written and read by hand, and the room needs no
// protobuf. A server without the service counts as one that serves; a watch that ends otherwise is begun again after a
// pause. Belongs to a subchannel, which destroys it before the connection.
class health_watch final : private transport::exchange_handler, private coro::timer {
 public:
  enum class verdict : std::uint8_t { unknown, serving, not_serving };
  // What of one answer is kept at most.
  static constexpr std::size_t answer_bytes_max = 1024;

  // `service` and `authority` outlive it.
  health_watch(loop& home, transport::connection& on, std::string_view service, std::string_view scheme,
               std::string_view authority, health_watch_owner& owner);
  ~health_watch();
  void start() noexcept;
  [[nodiscard]] verdict says() const noexcept { return says_; }
  // A stream of the connection is its.
  [[nodiscard]] bool open() const noexcept { return static_cast<bool>(exchange_); }

 private:
  // transport::exchange_handler
  void on_headers(transport::header_source& fields, transport::block_kind kind,
                  bool end_stream) noexcept override;
  void on_data(bytes_view bytes, bool end_stream) noexcept override;
  void on_writable() noexcept override {}
  void on_reset(const transport::abnormal_end& end) noexcept override;

  void send_question() noexcept;
  bool read_answers() noexcept;
  void ended(bool has_no_such_service) noexcept;
  void say(verdict v) noexcept;

  loop& home_;
  transport::connection& connection_;
  std::string_view service_;
  std::string_view scheme_;
  std::string_view authority_;
  health_watch_owner& owner_;
  transport::exchange exchange_;
  backoff pause_;
  std::vector<std::uint8_t> received_;
  verdict says_ = verdict::unknown;
};

}  // namespace coracle::client
