#include "server/server_call.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/runtime/loop.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/header_names.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace coracle {

void server_context::send_initial_metadata() {
  static_cast<server_internal::server_call*>(this)->send_head();
}
google::protobuf::Arena& server_context::arena() {
  return static_cast<server_internal::server_call*>(this)->arena();
}
std::string_view server_context::content_subtype() const noexcept {
  return static_cast<const server_internal::server_call*>(this)->subtype_name();
}
bool server_context::read_compressed() const noexcept {
  return static_cast<const server_internal::server_call*>(this)->rpc::call::read_compressed();
}

void server_context::retry_after(duration d) {
  constexpr std::int64_t max_ms = std::numeric_limits<std::int32_t>::max();
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  trailing_.add_received(protocol::grpc::retry_pushback_header,
                         std::to_string(std::clamp<std::int64_t>(ms, 0, max_ms)));
}
void server_context::do_not_retry() { trailing_.add_received(protocol::grpc::retry_pushback_header, "-1"); }

bool server_context::lets_take(const void* request) {
  return static_cast<server_internal::server_call*>(this)->lets_take(request);
}

call_traffic server_context::traffic() const noexcept {
  return static_cast<const server_internal::server_call*>(this)->exchanged();
}

namespace server_internal {

received_metadata call_set::take_metadata() {
  if (spare_.empty()) return received_metadata::make();
  received_metadata m = std::move(spare_.back());
  spare_.pop_back();
  return m;
}

void call_set::give_back(received_metadata m) noexcept {
  if (m.is_shared()) return;
  constexpr std::size_t kept = 1024;  // as many calls as are likely to run at once
  if (spare_.size() >= kept) return;
  constexpr std::size_t kept_bytes = 4096;  // of each: unusual ones give their memory back
  if (m.get().capacity_bytes() > kept_bytes) return;
  m.own().clear();
  base::if_memory_allows([&] { spare_.push_back(std::move(m)); });
}

std::unique_ptr<message_arena> call_set::take_arena() {
  if (spare_arenas_.empty()) return std::make_unique<message_arena>();
  auto a = std::move(spare_arenas_.back());
  spare_arenas_.pop_back();
  return a;
}

void call_set::give_back(std::unique_ptr<message_arena> a) noexcept {
  constexpr std::size_t kept = 64;  // of up to 64 KiB each
  if (spare_arenas_.size() >= kept) return;
  a->reset();
  base::if_memory_allows([&] { spare_arenas_.push_back(std::move(a)); });
}

google::protobuf::Arena* request_arena(server_call& c) { return c.request_in_arena() ? &c.arena() : nullptr; }
server_context& context_of(server_call& c) noexcept { return c; }
rpc::call* stream_of(server_call& c) noexcept { return &c; }
bool finish(server_call& c, std::coroutine_handle<> frame, const rpc::codec& k, const void* reply) noexcept {
  return c.finish_with(frame, k, reply);
}
bool finish(server_call& c, std::coroutine_handle<> frame, const status& why) noexcept {
  return c.finish_with(frame, why);
}
bool finish(server_call& c, std::coroutine_handle<> frame, const std::exception_ptr& error) noexcept {
  return c.finish_with(frame, c.status_of_exception(error, "the handler"));
}
bool finish(server_call& c, std::coroutine_handle<> frame) noexcept { return c.finish_with_nothing(frame); }
std::coroutine_handle<> go_on(server_call& c) noexcept { return c.around()->resumed_by_handler(); }
bool intercepted(const server_call& c) noexcept { return c.around() != nullptr; }

server_call::server_call(transport::exchange x, const request_head& head, time_point deadline,
                         std::unique_ptr<foreign_call> foreign, received_metadata received, call_set& set)
    : row_(*head.row),
      subtype_(*head.subtype),
      accepted_(head.accepted),
      set_(set),
      shared_(std::move(received)),
      foreign_(std::move(foreign)) {
  max_receive_bytes_ = set.max_receive_bytes;
  format_.use(subtype_.form);
  format_.limit_sent(set.max_send_bytes);
  format_.unpack_as(head.received);
  compression_ = set.compression;
  method_ = foreign_ ? std::string_view(foreign_->path) : row_.what->path;
  peer_ = &x.peer_address();
  auth_ = x.auth();
  received_ = &shared_.get();
  own_environment_.stop = stop_.token();
  drain_ = set_.draining.token();
  messages_ = &set_.messages;
  own_environment_.deadline = deadline;
  own_environment_.call = static_cast<const rpc::propagated_context*>(this);
  if (set.interceptors && !set.interceptors->empty())
    interception_.reset(new interception(*this, *set.interceptors));
  if (set_.observer) watched_ = std::make_unique<server_watch>(*set_.observer, *this);
  watch_ = watched_.get();
  single_message_ = row_.what->kind == call_kind::unary || row_.what->kind == call_kind::server_streaming;
  body_.reset(row_.what->make(set.messages));  // last: it may be one that the store counts
  // Nothing throws from here on.
  exchange_ = x;
  exchange_.set_handler(this);
  set_.running.push_back(*this);
  ++set_.count;
  timer::fire = [](coro::timer& t) noexcept { static_cast<server_call&>(t).on_time(); };
  if (deadline != never) arm_timer();
}

google::protobuf::Arena& server_call::arena() {
  if (!arena_) arena_ = set_.take_arena();
  return arena_->get();
}

server_call::~server_call() {
  if (timer::holder) coro::this_executor().disarm(*this);
}

// --- the request

void server_call::begin(bool end_stream) {
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

void server_call::on_turn() {
  if (!std::exchange(waiting_turn_, false)) return;
  if (!single_message_) begin_stream();
  else if (request_ == request_state::read) start_handler();
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
  body_->begin(*row_.target, *this);
}

void server_call::on_data(bytes_view bytes, bool end_stream) {
  if (single_message_) single_request_data(bytes, end_stream);
  else take_data(bytes, end_stream);
}

void server_call::single_request_data(bytes_view bytes, bool end_stream) {
  if (!end_stream) exchange_.consume(bytes.size());
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
bool server_call::take_request(bytes_view bytes, bool kept) {
  using state = protocol::grpc::deframer::state;
  protocol::grpc::framed_message message;
  const state s = protocol::grpc::deframer::peek(bytes, max_receive_bytes_, message);
  const bool whole = s == state::message;
  if (!whole && s != state::need_more) {
    end_early(rpc::broken_message(s, max_receive_bytes_));
    return false;
  }
  if (request_ == request_state::read
          ? !bytes.empty()
          : whole && bytes.size() > protocol::envelope_prefix_bytes + message.body.size()) {
    end_early(status::unimplemented("the call has more than one request message"));
    return false;
  }
  if (whole) {
    if (request_ == request_state::incomplete) request_ = request_state::whole;
    if (request_ended_ ? wait_turn() : exchange_.congested()) return false;
    const decoded how = decode_request(message);
    if (how == decoded::failed) return false;
    if (how == decoded::deferred) {
      if (!kept) deframer_.append(bytes);
      note_kept();
      return true;
    }
    if (kept) deframer_.clear();
    note_kept();
  } else if (!kept && !bytes.empty()) {
    deframer_.append(bytes);
    note_kept();
    message_begun();
  }
  if (!request_ended_) return false;
  if (request_ != request_state::read) {
    end_early(deframer_.empty() ? status::unimplemented("the call needs one request message and has none")
                                : status::internal("the stream ended within a message"));
    return false;
  }
  start_handler();
  return false;
}

rpc::call::decoded server_call::decode_request(const protocol::grpc::framed_message& m) {
  const bool large = m.compressed || m.body.size() > small_message_bytes;
  status why;
  decoded how = decoded::failed;
  if (large && set_.abandoned_bytes > set_.abandoned_bytes_max) [[unlikely]] {
    why = status::resource_exhausted("handlers behind calls that have ended hold too much memory");
  } else {
    const message_slot request = body_->request(*this);
    how = read_message(*request.k, request.into, m, why);
  }
  if (how == decoded::done) request_ = request_state::read;
  if (how == decoded::failed) end_early(why);  // this may be gone
  return how;
}

bool server_call::continue_message() { return take_request(deframer_.kept(), true); }

void server_call::on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) {
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
  if (end.disconnected) end_early(status::cancelled("the client's connection was lost"));
  else if (end.by == transport::initiator::user) end_early(rpc::out_of_memory());
  else end_early(status::cancelled("the client cancelled the call"));
}

void server_call::messages_broken(status why) noexcept { end_early(why); }

void server_call::misused(const char* how) noexcept {
  end_early(defect("the handler", how, "the handler misused its stream"));
}

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
  const bool awaited = reader_waits() || (single_message_ && request_ == request_state::incomplete);
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

// --- the end

void server_call::tell_end(const status& how) noexcept {
  if (!watched_) return;
  watch_ = nullptr;
  watched_->ended(how);
  watched_.reset();
}

void server_call::run_on() noexcept {
  if (remnant_) return;
  std::unique_ptr<remnant> left;
  const bool kept = base::if_memory_allows([&] {
    left = std::make_unique<remnant>();
    left->peer = *peer_;
    if (exchange_) left->of_connection = exchange_.share_abandoned();
  });
  if (!kept) {  // the handler finds no peer, and nothing counts it
    static const net::address unknown;
    peer_ = &unknown;
    auth_ = nullptr;
    return;
  }
  remnant_ = std::move(left);
  peer_ = &remnant_->peer;
  if (auth_) remnant_->auth = auth_->shared_from_this();
  ++set_.abandoned;
  if (remnant_->of_connection) ++*remnant_->of_connection;
}

void server_call::end_early(const status& why) noexcept {
  if (handler_running_) run_on();
  send_status(why);
  tell_end(why);
  if (timer::holder) coro::this_executor().disarm(*this);
  if (!handler_running_) return leave();
  if (remnant_)
    set_.set_abandoned_bytes(set_.abandoned_bytes - std::exchange(remnant_->bytes, held_bytes_) +
                             held_bytes_);
  // Whoever waits is resumed through the loop's queue: the handler does not end inside these.
  incoming_failed(why, false);
  outgoing_failed(why);
  if (interception_) interception_->call_over(why);
  stop_.request_stop();
}

void server_call::handler_done(std::coroutine_handle<> frame) noexcept {
  if (frame) frame.destroy();
  handler_running_ = false;
  leave();
}

bool server_call::lets_take(const void* request) {
  if (!single_message_ || request_ != request_state::read || body_->request(*this).into != request)
    return false;
  request_taken_ = true;
  return true;
}

void server_call::give_back_messages() noexcept {
  const bool large = rpc::call::read_compressed() || held_bytes_ > message_store::object_bytes_max;
  const std::size_t came = request_taken_ ? message_store::not_known : traffic_.bytes_received;
  body_.release()->end(set_.messages, large ? message_store::not_kept : came);
  if (made_replies_) give_back_replies();
}

// Of a reply that was not sent nothing tells how large it is, and measuring a large one takes long.
void server_call::give_back_replies() noexcept {
  while (made_reply* const r = made_replies_) {
    made_replies_ = r->next_made;
    const bool sent = r->address() == sent_ && traffic_.messages_sent == 1;
    const bool as_is = format_.writes_as_is(rpc::protobuf_codec);
    set_.messages.give_back(*r, sent && as_is ? traffic_.bytes_sent : message_store::not_kept);
  }
}

void server_call::leave() noexcept {
  call_set& set = set_;
  if (watched_) tell_end(status::cancelled("the client has gone"));  // a status with a text takes memory
  const std::unique_ptr<remnant> was = std::move(remnant_);
  if (was) --set.abandoned;
  if (was && was->of_connection) --*was->of_connection;
  give_back_messages();
  set.give_back(std::move(shared_));
  if (arena_) set.give_back(std::move(arena_));
  delete this;
  if (was) set.set_abandoned_bytes(set.abandoned_bytes - was->bytes);
  if (set.of_server) set.of_server->fetch_sub(1, std::memory_order_relaxed);
  if (--set.count == 0 && set.emptied) set.emptied(set);
}

}  // namespace server_internal
}  // namespace coracle
