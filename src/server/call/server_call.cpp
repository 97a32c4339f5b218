#include "server/call/server_call.hpp"

#include "base/hot_and_cold.hpp"
#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/server/impl/method.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/accepted_encodings.hpp"
#include "protocol/grpc/fitted_status.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "protocol/grpc/wire_metadata.hpp"
#include "rpc/exception_text.hpp"
#include "rpc/message_format.hpp"
#include "runtime/repeated_lines.hpp"
#include "server/admission/rejection.hpp"
#include "server/call/server_load.hpp"
#include "server/call/server_timing.hpp"
#include "transport/header_block.hpp"

#include <google/protobuf/arena.h>
#include <google/protobuf/message_lite.h>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace coracle {

void server_context::send_initial_metadata() {
  static_cast<server_internal::server_call*>(this)->send_headers();
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

const net::address& server_context::local() const noexcept {
  return static_cast<const server_internal::server_call*>(this)->local_address();
}

std::shared_ptr<const void> server_context::connection_mark() const noexcept {
  return static_cast<const server_internal::server_call*>(this)->mark_of_connection();
}

void server_context::retry_after(duration d) {
  constexpr std::int64_t max_ms = std::numeric_limits<std::int32_t>::max();
  const std::int64_t ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  trailing_.add_received(protocol::grpc::retry_pushback_header,
                         std::to_string(std::clamp<std::int64_t>(ms, 0, max_ms)));
}
void server_context::do_not_retry() { trailing_.add_received(protocol::grpc::retry_pushback_header, "-1"); }

bool server_context::permits_take(const void* request) {
  return static_cast<server_internal::server_call*>(this)->permits_take(request);
}

bound_log server_context::log() const { return loop::current()->log().in(log_room::application, log_ids()); }

call_traffic server_context::traffic() const noexcept {
  return static_cast<const server_internal::server_call*>(this)->exchanged();
}
load_report& server_context::load() {
  return static_cast<server_internal::server_call*>(this)->recorded_load();
}
std::optional<call_cost> server_context::cost() const noexcept {
  return static_cast<const server_internal::server_call*>(this)->measured_cost();
}

namespace server_internal {

google::protobuf::Arena* request_arena(server_call& c) { return c.request_in_arena() ? &c.arena() : nullptr; }
server_context& context_of(server_call& c) noexcept { return c; }
rpc::call* stream_of(server_call& c) noexcept { return &c; }
bool finish(server_call& c, std::coroutine_handle<> frame, const rpc::codec& k, const void* reply) noexcept {
  return c.finish_with(frame, k, reply);
}
bool finish(server_call& c, std::coroutine_handle<> frame, const status& reason) noexcept {
  return c.finish_with(frame, reason);
}
bool finish(server_call& c, std::coroutine_handle<> frame, const std::exception_ptr& error) noexcept {
  return c.finish_with(frame, c.status_of_exception(error, "the handler"));
}
bool finish(server_call& c, std::coroutine_handle<> frame) noexcept { return c.finish_with_nothing(frame); }
std::coroutine_handle<> go_on(server_call& c) noexcept { return c.interceptor_chain()->resumed_by_handler(); }
bool intercepted(const server_call& c) noexcept { return c.interceptor_chain() != nullptr; }

CORACLE_HOT server_call::server_call(transport::exchange x, const call_request& request, time_point deadline,
                                     std::unique_ptr<fallback_call> fallback, received_metadata received,
                                     call_set& set)
    : row_(*request.row),
      subtype_(*request.subtype),
      accepted_(request.accepted),
      set_(set),
      shared_(std::move(received)),
      fallback_(std::move(fallback)) {
  max_receive_bytes_ = set.max_receive_bytes;
  format_.use(subtype_.form);
  format_.set_unreadable_code(subtype_.unreadable);
  format_.set_max_send_bytes(set.max_send_bytes);
  format_.set_receive_encoding(request.received);
  compression_ = set.compression;
  record_begin(x);
  method_ = row_.path;
  if (fallback_) [[unlikely]] {
    method_ = fallback_->path;
    x.events().ring().text(method_);
  }
  authority_ = request.connection_authority;
  if (!request.other_authority.empty()) [[unlikely]] {
    own_authority_ = std::make_unique<const std::string>(request.other_authority);
    authority_ = *own_authority_;
  }
  peer_ = &x.peer_address();
  auth_ = x.auth();
  received_ = &shared_.get();
  max_criticality_ = set.max_criticality;
  own_environment_.stop = stop_.token();
  drain_ = set_.draining.token();
  messages_ = &set_.messages;
  own_environment_.deadline = deadline;
  own_environment_.call = static_cast<const rpc::propagated_context*>(this);
  if (set.interceptors && !set.interceptors->empty())
    interceptor_chain_.reset(new server_interceptor_chain(*this, *set.interceptors));
  if (set_.observer) {
    watched_.emplace(*set_.observer, *this, fallback_ ? set_.unregistered_index : row_.index, set_.here.now(),
                     set_.observes_progress);
    watching_ = true;
    if (watched_->wants_progress()) watch_ = &*watched_;
  }
  single_message_ =
      row_.definition->kind == call_kind::unary || row_.definition->kind == call_kind::server_streaming;
  body_.reset(row_.definition->make(set.messages));  // last: the body may be one that the store counts
  // Nothing throws from here on.
  exchange_ = x;
  exchange_.set_handler(this);
  set_.running.push_back(*this);
  if (++set_.count > rpc::message_footprint::many_calls) [[unlikely]]
    inspected_bytes_min_ = rpc::message_footprint::inspected_bytes_min_of_many;
  timer::fire = [](coro::timer& t) noexcept { static_cast<server_call&>(t).on_time(); };
  if (--set.until_extras == 0) [[unlikely]]
    begin_extras();
  if (deadline != never) {
    arm_timer();
    exchange_.events().ring().call_deadline(exchange_.events().number(), exchange_.recorded_stream(),
                                            deadline - x.owner_loop().now());
  }
}

void server_call::record_begin(const transport::exchange& x) noexcept {
  const base::recorded_connection& of = x.events();
  if (x.has_target()) [[unlikely]]
    of.ring().web_call_began(of.number(), x.recorded_stream(), *row_.name);
  else of.ring().call_began(of.number(), x.received_stream(), *row_.name);
}

[[gnu::noinline]]
void server_call::record_end(status_code code) noexcept {
  exchange_.events().ring().call_ended(exchange_.events().number(), exchange_.recorded_stream(),
                                       static_cast<std::uint8_t>(code));
}

[[gnu::noinline]]
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
      return end_early(
          status::unimplemented("the method requires one request message, and the call has none"));
    if (interceptor_chain_) {
      const rpc::call_clock::run run(meter_);
      handler_running_ = true;
      return interceptor_chain_->begin();  // this object may be gone
    }
    return take_whole_request();
  }
  if (end_stream) incoming_ended();
  if (!wait_until_uncongested()) begin_stream();
}

