#include "rpc/call.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/base/impl/assert.hpp"
#include "protocol/envelope.hpp"
#include "rpc/message_footprint.hpp"
#include "rpc/message_format.hpp"

#include <algorithm>
#include <coroutine>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace coracle::rpc {

namespace {

using protocol::envelope_prefix_bytes;

// A writer waits while its stream has more than this unsent, ...
constexpr std::size_t queue_high_bytes = 64u << 10;
// ... and continues below this, so that the connection does not run out of data meanwhile.
constexpr std::size_t queue_low_bytes = 32u << 10;
// Small messages do not fill any queue: after this many messages or bytes a writer lets other tasks run
// first.
constexpr std::uint32_t pump_messages_max = 100;
constexpr std::uint32_t pump_bytes_max = 64u << 10;

constexpr const char* two_readers = "has two concurrent reads: let one task read and pass the messages on";
constexpr const char* two_writers = "has two concurrent writes: await one write before the next";
constexpr const char* too_late = "takes no message any more: it has ended, or its last message was written";
constexpr const char* used_twice = "has a write that was started twice: start each operation once";

status stopped_wait() { return status::cancelled("the task was asked to stop"); }

}  // namespace

status broken_message(protocol::grpc::deframer::state s, bytes_view message, std::uint32_t limit) {
  if (s == protocol::grpc::deframer::state::too_large)
    return too_large_to_receive(protocol::read_envelope_prefix(message.data()).length_bytes, limit);
  return status::internal("a message has a compressed flag that is neither 0 nor 1");
}

std::string call::about(const char* what) const {
  return std::string("the call of ").append(base::printable(path())).append(" ").append(what);
}

// --- reading

bool call::begin_read(read_operation& op) noexcept {
  if (reader_) [[unlikely]] {
    op.outcome_ = read_operation::outcome::failed;
    op.failure_ = status::internal(about(two_readers));
    on_misuse(two_readers);  // also ends the wait of the first reader
    return false;
  }
  const next_message outcome = take_kept(op);
  if (outcome == next_message::done) return false;
  // With a waiting reader, a message larger than the window must be able to arrive (its size is limited).
  if (outcome == next_message::missing) credit(uncredited_);
  reader_ = &op;
  return true;
}

// Finishes `op` with a stored message, or with the end of the stream.
call::next_message call::take_kept(read_operation& op) noexcept {
  using state = protocol::grpc::deframer::state;
  protocol::grpc::framed_message message;
  const state s = deframer_.front(max_receive_bytes_, message);
  if (s == state::message) {
    // The connection charges what arrives. A reader that finds a stored message yields when the budget is
    // spent.
    transport::decode_budget& b = budget();
    // If there is no memory to defer, the message is read at once.
    if (b.spent() && base::if_memory_allows([&] { defer(); })) return next_message::deferred;
    b.charge(transport::decode_budget::message_cost_bytes);
    const std::size_t whole = envelope_prefix_bytes + message.body.size();
    const decoded outcome = finish_read(op, message);
    if (outcome == decoded::deferred) return next_message::deferred;
    drop_deferred();
    if (outcome == decoded::done) {
      deframer_.pop(message);
      note_kept();
      credit(std::min(uncredited_, whole));
    }
    return next_message::done;
  }
  if (s != state::need_more) {
    const status reason = broken_message(s, deframer_.kept(), max_receive_bytes_);
    op.outcome_ = read_operation::outcome::failed;
    op.failure_ = reason;
    messages_broken(reason);
    return next_message::done;
  }
  if (incoming_ == incoming::open) return next_message::missing;
  if (incoming_ == incoming::clean && deframer_.empty()) {
    op.outcome_ = read_operation::outcome::end;
    if (receives_) [[unlikely]]
      receives_->incoming_ended();
    return next_message::done;
  }
  const bool cut = incoming_ == incoming::clean;
  const status reason = cut ? status::internal("the stream ended within a message") : failure_;
  op.outcome_ = read_operation::outcome::failed;
  op.failure_ = reason;
  if (cut) messages_broken(reason);
  return next_message::done;
}

