// resolution: the result of a resolver: the servers of a target, and their service config.
#pragma once

#include "coracle/net/address.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::client {

/// One server. A value type.
class endpoint {
 public:
  /// weight: the share of calls that the server gets under a policy that uses weights; 0 means none.
  explicit endpoint(net::address at, std::uint32_t weight = 1) : address_(std::move(at)), weight_(weight) {}

  [[nodiscard]] const net::address& address() const noexcept { return address_; }
  [[nodiscard]] std::uint32_t weight() const noexcept { return weight_; }

  friend bool operator==(const endpoint&, const endpoint&) = default;

 private:
  net::address address_;
  std::uint32_t weight_;
};

/// The result of a resolver. A value type, in builder style.
class resolution {
 public:
  /// The maximum number of endpoints of one result. The channel drops the rest, and logs a warning.
  static constexpr std::size_t endpoints_max = 1000;

  resolution() noexcept {}
  resolution& add(endpoint e) { return endpoints_.push_back(std::move(e)), *this; }
  resolution& add(net::address at, std::uint32_t weight = 1) { return add(endpoint(std::move(at), weight)); }
  /// Sets a service config in JSON (grpc/grpc doc/service_config.md) that the resolver found.
  resolution& service_config(std::string json) { return service_config_ = std::move(json), *this; }

  [[nodiscard]] const std::vector<endpoint>& endpoints() const noexcept { return endpoints_; }
  [[nodiscard]] const std::string& service_config() const noexcept { return service_config_; }

 private:
  std::vector<endpoint> endpoints_;
  std::string service_config_;
};
static_assert(!std::is_aggregate_v<resolution>);

}  // namespace coracle::client