// A small request that has arrived with its headers needs no event of its own. What a call costs is measured
// event by event.
inline void server_call::take_whole_request() {
  constexpr std::size_t bytes_max = small_message_bytes + protocol::envelope_prefix_bytes;
  bytes_view content;
  if (meter_ || !exchange_.peek_content(bytes_max, content)) return;
  exchange_.take_content(content);
  single_request_data(content, true);
}

[[gnu::noinline]]
void server_call::begin_stream() noexcept {
  const rpc::call_clock::run run(meter_);
  if (interceptor_chain_) {
    handler_running_ = true;
    interceptor_chain_->request_ready();
    return interceptor_chain_->begin();  // this object may be gone
  }
  run_handler();
}

// A peer that does not read its replies gets no more calls executed; the deadline still applies.
bool server_call::wait_until_uncongested() noexcept {
  if (!congested()) [[likely]]
    return false;
  request_uncongested();
  return true;
}

void server_call::request_uncongested() noexcept {
  if (!std::exchange(waiting_uncongested_, true)) exchange_.wait_until_uncongested();
}

void server_call::on_uncongested() {
  if (!std::exchange(waiting_uncongested_, false)) return;
  if (!single_message_) begin_stream();
  else if (request_ == request_state::read) start_handler();
  else resume_request();
}

// Nothing is missing any more. This object may be gone.
void server_call::start_handler() noexcept {
  if (started_) return;
  if (extras_ && extras_->admission) [[unlikely]] {
    if (!takes_place()) return;
    started_ = true;
    extras_->admission->handler_begins(set_.here.now());
  } else {
    if (wait_until_uncongested()) return;
    started_ = true;
  }
  if (interceptor_chain_) [[unlikely]]
    return interceptor_chain_->request_ready();
  run_handler();
}

// A place of the limit is for a handler that runs: a client that does not read its replies must not keep
// others from running. false: the call waits, or this object may be gone.
CORACLE_COLD bool server_call::takes_place() noexcept {
  call_admission& a = *extras_->admission;
  if (congested()) {
    if (a.is_running()) a.release();
    request_uncongested();
    return false;
  }
  return a.is_running() || request_admission() == request_outcome::decoded;
}

namespace {

// How long a handler waits for the end of a request whose one message is complete. Clients that send a
// second message do so within this time, and get an error instead of a reply. Over HTTP/1.1, a response that
// precedes the end of its request costs the connection.
constexpr duration request_end_time = std::chrono::milliseconds(100);

}  // namespace

// Most clients end their side with the message, or right after it, and get a reply without RST_STREAM then.
CORACLE_COLD void server_call::start_handler_soon() noexcept {
  if (started_ || starts_soon_) return;
  starts_soon_ = true;
  check_at_ = deadline_after(coro::this_executor().now(), request_end_time);
  arm_timer();
}

void server_call::run_handler() noexcept {
  handler_running_ = true;
  body_->begin(*row_.target, *this);
}

CORACLE_HOT void server_call::on_data(bytes_view bytes, bool end_stream) {
  if (single_message_) single_request_data(bytes, end_stream);
  else take_data(bytes, end_stream);
}

