// inbound_listener: what a server does with connections (envoy.config.listener.v3.Listener with filter
// chains; gRFC A36).
#pragma once

#include "coracle/net/address.hpp"
#include "net/address_range.hpp"
#include "xds/resource/downstream_tls.hpp"
#include "xds/resource/endpoints.hpp"
#include "xds/resource/http_manager.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace coracle::xds {

namespace wire {
class Listener;
}

enum class source_type : unsigned char { any, same_or_loopback, external };

// Which connections a chain is for; what is absent fits every connection, and is less specific than what is
// there.
struct chain_criteria {
  std::optional<net::address_range> destination;
  bool raw_buffer = false;
  source_type sources = source_type::any;
  std::optional<net::address_range> source;
  std::optional<std::uint32_t> source_port;

  friend bool operator==(const chain_criteria&, const chain_criteria&) = default;
  friend auto operator<=>(const chain_criteria&, const chain_criteria&) = default;
};

struct filter_chain {
  std::string name;
  http_manager manager;
  std::optional<downstream_tls> tls;

  friend bool operator==(const filter_chain&, const filter_chain&) = default;
};

struct inbound_listener {
  struct rule {
    chain_criteria criteria;
    std::size_t chain;  // of `chains`

    friend bool operator==(const rule&, const rule&) = default;
  };

  socket_address address;
  std::vector<filter_chain> chains;
  std::vector<rule> rules;
  std::optional<std::size_t> default_chain;

  // The chain for a connection of a server; null if there is none for it.
  [[nodiscard]] const filter_chain* find(const net::address& local, const net::address& peer) const;

  friend bool operator==(const inbound_listener&, const inbound_listener&) = default;
};

// Throws invalid_resource.
[[nodiscard]] inbound_listener read_inbound_listener(const wire::Listener& from, const reading& how,
                                                     const field_path& at);

}  // namespace coracle::xds
