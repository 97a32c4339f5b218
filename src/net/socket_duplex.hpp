// socket_duplex: a duplex over a connected socket of the loop's backend.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "net/duplex.hpp"
#include "runtime/backend.hpp"

#include <memory>

namespace coracle {
class loop;
}

namespace coracle::net {

// Takes ownership of `connected`, and closes it when it throws std::bad_alloc. Call it on the thread of `on`.
std::unique_ptr<duplex> make_socket_duplex(loop& on, runtime_internal::handle connected);

// Connects from the current loop, under the awaiter's stop token and deadline, like stream::connect().
// from: the local address to bind to, or none.
task<result<std::unique_ptr<duplex>>> connect_duplex(address to, address from = {});

}  // namespace coracle::net
