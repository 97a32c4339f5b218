// call_counters: how many calls a loop of a server has and had, and what orphaned calls hold.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coracle::server_internal {

// Belongs to one loop, except `of_server`.
struct call_counters {
  // The calls that have not ended, or whose handlers still run.
  std::size_t count = 0;
  // The calls of all loops of the server. The creator of a call increments it. Null if nothing limits the
  // calls.
  std::atomic<std::size_t>* of_server = nullptr;
  // How many of these calls are orphaned: ended for their clients, while their handlers still run.
  std::size_t orphaned = 0;
  // The memory of the messages of orphaned calls, which no connection accounts for any more. Changed by
  // call_set::set_orphaned_bytes().
  std::size_t orphaned_bytes = 0;
  // How many of all calls so far ended with OK, and with another status.
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  // How many calls from now the next one with call_extras is: one that is measured, or each call if the
  // server reports its load or limits its calls. Of these, how many from now the next measured one is. The
  // first call of a loop is measured, so that later ones find its memory in the pools.
  std::uint32_t until_extras = 1;
  std::uint32_t extras_until_measured = 1;
};

}  // namespace coracle::server_internal
