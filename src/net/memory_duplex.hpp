// memory_duplex: two duplexes joined in memory, for the in-process transport.
#pragma once

#include "coracle/coro/executor.hpp"
#include "net/duplex.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace coracle::net {

struct memory_pair_options {
  // The capacity of each direction, beyond which send() waits: enough for bulk transfer over one connection,
  // and small enough to stay in the cache.
  std::size_t buffer_bytes = 64 * 1024;
  // Who is at the first end: auth() of the second one. Null: none, as in plaintext.
  std::shared_ptr<const auth_context> auth_of_first;
};

// Each end lives on its own executor. Both executors may be the same one; no lock is taken then. Either end
// may be used, closed and destroyed independently of the other. May be called from any thread.
std::pair<std::unique_ptr<duplex>, std::unique_ptr<duplex>> make_memory_duplex_pair(
    coro::executor& first, coro::executor& second, const memory_pair_options& options = {});

}  // namespace coracle::net
