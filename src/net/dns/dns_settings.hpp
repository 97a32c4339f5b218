// dns_settings: what tests change of the way in which names are looked up.
#pragma once

#include <string>
#include <type_traits>

namespace coracle::net {

// Default: all as the machine says. There is no public form of it: programs configure name servers where all
// programs of a machine find them.
struct dns_settings {
  dns_settings() noexcept {}
  std::string servers;      // "127.0.0.1:5353,[::1]:5353", in the place of those of the machine
  std::string resolv_conf;  // the path of a file in the place of /etc/resolv.conf
  bool hosts_from_environment = false;  // CARES_HOSTS names a file in the place of /etc/hosts
  int timeout_ms = 0;                   // of the first attempt; 0: c-ares' default
  int tries = 0;
};
static_assert(!std::is_aggregate_v<dns_settings>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::net
