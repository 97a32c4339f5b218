// incoming_message: a message of the program that an operation of a queue waits for.
#pragma once

#include <grpcpp/impl/queued_message.h>
#include <grpcpp/support/status.h>

#include "adapters/grpcpp/src/threads/queue_driver.hpp"

#include "coracle/base/bytes.hpp"
#include "coracle/rpc/message_sink.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace grpc::internal {

// Where the thread that takes events drives the loop, the message is decoded on the loop, from where its bytes
// have arrived. Elsewhere they are copied, for that thread to decode: it may be one of many.
class incoming_message {
 public:
  explicit incoming_message(const message_target& into) : into_(into) {}
  incoming_message(const incoming_message&) = delete;
  incoming_message& operator=(const incoming_message&) = delete;

  // For a read on the loop.
  [[nodiscard]] coracle::message_sink& sink() noexcept { return sink_; }
  // In place of a read.
  void keep(std::string&& bytes) noexcept { kept_ = std::move(bytes); }
  // Once, in the thread that takes the event.
  [[nodiscard]] Status decode() {
    return decoded_ ? *std::move(decoded_) : into_.decode(std::move(kept_), into_.message);
  }

 private:
  static bool take(void* self, coracle::bytes_view bytes) {
    auto& to = *static_cast<incoming_message*>(self);
    const std::string_view text = coracle::as_text(bytes);
    if (to.into_.decode_in_place && queue_driver::is_driven_by_caller())
      to.decoded_ = to.into_.decode_in_place(text.data(), text.size(), to.into_.message);
    else to.kept_.assign(text);
    return true;
  }

  const message_target into_;
  coracle::message_sink sink_{this, &take};
  std::string kept_;
  std::optional<Status> decoded_;
};

}  // namespace grpc::internal
