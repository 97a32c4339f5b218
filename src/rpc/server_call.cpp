#include "rpc/server_call.hpp"

#include "coracle/base/assert.hpp"
#include "coracle/runtime/loop.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/base64.hpp"
#include "protocol/grpc/status_message.hpp"
#include "rpc/message_workspace.hpp"
#include "rpc/wire_metadata.hpp"
#include "transport/header_block.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace coracle {

void server_context::send_initial_metadata() { static_cast<calls::server_call*>(this)->send_head(); }
google::protobuf::Arena& server_context::arena() { return static_cast<calls::server_call*>(this)->arena(); }
std::string_view server_context::content_subtype() const noexcept {
  return static_cast<const calls::server_call*>(this)->subtype_name();
}
bool server_context::read_compressed() const noexcept {
  return static_cast<const calls::server_call*>(this)->calls::call::read_compressed();
}

call_traffic server_context::traffic() const noexcept {
  return static_cast<const calls::server_call*>(this)->exchanged();
}

namespace calls {

namespace {

using protocol::envelope_prefix_bytes;

const transport::header_block& ok_trailers() {
  static const transport::header_block block = [] {
    transport::header_block b;
    b.add("grpc-status", "0");
    return b;
  }();
  return block;
}

void add_metadata(transport::header_block& to, const coracle::metadata& from) {
  for_each_wire_field(from, [&](std::string_view name, std::string_view value) { to.add(name, value); });
}

void add_status(transport::header_block& to, const status& why) {
  char digits[4];
  const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<int>(why.code())).ptr;
  to.add("grpc-status", {digits, static_cast<std::size_t>(end - digits)});
  std::string text;
  if (!why.message().empty()) {
    protocol::grpc::percent_encode(why.message(), text);
    to.add("grpc-message", text);
  }
  if (!why.details().empty()) {
    text.clear();
    protocol::grpc::base64_encode(why.details(), text);
    to.add("grpc-status-details-bin", text);
  }
}

}  // namespace

metadata call_set::take_metadata() noexcept {
  if (spare_.empty()) return {};
  metadata m = std::move(spare_.back());
  spare_.pop_back();
  return m;
}

void call_set::give_back(metadata m) noexcept {
  constexpr std::size_t kept = 1024;  // as many calls as are likely to run at once
  if (spare_.size() >= kept) return;
  constexpr std::size_t kept_bytes = 2048;  // of each: unusual ones give their memory back
  std::size_t bytes = 0;
  for (const auto& field : m) bytes += field.name.size() + field.value.size();
  if (bytes > kept_bytes) return;
  m.clear();
  spare_.push_back(std::move(m));
}

std::unique_ptr<message_arena> call_set::take_arena() {
  if (spare_arenas_.empty()) return std::make_unique<message_arena>();
  auto a = std::move(spare_arenas_.back());
  spare_arenas_.pop_back();
  return a;
}

void call_set::give_back(std::unique_ptr<message_arena> a) {
  constexpr std::size_t kept = 64;  // of up to 64 KiB each
  if (spare_arenas_.size() >= kept) return;
  a->reset();
  spare_arenas_.push_back(std::move(a));
}

google::protobuf::Arena* request_arena(server_call& c) { return c.request_in_arena() ? &c.arena() : nullptr; }
server_context& context_of(server_call& c) noexcept { return c; }
call* stream_of(server_call& c) noexcept { return &c; }
bool finish(server_call& c, const codec& k, const void* reply) noexcept { return c.finish_with(k, reply); }
bool finish(server_call& c, const status& why) noexcept { return c.finish_with(why); }
std::coroutine_handle<> go_on(server_call& c) noexcept { return c.around()->resumed_by_handler(); }
bool intercepted(const server_call& c) noexcept { return c.around() != nullptr; }

server_call::server_call(transport::exchange x, request_head&& head, coracle::metadata received,
                         call_set& set)
    : service_(*head.target),
      subtype_(*head.subtype),
      accepted_(head.accepted),
      set_(set),
      foreign_(std::move(head.foreign)),
      body_(head.what->make()) {
  exchange_ = x;
  exchange_.set_handler(this);
  max_receive_bytes_ = head.max_receive_bytes;
  format_.use(subtype_.form);
  format_.limit_sent(head.max_send_bytes);
  format_.unpack_as(head.received);
  compression_ = head.compression;
  request_in_arena_ = head.request_in_arena;
  method_ = foreign_ ? std::string_view(foreign_->path) : head.what->path;
  peer_ = &x.peer_address();
  auth_ = x.auth();
  received_ = std::move(received);
  own_environment_.stop = stop_.token();
  own_environment_.deadline = head.deadline;
  own_environment_.call = static_cast<const server_context*>(this);
  if (!head.interceptors.empty()) interception_.reset(new interception(*this, head.interceptors));
  single_message_ = head.what->kind == call_kind::unary || head.what->kind == call_kind::server_streaming;
  one_reply_ = head.what->kind == call_kind::unary || head.what->kind == call_kind::client_streaming;
  set_.running.push_back(*this);
  ++set_.count;
  timer::fire = [](coro::timer& t) noexcept { static_cast<server_call&>(t).on_time(); };
  arm_timer();
  if (set_.observer) {
    watched_ = std::make_unique<server_watch>(*set_.observer, *this);
    watch_ = watched_.get();
  }
}

