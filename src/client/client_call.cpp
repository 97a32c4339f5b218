#include "client/client_call.hpp"

#include "client/call_setup.hpp"
#include "client/stream_chain.hpp"
#include "client/unary_chain.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "coracle/runtime/loop.hpp"
#include "protocol/envelope.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace coracle::client {

namespace {

status cancelled_call() { return status::cancelled("the call was cancelled"); }

}  // namespace

client_call::stop_hook::stop_hook(client_call& c) noexcept
    : coro::stop_callback([](coro::stop_callback& s) noexcept {
        static_cast<stop_hook&>(s).owner.end(cancelled_call(), false);
      }),
      owner(c) {}

client_call::client_call(call_channel& channel, const char* path, call_options&& options)
    : call_attempt(terms_),
      channel_(channel),
      terms_{path, std::move(options), never, {}, nullptr},
      on_stop_(*this) {
  if (const call_options* defaults = channel.defaults()) [[unlikely]]
    terms_.options.inherit(*defaults);
  max_receive_bytes_ = terms_.options.max_receive_bytes();
  format_.use(terms_.options.codec());
  format_.limit_sent(terms_.options.max_send_bytes());
  timer::fire = [](coro::timer& t) noexcept {
    static_cast<client_call&>(t).end(status::deadline_exceeded("the deadline passed"), false);
  };
}

client_call::~client_call() {
  if (timer::holder) terms_.home->disarm(*this);
}

// --- the owner's side

void client_call::set_unary(unary_operation& op, const rpc::codec& request_codec,
                            const void* request) noexcept {
  unary_ = &op;
  request_codec_ = &request_codec;
  request_ = request;
  expect_reply(op.reply_codec_, op.reply_);
}

void client_call::set_request(const rpc::codec& k, const void* request) {
  request_failure_ = format_.write(k, request, request_body_.emplace());
  own_side_ = own_side::closing;
}

void client_call::begin(const coro::environment& outer) noexcept {
  settle_home();
  phase_ = phase::begun;
  or_end([&] { begin_here(outer); });
}

void client_call::settle_home() noexcept {
  terms_.home = loop::current();
  CORACLE_ASSERT(terms_.home,
                 "a call needs a loop of its channel's runtime: co_await it there, or use sync_wait()");
}

void client_call::begin_here(const coro::environment& outer) {
  const coro::environment& inherited = terms_.options.is_detached() ? coro::no_environment : outer;
  if (inherited.call)
    rpc::propagate(*static_cast<const rpc::propagated_context*>(inherited.call), terms_.options.metadata(),
                   terms_.propagated);
  const time_point now = began_ = terms_.home->now();
  call_setup setup;
  channel_.set_up(setup, terms_.path, *terms_.home);
  counts_ = setup.counts;
  if (counts_) {
    ++counts_->started;
    counts_->last_started = now;
  }
  terms_.deadline = inherited.deadline;
  if (terms_.options.timeout())
    terms_.deadline = std::min(terms_.deadline, deadline_after(now, *terms_.options.timeout()));
  if (const auto& c = terms_.options.compression()) format_.pack_as(*c);
  if (setup.config) go_by(*setup.config, now);
  if (setup.observer) watched_ = std::make_unique<call_watch>(*setup.observer, terms_);
  if (terms_.options.bad_metadata())
    return end(status::internal("a metadata key or value breaks gRPC's rules: see coracle/rpc/metadata.hpp"),
               false);
  if (!request_failure_.ok()) return end(request_failure_, false);
  // The wait of a unary call is the call, and so is an interceptor's; those of a stream are stopped one by one.
  if (unary_ || chain_ ? !inherited.stop.subscribe(on_stop_) : inherited.stop.stop_requested())
    return end(cancelled_call(), false);
  if (terms_.deadline <= now)
    return end(status::deadline_exceeded("the deadline had passed before the call began"), false);
  if (terms_.deadline != never) terms_.home->arm(*this, terms_.deadline);
  if (setup.config_may_come && !setup.config && channel_.wait_for_config(*this)) return;
  prove_caller(setup.config, nullptr, setup.secure_authority);
}

void client_call::configured(const method_config* m, std::shared_ptr<attempt_source> source,
                             std::string_view secure_authority) noexcept {
  if (m) go_by(*m, began_);
  if (!request_failure_.ok()) return end(request_failure_, false);
  if (terms_.deadline <= terms_.home->now())
    return end(status::deadline_exceeded("the deadline passed"), false);
  if (timer::holder) terms_.home->disarm(*this);
  if (terms_.deadline != never) terms_.home->arm(*this, terms_.deadline);
  prove_caller(m, std::move(source), secure_authority);
}

