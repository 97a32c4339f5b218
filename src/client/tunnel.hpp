// open_tunnel: asks a proxy for a way through to a host (HTTP CONNECT, RFC 9110 9.3.6).
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "runtime/backend.hpp"

#include <cstddef>
#include <string>

namespace coracle {
class loop;
}

namespace coracle::client {

struct tunnel {
  std::string to;             // "host:port"
  std::string authorization;  // for the proxy; may be empty
};

// What of a proxy's answer is read at most.
inline constexpr std::size_t tunnel_answer_bytes_max = 8192;

// On a socket that is connected to the proxy and stays the caller's. Reads to the end of the answer's head and not a
// byte further: what follows is the host's. UNAVAILABLE with the proxy's words when it refuses. Under the stop token
// and deadline of its awaiter; `t` outlives it.
task<status> open_tunnel(loop& on, runtime_internal::handle to_proxy, const tunnel& t);

}  // namespace coracle::client
