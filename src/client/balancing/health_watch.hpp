// health_watch: monitors the health of a server over one connection (gRFC A17, grpc.health.v1.Health/Watch).
#pragma once

#include "client/call/call_attempt.hpp"
#include "client/connecting/backoff.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/impl/call_channel.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace coracle::client {

class health_watch;
struct connect_params;

class health_watch_owner {
 public:
  // says() has changed. Called by the task that runs the watch.
  virtual void on_health(health_watch& w) noexcept = 0;

 protected:
  ~health_watch_owner() = default;
};

// A channel whose calls all use one connection, and its only call. A server without the service counts as
// serving. A watch that ends with another error has failed, and is repeated after a pause. Lives on the loop
// of its subchannel, which runs it, and which stops it before the connection is destroyed.
class health_watch final : public call_channel, public std::enable_shared_from_this<health_watch> {
 public:
  enum class verdict : std::uint8_t { unknown, serving, not_serving, failed };
  // The maximum size of one response message.
  static constexpr std::uint32_t answer_bytes_max = 1024;
  static call_options options_for(const connect_params& params);

  health_watch(transport::connection& on, const connect_params& params, const std::string& service,
               health_watch_owner& owner);
  // Ends after stop(). `self` keeps the watch while it runs.
  static task<> run(std::shared_ptr<health_watch> self);
  // The connection and the owner are not used any more.
  void stop() noexcept;
  [[nodiscard]] verdict serving_state() const noexcept { return serving_state_; }
  // The error of the last failure.
  [[nodiscard]] const status& failure() const noexcept { return failure_; }
  // Whether it uses a stream of the connection.
  [[nodiscard]] bool open() const noexcept { return open_; }

 private:
  // call_channel
  void begin(call_attempt& a) noexcept override;
  loop& blocking_loop() override;
  void set_up(call_setup& setup, std::string_view method, loop& here) noexcept override;

  task<> watch();
  task<status> send_request_with();
  void set_serving_state(verdict v) noexcept;

  transport::connection* connection_;  // null after stop()
  health_watch_owner& owner_;
  const std::string service_;
  const call_options options_;
  const call_target target_;
  const bool private_;  // credentials may be sent
  coro::stop_source stop_;
  status failure_;
  backoff pause_;
  verdict serving_state_ = verdict::unknown;
  bool open_ = false;
  bool refused_ = false;  // the connection had no stream for the last call
};

}  // namespace coracle::client