google::protobuf::Arena& server_call::arena() {
  if (!arena_) arena_ = set_.take_arena();
  return arena_->get();
}

server_call::~server_call() {
  if (timer::holder) coro::this_executor().disarm(*this);
}

// --- the request

void server_call::begin(bool end_stream) noexcept {
  if (single_message_) {
    if (end_stream)
      return end_early(status::unimplemented("the call needs one request message and has none"));
    if (interception_) {
      handler_running_ = true;
      interception_->begin();  // this may be gone
    }
    return;
  }
  if (end_stream) incoming_ended();
  if (!wait_turn()) begin_stream();
}

void server_call::begin_stream() noexcept {
  if (interception_) {
    handler_running_ = true;
    interception_->request_ready();
    return interception_->begin();  // this may be gone
  }
  run_handler();
}

// A peer that does not read its replies gets no more work done; the deadline runs on.
bool server_call::wait_turn() noexcept {
  if (!exchange_ || !exchange_.congested()) [[likely]]
    return false;
  waiting_turn_ = true;
  exchange_.wait_turn();
  return true;
}

void server_call::on_turn() noexcept {
  if (!std::exchange(waiting_turn_, false)) return;
  if (!single_message_) begin_stream();
  else if (request_read_) start_handler();
  else take_request(deframer_.kept(), true);
}

// Of all kinds: nothing is missing any more. This may be gone.
void server_call::start_handler() noexcept {
  if (wait_turn()) return;
  if (interception_) [[unlikely]]
    return interception_->request_ready();
  run_handler();
}

void server_call::run_handler() noexcept {
  handler_running_ = true;
  body_->begin(service_, *this);
}

void server_call::on_data(bytes_view bytes, bool end_stream) noexcept {
  if (single_message_) single_request_data(bytes, end_stream);
  else take_data(bytes, end_stream);
}

void server_call::single_request_data(bytes_view bytes, bool end_stream) noexcept {
  exchange_.consume(bytes.size());
  request_ended_ = end_stream;
  const bool kept = !deframer_.empty() || exchange_.congested();
  if (kept) {
    deframer_.append(bytes);
    note_kept();
    message_begun();
    bytes = deframer_.kept();
  }
  take_request(bytes, kept);
}

// `bytes` are all that there are, in the deframer or not. For a peer that does not read, nothing is decoded, which may
// make a thousand times as much of it, before the call has its turn.
void server_call::take_request(bytes_view bytes, bool kept) noexcept {
  using state = deframer::state;
  framed_message message;
  const state s = deframer::peek(bytes, max_receive_bytes_, message);
  const bool whole = s == state::message;
  if (!whole && s != state::need_more) return end_early(broken_message(s, max_receive_bytes_));
  if (request_read_ ? !bytes.empty() : whole && bytes.size() > envelope_prefix_bytes + message.body.size())
    return end_early(status::unimplemented("the call has more than one request message"));
  if (whole) {
    request_whole_ = true;
    if (request_ended_ ? wait_turn() : exchange_.congested()) return;
    if (!decode_request(message)) return;
    if (kept) deframer_.clear();
    note_kept();
  } else if (!kept && !bytes.empty()) {
    deframer_.append(bytes);
    note_kept();
    message_begun();
  }
  if (!request_ended_) return;
  if (!request_read_) {
    return end_early(deframer_.empty()
                         ? status::unimplemented("the call needs one request message and has none")
                         : status::internal("the stream ended within a message"));
  }
  start_handler();
}

// False when the call has ended, and may be gone.
bool server_call::decode_request(const framed_message& m) noexcept {
  const bool large = m.compressed || m.body.size() > small_message_bytes;
  if (large && set_.abandoned_bytes > set_.abandoned_bytes_max) [[unlikely]] {
    end_early(status::resource_exhausted("handlers behind calls that have ended hold too much memory"));
    return false;
  }
  const message_slot request = body_->request(*this);
  const status how = read_message(*request.k, request.into, m);
  request_read_ = how.ok();
  if (!how.ok()) end_early(how);  // this may be gone
  return how.ok();
}

