// health_watch: monitors the health of a server over one connection (gRFC A17, grpc.health.v1.Health/Watch).
#pragma once

#include "client/balancing/connection_watch.hpp"

#include <cstdint>
#include <string>

namespace coracle::client {

class health_watch;

class health_watch_owner {
 public:
  // says() has changed. Called by the task that runs the watch.
  virtual void on_health(health_watch& w) noexcept = 0;

 protected:
  ~health_watch_owner() = default;
};

// A server without the service counts as serving. A watch that ends with another error has failed, and is
// repeated after a pause.
class health_watch final : public connection_watch {
 public:
  enum class verdict : std::uint8_t { unknown, serving, not_serving, failed };
  // The maximum size of one response message.
  static constexpr std::uint32_t answer_bytes_max = 1024;

  health_watch(transport::connection& on, const connect_params& params, const std::string& service,
               health_watch_owner& owner)
      : connection_watch(on, params, answer_bytes_max), owner_(owner), service_(service) {}
  [[nodiscard]] verdict serving_state() const noexcept { return serving_state_; }
  // The error of the last failure.
  [[nodiscard]] const status& failure() const noexcept { return failure_; }

 private:
  // connection_watch
  task<status> call() override;
  bool ended(const status& failure, bool begun, bool refused) noexcept override;
  void begins_again() noexcept override;

  void set_serving_state(verdict v) noexcept;

  health_watch_owner& owner_;
  const std::string service_;
  status failure_;
  verdict serving_state_ = verdict::unknown;
};

}  // namespace coracle::client
