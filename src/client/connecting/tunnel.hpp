// open_tunnel: opens a tunnel to a host through a proxy (HTTP CONNECT, RFC 9110 9.3.6).
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

// The maximum size of the status line, and of the fields, of the proxy's response.
inline constexpr std::size_t tunnel_answer_bytes_max = 8192;

// Works on a socket that is connected to the proxy and still belongs to the caller. Reads exactly to the end
// of the response headers, because the following bytes come from the host. Returns UNAVAILABLE with the
// proxy's status line if the proxy refuses. Obeys the stop token and the deadline of its awaiter; `t` must
// outlive it.
task<status> open_tunnel(loop& on, runtime_internal::handle to_proxy, const tunnel& t);

}  // namespace coracle::client
