#include "coracle/rpc/bytes_message.hpp"

#include <cstring>

namespace coracle::rpc {

const codec bytes_codec{
    message_kind::own,
    [](const void* message) { return static_cast<const bytes_message*>(message)->bytes().size(); },
    [](const void* message, std::uint8_t* to) {
      const bytes_view from = static_cast<const bytes_message*>(message)->view();
      if (!from.empty()) std::memcpy(to, from.data(), from.size());
    },
    [](void* message, bytes_view from) {
      static_cast<bytes_message*>(message)->assign(from);
      return true;
    },
};

}  // namespace coracle::rpc
