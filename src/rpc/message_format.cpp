#include "rpc/message_format.hpp"

#include <google/protobuf/message.h>

namespace coracle::calls {

namespace {

// What codec_of<T>::address() gives is a MessageLite's.
const google::protobuf::Message& message_at(const void* address) {
  return *static_cast<const google::protobuf::Message*>(
      static_cast<const google::protobuf::MessageLite*>(address));
}
google::protobuf::Message& message_at(void* address) {
  return *static_cast<google::protobuf::Message*>(static_cast<google::protobuf::MessageLite*>(address));
}

status no_other_form(const message_codec& form) {
  return status::internal("messages of LITE_RUNTIME have no reflection: they cannot be written or read as " +
                          std::string(form.name()));
}

}  // namespace

status too_large_to_send(std::size_t bytes, std::uint32_t limit) {
  return status::resource_exhausted("a message of " + std::to_string(bytes) +
                                    " bytes is larger than max_send_bytes, " + std::to_string(limit));
}

status message_format::write(const codec& k, const void* message, std::string& body) const {
  if (plain(k)) {
    const std::size_t size = k.size_bytes(message);
    if (size > most_sent_bytes_) return too_large_to_send(size, most_sent_bytes_);
    body.resize(size);
    k.write(message, reinterpret_cast<std::uint8_t*>(body.data()));
    return {};
  }
  if (k.kind == message_kind::protobuf_lite) return no_other_form(*form_);
  const status how = form_->write(message_at(message), body);
  if (how.ok() && body.size() > most_sent_bytes_) return too_large_to_send(body.size(), most_sent_bytes_);
  return how;
}

status message_format::read(const codec& k, void* into, bytes_view message) const {
  if (k.kind == message_kind::protobuf_lite) return no_other_form(*form_);
  return form_->read(message_at(into), message);
}

}  // namespace coracle::calls