// A result of `failed` means that the operation and the call have failed.
call::decoded call::finish_read(read_operation& op, const protocol::grpc::framed_message& message) noexcept {
  status reason;
  const std::size_t held_before = held_bytes_;
  const decoded outcome = read_message(*op.codec_, op.into_, message, reason);
  if (outcome == decoded::done) {
    op.outcome_ = read_operation::outcome::message;
    record_message(false, message.compressed, message.body.size());
  }
  // Protobuf keeps the memory of a message that is reused.
  if (op.reuses_) held_bytes_ = std::max(held_bytes_, held_before);
  if (outcome != decoded::failed) return outcome;
  op.outcome_ = read_operation::outcome::failed;
  op.failure_ = reason;
  messages_broken(reason);
  return outcome;
}

// A separate function, so that read_message() saves no registers for it.
call::decoded call::no_memory_to_read(status& reason) noexcept {
  deferred_.reset();
  reason = out_of_memory();
  return decoded::failed;
}

bool call::decode_message(const codec& k, void* into, bytes_view body, status& reason) {
  return decode(k, into, body, reason);
}

// Such a codec may take long for few bytes, and cannot stop within a message: what it took is charged at
// once, and ends the decoding of this iteration if it was much.
status call::read_formatted(const codec& k, void* into, bytes_view body) {
  std::size_t cost = 0;
  const status outcome = format_.read(k, into, body, max_receive_bytes_, cost);
  if (cost == 0) return outcome;
  transport::decode_budget& budget = this->budget();
  budget.charge(static_cast<std::int64_t>(cost));
  if (cost >= transport::decode_budget::allowance_bytes)
    budget.read_clock(transport::decode_budget::small_messages_time);
  return outcome;
}

// Before a message is decoded: it must not take far more memory than its bytes, and it must fit the quota.
status call::admit(const codec& k, const void* into, bytes_view body) {
  if (!format_.reads_as_is(k)) return hold(body.size());  // not protobuf's binary format: measured afterwards
  const std::size_t allowed = std::max(message_footprint::ratio_max * body.size(),
                                       message_footprint::free_limits * std::size_t{max_receive_bytes_});
  const std::size_t estimated = message_workspace::here().footprints.estimate(k, into, body, allowed + 1);
  return estimated > allowed ? too_large_in_memory(body.size(), max_receive_bytes_) : hold(estimated);
}

// After a message was decoded: measures it exactly if that is worth the time.
status call::measure(const codec& k, const void* message, std::size_t body_bytes) {
  const bool exact =
      body_bytes >= message_footprint::measured_bytes_min || k.memory_bytes || !format_.reads_as_is(k);
  return exact ? hold(message_footprint::measure(k, message, held_bytes_)) : status();
}

status call::hold(std::size_t bytes) {
  // What the call is charged with: the only message of a call leaves the deframer once it is decoded.
  const std::size_t charge = bytes + (single_message_ ? 0 : deframer_.capacity_bytes());
  if (charge > kept_bytes_ && exchange_ && !exchange_.may_keep(charge - kept_bytes_))
    return status::resource_exhausted("the server's memory quota is exceeded: a message requires " +
                                      std::to_string(bytes) +
                                      " bytes in memory (see server_options::memory)");
  held_bytes_ = bytes > small_message_bytes ? bytes : 0;
  return {};
}

