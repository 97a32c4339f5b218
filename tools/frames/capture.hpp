// capture: a recording as a pcapng file, which Wireshark and tshark read as HTTP/2 and gRPC.
#pragma once

#include <coracle/rpc/recorder.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace coracle::tools {

struct capture {
  std::string bytes;
  std::size_t packets = 0;
  std::set<std::uint16_t> server_ports;
};

// Writes the frames of `from` that `included` accepts. What was not recorded is made up so that the frames
// can be read without earlier ones: headers have the fields of gRPC with the method and the status; prefixes
// of messages have their lengths; other bytes are zeros. Connections whose addresses were not recorded, and
// the client's side of those whose both ends are in the recording, get addresses of 10.0.0.0/8.
// Throws failure if the result exceeds 1 GiB.
capture capture_of(const recording& from, const std::function<bool(const recorded_event&)>& included);

}  // namespace coracle::tools
