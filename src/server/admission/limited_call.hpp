// limited_call: a call that counts for the limit of its loop, or waits for that.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/criticality.hpp"

#include <cstdint>

namespace coracle::server_internal {

struct client_queue;

// It leaves the line before it is destroyed.
class limited_call {
 public:
  limited_call() noexcept = default;
  limited_call(const limited_call&) = delete;
  limited_call& operator=(const limited_call&) = delete;

  std::uint32_t method = 0;
  criticality level = criticality::critical;
  time_point deadline = never;
  time_point since{};  // when it began to wait, and then when it was admitted
  std::uint64_t client = 0;  // see client_key(); read only if the call must wait
  double cost_s = 0;  // what the calls of its method usually take; 0: not known

  // Called at most once, and not by the functions to which the call is passed.
  virtual void admitted() noexcept = 0;
  // Called in place of admitted(). too_late: it would not end before its deadline.
  virtual void rejected(bool too_late) noexcept = 0;

  // Of the line: the calls of its criticality, and those of its client among them.
  struct neighbors {
    limited_call* older = nullptr;
    limited_call* newer = nullptr;
  };
  neighbors of_level;
  neighbors of_client;
  client_queue* queue = nullptr;

 protected:
  ~limited_call() = default;
};

// Calls in the order in which they came. Links: which neighbors of a call.
template <limited_call::neighbors limited_call::* Links>
struct call_list {
  limited_call* oldest = nullptr;
  limited_call* newest = nullptr;
  std::size_t size = 0;

  void push(limited_call& c) noexcept {
    (c.*Links).older = newest;
    (newest ? (newest->*Links).newer : oldest) = &c;
    newest = &c;
    ++size;
  }
  void remove(limited_call& c) noexcept {
    limited_call::neighbors& n = c.*Links;
    (n.older ? (n.older->*Links).newer : oldest) = n.newer;
    (n.newer ? (n.newer->*Links).older : newest) = n.older;
    n = {};
    --size;
  }
};

}  // namespace coracle::server_internal