void server_call::on_headers(transport::header_source& fields, transport::block_kind kind,
                             bool end_stream) noexcept {
  transport::field unused;
  while (fields.next(unused)) {
  }
  // Trailers of a request mean nothing in gRPC but its end.
  if (!fields.ok() || kind != transport::block_kind::trailers || !end_stream) return;
  on_data({}, true);
}

void server_call::on_reset(const transport::abnormal_end& end) noexcept {
  if (handler_running_) run_on();
  forget_kept();
  exchange_.release();
  ++set_.failed;
  end_early(end.disconnected ? status::cancelled("the client's connection was lost")
                             : status::cancelled("the client cancelled the call"));
}

void server_call::messages_broken(status why) noexcept { end_early(why); }

void server_call::cancel(const status& why) noexcept { end_early(why); }

// --- time

void server_call::arm_timer() noexcept {
  if (timer::holder) coro::this_executor().disarm(*this);
  const time_point due = std::min(own_environment_.deadline, look_at_);
  if (due != never) coro::this_executor().arm(*this, due);
}

void server_call::on_time() noexcept {
  const time_point now = coro::this_executor().now();
  if (now >= own_environment_.deadline)
    return end_early(status::deadline_exceeded("the client's deadline passed"));
  if (message_is_due() && deframer_.size() < seen_bytes_ + set_.stall_bytes)
    return end_early(status::resource_exhausted("a message arrives too slowly"));
  look_at_ = deframer_.empty() ? never : deadline_after(now, set_.stall_time);
  note_progress();
  arm_timer();
}

void server_call::message_begun() noexcept {
  if (look_at_ != never) [[likely]]
    return;
  look_at_ = deadline_after(coro::this_executor().now(), set_.stall_time);
  note_progress();
  if (look_at_ < own_environment_.deadline) arm_timer();
}

// The same message as at the last look, somebody waits for it, and it may come.
bool server_call::message_is_due() const noexcept {
  const bool awaited = reader_waits() || (single_message_ && !request_whole_);
  return awaited && !deframer_.empty() && seen_messages_ == traffic_.messages_received && exchange_ &&
         !exchange_.withholds_credit();
}

void server_call::note_progress() noexcept {
  seen_messages_ = traffic_.messages_received;
  const bool due = message_is_due();
  if (!due)
    --seen_messages_;  // no number of messages that there will be: it is not waited for, or cannot come
  seen_bytes_ = deframer_.size();
}

// --- the reply

void server_call::send_head() noexcept {
  if (std::exchange(head_sent_, true) || !exchange_) return;
  if (watched_) watched_->head_sent();
  if (compression_.what() != encoding::identity && accepted_.has(compression_.what()))
    format_.pack_as(compression_);
  const encoding sent = format_.packed_as();
  const encoding received = format_.unpacked_as();
  if (initial_.empty() && sent == encoding::identity && received == encoding::identity) {
    exchange_.send_block(subtype_.reply_head.bytes(), false);
    return;
  }
  transport::header_block& block = message_workspace::here().empty_head();
  block.append(subtype_.reply_head.bytes());
  if (sent != encoding::identity) block.add("grpc-encoding", name_of(sent));
  // For clients that compress: what their next calls may use.
  if (received != encoding::identity) block.add("grpc-accept-encoding", accepted_here());
  add_metadata(block, initial_);
  exchange_.send_block(block.bytes(), false);
}

bool server_call::prepare_write() noexcept {
  send_head();
  return true;
}

void server_call::send_reply(const codec& k, const void* reply, const status& how) noexcept {
  if (!exchange_ || send_plain_reply(k, reply, how)) return;
  send_head();
  if (send_message(k, reply, true, false)) send_status(how);
}

// Most replies: nothing but a message, which goes out at once with what stands before and behind it.
bool server_call::send_plain_reply(const codec& k, const void* reply, const status& how) noexcept {
  const bool packs = compression_.what() != encoding::identity || format_.unpacked_as() != encoding::identity;
  if (head_sent_ || watched_ || packs || !how.ok() || !initial_.empty() || !trailing_.empty()) return false;
  if (!format_.writes_as_is(k)) return false;
  const std::size_t size = k.size_bytes(reply);
  if (size > format_.most_sent_bytes()) return false;
  const transport::whole_reply r{subtype_.reply_head.bytes(), size + envelope_prefix_bytes,
                                 ok_trailers().bytes()};
  std::uint8_t* const room = exchange_.reserve_reply(r);
  if (!room) return false;
  protocol::write_envelope_prefix(room, 0, static_cast<std::uint32_t>(size));
  k.write(reply, room + envelope_prefix_bytes);
  exchange_.commit_reply(r);
  head_sent_ = true;
  count_sent({size, size});
  ++set_.succeeded;
  forget_kept();
  exchange_.release();
  return true;
}