void server_call::single_request_data(bytes_view bytes, bool end_stream) {
  if (!end_stream) exchange_.consume(bytes.size());
  request_ended_ = end_stream;
  const decoding may = request_decoding();
  if (may != decoding::permitted || !deframer_.empty()) {
    deframer_.append(bytes);
    note_kept();
    message_begun();
    bytes = deframer_.kept();
  }
  take_request(bytes, may);
}

server_call::request_outcome server_call::take_request(bytes_view bytes, decoding may) {
  using state = protocol::grpc::deframer::state;
  const bool kept = !deframer_.empty();
  protocol::grpc::framed_message message;
  const state s = protocol::grpc::deframer::peek(bytes, max_receive_bytes_, message);
  const bool whole = s == state::message;
  if (!whole && s != state::need_more) {
    end_early(rpc::broken_message(s, bytes, max_receive_bytes_));
    return request_outcome::ended;
  }
  if (request_ == request_state::read
          ? !bytes.empty()
          : whole && bytes.size() > protocol::envelope_prefix_bytes + message.body.size()) {
    end_early(status::unimplemented("the method requires one request message, and the call has more"));
    return request_outcome::ended;
  }
  if (whole) {
    if (request_ == request_state::incomplete) request_ = request_state::whole;
    if (may == decoding::congested) {
      // A client that does not read its replies must not keep others from running.
      if (extras_ && extras_->admission && extras_->admission->is_running()) [[unlikely]]
        extras_->admission->release();
      request_uncongested();
    }
    if (may != decoding::permitted) return request_outcome::kept;
    if (extras_ && extras_->admission && !extras_->admission->is_running()) [[unlikely]] {
      // Without its end, it takes no place before its handler would begin.
      const bool early = !request_ended_ && !end_awaited_;
      if (early) start_handler_soon();
      const request_outcome admission = early ? request_outcome::kept : request_admission();
      if (admission == request_outcome::kept) {
        if (!kept) deframer_.append(bytes);
        note_kept();
      }
      if (admission != request_outcome::decoded) return admission;
    }
    const decoded result = decode_request(message);
    if (result == decoded::failed) return request_outcome::ended;
    if (result == decoded::deferred) {
      if (!kept) deframer_.append(bytes);
      note_kept();
      return request_outcome::deferred;
    }
    if (kept) deframer_.clear();
    note_kept();
  } else if (!kept && !bytes.empty()) {
    deframer_.append(bytes);
    note_kept();
    message_begun();
  }
  const bool read = request_ == request_state::read;
  if (!request_ended_) {
    if (read && end_awaited_) start_handler();
    else if (read) start_handler_soon();
    return read ? request_outcome::decoded : request_outcome::incomplete;
  }
  if (!read) {
    end_early(deframer_.empty()
                  ? status::unimplemented("the method requires one request message, and the call has none")
                  : status::internal("the stream ended within a message"));
    return request_outcome::ended;
  }
  start_handler();
  return request_outcome::decoded;
}

CORACLE_COLD server_call::request_outcome server_call::request_admission() noexcept {
  call_admission& a = *extras_->admission;
  if (a.is_waiting()) return request_outcome::kept;
  switch (a.enter()) {
    case admission_gate::entry::runs: return request_outcome::decoded;
    case admission_gate::entry::waits: return request_outcome::kept;
    case admission_gate::entry::rejected: break;
  }
  on_rejected(false);
  return request_outcome::ended;
}

CORACLE_COLD void server_call::on_admitted() noexcept {
  const rpc::call_clock::run run(meter_);
  if (request_ == request_state::read) return start_handler();
  if (congested()) extras_->admission->release();
  resume_after_wait();
}

CORACLE_COLD void server_call::resume_after_wait() noexcept {
  if (!base::if_memory_allows([&] { resume_request(); })) end_early(rpc::out_of_memory());
}

CORACLE_COLD void server_call::on_rejected(bool too_late) noexcept {
  const rejection& r = too_late ? rejection::too_late() : rejection::overloaded();
  const std::optional<int> retry_ms =
      extras_->admission->gate().count_rejection(extras_->admission->level, r, peer());
  const bool made = base::if_memory_allows([&] {
    if (retry_ms) trailing_.add_received(protocol::grpc::retry_pushback_header, std::to_string(*retry_ms));
  });
  if (!made) return end_early(rpc::out_of_memory());
  end_early(r.outcome());
}

rpc::call::decoded server_call::decode_request(const protocol::grpc::framed_message& m) {
  const bool large = m.compressed || m.body.size() > small_message_bytes;
  status reason;
  decoded result = decoded::failed;
  if (large && set_.orphaned_bytes > set_.orphaned_bytes_max) [[unlikely]] {
    reason = status::resource_exhausted("orphaned calls hold too much memory");
  } else {
    const message_slot request = body_->request(*this);
    result = read_message(*request.k, request.into, m, reason);
  }
  if (result == decoded::done) request_ = request_state::read;
  if (result == decoded::failed) end_early(reason);  // this object may be gone
  return result;
}

