// dns_resolver: the servers of a host name or a service in DNS, and its service config.
#pragma once

#include "coracle/client/resolver.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace coracle::client {

struct dns_name {
  dns_name() noexcept {}
  std::string
      service;  // "_grpc._tcp.example.org", whose SRV records are read; empty: the addresses of `host`
  std::string host;  // "example.org", below which the service config is
  std::uint16_t port = 0;  // of a host
  std::string name_servers;  // empty: those of the machine
  bool reads_service_config = false;  // gRFC A2
};
static_assert(!std::is_aggregate_v<dns_name>, "GCC 12 destroys aggregates in co_await expressions twice");

// Resolves when it starts, and again whenever the channel requests it. For one loop.
std::shared_ptr<resolver> make_dns_resolver(dns_name of);

}  // namespace coracle::client
