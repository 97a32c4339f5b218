// etcd_channel: the channel to an etcd.
#pragma once

#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/naming/with_etcd.hpp"
#include "coracle/runtime/loop.hpp"

namespace coracle::naming {

// Of a request other than a stream.
inline constexpr duration etcd_timeout = std::chrono::seconds(5);

// On a loop.
inline generic_stub connect_to_etcd(const etcd_options& options) {
  channel_options o;
  o.retries = false;
  o.proxy.emplace();  // a registry is near: the proxies of the environment are for other servers
  // A watch may be idle for days: without this, a member that is gone without a word is not noticed.
  o.keepalive = {.time = std::chrono::seconds(30), .timeout = std::chrono::seconds(10)};
  return generic_stub(channel(loop::current()->owner(), options.server, options.credentials, std::move(o)));
}

}  // namespace coracle::naming