CORACLE_COLD void server_call::take_kept_request() noexcept {
  if (!single_message_ || waiting_uncongested_ || request_ != request_state::whole) return;
  resume_after_wait();
}

bool server_call::continue_message() {
  const rpc::call_clock::run run(meter_);
  return resume_request() == request_outcome::deferred;
}

[[gnu::noinline]]
void server_call::on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) {
  transport::field unused;
  while (fields.next(unused)) {
  }
  // In gRPC, request trailers mean only the end of the request.
  if (!fields.ok() || kind != transport::block_kind::trailers || !end_stream) return;
  on_data({}, true);
}

CORACLE_COLD void server_call::on_reset(const transport::abnormal_end& end) noexcept {
  if (handler_running_) become_orphan();
  forget_kept();
  record_end(end.by == transport::initiator::user ? status_code::resource_exhausted : status_code::cancelled);
  exchange_.release();
  ++set_.failed;
  if (set_.load) set_.load->call_ended(false);
  if (end.disconnected) end_early(status::cancelled("the client's connection was lost"));
  else if (end.by == transport::initiator::user) end_early(rpc::out_of_memory());
  else end_early(status::cancelled("the client cancelled the call"));
}

CORACLE_COLD void server_call::messages_broken(status reason) noexcept { end_early(reason); }

CORACLE_COLD void server_call::on_misuse(const char* misuse) noexcept {
  end_early(defect("the handler", misuse, "the handler misused its stream"));
}

CORACLE_COLD void server_call::cancel(const status& reason) noexcept { end_early(reason); }

// --- time

void server_call::arm_timer() noexcept {
  if (timer::holder) coro::this_executor().disarm(*this);
  const time_point due = std::min(own_environment_.deadline, check_at_);
  if (due != never) coro::this_executor().arm(*this, due);
}

CORACLE_COLD void server_call::on_time() noexcept {
  const rpc::call_clock::run run(meter_);
  const time_point now = coro::this_executor().now();
  if (now >= own_environment_.deadline)
    return end_early(status::deadline_exceeded("the client's deadline passed"));
  if (starts_soon_ && !started_ && now >= check_at_) {
    check_at_ = never;
    end_awaited_ = true;
    arm_timer();
    if (request_ == request_state::read) return start_handler();
    return resume_after_wait();
  }
  if (message_is_due() && deframer_.size() < seen_bytes_ + set_.stall_bytes)
    return end_early(
        status::resource_exhausted("a message arrived too slowly (see server_limits::stall_time)"));
  check_at_ = deframer_.empty() ? never : deadline_after(now, set_.stall_time);
  note_progress();
  arm_timer();
}

void server_call::message_begun() noexcept {
  if (check_at_ != never) [[likely]]
    return;
  check_at_ = deadline_after(coro::this_executor().now(), set_.stall_time);
  note_progress();
  if (check_at_ < own_environment_.deadline) arm_timer();
}

// The handler waits for the same message as at the last check, and the message can arrive.
bool server_call::message_is_due() const noexcept {
  const bool awaited = reader_waits() || (single_message_ && request_ == request_state::incomplete);
  return awaited && !deframer_.empty() && seen_messages_ == traffic_.messages_received && exchange_ &&
         !exchange_.withholds_credit();
}

[[gnu::noinline]]
void server_call::note_progress() noexcept {
  seen_messages_ = traffic_.messages_received;
  const bool due = message_is_due();
  if (!due) --seen_messages_;  // a value that never matches: no message is awaited, or it cannot arrive
  seen_bytes_ = deframer_.size();
}

// --- what the call costs

CORACLE_COLD call_extras& server_call::extras() {
  if (!extras_) extras_ = std::make_unique<call_extras>();
  return *extras_;
}

CORACLE_COLD void server_call::begin_extras() noexcept {
  const bool all = set_.load || set_.admission;
  set_.until_extras = all ? 1 : set_.measured_calls;
  const bool measured = set_.extras_until_measured <= 1;
  if (measured) set_.extras_until_measured = all ? set_.measured_calls : 1;
  else --set_.extras_until_measured;
  const bool limited = set_.admission && row_.is_limited && row_.definition->kind == call_kind::unary;
  if (!measured && !limited && !set_.load) return;
  base::if_memory_allows([&] {
    call_extras& e = extras();
    if (limited) {
      call_admission& a = e.admission.emplace(*set_.admission, *this);
      a.method = row_.index_or(set_.unregistered_index);
      a.level = criticality();
      a.deadline = own_environment_.deadline;
    }
    if (!measured) return;
    meter_ = &e.meter.emplace(*loop::current(), *this);
    exchange_.set_handler(&*e.meter);
  });
}

std::optional<call_cost> server_call::measured_cost() const noexcept {
  if (!meter_) return std::nullopt;
  call_cost c = meter_->cost();
  c.traffic = exchanged();
  return c;
}

