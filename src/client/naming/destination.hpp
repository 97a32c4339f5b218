// destination: what a target refers to: servers that are known at once, or a resolver that finds them.
#pragma once

#include "client/connecting/proxy.hpp"
#include "client/connecting/tunnel.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/client/resolver.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::client {

struct destination {
  status bad;  // not OK: the target is invalid, and every call fails with this
  resolution known;                     // if there is no resolver
  std::shared_ptr<resolver> by;
  std::optional<target> of;             // for the resolver
  std::string name;                     // for messages
  std::string uri;  // the target with its scheme: "dns:///movies.example:443" (gRFC A66)
  std::string authority;  // the value of :authority
  std::optional<tunnel> through;  // if set, the servers above are those of a proxy
  bool in_process = false;  // data sent there does not leave the process
};

// Supports the schemes of grpc/grpc doc/naming.md except vsock: dns (also without a scheme; port 443 by
// default; with a name server; and, beyond naming.md, names of services), ipv4, ipv6, unix and unix-abstract;
// passthrough, which is dns without a default port; and those that `options` add. Address literals and
// localhost need no resolver. `by_proxy` applies to dns and passthrough.
destination find_destination(std::string_view text, const channel_options& options,
                             const proxy_settings& by_proxy = {});

}  // namespace coracle::client
