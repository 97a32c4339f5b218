// What a server's call sends: its head, replies and status.
#include "base/if_memory_allows.hpp"
#include "coracle/runtime/loop.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/accepted_encodings.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "protocol/grpc/wire_metadata.hpp"
#include "rpc/message_workspace.hpp"
#include "server/server_call.hpp"
#include "transport/header_block.hpp"

#include <new>
#include <optional>
#include <utility>

namespace coracle::server_internal {

namespace {

using protocol::envelope_prefix_bytes;

const transport::header_block& ok_trailers() {
  static const transport::header_block block = [] {
    transport::header_block b;
    protocol::grpc::add_status(b, status());
    return b;
  }();
  return block;
}

void add_metadata(transport::header_block& to, const coracle::metadata& from) {
  protocol::grpc::for_each_wire_field(
      from, [&](std::string_view name, std::string_view value) { to.add(name, value); });
}

}  // namespace

void server_call::send_head() {
  if (head_sent_ || !exchange_) return;
  if (compression_.what() != encoding::identity && accepted_.has(compression_.what()))
    format_.pack_as(compression_);
  const encoding sent = format_.packed_as();
  const encoding received = format_.unpacked_as();
  if (initial_.empty() && sent == encoding::identity && received == encoding::identity) {
    exchange_.send_block(subtype_.reply_head.bytes(), false);
  } else {
    transport::header_block& block = rpc::message_workspace::here().empty_head();
    block.append(subtype_.reply_head.bytes());
    if (sent != encoding::identity) block.add(protocol::grpc::encoding_header, name_of(sent));
    // For clients that compress: what their next calls may use.
    if (received != encoding::identity)
      block.add(protocol::grpc::accept_encoding_header,
                protocol::grpc::accepted_encodings_text(set_.accepted));
    add_metadata(block, initial_);
    exchange_.send_block(block.bytes(), false);
  }
  head_sent_ = true;
  if (watched_) watched_->head_sent();
}

bool server_call::prepare_write() {
  send_head();
  return true;
}

void server_call::send_reply(const rpc::codec& k, const void* reply, const status& how) noexcept {
  if (!exchange_) return;
  sent_ = reply;
  bool sent = false;
  try {
    std::optional<std::size_t> bytes;
    if (send_plain_reply(k, reply, how, bytes)) return;
    send_head();
    sent = send_message(k, reply, true, false, bytes);
  } catch (const std::bad_alloc&) {
    return send_status(rpc::out_of_memory());
  }
  if (sent) send_status(how);
}

// Most replies: nothing but a message, which goes out at once with what stands before and behind it.
bool server_call::send_plain_reply(const rpc::codec& k, const void* reply, const status& how,
                                   std::optional<std::size_t>& bytes) {
  const bool packs = compression_.what() != encoding::identity || format_.unpacked_as() != encoding::identity;
  if (head_sent_ || watched_ || packs || !how.ok() || !initial_.empty() || !trailing_.empty()) return false;
  if (!format_.writes_as_is(k)) return false;
  const std::size_t size = bytes.emplace(k.size_bytes(reply));
  if (size > format_.most_sent_bytes()) return false;
  const transport::whole_reply r{subtype_.reply_head.bytes(), size + envelope_prefix_bytes,
                                 ok_trailers().bytes()};
  std::uint8_t* const room = exchange_.reserve_reply(r);
  if (!room) return false;
  protocol::write_envelope_prefix(room, 0, static_cast<std::uint32_t>(size));
  k.write(reply, room + envelope_prefix_bytes);
  count_sent({size, size});
  ++set_.succeeded;
  head_sent_ = true;
  exchange_.commit_reply(r, held_bytes_ != 0);
  return true;
}

bool server_call::finish_with(std::coroutine_handle<> frame, const rpc::codec& k,
                              const void* reply) noexcept {
  if (interception_) [[unlikely]] {
    interception_->handler_ended(&k, reply, {});
    return false;
  }
  send_reply(k, reply, {});
  handler_done(frame);
  return true;
}

bool server_call::finish_with(std::coroutine_handle<> frame, const status& why) noexcept {
  if (interception_) [[unlikely]] {
    interception_->handler_ended(nullptr, nullptr, why);
    return false;
  }
  send_status(why);
  handler_done(frame);
  return true;
}

bool server_call::finish_with_nothing(std::coroutine_handle<> frame) noexcept {
  if (one_reply())
    return finish_with(
        frame, defect("the handler",
                      "gave neither a reply nor an error: co_return a reply, or a status that is not OK, on "
                      "every path",
                      "the handler gave no reply"));
  return finish_with(
      frame, defect("the handler", "reached its end without co_return: co_return a status on every path",
                    "the handler gave no status"));
}

call_traffic server_call::exchanged() const noexcept {
  call_traffic t = traffic_;
  if (!interception_ || !interception_->holds_reply()) return t;
  ++t.messages_sent;
  t.bytes_sent += interception_->reply_bytes();
  return t;
}

void server_call::chain_ended(const status& how, const rpc::codec* k, const void* reply) noexcept {
  if (how.ok() && k) send_reply(*k, reply, how);
  // A client may have caused the error that the interceptor replaced with OK: it costs this call alone.
  else if (how.ok() && one_reply() && exchange_)
    send_status(defect(
        "an interceptor",
        "returned OK where no handler gave a reply: return the status of next(), or one that is not OK",
        "the call has no reply"));
  else send_status(how);
  handler_done({});
}

void server_call::send_status(const status& why) noexcept {
  if (!exchange_) return;
  ++(why.ok() ? set_.succeeded : set_.failed);
  if (!base::if_memory_allows([&] { send_trailers(why); }))
    exchange_.reset(transport::error_code::enhance_your_calm);
  forget_kept();
  exchange_.release();
  tell_end(why);
}

void server_call::send_trailers(const status& why) {
  if (why.ok() && trailing_.empty() && head_sent_) {
    exchange_.send_block(ok_trailers().bytes(), true);
    return;
  }
  transport::header_block block;
  const bool alone = !head_sent_;  // Trailers-Only: one block is head and trailers
  if (alone) {
    block.append(subtype_.reply_head.bytes());
    add_metadata(block, initial_);
  }
  protocol::grpc::add_status(block, why);
  add_metadata(block, trailing_);
  exchange_.send_block(block.bytes(), true);
  head_sent_ = true;
  if (alone && watched_) watched_->head_sent();
}

}  // namespace coracle::server_internal