call::decoded call::read_large(const codec& k, void* into, const protocol::grpc::framed_message& m,
                               status& reason) {
  using transport::decode_budget;
  decode_budget& budget = this->budget();
  const bool begun = deferred_ && deferred_->begun;
  // What another codec takes for its bytes is not known: the message waits while earlier work does.
  const bool known_cost = !m.compressed && format_.reads_as_is(k);
  if (known_cost ? !budget.may_begin(m.body.size()) : !budget.may_begin_large()) return defer();
  if (!m.compressed) {
    budget.charge(static_cast<std::int64_t>(m.body.size()));
    deferred_.reset();
    return parse(k, into, m.body, m.body.size(), reason);
  }
  if (!begun) budget.charge(decode_budget::compressed_message_cost_bytes);
  std::optional<decompression> one;
  if (begun) one.emplace(std::move(*deferred_->begun));
  else one.emplace(format_.receive_encoding());
  for (bool ended = false; !ended;) {
    const std::size_t before = one->work_bytes();
    ended = one->step(m.body, max_receive_bytes_, budget.step_bytes());
    budget.charge(static_cast<std::int64_t>(one->work_bytes() - before));
    budget.read_clock();
    if (ended || !budget.spent()) continue;
    defer();
    deferred_->begun.reset();
    deferred_->begun.emplace(std::move(*one));
    note_kept();
    return decoded::deferred;
  }
  deferred_.reset();
  if (!one->failure().ok()) {
    reason = one->lacks_encoding() ? one->failure() : format_.unreadable(one->failure());
    return decoded::failed;
  }
  budget.charge(static_cast<std::int64_t>(one->body().size()));  // parsing cannot be split
  return parse(k, into, one->body(), m.body.size(), reason);
}

// --- messages that wait for the decode budget

// Returns the budget of the loop, whether or not there is a connection.
transport::decode_budget& call::budget() noexcept {
  return exchange_ ? exchange_.budget() : transport::decode_budget::here();
}

call::decoded call::defer() {
  if (!deferred_) deferred_ = std::make_unique<deferred_message>(*this);
  if (deferred_->linked()) return decoded::deferred;
  if (exchange_) exchange_.defer(*deferred_);
  else transport::decode_budget::here().defer(*deferred_);
  return decoded::deferred;
}

bool call::deferred_message::continue_decoding() noexcept {
  call& c = owner;
  if (c.reader_) return c.serve_reader(true);  // this may have been destroyed
  try {
    if (c.single_message_) return c.continue_message();
  } catch (const std::bad_alloc&) {
    c.messages_broken(out_of_memory());
  }
  return false;  // its reader has stopped; the next one continues with what was decompressed
}

void call::leave_connection() noexcept {
  if (!deferred_ || !deferred_->linked()) return;
  deferred_->unlink();
  transport::decode_budget::here().defer(*deferred_);
}

void call::take_data(bytes_view bytes, bool end_stream) {
  uncredited_ += bytes.size();
  read_operation* direct = nullptr;
  if (reader_ && deframer_.empty()) {
    protocol::grpc::framed_message message;
    if (protocol::grpc::deframer::peek(bytes, max_receive_bytes_, message) ==
        protocol::grpc::deframer::state::message) {
      direct = std::exchange(reader_, nullptr);
      switch (finish_read(*direct, message)) {
        case decoded::done: bytes = bytes.subspan(envelope_prefix_bytes + message.body.size()); break;
        case decoded::failed: bytes = {}; break;
        case decoded::deferred: reader_ = std::exchange(direct, nullptr); break;
      }
    }
  }
  if (!bytes.empty() && incoming_ == incoming::open) {
    try {
      deframer_.append(bytes);
      message_begun();
    } catch (const std::bad_alloc&) {
      if (!direct) throw;
      messages_broken(out_of_memory());  // its reader is not resumed yet, and keeps the call alive
    }
  }
  note_kept();
  if (end_stream && incoming_ == incoming::open) incoming_ = incoming::clean;
  const bool waits_for_more = reader_ && !(deferred_ && deferred_->linked());
  if (direct || waits_for_more || single_message_) credit(uncredited_);
  if (direct) {
    direct->call_ = nullptr;
    direct->resume();
    return;
  }
  serve_reader(true);
}

