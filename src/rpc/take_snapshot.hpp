// take_snapshot(): a connection's figures as others are shown them.
#pragma once

#include "coracle/rpc/connection_snapshot.hpp"
#include "transport/connection.hpp"

#include <cstdint>

namespace coracle::rpc {

// On the loop `home` of the connection.
[[nodiscard]] connection_snapshot take_snapshot(loop& home, std::uint64_t id, transport::connection& c);
// The date and time of a moment of the loop's clock; nothing for time_point{}.
[[nodiscard]] wall_time on_the_wall(loop& l, time_point t);

}  // namespace coracle::rpc
