// message_format: the codec, the compression and the size limit that one call applies to its messages.
#pragma once

#include "base/output_buffer.hpp"
#include "compress/coder.hpp"
#include "coracle/base/status.hpp"
#include "coracle/compress/compression.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "protocol/grpc/deframer.hpp"
#include "rpc/message_footprint.hpp"
#include "transport/header_block.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace coracle::rpc {

// One per loop, made by the first message that needs it. It holds a message only while the message is
// processed.
class message_workspace final : public coro::executor_local {
 public:
  static message_workspace& here() { return coro::this_executor().local<message_workspace>(); }

  compress::coders coders;
  std::string text;  // of a message before it is compressed
  base::output_buffer compressed;
  base::output_buffer decompress_result;
  transport::header_block header_block;
  message_footprint footprints;

  // Clears a buffer, and frees its memory if the message was larger than usual.
  static base::output_buffer& emptied(base::output_buffer& b) noexcept {
    b.clear();
    b.release(kept_bytes);
    return b;
  }
  std::string& empty_text() noexcept {
    text.clear();
    if (text.capacity() > kept_bytes) text.shrink_to_fit();
    return text;
  }
  transport::header_block& empty_header_block() noexcept {
    if (header_block.bytes().size() > kept_header_block_bytes) header_block = {};
    header_block.clear();
    return header_block;
  }

 private:
  static constexpr std::size_t kept_header_block_bytes = 4u << 10;
  static constexpr std::size_t kept_bytes = 256u << 10;  // per buffer and loop
};

// Part of a call. Without options it costs the call one branch per message.
class message_format {
 public:
  // protobuf counts the bytes that it writes in an int.
  static constexpr std::uint32_t writable_bytes_max = std::numeric_limits<std::int32_t>::max();
  // Null: protobuf's binary format.
  void use(const message_codec* form) noexcept {
    form_ = form;
    update_fast_paths();
  }
  // The code of a message that cannot be decompressed or parsed: INTERNAL in gRPC, INVALID_ARGUMENT of a
  // server in Connect and REST.
  void set_unreadable_code(status_code c) noexcept { unreadable_ = c; }
  [[nodiscard]] const message_codec* form() const noexcept { return form_; }
  // Larger messages are not sent. Counts bytes before compression.
  void set_max_send_bytes(std::uint32_t max_bytes) noexcept {
    max_send_bytes_ = std::min(max_bytes, writable_bytes_max);
  }
  [[nodiscard]] std::uint32_t max_send_bytes() const noexcept { return max_send_bytes_; }
  // Sets how messages are compressed from now on; not at all if the library was built without the encoding.
  void set_send_encoding(const compression& c) noexcept {
    send_compression_ = available(c.algorithm()) ? c : compression();
    update_fast_paths();
  }
  // For grpc-encoding, which is not sent for identity.
  [[nodiscard]] encoding send_encoding() const noexcept { return send_compression_.algorithm(); }
  // Sets the encoding of the peer's grpc-encoding, which must be available().
  void set_receive_encoding(encoding e) noexcept { receive_encoding_ = e; }
  [[nodiscard]] encoding receive_encoding() const noexcept { return receive_encoding_; }

  // Whether the output of `k` is sent, or the received bytes are decoded by `k`, without another step.
  [[nodiscard]] bool writes_as_is(const codec& k) const noexcept {
    return as_is_ || (send_compression_.algorithm() == encoding::identity && k.kind == message_kind::own);
  }
  [[nodiscard]] bool reads_as_is(const codec& k) const noexcept {
    return !form_ || k.kind == message_kind::own;
  }
  // A status that is not OK means that the call cannot continue.
  status write(const codec& k, const void* message, std::string& body,
               std::optional<std::size_t> known_bytes = {}) const;
  // Adds to `cost` what the message has cost beyond its bytes; more than `cost_max` is RESOURCE_EXHAUSTED.
  status read(const codec& k, void* into, bytes_view message, std::size_t cost_max, std::size_t& cost) const;
  // With that code: the status of a message that a codec cannot read as it is; `why`, if it is INTERNAL.
  [[nodiscard, gnu::cold]] status unreadable() const;
  [[nodiscard, gnu::cold]] status unreadable(const status& why) const;

  // Returns the body for an envelope: compressed, if compression is set and makes it smaller. Borrowed from
  // the argument or from the loop, until the next message of the loop.
  [[nodiscard]] protocol::grpc::framed_message compress(bytes_view body) const;

 private:
  void update_fast_paths() noexcept {
    as_is_ = !form_ && send_compression_.algorithm() == encoding::identity;
  }

  const message_codec* form_ = nullptr;
  compression send_compression_;
  std::uint32_t max_send_bytes_ = writable_bytes_max;
  encoding receive_encoding_ = encoding::identity;
  bool as_is_ = true;
  status_code unreadable_ = status_code::internal;
};

// A message of the user is larger than `limit`.
status too_large_to_send(std::size_t bytes, std::uint32_t limit) noexcept;
// A message of the peer is larger than `limit`.
status too_large_to_receive(std::size_t bytes, std::uint32_t limit) noexcept;
status too_large_decompressed(std::uint32_t limit) noexcept;
// A message of the peer has fewer bytes than `limit`, but takes more memory than message_footprint allows.
status too_large_in_memory(std::size_t bytes, std::uint32_t limit) noexcept;
// The call ends because an allocation has failed.
status out_of_memory() noexcept;

}  // namespace coracle::rpc
