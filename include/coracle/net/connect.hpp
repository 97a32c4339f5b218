// connect: a stream to a host by name, over whichever of its addresses answers first (RFC 8305).
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

// How long one address is alone before the next is tried beside it (RFC 8305 5, its recommended value).
inline constexpr duration connection_attempt_delay = std::chrono::milliseconds(250);

// Happy eyeballs: the families take turns, beginning with that of the first address; the next attempt starts
// when the newest has failed, at once, or after connection_attempt_delay. The first to connect wins; the others
// are cancelled, and awaited to their end. Nothing of them is left afterwards.
//
// When all fail the status names the error of each: their code if they agree, else UNAVAILABLE. CANCELLED on
// a stop, DEADLINE_EXCEEDED by the environment's deadline. INVALID_ARGUMENT for no addresses.
task<result<stream>> connect(std::vector<address> to);

// The same for the addresses that `names` gives, which must outlive the await; its errors are passed on. Both
// families are asked for in one question, so that they can be sorted together (RFC 6724): there is no
// separate answer for IPv4 and thus no resolution delay (RFC 8305 3).
task<result<stream>> connect(resolver& names, std::string host, std::uint16_t port);
// With a resolver of its own.
task<result<stream>> connect(std::string host, std::uint16_t port);

}  // namespace coracle::net
