// dns_settings: settings of name resolution that tests change.
#pragma once

#include <string>
#include <type_traits>

namespace coracle::net {

// The defaults use the configuration of the machine. There is no public form of these settings: the name
// servers are configured once, for all programs of the machine.
struct dns_settings {
  dns_settings() noexcept {}
  std::string servers;      // "127.0.0.1:5353,[::1]:5353": replaces the servers of the machine
  std::string resolv_conf;  // path of a file that replaces /etc/resolv.conf
  bool hosts_from_environment = false;  // CARES_HOSTS names a file that replaces /etc/hosts
  int timeout_ms = 0;                   // of the first attempt; 0: c-ares' default
  int tries = 0;
};
static_assert(!std::is_aggregate_v<dns_settings>, "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle::net
