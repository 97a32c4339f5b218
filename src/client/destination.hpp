// destination: what a target comes to: servers that are known at once, or a resolver that finds them.
#pragma once

#include "client/proxy.hpp"
#include "client/tunnel.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/channel_options.hpp"
#include "coracle/client/resolution.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/client/target.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::client {

struct destination {
  status bad;  // not ok: the target cannot be understood, every call fails with this
  resolution known;                     // where there is no resolver
  std::shared_ptr<resolver> by;
  std::optional<target> of;             // for the resolver
  std::string name;                     // for texts
  std::string authority;                // what goes into :authority
  std::optional<tunnel> through;        // then the servers above are a proxy's
  bool in_process = false;              // nobody else sees what goes there
};

// The schemes of grpc/grpc doc/naming.md but vsock: dns (also without a scheme; port 443 if there is none), ipv4, ipv6,
// unix, unix-abstract; passthrough, which is dns without a default port; those that `options` add. Literals and
// localhost need no resolver. `by_proxy` holds for dns and passthrough.
destination find_destination(std::string_view text, const channel_options& options,
                             const proxy_settings& by_proxy = {});

}  // namespace coracle::client
