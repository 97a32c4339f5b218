// The names of a simulated world: what c-ares does on a kernel.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/name_answer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::net {

// Gives what the world has said of `host`, when the answer would have come. Under the awaiter's stop token and
// deadline.
task<result<std::vector<address>>> answer_in_time(loop& on, runtime_internal::name_answer said,
                                                  std::string host, std::uint16_t port);

}  // namespace coracle::net