void call::incoming_ended() noexcept {
  if (incoming_ == incoming::open) incoming_ = incoming::clean;
  serve_reader(true);
}

void call::incoming_failed(const status& reason, bool after_kept) noexcept {
  if (incoming_ == incoming::failed) return;
  incoming_ = incoming::failed;
  failure_ = reason;
  if (!after_kept) {
    deframer_.clear();
    drop_deferred();
  }
  serve_reader(false);
}

bool call::serve_reader(bool inside) noexcept {
  // Removed first, so that events caused by finishing it do not find it again.
  read_operation* op = std::exchange(reader_, nullptr);
  if (!op) return false;
  const next_message outcome = take_kept(*op);
  if (outcome != next_message::done) {
    reader_ = op;
    return outcome == next_message::deferred;
  }
  op->call_ = nullptr;
  if (inside) op->resume();
  else coro::this_executor().post(*op);
  return false;
}

// The environment of the reader was stopped. If the call failed at the same moment, that status is more
// useful. There is no reader if the stop is caused by the read itself: a message that breaks the call also
// stops its handler.
void call::stop_reading() noexcept {
  if (!reader_) return;
  read_operation* op = std::exchange(reader_, nullptr);
  op->outcome_ = read_operation::outcome::failed;
  op->failure_ = incoming_ == incoming::failed ? failure_ : stopped_wait();
  op->call_ = nullptr;
  coro::this_executor().post(*op);
}

void call::credit(std::size_t n) noexcept {
  if (n == 0 || !exchange_) return;
  uncredited_ -= n;
  exchange_.consume(n);
}

// --- writing

bool call::begin_write(write_operation& op) noexcept {
  if (writer_ || !op.message_) [[unlikely]] {
    const char* const misuse = writer_ ? two_writers : used_twice;
    op.outcome_ = status::internal(about(misuse));
    on_misuse(misuse);
    return false;
  }
  if (sending_over()) {
    op.outcome_ = failure_.ok() ? status::cancelled(about(too_late)) : failure_;
    return false;
  }
  writer_ = &op;
  writer_serialized_ = false;
  retry_writer();
  if (!writer_) return false;
  return true;
}

void call::retry_writer() noexcept {
  if (!writer_ || writer_serialized_) return;
  bool sent = false;
  try {
    if (!prepare_write()) return;
    writer_serialized_ = wrote_ = true;
    const bool last = writer_->last_;
    if (last) no_more_writes();
    const std::uint64_t before = traffic_.bytes_sent;
    const bool compress = writer_->compress_;
    sent = send_message(*writer_->codec_, writer_->message_, compress, last);
    if (sent)
      record_message(true, compress && format_.send_encoding() != encoding::identity,
                     traffic_.bytes_sent - before);
  } catch (const std::bad_alloc&) {
    messages_broken(out_of_memory());
  }
  if (!sent) {
    if (!writer_) return;  // the call was ended, and the write with it
    return finish_write(failure_.ok() ? status::cancelled("the call has ended") : failure_, false);
  }
  if (record_) [[unlikely]] {
    if (record_->unsent() > queue_high_bytes) return record_->want_room(queue_low_bytes);
  } else if (exchange_.queued() > queue_high_bytes) {
    return exchange_.want_writable(queue_low_bytes);
  }
  finish_write({}, false);
}

bool call::ends_pump() noexcept {
  const auto messages = static_cast<std::uint32_t>(traffic_.messages_sent);
  const auto bytes = static_cast<std::uint32_t>(traffic_.bytes_sent);
  if (messages - pump_messages_ < pump_messages_max && bytes - pump_bytes_ < pump_bytes_max) return false;
  pump_messages_ = messages;
  pump_bytes_ = bytes;
  return true;
}

void call::resume_writer() noexcept {
  if (writer_ && writer_serialized_) finish_write({}, true);
}

