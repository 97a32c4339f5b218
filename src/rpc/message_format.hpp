// message_format: what is done to the messages of one call beyond what their types' codecs do.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/rpc/codec.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "rpc/deframer.hpp"

#include <cstdint>
#include <limits>
#include <string>

namespace coracle::calls {

// Part of a call. One that nothing was asked of costs its call a branch per message.
class message_format {
 public:
  // Null: protobuf's binary format.
  void use(const message_codec* form) noexcept { form_ = form; }
  [[nodiscard]] const message_codec* form() const noexcept { return form_; }
  // A larger message is not sent.
  void limit_sent(std::uint32_t most_bytes) noexcept { most_sent_bytes_ = most_bytes; }
  [[nodiscard]] std::uint32_t most_sent_bytes() const noexcept { return most_sent_bytes_; }

  // What k itself writes is what travels.
  [[nodiscard]] bool plain(const codec& k) const noexcept { return !form_ || k.kind == message_kind::own; }
  // The body of an envelope. Not ok: the call cannot go on.
  status write(const codec& k, const void* message, std::string& body) const;
  status read(const codec& k, void* into, bytes_view message) const;

 private:
  const message_codec* form_ = nullptr;
  std::uint32_t most_sent_bytes_ = std::numeric_limits<std::uint32_t>::max();
};

// A message of the user's is larger than `limit`.
status too_large_to_send(std::size_t bytes, std::uint32_t limit);

}  // namespace coracle::calls