rpc::call_wait server_call::waits_for() const noexcept {
  if (reader_waits() || (single_message_ && request_ == request_state::incomplete))
    return rpc::call_wait::messages;
  return writer_waits() || waiting_uncongested_ ? rpc::call_wait::room : rpc::call_wait::other;
}

CORACLE_COLD bool server_call::adds_trailers() const noexcept {
  return (meter_ && set_.cost_trailers) || extras_->load || set_.load;  // the last also counts the call
}

load_report& server_call::recorded_load() {
  call_extras& e = extras();
  if (!e.load) e.load.emplace();
  return *e.load;
}

// gRFC A51: what the call has recorded beats what the server has.
std::string server_call::load_to_report() {
  const load_report* const own = extras_->load ? &*extras_->load : nullptr;
  if (set_.load && set_.load->in_trailers()) return set_.load->report_with(own, coro::this_executor().now());
  return own ? own->serialize() : std::string();
}

CORACLE_COLD void server_call::add_extra_trailers() {
  if (const std::string load = load_to_report(); !load.empty())
    trailing_.add_received(protocol::grpc::load_report_header, load);
  if (meter_ && set_.cost_trailers)
    trailing_.add_received(server_timing_header, server_timing(*measured_cost()));
}

// --- the end

// For the path of most calls.
[[gnu::always_inline]] inline void server_call::report_end_here(const status& outcome) noexcept {
  watching_ = false;
  watch_ = nullptr;
  if (interceptor_chain_) [[unlikely]]
    return report_intercepted_end(outcome);
  watched_->ended(outcome, traffic_, set_.here.now());
}

[[gnu::noinline]]
void server_call::report_end(const status& outcome) noexcept {
  if (watching_) report_end_here(outcome);
}

[[gnu::noinline]]
void server_call::report_intercepted_end(const status& outcome) noexcept {
  watched_->ended(outcome, exchanged(), set_.here.now());
}

CORACLE_COLD void server_call::become_orphan() noexcept {
  if (is_orphan()) return;
  const bool kept = base::if_memory_allows([&] {
    if (!own_authority_) own_authority_ = std::make_unique<const std::string>(authority_);
    auto of_connection = exchange_ ? exchange_.share_orphaned_calls() : nullptr;
    extras().orphan.emplace(*peer_, auth_ ? auth_->shared_from_this() : nullptr, std::move(of_connection));
  });
  authority_ = own_authority_ ? std::string_view(*own_authority_) : std::string_view();
  if (!kept) {  // the handler finds no peer address, and nothing counts the call
    static const net::address unknown;
    peer_ = &unknown;
    auth_ = nullptr;
    return;
  }
  const orphan_state& orphan = *extras_->orphan;
  peer_ = &orphan.peer;
  ++set_.orphaned;
  if (orphan.of_connection) ++*orphan.of_connection;
}

CORACLE_COLD void server_call::end_early(const status& reason) noexcept {
  // An interceptor may run on, but the call no longer needs a place.
  if (extras_ && extras_->admission && extras_->admission->is_waiting()) extras_->admission->end(false);
  if (handler_running_) become_orphan();
  send_status(reason);
  report_end(reason);
  if (timer::holder) coro::this_executor().disarm(*this);
  if (!handler_running_) return end_call();
  if (is_orphan())
    set_.set_orphaned_bytes(set_.orphaned_bytes - std::exchange(extras_->orphan->bytes, held_bytes_) +
                            held_bytes_);
  // Awaiting coroutines are resumed through the loop's queue: the handler does not end inside these calls.
  incoming_failed(reason, false);
  outgoing_failed(reason);
  if (interceptor_chain_) interceptor_chain_->on_call_ended(reason);
  stop_.request_stop();
}

void server_call::handler_done(std::coroutine_handle<> frame) noexcept {
  if (frame) frame.destroy();
  handler_running_ = false;
  end_call();
}

[[gnu::noinline]]
bool server_call::permits_take(const void* request) {
  if (!single_message_ || request_ != request_state::read || body_->request(*this).into != request)
    return false;
  request_taken_ = true;
  return true;
}

void server_call::give_back_messages() noexcept {
  const bool large = rpc::call::read_compressed() || held_bytes_ > message_store::object_bytes_max;
  const std::size_t received = request_taken_ ? message_store::not_known : traffic_.bytes_received;
  body_.release()->end(set_.messages, large ? message_store::not_kept : received);
  if (made_replies_) give_back_replies();
}

// The size of a reply that was not sent is unknown, and measuring a large reply takes long.
[[gnu::noinline]]
void server_call::give_back_replies() noexcept {
  while (made_reply* const r = made_replies_) {
    made_replies_ = r->next_made;
    const bool sent = r->address() == sent_ && traffic_.messages_sent == 1;
    const bool as_is = format_.writes_as_is(rpc::protobuf_codec);
    set_.messages.give_back(*r, sent && as_is ? traffic_.bytes_sent : message_store::not_kept);
  }
}

inline void server_call::give_back_all() noexcept {
  give_back_messages();
  set_.give_back(std::move(shared_));
  if (arena_) set_.give_back(std::move(arena_));
}

