// message_footprint: how much memory a decoded message takes, foreseen from its bytes and measured afterwards.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/rpc/impl/codec.hpp"

#include <cstddef>
#include <memory>
#include <unordered_map>

namespace google::protobuf {
class Descriptor;
}

namespace coracle::rpc {

// Protobuf's objects take more memory than their bytes on the wire: a submessage of two bytes becomes an object of at least 24 and
// a pointer to it. Sizes here are those that SpaceUsedLong() counts: objects, elements, strings, unknown fields, nodes of
// maps; without the heap's own overhead.
//
// One per loop. It keeps the layouts of the message types that it has met; the program decides how many there are, no peer.
class message_footprint {
 public:
  // Bytes up to this are not looked at: what they can become is small beside what a call costs anyway.
  static constexpr std::size_t looked_at_bytes_min = 256;
  // SpaceUsedLong() of a message with many submessages takes about as long as parsing it; foresee() takes a tenth to a third of
  // that. The exact size is worth its time where an error would matter.
  static constexpr std::size_t measured_bytes_min = 64u << 10;
  // A message that is to take more than this many times its bytes, and more than `free_limits` times the limit of its bytes,
  // is not decoded. Honest messages stay below it: see docs/reference/limits.md.
  static constexpr std::size_t ratio_max = 15;
  static constexpr std::size_t free_limits = 4;

  message_footprint() noexcept;
  message_footprint(const message_footprint&) = delete;
  message_footprint& operator=(const message_footprint&) = delete;
  ~message_footprint();

  // What `body` takes once it has been decoded into `message`, an empty one; `enough`, if it is more than that. It
  // does not see the spare capacity of repeated fields, up to as much as they hold. Reads each byte at most once and
  // allocates only for a type that it meets for the first time. Follows the message's descriptor; where the
  // program has none (LITE_RUNTIME, dynamic messages), it takes what looks like a submessage for one, and each for an
  // object of 40 bytes. An own codec's message: its bytes.
  [[nodiscard]] std::size_t foresee(const codec& k, const void* message, bytes_view body,
                                    std::size_t enough) noexcept;

  // What a decoded message takes, with its spare capacity; that of its whole arena, if it is in one. `foreseen`, where nothing
  // measures it: messages of LITE_RUNTIME, and those of own codecs without codec::memory_bytes.
  [[nodiscard]] static std::size_t measure(const codec& k, const void* message,
                                           std::size_t foreseen) noexcept;

 private:
  struct layout;
  class walk;
  [[nodiscard]] layout* layout_of(const google::protobuf::Descriptor& type);

  // Of the program's own types alone: their descriptors are never destroyed.
  std::unordered_map<const google::protobuf::Descriptor*, std::unique_ptr<layout>> layouts_;
};

}  // namespace coracle::rpc
