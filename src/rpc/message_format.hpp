// message_format: what is done to the messages of one call beyond what their types' codecs do.
#pragma once

#include "base/output_buffer.hpp"
#include "compress/coders.hpp"
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

// One a loop, made by the first message that needs it. A message is in here only while it passes through.
class message_workspace final : public coro::attachment {
 public:
  static message_workspace& here() { return coro::this_executor().attached<message_workspace>(); }

  compress::coders coders;
  std::string text;  // of a message before it is compressed
  base::output_buffer packed;
  base::output_buffer unpacked;
  transport::header_block head;
  message_footprint footprints;

  // Empties a buffer; memory of a message that was larger than usual is given back.
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
  transport::header_block& empty_head() noexcept {
    if (head.bytes().size() > kept_head_bytes) head = {};
    head.clear();
    return head;
  }

 private:
  static constexpr std::size_t kept_head_bytes = 4u << 10;
  static constexpr std::size_t kept_bytes = 256u << 10;  // per buffer and loop
};

// Part of a call. One that nothing was asked of costs its call a branch per message.
class message_format {
 public:
  // protobuf counts the bytes that it writes in int.
  static constexpr std::uint32_t writable_bytes_max = std::numeric_limits<std::int32_t>::max();
  // Null: protobuf's binary format.
  void use(const message_codec* form) noexcept {
    form_ = form;
    settle();
  }
  [[nodiscard]] const message_codec* form() const noexcept { return form_; }
  // A larger message is not sent; in bytes before it is compressed.
  void limit_sent(std::uint32_t most_bytes) noexcept {
    most_sent_bytes_ = std::min(most_bytes, writable_bytes_max);
  }
  [[nodiscard]] std::uint32_t most_sent_bytes() const noexcept { return most_sent_bytes_; }
  // How messages are sent from now on; as they are, where the library was built without the encoding.
  void pack_as(const compression& c) noexcept {
    packing_ = available(c.what()) ? c : compression();
    settle();
  }
  // For grpc-encoding; identity: it is not sent.
  [[nodiscard]] encoding packed_as() const noexcept { return packing_.what(); }
  // What the peer's grpc-encoding said; one that is available().
  void unpack_as(encoding e) noexcept { unpacking_ = e; }
  [[nodiscard]] encoding unpacked_as() const noexcept { return unpacking_; }

  // What k itself writes, or reads, is what travels.
  [[nodiscard]] bool writes_as_is(const codec& k) const noexcept {
    return as_is_ || (packing_.what() == encoding::identity && k.kind == message_kind::own);
  }
  [[nodiscard]] bool reads_as_is(const codec& k) const noexcept {
    return !form_ || k.kind == message_kind::own;
  }
  // Not ok: the call cannot go on.
  status write(const codec& k, const void* message, std::string& body,
               std::optional<std::size_t> known_bytes = {}) const;
  status read(const codec& k, void* into, bytes_view message) const;

  // A body as it goes into an envelope: compressed if that was asked for and helps. Borrowed from the argument or
  // the loop, until the loop's next message.
  [[nodiscard]] protocol::grpc::framed_message pack(bytes_view body) const;

 private:
  void settle() noexcept { as_is_ = !form_ && packing_.what() == encoding::identity; }

  const message_codec* form_ = nullptr;
  compression packing_;
  std::uint32_t most_sent_bytes_ = writable_bytes_max;
  encoding unpacking_ = encoding::identity;
  bool as_is_ = true;
};

// A message of the user's is larger than `limit`.
status too_large_to_send(std::size_t bytes, std::uint32_t limit) noexcept;
// A message of the peer's is.
status too_large_to_receive(std::uint32_t limit) noexcept;
// A message of the peer's has fewer bytes than `limit`, and takes more memory than message_footprint allows.
status too_large_in_memory(std::size_t bytes, std::uint32_t limit) noexcept;
// A call ends because an allocation has failed.
status out_of_memory() noexcept;

}  // namespace coracle::rpc