void client_call::begin_stream(const coro::environment& inherited) noexcept {
  const auto around = channel_.interceptors();
  if (around.empty()) [[likely]]
    return begin(inherited);
  settle_home();
  phase_ = phase::begun;
  chain_ = std::make_unique<stream_chain>(around, *this, terms_.path, terms_.options);
  if (!terms_.options.is_detached() && inherited.stop.stop_requested()) chain_->cancel();
  chain_->begin(inherited, {});
}

void client_call::begin_try(const coro::environment& e, const call_options& options) noexcept {
  if (phase_ == phase::ended) return chain_->try_ended();
  terms_.options = options;
  begin(e);
}

void client_call::settle(const status& how) noexcept {
  outcome_ = how;
  phase_ = phase::ended;
  chain_.reset();
  if (late_ == late_reply::deferred) return;  // continue_message() concludes
  if (outcome_.ok()) outcome_ = missing_reply();
  conclude(true);
}

void client_call::cancel() noexcept {
  if (chain_) chain_->cancel();
  if (phase_ != phase::ended) end(cancelled_call(), false);  // a status with a text takes memory
  else if (late_ == late_reply::deferred) cancel_late_reply();
}

// Not its deadline: the server has answered in time.
void client_call::cancel_late_reply() noexcept {
  late_ = late_reply::cancelled;
  drop_deferred();
  if (outcome_.ok()) outcome_ = cancelled_call();
  tell_observer(outcome_);
  if (!chain_) conclude(false);
}

// The service config's part, where the caller says nothing or more.
void client_call::go_by(const method_config& m, time_point now) noexcept {
  if (m.timeout) terms_.deadline = std::min(terms_.deadline, deadline_after(now, *m.timeout));
  if (m.wait_for_ready && !terms_.options.wait_for_ready()) terms_.options.wait_for_ready(*m.wait_for_ready);
  if (m.max_response_bytes) {
    const bool said = terms_.options.sets_max_receive_bytes();
    max_receive_bytes_ = said ? std::min(max_receive_bytes_, *m.max_response_bytes) : *m.max_response_bytes;
  }
  if (!m.max_request_bytes) return;
  format_.limit_sent(std::min(format_.most_sent_bytes(), *m.max_request_bytes));
  if (request_body_ && request_body_->size() > format_.most_sent_bytes())
    request_failure_ = rpc::too_large_to_send(request_body_->size(), format_.most_sent_bytes());
}

void client_call::make_attempts(const method_config* m, std::shared_ptr<attempt_source> source) noexcept {
  if (!m || !(m->retry || m->hedging)) {
    watched_attempt_ = watch_attempt(watched_.get(), attempt_kind::first, 0);
    watch_ = watched_attempt_.get();
    return source ? source->begin(*this) : channel_.begin(*this);
  }
  attempts_ = std::make_unique<attempt_set>(
      *this, terms_, m->retry ? attempt_plan(m->retry, m->throttle) : attempt_plan(m->hedging, m->throttle),
      source ? std::move(source) : channel_.source(), watched_.get());
  attempts_->begin();
}

void client_call::half_close() noexcept {
  if (own_side_ == own_side::open) own_side_ = own_side::closing;
  if (!can_send() || own_side_ == own_side::closed) return;
  own_side_ = own_side::closed;
  or_end([&] { send_end(); });
}

void client_call::expect_reply(const rpc::codec& k, void* into) noexcept {
  reply_codec_ = &k;
  reply_ = into;
  single_message_ = true;
  if (ended()) return read_late_reply();
  // The reply may have begun to arrive, and be larger than the window.
  credit(uncredited_);
  if (!deframer_.empty() && single_reply_data({}) && phase_ == phase::ended) late_ = late_reply::deferred;
  if (phase_ == phase::ended && late_ != late_reply::deferred)
    tell_observer(outcome_.ok() ? missing_reply() : outcome_);
}

// The call had ended before anybody asked for its reply.
void client_call::read_late_reply() noexcept {
  if (outcome_.ok() && single_reply_data({})) {
    late_ = late_reply::deferred;
    return;
  }
  if (outcome_.ok()) outcome_ = missing_reply();
  tell_observer(outcome_);
}

bool client_call::continue_message() noexcept {
  const bool late = late_ == late_reply::deferred;
  if (single_reply_data({})) return true;
  if (!late) return false;
  late_ = late_reply::none;
  if (outcome_.ok()) outcome_ = missing_reply();
  tell_observer(outcome_);
  if (chain_) return false;  // whose interceptors say how the call ends
  conclude(true);
  return false;
}

// What is wrong with a call that ended well by its status.
status client_call::missing_reply() const {
  if (late_ == late_reply::cancelled) return cancelled_call();
  if (!reply_codec_ || (reply_read_ && deframer_.empty())) return {};
  return deframer_.empty() ? status::unimplemented("the server ended the call without a reply")
                           : status::internal("the reply was cut short");
}