bool server_call::finish_with(const codec& k, const void* reply) noexcept {
  if (interception_) [[unlikely]] {
    interception_->handler_ended(&k, reply, {});
    return false;
  }
  send_reply(k, reply, {});
  handler_done();
  return true;
}

bool server_call::finish_with(const status& why) noexcept {
  if (interception_) [[unlikely]] {
    interception_->handler_ended(nullptr, nullptr, why);
    return false;
  }
  send_status(why);
  handler_done();
  return true;
}

call_traffic server_call::exchanged() const noexcept {
  call_traffic t = traffic_;
  if (!interception_ || !interception_->holds_reply()) return t;
  ++t.messages_sent;
  t.bytes_sent += interception_->reply_bytes();
  return t;
}

void server_call::chain_ended(const status& how, const codec* k, const void* reply) noexcept {
  if (how.ok() && k) send_reply(*k, reply, how);
  else if (how.ok() && one_reply_ && exchange_) send_status(without_reply());
  else send_status(how);
  handler_done();
}

// A defect of the interceptor's, and nothing to end a server for: what it made OK of, a client may have brought about.
status server_call::without_reply() noexcept {
  const loop& here = *loop::current();
  std::string line = "an interceptor returned OK where no handler gave a reply, for ";
  line.append(method_).append(": return the status of next(), or one that is not OK");
  set_.no_reply_lines.write(here.log(), log_level::error, here.now(), std::move(line));
  return status::internal("the call has no reply");
}

void server_call::send_status(const status& why) noexcept {
  if (!exchange_) return;
  ++(why.ok() ? set_.succeeded : set_.failed);
  if (why.ok() && trailing_.empty() && head_sent_) {
    exchange_.send_block(ok_trailers().bytes(), true);
  } else {
    transport::header_block block;
    if (!std::exchange(head_sent_, true)) {  // Trailers-Only: one block is head and trailers
      block.append(subtype_.reply_head.bytes());
      if (watched_) watched_->head_sent();
      add_metadata(block, initial_);
    }
    add_status(block, why);
    add_metadata(block, trailing_);
    exchange_.send_block(block.bytes(), true);
  }
  forget_kept();
  exchange_.release();
  tell_end(why);
}

// --- the end

void server_call::tell_end(const status& how) noexcept {
  if (!watched_) return;
  watch_ = nullptr;
  watched_->ended(how);
  watched_.reset();
}

void server_call::run_on() noexcept {
  if (remnant_) return;
  remnant_ = std::make_unique<remnant>();
  remnant_->peer = *peer_;
  peer_ = &remnant_->peer;
  if (auth_) remnant_->auth = auth_->shared_from_this();
  ++set_.abandoned;
  if (!exchange_) return;
  remnant_->of_connection = exchange_.share_abandoned();
  ++*remnant_->of_connection;
}

void server_call::end_early(const status& why) noexcept {
  if (handler_running_) run_on();
  send_status(why);
  tell_end(why);
  if (timer::holder) coro::this_executor().disarm(*this);
  if (!handler_running_) return leave();
  set_.set_abandoned_bytes(set_.abandoned_bytes - std::exchange(remnant_->bytes, held_bytes_) + held_bytes_);
  // Whoever waits is resumed through the loop's queue: the handler does not end inside these.
  incoming_failed(why, false);
  outgoing_failed(why);
  if (interception_) interception_->call_over(why);
  stop_.request_stop();
}

void server_call::handler_done() noexcept {
  handler_running_ = false;
  leave();
}

void server_call::leave() noexcept {
  call_set& set = set_;
  if (watched_) tell_end(status::cancelled("the client has gone"));  // a status with a text takes memory
  const std::unique_ptr<remnant> was = std::move(remnant_);
  if (was) --set.abandoned;
  if (was && was->of_connection) --*was->of_connection;
  set.give_back(std::move(received_));
  if (arena_) set.give_back(std::move(arena_));
  delete this;
  if (was) set.set_abandoned_bytes(set.abandoned_bytes - was->bytes);
  if (set.of_server) set.of_server->fetch_sub(1, std::memory_order_relaxed);
  if (--set.count == 0 && set.emptied) set.emptied(set);
}

}  // namespace calls
}  // namespace coracle
