// A call that rules of authorization look at, for tests.
#pragma once

#include "server/authorization/call_facts.hpp"

#include <optional>
#include <string>

namespace coracle::server_internal {

struct call_of_test {
  std::string path = "/a.A/Call";
  std::string subtype;
  metadata headers;
  net::address peer = *net::address::parse("10.1.2.3:7");
  net::address local = *net::address::parse("10.9.9.9:443");
  std::optional<auth_context> auth;

  auth_context& use_tls() { return auth.emplace().type("tls"); }
  [[nodiscard]] call_facts facts() const {
    return {path, "host.org:1", subtype, headers, peer, local, auth ? &*auth : nullptr};
  }
};

}  // namespace coracle::server_internal