// Also of messages that are read after the call's end: then it has not ended as well as it seemed.
void client_call::messages_broken(status why) noexcept {
  if (phase_ == phase::ended && outcome_.ok()) {
    outcome_ = std::move(why);
    return;
  }
  if (chain_) outgoing_failed(why);  // the call's end waits for its interceptors, this write does not
  end(std::move(why), false);
}

bool client_call::wait_for_end(end_operation& op) noexcept {
  if (ended()) return false;
  CORACLE_ASSERT(!ender_, "two tasks wait for one call's end");
  ender_ = &op;
  if (!reply_codec_) {
    // finish() on a stream that is not read to its end: what still comes is dropped.
    single_message_ = true;
    deframer_.clear();
    drop_deferred();
    credit(uncredited_);
  }
  return true;
}

void client_call::forget(end_operation& op) noexcept {
  if (ender_ == &op) ender_ = nullptr;
}

// False when it need not wait: op.how_ says it.
bool client_call::wait_for_head(head_operation& op) noexcept {
  if (!head_came_) op.how_ = outcome_;
  if (head_came_ || ended()) return false;
  if (head_waiter_) {
    op.how_ = status::internal("two tasks wait for the initial metadata of one call: let one task wait");
    return false;
  }
  head_waiter_ = &op;
  return true;
}

void client_call::stop_waiting_for_head(const status& how) noexcept {
  head_operation* const op = std::exchange(head_waiter_, nullptr);
  if (!op) return;
  op->how_ = how;
  op->call_ = nullptr;
  terms_.home->post(*op);  // it may destroy the call
}

void client_call::dispose() noexcept {
  if (begun() && !terms_.home->is_current()) {
    work::run = [](coro::work& w) noexcept {
      auto& self = static_cast<client_call&>(w);
      self.dispose();
    };
    terms_.home->post(*this);
    return;
  }
  unary_ = nullptr;
  if (begun()) cancel();
  tell_observer(outcome_);  // of a reply that the caller has not asked for
  if (chain_) chain_.release()->abandon();
  delete this;
}

// --- receiving

void client_call::on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) {
  if (kind == transport::block_kind::informational) return;
  protocol::grpc::response_headers head;
  if (head.read(fields)) take_head(head, kind, end_stream);
}

void client_call::take_head(protocol::grpc::response_headers& head, transport::block_kind kind,
                            bool end_stream) {
  (end_stream ? trailing_ : initial_) = metadata(std::move(head.metadata));
  if (kind == transport::block_kind::head) {
    http_status_ = head.http_status;
    request_body_.reset();
    if (watched_attempt_ && !end_stream) watched_attempt_->head_received();
  }
  if (end_stream) return stream_ended(head);
  if (kind == transport::block_kind::head && (http_status_ != 200 || !head.grpc_content)) {
    end(end_by_foreign_head(head), true);
  } else if (!head.has_form(terms_.options.content_subtype())) {
    end(status::internal("the server answered in another form of messages than it was asked in"), true);
  } else if (head.unknown_encoding || !terms_.options.accepted_encodings().has(head.encoding)) {
    end(status::internal("the server's messages are compressed in a way that was not offered"), true);
  } else {
    format_.unpack_as(head.encoding);
    head_came_ = true;
    stop_waiting_for_head({});
  }
}

void client_call::on_data(bytes_view bytes, bool end_stream) {
  if (single_message_) {
    exchange_.consume(bytes.size() + std::exchange(uncredited_, 0));
    if (reply_codec_) single_reply_data(bytes);
    if (end_stream && phase_ != phase::ended) stream_ended({});
    return;
  }
  if (end_stream) {
    // No trailers: the call cannot have ended well, whatever the messages say.
    if (!bytes.empty()) deframer_.append(bytes);
    return stream_ended({});
  }
  take_data(bytes, false);
}

// The one reply. Nothing resumes inside, but the call may end.
bool client_call::single_reply_data(bytes_view bytes) noexcept {
  bool deferred = false;
  if (!base::if_memory_allows([&] { deferred = take_single_reply(bytes); }))
    messages_broken(rpc::out_of_memory());
  return deferred;
}

