// carried: what a handler's call hands on to the calls that the handler makes, beside deadline and stop.
#pragma once

#include "coracle/rpc/baggage.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/rpc/server_context.hpp"
#include "coracle/rpc/trace_context.hpp"

#include <optional>

namespace coracle::calls {

// What a handler or interceptor has said in place of what arrived; made when it does.
struct carried {
  std::optional<trace_context> trace;
  std::optional<coracle::baggage> baggage;
};

// Adds to `to` the trace and baggage of the call that `from` serves: as they arrived, or as they were changed. What
// `own`, the metadata of the new call, has itself is left out.
void carry_on(const server_context& from, const metadata& own, metadata& to);

// The whole header where a client sent it in pieces.
[[nodiscard]] std::string joined(const metadata& from, std::string_view key);

}  // namespace coracle::calls
