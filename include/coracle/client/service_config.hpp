// service_config: how the owners of a service want it to be called.
#pragma once

#include "coracle/base/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {

namespace client {
struct service_config_data;  // private: src/client/service_config_data.hpp
}

// A parsed and checked service config (grpc/grpc doc/service_config.md): per method a timeout, wait_for_ready, limits of
// messages, a retry or hedging policy; the throttle of retries (gRFC A6); a balancing policy; the service to ask for its
// health; how many connections a server may have (gRFC A105). A value that never changes; copies share it, on any thread. A default one says nothing.
class service_config {
 public:
  // One entry of loadBalancingConfig.
  class policy {
   public:
    policy(std::string name, std::string config) : name_(std::move(name)), config_(std::move(config)) {}
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    // A JSON object.
    [[nodiscard]] const std::string& config() const noexcept { return config_; }

   private:
    std::string name_;
    std::string config_;
  };

  service_config() noexcept;
  // INVALID_ARGUMENT, naming the field, when the text is no JSON or breaks a rule (gRFC A6, A21): then nothing of it is
  // taken. Fields that are not known are passed over.
  static result<service_config> parse(std::string_view json);

  // What was parsed.
  [[nodiscard]] const std::string& json() const noexcept;
  // In the order of preference: the first that the client knows holds, and one that knows none refuses the config
  // (gRFC A24). Empty: nothing was said.
  [[nodiscard]] const std::vector<policy>& load_balancing() const noexcept;
  // For health checks of the connections (gRFC A17); "" stands for the server as a whole. Null: none are wanted.
  [[nodiscard]] const std::string* health_check_service() const noexcept;

  // For the library.
  [[nodiscard]] const client::service_config_data& data() const noexcept { return *data_; }

  // Equal texts.
  friend bool operator==(const service_config& a, const service_config& b) noexcept {
    return a.data_ == b.data_ || a.json() == b.json();
  }

 private:
  explicit service_config(std::shared_ptr<const client::service_config_data> d) noexcept;
  std::shared_ptr<const client::service_config_data> data_;  // never null
};

}  // namespace coracle