bool client_call::take_single_reply(bytes_view bytes) {
  using state = protocol::grpc::deframer::state;
  while (true) {
    const bool direct = deframer_.empty();
    if (!direct) {
      deframer_.append(bytes);
      bytes = {};
    }
    protocol::grpc::framed_message message;
    const state s = direct ? protocol::grpc::deframer::peek(bytes, max_receive_bytes_, message)
                           : deframer_.front(max_receive_bytes_, message);
    if (s == state::need_more) {
      if (direct) deframer_.append(bytes);
      return false;
    }
    status why;
    if (s != state::message) why = rpc::broken_message(s, max_receive_bytes_);
    else if (reply_read_) why = status::unimplemented("the server sent more than one reply");
    else if (read_message(*reply_codec_, reply_, message, why) == decoded::deferred) {
      if (direct) deframer_.append(bytes);
      return true;
    }
    if (!why.ok()) {
      messages_broken(why);
      return false;
    }
    reply_read_ = true;
    if (direct)
      bytes =
          bytes.subspan(static_cast<std::size_t>(message.body.data() + message.body.size() - bytes.data()));
    else deframer_.pop(message);
  }
}

void client_call::stream_ended(const protocol::grpc::response_headers& last) noexcept {
  status how = end_by_trailers(last, http_status_);
  end(how.ok() ? missing_reply() : std::move(how), true);
}

void client_call::on_reset(const transport::abnormal_end& e) noexcept {
  exchange_.release();
  if (!try_again(e)) end(end_by_reset(e), true);
}

// --- the end

void client_call::end(status why, bool inside) noexcept {
  if (phase_ == phase::ended) return;
  phase_ = phase::ended;
  // A cancel that the server made of its own deadline, while ours has come: say what it was.
  if (why.code() == status_code::cancelled && terms_.deadline != never &&
      terms_.home->now() >= terms_.deadline)
    why = status::deadline_exceeded("the deadline passed");
  outcome_ = std::move(why);
  if (counts_) ++(outcome_.ok() ? counts_->succeeded : counts_->failed);
  if (timer::holder) terms_.home->disarm(*this);
  on_stop_.unlink();
  fetch_.reset();
  if (attempts_) attempts_->call_ended(outcome_);
  record_ = nullptr;
  if (exchange_) {
    if (outcome_.ok()) exchange_.count_call_ok();
    exchange_.release();
  }
  if (single_message_) drop_deferred();
  else leave_connection();
  end_watched_attempt();
  if (!outcome_.ok() || !one_reply_ || reply_codec_) tell_observer(outcome_);
  list_hook::unlink();  // a call that waits for a connection waits no more
  if (chain_) [[unlikely]]
    return chain_->try_ended();
  conclude(inside);
}

void client_call::conclude(bool inside) noexcept {
  stop_waiting_for_head(outcome_);
  if (unary_ || !inside) {
    outgoing_failed(outcome_);
    if (outcome_.ok()) incoming_ended();
    else incoming_failed(outcome_, inside);
    return tell_owner(inside);
  }
  // Streams: a reader or writer that resumes inside may destroy the call; so they go through the queue.
  outgoing_failed(outcome_.ok() ? status::cancelled("the server has ended the call") : outcome_);
  tell_owner(false);
  if (outcome_.ok()) incoming_ended();
  else incoming_failed(outcome_, true);
}

void client_call::count_kept() noexcept {
  bytes_view left = deframer_.kept();
  protocol::grpc::framed_message m;
  while (protocol::grpc::deframer::peek(left, max_receive_bytes_, m) ==
         protocol::grpc::deframer::state::message) {
    watched_attempt_->message_received({m.body.size(), m.body.size()});
    left = left.subspan(protocol::envelope_prefix_bytes + m.body.size());
  }
}

void client_call::end_watched_attempt() noexcept {
  if (!watched_) return;
  if (watched_attempt_) count_kept();
  watch_ = nullptr;
  end_watch(watched_attempt_, outcome_);
}

void client_call::tell_observer(const status& how) noexcept {
  if (const auto ending = std::exchange(watched_, nullptr)) ending->ended(how);
}

// Resumes whoever waits for the end.
void client_call::tell_owner(bool inside) noexcept {
  std::coroutine_handle<> waiter;
  if (unary_ && (unary_->waiter_ || unary_->chain_)) {
    unary_->status_ = outcome_;
    unary_->initial_ = std::move(initial_);
    unary_->trailing_ = std::move(trailing_);
    unary_->read_compressed_ = read_compressed();
    if (unary_->chain_) [[unlikely]]
      return unary_->chain_->try_ended(outcome_, inside);
    waiter = std::exchange(unary_->waiter_, {});
  } else if (ender_) {
    end_operation* op = std::exchange(ender_, nullptr);
    op->call_ = nullptr;
    op->unlink();
    waiter = op->waiter_;
  }
  if (!waiter) return;
  if (inside) return waiter.resume();
  resume_later_ = waiter;
  work::run = [](coro::work& w) noexcept {
    std::exchange(static_cast<client_call&>(w).resume_later_, {}).resume();
  };
  terms_.home->post(*this);
}

}  // namespace coracle::client
