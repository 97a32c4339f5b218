// call_router: decides where each call goes, for channels that a control plane routes (gRFC A31).
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/metadata.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle {
class loop;
}

namespace coracle::client {

struct method_config;
struct prepared;
class subchannel;

// A child of a cluster_manager by its name. Calls that are routed to it keep it.
struct routed_cluster {
  std::string name;
};

struct call_route;

// What the filters of its route do to one call of a client (gRFC A39), on the loop of the call.
class call_filters {
 public:
  call_filters(const call_filters&) = delete;
  call_filters& operator=(const call_filters&) = delete;
  virtual ~call_filters() = default;
  // Whether the call waits for prepare() before its first attempt.
  [[nodiscard]] virtual bool waits() const noexcept = 0;
  // Once. The object outlives it.
  [[nodiscard]] virtual task<prepared> prepare() = 0;
  // The server of the call has sent the first fields of its response, to which more may be added. Throws
  // std::bad_alloc.
  virtual void headers_received(metadata& received, const call_route& of) = 0;

 protected:
  call_filters() noexcept = default;
};

// Where one call goes. It is decided once, when the call begins or the first routes are known.
struct call_route : coro::pooled {
  std::shared_ptr<const routed_cluster> cluster;
  // For ring_hash, which draws one for a call that has none.
  mutable std::optional<std::uint64_t> hash{};
  // The addresses of the server that the call goes to if it can (gRFC A55). They belong to the call's
  // filters. Null: any server.
  const std::vector<net::address>* preferred = nullptr;
  bool is_of_session = false;  // a filter keeps its session on the server that it gets, whichever that is
  // Of the last pick, for calls of sessions: the server, which lives as long as the call is on it, and
  // whether no other one takes the call, which then waits in the own_queue() of the server.
  mutable const subchannel* server = nullptr;
  mutable bool waits_for_it = false;
  bool rewrites_authority = false;  // :authority is the host name of the server (gRFC A81)
};

// What else a route has for a call.
struct routed_call {
  const method_config* config = nullptr;  // borrowed until the call has begun; null: none
  std::shared_ptr<call_filters> filters{};  // null: none
  status failure{};
};

// Every loop uses it without a lock.
class call_router {
 public:
  call_router(const call_router&) = delete;
  call_router& operator=(const call_router&) = delete;
  virtual ~call_router() = default;
  // Fills `to` and `with`. Returns false if the call fails, with `failure`.
  [[nodiscard]] virtual bool route(std::string_view path, const metadata& headers, loop& here, call_route& to,
                                   routed_call& with) const = 0;

 protected:
  call_router() noexcept = default;
};

// What a resolver gives to a channel in place of servers.
struct channel_routing {
  balancing policy;  // with the servers of its parts
  std::shared_ptr<const call_router> router;
};

}  // namespace coracle::client
