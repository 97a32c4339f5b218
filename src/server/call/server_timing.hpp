// server_timing: the costs of a call as text for its client.
#pragma once

#include "coracle/rpc/call_cost.hpp"

#include <string>
#include <string_view>

namespace coracle::server_internal {

inline constexpr std::string_view server_timing_header = "server-timing";

// In the format of W3C Server Timing, which browsers and proxies show: see server_options::cost_trailers.
[[nodiscard]] std::string server_timing(const call_cost& c);

}  // namespace coracle::server_internal
