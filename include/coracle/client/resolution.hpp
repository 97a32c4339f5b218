// resolution: what a resolver has found out: where the servers of a target are, and how to treat them.
#pragma once

#include "coracle/net/address.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle::client {

// One server. A value.
class endpoint {
 public:
  // weight: its share of the calls where the policy goes by weights; 0 takes none.
  explicit endpoint(net::address at, std::uint32_t weight = 1) : address_(std::move(at)), weight_(weight) {}

  [[nodiscard]] const net::address& address() const noexcept { return address_; }
  [[nodiscard]] std::uint32_t weight() const noexcept { return weight_; }

  friend bool operator==(const endpoint&, const endpoint&) = default;

 private:
  net::address address_;
  std::uint32_t weight_;
};

// A value; builder style.
class resolution {
 public:
  // What is kept of one answer; the rest is dropped, with a line in the log.
  static constexpr std::size_t endpoints_max = 1000;

  resolution() noexcept {}
  resolution& add(endpoint e) { return endpoints_.push_back(std::move(e)), *this; }
  resolution& add(net::address at, std::uint32_t weight = 1) { return add(endpoint(std::move(at), weight)); }
  // A service config in JSON (grpc/grpc doc/service_config.md) that came with the addresses.
  resolution& service_config(std::string json) { return service_config_ = std::move(json), *this; }

  [[nodiscard]] const std::vector<endpoint>& endpoints() const noexcept { return endpoints_; }
  [[nodiscard]] const std::string& service_config() const noexcept { return service_config_; }

 private:
  std::vector<endpoint> endpoints_;
  std::string service_config_;
};
static_assert(!std::is_aggregate_v<resolution>);

}  // namespace coracle::client