void call::stop_writing() noexcept {
  if (!writer_) return;
  if (writer_serialized_) finish_write({}, false);
  else finish_write(failure_.ok() ? stopped_wait() : failure_, false);
}

void call::outgoing_failed(const status& reason) noexcept {
  if (writer_) finish_write(reason, false);
}

void call::finish_write(const status& outcome, bool inside) noexcept {
  write_operation* op = std::exchange(writer_, nullptr);
  op->outcome_ = outcome;
  if (!std::exchange(op->call_, nullptr)) return;  // still in start(): it does not wait
  if (inside) return op->resume();
  coro::this_executor().post(*op);
}

bool call::send_intercepted(const codec& k, const void* message, bool may_compress, bool end_stream) {
  intercepted_message m(format_, k, message);
  const status reason = sends_->sent(m);
  if (!reason.ok()) {
    messages_broken(reason);
    return false;
  }
  if (end_stream) sends_->outgoing_ended();
  const message_to_send passed = m.to_send();
  return send_encoded(*passed.k, passed.message, may_compress, end_stream, {});
}

bool call::send_formatted(const codec& k, const void* message, bool may_compress, bool end_stream) {
  std::string& body = message_workspace::here().empty_text();
  const status outcome = format_.write(k, message, body);
  if (outcome.ok()) return send_body(as_bytes(body), may_compress, end_stream);
  messages_broken(outcome);
  return false;
}

bool call::send_body(bytes_view body, bool may_compress, bool end_stream) {
  const protocol::grpc::framed_message m =
      may_compress ? format_.compress(body) : protocol::grpc::framed_message{body, false};
  return send_framed({body.size(), m.body.size()}, end_stream, [&](std::uint8_t* to) {
    protocol::write_envelope_prefix(to, m.compressed, static_cast<std::uint32_t>(m.body.size()));
    if (!m.body.empty()) std::memcpy(to + envelope_prefix_bytes, m.body.data(), m.body.size());
  });
}

void call::send_end() {
  if (record_) record_->record(nullptr, 0, {}, true);
  else if (exchange_.reserve_data(0)) exchange_.commit_data(0, true);
  else exchange_.queue_data(nullptr, 0, true);
}

// --- the operations

read_operation::~read_operation() {
  if (call_) call_->cancel_read();
}

void read_operation::stopped(coro::stop_callback& self) noexcept {
  auto& op = static_cast<read_operation&>(self);
  if (op.call_) op.call_->stop_reading();
}

bool read_operation::start(call* c, void* into, std::coroutine_handle<> waiter,
                           const coro::stop_token& stop) noexcept {
  into_ = into;
  waiter_ = waiter;
  run = [](coro::runnable& w) noexcept { static_cast<read_operation&>(w).resume(); };
  if (!c) {
    outcome_ = outcome::failed;
    failure_ = status::cancelled("the call has ended");
    return false;
  }
  if (!c->begin_read(*this)) return false;
  call_ = c;
  if (!stop.subscribe(*this)) c->stop_reading();
  return true;
}

write_operation::~write_operation() {
  if (call_) call_->cancel_write();
}

void write_operation::stopped(coro::stop_callback& self) noexcept {
  auto& op = static_cast<write_operation&>(self);
  if (op.call_) op.call_->stop_writing();
}

bool write_operation::start(call* c, std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept {
  waiter_ = waiter;
  run = [](coro::runnable& w) noexcept { static_cast<write_operation&>(w).resume(); };
  if (!c) {
    outcome_ = status::cancelled("the call has ended");
    return false;
  }
  if (!c->begin_write(*this)) {
    if (!outcome_.ok() || !c->ends_pump()) return false;
    coro::this_executor().post(*this);
    return true;
  }
  call_ = c;
  if (!stop.subscribe(*this)) c->stop_writing();
  return true;
}

}  // namespace coracle::rpc
