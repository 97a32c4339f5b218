// connect: connects a stream to the first address of a host that answers (RFC 8305).
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/resolver.hpp"
#include "coracle/net/stream.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::net {

/// The time that one attempt has before the next address is tried in parallel (the value that RFC 8305 5
/// recommends).
inline constexpr duration connection_attempt_delay = std::chrono::milliseconds(250);

/// Connects to the first of the addresses `to` that answers (Happy Eyeballs, RFC 8305). The address families
/// alternate, beginning with the family of the first address. The next attempt starts as soon as the latest
/// one fails, or after connection_attempt_delay. The first attempt that succeeds wins; the others are
/// cancelled and awaited, so that nothing of them remains when this returns.
///
/// When all attempts fail, the message contains the error of each; the code is theirs if all agree, and
/// UNAVAILABLE otherwise. Fails with CANCELLED on a stop, with DEADLINE_EXCEEDED when the environment's
/// deadline passes, and with INVALID_ARGUMENT when `to` is empty.
task<result<stream>> connect(std::vector<address> to);

/// Resolves `host` with `names`, then connects to its addresses as above. `names` must outlive the await;
/// errors of the resolver are returned unchanged. One query asks for both families, so that their addresses
/// can be sorted together (RFC 6724): there is no separate answer for IPv4, and thus no resolution delay (RFC
/// 8305 3).
task<result<stream>> connect(resolver& names, std::string host, std::uint16_t port);
/// Connects as above, with a separate resolver.
task<result<stream>> connect(std::string host, std::uint16_t port);

}  // namespace coracle::net