CORACLE_COLD void server_call::end_with_extras() noexcept {
  call_set& set = set_;
  const std::unique_ptr<call_extras> extras = std::move(extras_);
  // Only OK has a reply, which may have come too late for the client.
  if (extras->admission) extras->admission->end(sent_ || extras->admission->did_its_work());
  extras->meter.reset();
  give_back_all();
  delete this;
  if (extras->orphan) {
    --set.orphaned;
    if (extras->orphan->of_connection) --*extras->orphan->of_connection;
    set.set_orphaned_bytes(set.orphaned_bytes - extras->orphan->bytes);
  }
  set.call_ended();
}

void server_call::end_call() noexcept {
  call_set& set = set_;
  if (watching_)
    report_end(status::cancelled(
        "the client cancelled the call or disconnected"));  // a status with a text allocates
  if (extras_) [[unlikely]]
    return end_with_extras();
  give_back_all();
  delete this;
  set.call_ended();
}

}  // namespace server_internal
}  // namespace coracle

namespace coracle::server_internal {

// --- the response

namespace {

using protocol::envelope_prefix_bytes;

const transport::header_block& ok_trailers() {
  // Never destroyed: calls may run while the program exits.
  static const auto& block = *new transport::header_block([] {
    transport::header_block b;
    protocol::grpc::add_status(b, status());
    return b;
  }());
  return block;
}

// The fields of a response beside the metadata and the status have at most this size in a header list: the
// HTTP status, the content-type and the encodings.
constexpr std::size_t own_fields_bytes_max = 256;
// Of a status and its metadata that are sent in the body of a response: half of what our clients accept.
constexpr std::size_t trailers_in_body_bytes_max = 32u << 10;

void add_metadata(transport::header_block& to, const coracle::metadata& from) {
  protocol::grpc::for_each_wire_field(
      from, [&](std::string_view name, std::string_view value) { to.add(name, value); });
}

}  // namespace

[[gnu::noinline]]
void server_call::send_headers() {
  if (headers_sent_ || !exchange_) return;
  if (compression_.algorithm() != encoding::identity && accepted_.has(compression_.algorithm()))
    format_.set_send_encoding(compression_);
  const encoding sent = format_.send_encoding();
  const encoding received = format_.receive_encoding();
  if (exchange_.has_target()) {
    send_headers_as_fields(sent, received);
  } else if (initial_.empty() && sent == encoding::identity && received == encoding::identity) {
    exchange_.send_block(subtype_.reply_headers.bytes(), false);
  } else {
    transport::header_block& block = rpc::message_workspace::here().empty_header_block();
    block.append(subtype_.reply_headers.bytes());
    if (sent != encoding::identity) block.add(protocol::grpc::encoding_header, name_of(sent));
    // For clients that compress: the encodings that their next calls may use.
    if (received != encoding::identity)
      block.add(protocol::grpc::accept_encoding_header,
                protocol::grpc::accepted_encodings_text(set_.accepted));
    const std::size_t limit_bytes = exchange_.peer_header_list_bytes();
    if (own_fields_bytes_max + protocol::grpc::list_bytes_of(initial_) <= limit_bytes)
      add_metadata(block, initial_);
    else log_left_out("the initial metadata", limit_bytes);
    exchange_.send_block(block.bytes(), false);
  }
  headers_sent_ = true;
  if (watch_) watched_->headers_sent();
  if (interceptor_chain_) [[unlikely]]
    interceptor_chain_->headers_sent(initial_);
}

namespace {

// Adds the fields of a block to an exchange one by one.
struct field_writer {
  void add(std::string_view name, std::string_view value) noexcept { to.add_field(name, value); }
  transport::exchange& to;
};

}  // namespace

CORACLE_COLD void server_call::send_headers_as_fields(encoding sent, encoding received) {
  if (!exchange_.begin_headers()) return;
  exchange_.add_field(":status", "200");
  if (sent != encoding::identity) exchange_.add_field(protocol::grpc::encoding_header, name_of(sent));
  if (received != encoding::identity)
    exchange_.add_field(protocol::grpc::accept_encoding_header,
                        protocol::grpc::accepted_encodings_text(set_.accepted));
  protocol::grpc::for_each_wire_field(
      initial_, [&](std::string_view name, std::string_view value) { exchange_.add_field(name, value); });
  exchange_.end_headers(false);
}

CORACLE_COLD void server_call::send_trailers_as_fields(const status& reason) {
  if (!headers_sent_) send_headers();
  if (!exchange_.begin_headers()) return;
  const auto sent = protocol::grpc::fit_status(reason, protocol::grpc::list_bytes_of(trailing_), 0,
                                               trailers_in_body_bytes_max);
  field_writer block{exchange_};
  protocol::grpc::add_status(block, sent.outcome);
  if (sent.metadata)
    protocol::grpc::for_each_wire_field(
        trailing_, [&](std::string_view name, std::string_view value) { exchange_.add_field(name, value); });
  exchange_.end_headers(true);
  if (!sent.left_out.empty()) log_left_out(sent.left_out, trailers_in_body_bytes_max);
}

bool server_call::prepare_write() {
  send_headers();
  return true;
}

void server_call::send_reply(const rpc::codec& k, const void* reply, const status& outcome) noexcept {
  sent_ = reply;
  if (!exchange_) return;
  bool sent = false;
  try {
    std::optional<std::size_t> bytes;
    if (send_plain_reply(k, reply, outcome, bytes)) return;
    send_headers();
    sent = send_message(k, reply, true, false, bytes);
  } catch (const std::bad_alloc&) {
    return send_status(rpc::out_of_memory());
  }
  if (sent) send_status(outcome);
}

// The fast path of most replies: a single message, sent at once with its headers and trailers.
bool server_call::send_plain_reply(const rpc::codec& k, const void* reply, const status& outcome,
                                   std::optional<std::size_t>& bytes) {
  const bool compresses =
      compression_.algorithm() != encoding::identity || format_.receive_encoding() != encoding::identity;
  if (headers_sent_ || compresses || !outcome.ok() || !initial_.empty() || !trailing_.empty()) return false;
  if (extras_ && adds_trailers()) [[unlikely]]
    return false;
  if (!format_.writes_as_is(k)) return false;
  const std::size_t size = bytes.emplace(k.size_bytes(reply));
  if (size > format_.max_send_bytes()) return false;
  const transport::unary_response r{subtype_.reply_headers.bytes(), size + envelope_prefix_bytes,
                                    ok_trailers().bytes()};
  std::uint8_t* const room = exchange_.reserve_reply(r);
  if (!room) return false;
  protocol::write_envelope_prefix(room, 0, static_cast<std::uint32_t>(size));
  k.write(reply, room + envelope_prefix_bytes);
  headers_sent_ = true;
  if (watch_) [[unlikely]]
    watched_->headers_sent();
  count_sent({size, size});
  ++set_.succeeded;
  exchange_.commit_reply(r, held_bytes_ != 0);
  if (watching_) report_end_here(outcome);
  return true;
}

CORACLE_HOT bool server_call::finish_with(std::coroutine_handle<> frame, const rpc::codec& k,
                                          const void* reply) noexcept {
  if (interceptor_chain_) [[unlikely]] {
    interceptor_chain_->handler_ended(&k, reply, {});
    return false;
  }
  send_reply(k, reply, {});
  handler_done(frame);
  return true;
}

bool server_call::finish_with(std::coroutine_handle<> frame, const status& reason) noexcept {
  if (interceptor_chain_) [[unlikely]] {
    interceptor_chain_->handler_ended(nullptr, nullptr, reason);
    return false;
  }
  if (extras_ && extras_->admission) extras_->admission->handler_ended(reason.code());
  send_status(reason);
  handler_done(frame);
  return true;
}

CORACLE_COLD bool server_call::finish_with_nothing(std::coroutine_handle<> frame) noexcept {
  if (one_reply())
    return finish_with(
        frame,
        defect("the handler",
               "returned neither a reply nor an error: co_return a reply, or a status that is not OK, on "
               "every path",
               "the handler returned no reply"));
  return finish_with(
      frame, defect("the handler", "reached its end without co_return: co_return a status on every path",
                    "the handler returned no status"));
}

call_traffic server_call::exchanged() const noexcept {
  call_traffic t = traffic_;
  if (!interceptor_chain_ || !interceptor_chain_->holds_reply()) return t;
  ++t.messages_sent;
  t.bytes_sent += interceptor_chain_->reply_bytes();
  return t;
}

void server_call::chain_ended(const status& outcome, const rpc::codec* k, const void* reply) noexcept {
  if (outcome.ok() && k) send_reply(*k, reply, outcome);
  // A client may have caused the error that the interceptor replaced with OK, so this ends only the call.
  else if (outcome.ok() && one_reply() && exchange_)
    send_status(defect(
        "an interceptor",
        "returned OK without a reply of the handler: return the status of next(), or one that is not OK",
        "the call has no reply"));
  else send_status(outcome);
  if (extras_ && extras_->admission) extras_->admission->handler_ended(outcome.code());
  handler_done({});
}

void server_call::permit_late() noexcept {
  if (extras_ && extras_->admission) extras_->admission->deadline = never;
}

[[gnu::noinline]]
void server_call::send_status(const status& reason) noexcept {
  if (!exchange_) return;
  ++(reason.ok() ? set_.succeeded : set_.failed);
  if (set_.load) [[unlikely]]
    set_.load->call_ended(reason.ok());
  const auto send = [&] {
    if (extras_) add_extra_trailers();
    send_trailers(reason);
  };
  if (!base::if_memory_allows(send)) exchange_.reset(transport::error_code::enhance_your_calm);
  record_end(reason.code());
  forget_kept();
  exchange_.release();
  report_end(reason);
}

[[gnu::noinline]]
void server_call::send_trailers(const status& reason) {
  if (exchange_.has_target()) [[unlikely]]
    return send_trailers_as_fields(reason);
  if (reason.ok() && trailing_.empty() && headers_sent_) {
    exchange_.send_block(ok_trailers().bytes(), true);
    return;
  }
  const bool alone = !headers_sent_;  // Trailers-Only: one block is both headers and trailers
  const std::size_t limit_bytes = exchange_.peer_header_list_bytes();
  std::size_t bytes = own_fields_bytes_max + protocol::grpc::list_bytes_at_most(reason) +
                      protocol::grpc::list_bytes_of(trailing_);
  if (alone) bytes += protocol::grpc::list_bytes_of(initial_);
  if (bytes > limit_bytes) [[unlikely]] {
    send_fitted_trailers(reason, limit_bytes);
  } else {
    transport::header_block& block = rpc::message_workspace::here().empty_header_block();
    if (alone) {
      block.append(subtype_.reply_headers.bytes());
      add_metadata(block, initial_);
    }
    protocol::grpc::add_status(block, reason);
    add_metadata(block, trailing_);
    exchange_.send_block(block.bytes(), true);
  }
  headers_sent_ = true;
  if (alone && watch_) watched_->headers_sent();
}

// Initial metadata that does not fit beside the code is left out, too.
CORACLE_COLD void server_call::send_fitted_trailers(const status& reason, std::size_t limit_bytes) {
  const bool alone = !headers_sent_;
  const std::size_t initial_bytes = alone ? protocol::grpc::list_bytes_of(initial_) : 0;
  const bool with_initial = own_fields_bytes_max + initial_bytes <= limit_bytes;
  const std::size_t other_bytes = own_fields_bytes_max + (with_initial ? initial_bytes : 0);
  const auto sent =
      protocol::grpc::fit_status(reason, protocol::grpc::list_bytes_of(trailing_), other_bytes, limit_bytes);
  transport::header_block block;
  if (alone) block.append(subtype_.reply_headers.bytes());
  if (alone && with_initial) add_metadata(block, initial_);
  protocol::grpc::add_status(block, sent.outcome);
  if (sent.metadata) add_metadata(block, trailing_);
  exchange_.send_block(block.bytes(), true);
  if (!with_initial) log_left_out("the initial metadata", limit_bytes);
  if (!sent.left_out.empty()) log_left_out(sent.left_out, limit_bytes);
}

CORACLE_COLD void server_call::log_left_out(std::string_view what, std::size_t limit_bytes) noexcept {
  log_defect("the response", what, [&](std::string& line) {
    line.append("lacks ").append(what).append(", which exceeds what the client accepts: ");
    line.append(std::to_string(limit_bytes)).append(" bytes of headers and trailers");
  });
}

// --- handlers that throw or break their contract

// If there is no memory for the line, the call still ends with its status. kind: of the defect; each has a
// limit of its own. Unregistered methods share one.
template <class Make>
void server_call::log_defect(std::string_view subject, std::string_view kind, Make make) noexcept {
  loop& here = *loop::current();
  try {
    std::string line(subject);
    line.append(" of ").append(base::printable(method_)).append(" ");
    make(line);
    std::string what(fallback_ ? std::string_view() : method_);
    what.append(" ").append(subject).append(" ").append(kind);
    repeated_lines::write(here, log_room::server, log_level::error, &set_, what, std::move(line), log_ids());
  } catch (const std::bad_alloc&) {
    here.log().write(log_room::server, log_level::error, "a handler failed (out of memory for the details)");
  }
}

CORACLE_COLD status server_call::defect(std::string_view subject, std::string_view text,
                                        std::string_view for_client) noexcept {
  log_defect(subject, text, [&](std::string& line) { line.append(text); });
  return status::internal(for_client);
}

CORACLE_COLD status server_call::status_of_exception(const std::exception_ptr& error,
                                                     std::string_view subject) noexcept {
  const auto log = [&] {
    std::string type;
    base::if_memory_allows([&] { type = rpc::exception_type(error); });
    log_defect(subject, type, [&](std::string& line) {
      line.append(rpc::exception_text(error)).append(" (peer ").append(peer().to_string()).append(")");
    });
  };
  // A cancellation that the call's end or an interceptor's timeout has caused is not logged.
  const bool stopped = cancelled() || own_environment_.stop.stop_requested();
  try {
    std::rethrow_exception(error);
  } catch (const call_ended&) {
    // If the exception is from a call that the handler made itself, its status would reveal too much to the
    // client.
    if (!stopped) log();
    return status::cancelled("the handler was cancelled");
  } catch (const coro::cancelled&) {
    if (!stopped) log();
    return status::cancelled("the handler was asked to stop");
  } catch (const status_error& e) {
    return e.status();
  } catch (const std::bad_alloc&) {
    log();
    return rpc::out_of_memory();
  } catch (...) {
    log();
  }
  return status::unknown("the handler failed");
}

void* make_in(google::protobuf::Arena& arena, const void* prototype) {
  return static_cast<const google::protobuf::MessageLite*>(prototype)->New(&arena);
}

}  // namespace coracle::server_internal
