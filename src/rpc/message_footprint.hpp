// message_footprint: estimates the memory that a decoded message takes, and measures it afterwards.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/rpc/impl/codec.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace google::protobuf {
class Descriptor;
}

namespace coracle::rpc {

// A protobuf object takes more memory than its encoding: a submessage of two bytes becomes an object of at
// least 24 bytes and a pointer to it. Sizes here are those that SpaceUsedLong() counts: objects, elements,
// strings, unknown fields and map nodes, without the overhead of the heap.
//
// There is one per loop. It caches the layouts of the message types that it has seen; their number depends on
// the program, not on a peer.
class message_footprint {
 public:
  // Messages up to this size are not examined: the memory they can take is small compared with the cost of a
  // call.
  static constexpr std::uint32_t inspected_bytes_min = 256;
  // The same for calls that begin while a server's loop has many. The worst message of this size, 16 empty
  // submessages, takes up to 5 KB; 2 KiB are charged for its call.
  static constexpr std::uint32_t inspected_bytes_min_of_many = 32;
  static constexpr std::size_t many_calls = 1'000;
  // SpaceUsedLong() of a message with many submessages takes about as long as parsing it; estimate() takes a
  // tenth to a third of that. Messages of at least this size are worth an exact measurement.
  static constexpr std::size_t measured_bytes_min = 64u << 10;
  // A message that would take more than this many times its bytes, and more than `free_limits` times the
  // limit for its bytes, is not decoded. Legitimate messages stay below: see docs/reference/limits.md.
  static constexpr std::size_t ratio_max = 15;
  static constexpr std::size_t free_limits = 4;

  message_footprint() noexcept;
  message_footprint(const message_footprint&) = delete;
  message_footprint& operator=(const message_footprint&) = delete;
  ~message_footprint();

  // Estimates the memory of `body` when it is decoded into `message`, an empty one; returns `enough` if it is
  // more than that. The estimate excludes the spare capacity of repeated fields, which is at most as large as
  // their content. Reads each byte at most once, and allocates only for a type that it sees for the first
  // time. Follows the descriptor of the message. If the program has none (LITE_RUNTIME, dynamic messages),
  // everything that looks like a submessage counts as one, with an object of 40 bytes. For a codec of kind
  // `own` the result is the number of bytes.
  [[nodiscard]] std::size_t estimate(const codec& k, const void* message, bytes_view body,
                                     std::size_t enough) noexcept;

  // Measures a decoded message including its spare capacity; a message in an arena counts as its whole arena.
  // Returns `estimated` for messages that cannot be measured: those of LITE_RUNTIME, and those of own codecs
  // without codec::memory_bytes.
  [[nodiscard]] static std::size_t measure(const codec& k, const void* message,
                                           std::size_t estimated) noexcept;

 private:
  struct layout;
  class walk;
  [[nodiscard]] layout* layout_of(const google::protobuf::Descriptor& type);

  // Only for types that are compiled into the program: their descriptors are never destroyed.
  std::unordered_map<const google::protobuf::Descriptor*, std::unique_ptr<layout>> layouts_;
};

}  // namespace coracle::rpc
