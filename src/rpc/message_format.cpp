#include "rpc/message_format.hpp"

#include "rpc/message_footprint.hpp"

#include <google/protobuf/message.h>

#include <cstdio>
#include <new>

namespace coracle::rpc {

namespace {

// codec_of<T>::address() returns the address of the MessageLite.
const google::protobuf::Message& message_at(const void* address) {
  return *static_cast<const google::protobuf::Message*>(
      static_cast<const google::protobuf::MessageLite*>(address));
}
google::protobuf::Message& message_at(void* address) {
  return *static_cast<google::protobuf::Message*>(static_cast<google::protobuf::MessageLite*>(address));
}

status no_other_form(const message_codec& form) {
  return status::internal("messages of LITE_RUNTIME have no reflection and cannot be written or read as " +
                          std::string(form.name()));
}

status threw(const message_codec& form) {
  return status::internal("the codec " + std::string(form.name()) + " threw an exception");
}

}  // namespace

status too_large_to_send(std::size_t bytes, std::uint32_t limit) noexcept {
  char text[160];
  std::snprintf(
      text, sizeof text,
      "max_send_bytes exceeded: message of %zu bytes, limit %lu (see call_options and server_options)", bytes,
      static_cast<unsigned long>(limit));
  return status::resource_exhausted(text);
}

status too_large_to_receive(std::size_t bytes, std::uint32_t limit) noexcept {
  char text[160];
  std::snprintf(
      text, sizeof text,
      "max_receive_bytes exceeded: message of %zu bytes, limit %lu (see call_options and server_options)",
      bytes, static_cast<unsigned long>(limit));
  return status::resource_exhausted(text);
}

status too_large_decompressed(std::uint32_t limit) noexcept {
  char text[160];
  std::snprintf(text, sizeof text,
                "max_receive_bytes exceeded: decompressed message above the limit %lu (see call_options and "
                "server_options)",
                static_cast<unsigned long>(limit));
  return status::resource_exhausted(text);
}

status too_large_in_memory(std::size_t bytes, std::uint32_t limit) noexcept {
  char text[320];
  std::snprintf(
      text, sizeof text,
      "max_receive_bytes exceeded in memory: a message of %zu bytes requires more than %lu times its size "
      "and "
      "more than %lu times the limit %lu; send fewer empty fields and submessages in one message, or raise "
      "the receiver's max_receive_bytes",
      bytes, static_cast<unsigned long>(message_footprint::ratio_max),
      static_cast<unsigned long>(message_footprint::free_limits), static_cast<unsigned long>(limit));
  return status::resource_exhausted(text);
}

status out_of_memory() noexcept { return status::resource_exhausted("the process is out of memory"); }

status message_format::write(const codec& k, const void* message, std::string& body,
                             std::optional<std::size_t> known_bytes) const {
  if (reads_as_is(k)) {  // and so written by `k`
    const std::size_t size = known_bytes ? *known_bytes : k.size_bytes(message);
    if (size > max_send_bytes_) return too_large_to_send(size, max_send_bytes_);
    body.resize(size);
    k.write(message, reinterpret_cast<std::uint8_t*>(body.data()));
    return {};
  }
  if (k.kind == message_kind::protobuf_lite) return no_other_form(*form_);
  status outcome;
  try {
    outcome = form_->write(message_at(message), body);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return threw(*form_);
  }
  if (outcome.ok() && body.size() > max_send_bytes_) return too_large_to_send(body.size(), max_send_bytes_);
  return outcome;
}

status message_format::read(const codec& k, void* into, bytes_view message, std::size_t cost_max,
                            std::size_t& cost) const {
  if (k.kind == message_kind::protobuf_lite) return no_other_form(*form_);
  try {
    decode_meter meter{cost_max};
    status outcome = form_->read_metered(message_at(into), message, meter);
    cost += meter.cost;
    return outcome.ok() ? outcome : unreadable(outcome);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return threw(*form_);
  }
}

status message_format::unreadable(const status& why) const {
  const bool renamed = why.code() == status_code::internal && unreadable_ != status_code::internal;
  return renamed ? status(unreadable_, why.message()) : why;
}

status message_format::unreadable() const {
  return {unreadable_, "a message cannot be parsed as its protobuf type"};
}

protocol::grpc::framed_message message_format::compress(bytes_view body) const {
  if (send_compression_.algorithm() == encoding::identity || body.size() < send_compression_.min_bytes())
    return {body, false};
  message_workspace& here = message_workspace::here();
  base::output_buffer& to = message_workspace::emptied(here.compressed);
  const bool compressed =
      here.coders.of(send_compression_.algorithm())->compress(body, send_compression_.level(), to);
  // A message that does not become smaller is sent uncompressed.
  if (!compressed || to.size() >= body.size()) return {body, false};
  return {to.pending(), true};
}

}  // namespace coracle::rpc
