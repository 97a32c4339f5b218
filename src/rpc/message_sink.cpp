#include "coracle/rpc/message_sink.hpp"

namespace coracle::rpc {

// It encodes to nothing: it cannot be sent.
const codec sink_codec{
    message_kind::own,
    [](const void*) -> std::size_t { return 0; },
    [](const void*, std::uint8_t*) {},
    [](void* message, bytes_view from) { return static_cast<message_sink*>(message)->take(from); },
};

}  // namespace coracle::rpc
