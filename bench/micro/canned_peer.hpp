// canned_peer: the other end of a canned_duplex.
#pragma once

#include "coracle/base/bytes.hpp"

#include <cstdint>
#include <vector>

namespace bench {

using octets = std::vector<std::uint8_t>;

class canned_peer {
 public:
  canned_peer(const canned_peer&) = delete;
  canned_peer& operator=(const canned_peer&) = delete;
  virtual ~canned_peer() = default;

  // The bytes that it sends first.
  [[nodiscard]] virtual coracle::bytes_view opening() const noexcept = 0;
  // The bytes that it sends next, valid until the next call. Empty: it waits for bytes from the other end.
  virtual coracle::bytes_view next_batch() = 0;
  // Bytes from the other end, whole frames. Returns false if they are invalid.
  [[nodiscard]] virtual bool judge(coracle::bytes_view bytes) = 0;

 protected:
  canned_peer() = default;
};

// A message of one string, like helloworld's request and reply. name_bytes <= 127, so that one octet encodes
// it.
octets canned_message(std::size_t name_bytes);
// The same with its length and flag before it, as gRPC's DATA have it.
octets canned_body(coracle::bytes_view message);
void add_frame(octets& to, std::uint8_t type, std::uint8_t flags, std::uint32_t id,
               coracle::bytes_view payload);
void add_credit(octets& to, std::uint32_t bytes);

}  // namespace bench
