#include "coracle/rpc/call_log.hpp"

#include "coracle/rpc/impl/propagated_context.hpp"
#include "coracle/runtime/loop.hpp"

#include <optional>

namespace coracle {

bound_log call_log(const coro::environment& here) {
  std::optional<log_trace> ids;
  if (here.call) ids = static_cast<const rpc::propagated_context*>(here.call)->log_ids();
  loop* const on = loop::current();
  return {on ? on->log() : stderr_logger(), log_room::application, ids};
}

}  // namespace coracle
