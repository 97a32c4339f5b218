// host_and_port: the two parts of "host:port".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::client {

struct host_and_port {
  std::string host;  // without brackets
  std::optional<std::uint16_t> port;
};

// Splits "host", "host:port", "[v6]", "[v6]:port" or a bare IPv6 address; returns nothing for other text.
std::optional<host_and_port> split_host_and_port(std::string_view text);

}  // namespace coracle::client
