// byte_stream_duplex: a duplex over the coroutines of a byte_stream.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/net/byte_stream.hpp"
#include "net/duplex.hpp"

#include <memory>

namespace coracle {
class loop;
}

namespace coracle::net {

// Call it on the thread of `on`, the loop of the stream. A byte_stream that is made of a net::stream
// becomes a duplex over its socket; fails with UNAVAILABLE if the stream belongs to another loop.
result<std::unique_ptr<duplex>> make_duplex(loop& on, std::unique_ptr<byte_stream> s);

}  // namespace coracle::net
