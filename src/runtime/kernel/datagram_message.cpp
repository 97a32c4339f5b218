#include "runtime/kernel/datagram_message.hpp"

#include <cstddef>
#include <new>

namespace coracle::runtime_internal {

datagram_message& datagram_message::begin(operation& op) noexcept {
  auto& m = *::new (static_cast<void*>(op.scratch + scratch::rest)) datagram_message{};
  if (op.what == operation::kind::receive_from) {
    m.into_ = {op.into.data(), op.into.size()};
    m.header_.msg_iov = &m.into_;
    m.header_.msg_iovlen = 1;
    m.header_.msg_name = op.sender->bytes;
    m.header_.msg_namelen = sizeof op.sender->bytes;
    return m;
  }
  static_assert(sizeof(operation::piece) == sizeof(iovec) &&
                offsetof(operation::piece, size) == offsetof(iovec, iov_len));
  m.header_.msg_iov = reinterpret_cast<iovec*>(const_cast<operation::piece*>(op.pieces));
  m.header_.msg_iovlen = op.piece_count;
  if (op.address) {
    m.header_.msg_name = const_cast<std::uint8_t*>(op.address->bytes);
    m.header_.msg_namelen = op.address->size;
  }
  return m;
}

datagram_message& datagram_message::of(operation& op) noexcept {
  return *std::launder(reinterpret_cast<datagram_message*>(op.scratch + scratch::rest));
}

void datagram_message::finish_receive(operation& op) const noexcept {
  op.sender->size = std::min<std::uint32_t>(header_.msg_namelen, sizeof op.sender->bytes);
}

}  // namespace coracle::runtime_internal
