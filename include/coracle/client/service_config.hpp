// service_config: how the owner of a service wants clients to call it.
#pragma once

#include "coracle/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

namespace client {
struct service_config_data;  // private: src/client/naming/service_config_data.hpp
}

/// A parsed and validated service config (grpc/grpc doc/service_config.md).
///
/// It has, per method, a timeout, wait_for_ready, message size limits, and a retry or hedging policy; and for
/// the channel a retry throttle (gRFC A6), a balancing policy, the service name for health checks, and the
/// maximum number of connections per server (gRFC A105). It is immutable, and copies share their data, on any
/// thread. A default-constructed one is empty.
class service_config {
 public:
  /// One entry of loadBalancingConfig.
  class policy {
   public:
    /// @cond
    policy(std::string name, std::string config) : name_(std::move(name)), config_(std::move(config)) {}
    /// @endcond
    /// Returns the name of the policy, such as "round_robin".
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// Returns the configuration of the policy, a JSON object.
    [[nodiscard]] const std::string& config() const noexcept { return config_; }

   private:
    std::string name_;
    std::string config_;
  };

  /// An empty service config.
  service_config() noexcept;
  /// Parses a service config. Returns INVALID_ARGUMENT with the name of the field if the text is not valid
  /// JSON or breaks a rule (gRFC A6, A21); the whole config is rejected then. Unknown fields are ignored.
  static result<service_config> parse(std::string_view json);

  /// Returns the text that was parsed.
  [[nodiscard]] const std::string& json() const noexcept;
  /// Returns the policies in order of preference; empty if there are none. The client uses the first one that
  /// it supports, and rejects the config if it supports none (gRFC A24).
  [[nodiscard]] const std::vector<policy>& load_balancing() const noexcept;
  /// Returns the service name for health checks (gRFC A17); "" stands for the server as a whole. Null
  /// disables them.
  [[nodiscard]] const std::string* health_check_service() const noexcept;

  /// @cond  For the library.
  [[nodiscard]] const client::service_config_data& data() const noexcept { return *data_; }
  /// @endcond

  /// Two configs are equal if their texts are.
  friend bool operator==(const service_config& a, const service_config& b) noexcept {
    return a.data_ == b.data_ || a.json() == b.json();
  }

 private:
  explicit service_config(std::shared_ptr<const client::service_config_data> d) noexcept;
  std::shared_ptr<const client::service_config_data> data_;  // never null
};

}  // namespace coracle
