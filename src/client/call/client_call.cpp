#include "client/call/client_call.hpp"

#include "base/event_ring.hpp"
#include "base/hot_and_cold.hpp"
#include "client/call/call_setup.hpp"
#include "client/call/client_headers.hpp"
#include "client/call/client_interceptor_chain.hpp"
#include "client/call/inherited_deadline.hpp"
#include "client/call/repeated_headers.hpp"
#include "client/call/retry_instruments.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/client/then.hpp"
#include "coracle/client/unary_call.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "coracle/runtime/loop.hpp"
#include "protocol/envelope.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

namespace coracle::client {

namespace {

status cancelled_call() { return status::cancelled("the call was cancelled"); }

// A call that is started outside a coroutine runs on the loop of its caller, if that belongs to the runtime
// of the channel.
loop& loop_for(call_channel& c) {
  loop* const here = loop::current();
  return here && c.runs_on(here->owner()) ? *here : c.blocking_loop();
}

}  // namespace
}  // namespace coracle::client

bool coracle::call_channel::runs_on(const runtime& r) { return &blocking_loop().owner() == &r; }
bool coracle::call_channel::post(loop& where, coro::runnable& w) noexcept {
  where.post(w);
  return true;
}

namespace coracle::client {

client_call::stop_hook::stop_hook(client_call& c) noexcept
    : coro::stop_callback([](coro::stop_callback& s) noexcept {
        static_cast<stop_hook&>(s).owner.end(cancelled_call(), false);
      }),
      owner(c) {}

client_call::client_call(call_channel& channel, method_path path, call_options* options)
    : call_attempt(terms_),
      channel_(channel),
      terms_{path.view(),
             options ? call_options(std::move(*options)) : call_options(),
             never,
             {},
             nullptr,
             false,
             false,
             !path.has_side_effects(),
             path.is_unregistered()},
      on_stop_(*this) {
  if (const call_options* defaults = channel.defaults()) [[unlikely]]
    terms_.options.inherit(*defaults);
  apply_options();
  timer::fire = [](coro::timer& t) noexcept {
    static_cast<client_call&>(t).end(status::deadline_exceeded("the deadline passed"), false);
  };
}

client_call::~client_call() {
  if (timer::holder) terms_.owner_loop->disarm(*this);
}

// --- called by the owner

void client_call::set_unary(unary_operation& op, const rpc::codec& request_codec,
                            const void* request) noexcept {
  unary_ = &op;
  terms_.unary = true;
  request_codec_ = &request_codec;
  request_ = request;
  expect_reply(op.reply_codec_, op.reply_);
}

void client_call::set_request(const rpc::codec& k, const void* request) {
  if (!channel_.interceptors().empty()) [[unlikely]] {
    extra().seen_request = std::make_unique<intercepted_message>(format_, k, request);
    extras_->seen_request->own();
    return advance(call_event::close_requested);
  }
  request_failure_ = format_.write(k, request, request_body_.emplace());
  advance(call_event::close_requested);
}

void client_call::begin(const coro::environment& outer) noexcept {
  bind_owner_loop();
  advance(call_event::begin);
  or_end([&] { begin_here(outer); });
}

void client_call::bind_owner_loop() noexcept {
  terms_.owner_loop = loop::current();
  CORACLE_ASSERT(terms_.owner_loop,
                 "a call requires a loop of its channel's runtime: co_await it there, or use sync_wait()");
}

CORACLE_HOT void client_call::begin_here(const coro::environment& outer) {
  const coro::environment& inherited = terms_.options.detached ? coro::no_environment : outer;
  if (inherited.call || inherited.span || terms_.options.criticality)
    rpc::propagate(inherited, terms_.options.metadata, terms_.options.criticality, terms_.propagated);
  if (inherited.call) child_.begin(*static_cast<const rpc::propagated_context*>(inherited.call));
  const time_point now = began_ = terms_.owner_loop->now();
  terms_.number = terms_.owner_loop->events().next_call();
  call_setup setup;
  channel_.set_up(setup, terms_.path, *terms_.owner_loop);
  counts_ = setup.counts;
  if (counts_) {
    ++counts_->started;
    counts_->last_started = now;
  }
  terms_.deadline = inherited_deadline(inherited.deadline, terms_.options, now);
  if (terms_.options.timeout)
    terms_.deadline = std::min(terms_.deadline, deadline_after(now, *terms_.options.timeout));
  if (const auto& c = terms_.options.compression) format_.set_send_encoding(*c);
  if (setup.config) apply_method_config(*setup.config, now);
  if (setup.router) choose_route(setup, now);
  if (setup.observer) watched_ = std::make_unique<call_watch>(*setup.observer, terms_, inherited);
  if (!counts_ && setup.refused) return end(channel_.refusal(*terms_.owner_loop), false);
  if (terms_.options.has_bad_metadata())
    return end(status::internal("a metadata key or value is not valid (see coracle/rpc/metadata.hpp)"),
               false);
  if (!request_failure_.ok()) return end(request_failure_, false);
  // A stop of the wait for a unary call or for an interceptor's call cancels the call; the operations of a
  // stream are stopped individually.
  if (unary_ || chain_ ? !inherited.stop.subscribe(on_stop_) : inherited.stop.stop_requested())
    return end(cancelled_call(), false);
  if (terms_.deadline <= now)
    return end(status::deadline_exceeded("the deadline had passed before the call began"), false);
  if (counts_ && counts_->throttle && is_throttled()) [[unlikely]]
    return end(status::resource_exhausted("the channel has not sent the call: its servers refuse most calls "
                                          "(channel_options::throttling)"),
               false);
  if (terms_.deadline != never) terms_.owner_loop->arm(*this, terms_.deadline);
  if (setup.may_get_config && !setup.config && !terms_.route && channel_.wait_for_config(*this)) return;
  begin_attempts(setup.config, setup.secure_authority);
}

// Without a route, the call ends like one whose request cannot be sent.
[[gnu::noinline]]
void client_call::choose_route(call_setup& setup, time_point now) {
  auto to = std::make_unique<call_route>();
  routed_call with;
  if (!setup.router->route(terms_.path, terms_.options.metadata, *terms_.owner_loop, *to, with)) {
    if (request_failure_.ok()) request_failure_ = std::move(with.failure);
    return;
  }
  if (with.filters) [[unlikely]]
    extra().filters = std::move(with.filters);
  setup.config = with.config;
  if (setup.config) apply_method_config(*setup.config, now);
  terms_.route = std::move(to);
}

CORACLE_COLD void client_call::configured(const call_setup& provided) noexcept {
  release_places();
  or_end([&] {
    if (watched_) watched_->resolved();
    call_setup setup = provided;
    if (setup.config) apply_method_config(*setup.config, began_);
    if (setup.router) choose_route(setup, began_);
    if (!request_failure_.ok()) return end(request_failure_, false);
    if (terms_.deadline <= terms_.owner_loop->now())
      return end(status::deadline_exceeded("the deadline passed"), false);
    if (timer::holder) terms_.owner_loop->disarm(*this);
    if (terms_.deadline != never) terms_.owner_loop->arm(*this, terms_.deadline);
    begin_attempts(setup.config, setup.secure_authority);
  });
}

void client_call::begin_stream(const coro::environment& inherited) noexcept {
  const auto around = channel_.interceptors();
  if (around.empty()) [[likely]]
    return begin(inherited);
  bind_owner_loop();
  advance(call_event::begin);
  chain_ = std::make_unique<stream_chain>(channel_, *this, terms_.path.data(), terms_.options,
                                          extras_ ? std::move(extras_->seen_request) : nullptr);
  if (!terms_.options.detached && inherited.stop.stop_requested()) chain_->cancel();
  chain_->begin(inherited, {});
}

CORACLE_COLD void client_call::begin_attempt(const coro::environment& e, const call_options& options,
                                             const intercepted_message* request) noexcept {
  if (is_over(state_)) return chain_->on_attempt_ended();
  terms_.options = options;
  apply_options();
  if (request) {
    const rpc::message_to_send one = request->to_send();
    const auto write = [&] {
      request_failure_ = format_.write(*one.k, one.message, request_body_.emplace());
    };
    if (!base::if_memory_allows(write)) request_failure_ = rpc::out_of_memory();
  }
  begin(e);
}

CORACLE_COLD void client_call::set_hooks(rpc::hook_list hooks) {
  extra().hooks = std::make_unique<stream_hooks>();
  extras_->hooks->hooks = std::move(hooks);
  receives_ = sends_ = extras_->hooks.get();
}

status client_call::stream_hooks::received(rpc::call& c, const rpc::codec& k, void* into, bytes_view body) {
  intercepted_message m(c, k, into, body);
  status outcome = run_hooks([&] { return rpc::pass_reply(hooks, m); });
  return outcome.ok() ? m.deliver(c.max_receive_bytes()) : outcome;
}

status client_call::stream_hooks::sent(intercepted_message& m) {
  return run_hooks([&] { return rpc::pass_request(hooks, m); });
}

void client_call::stream_hooks::outgoing_ended() noexcept {
  for (const auto& h : hooks) h->on_requests_end();
}

void client_call::stream_hooks::headers_received(const metadata& initial) noexcept {
  for (auto h = hooks.rbegin(); h != hooks.rend(); ++h) (*h)->on_initial_metadata(initial);
}

CORACLE_COLD void client_call::cancel_try(const status& reason) noexcept { end(reason, false); }

CORACLE_COLD void client_call::finish_chain(const status& outcome) noexcept {
  outcome_ = outcome;
  advance(call_event::end);
  chain_.reset();
  if (state_ == call_state::reply_waits) return;  // continue_message() finishes the call
  if (outcome_.ok()) outcome_ = missing_reply();
  finish(true);
}

CORACLE_COLD void client_call::cancel() noexcept {
  if (chain_) chain_->cancel();
  if (!is_over(state_)) end(cancelled_call(), false);  // creating a status with a message allocates
  else if (state_ == call_state::reply_waits) cancel_late_reply();
}

// Even after the deadline this is a cancellation: the server has responded in time.
CORACLE_COLD void client_call::cancel_late_reply() noexcept {
  advance(call_event::reply_dropped);
  drop_deferred();
  if (outcome_.ok()) outcome_ = cancelled_call();
  notify_observer(outcome_);
  if (!chain_) finish(false);
}

// Applies the service config, where the caller sets no value or a larger one.
CORACLE_COLD void client_call::apply_method_config(const method_config& m, time_point now) {
  if (m.timeout) terms_.deadline = std::min(terms_.deadline, deadline_after(now, *m.timeout));
  if (m.wait_for_ready && !terms_.options.wait_for_ready) terms_.options.wait_for_ready = *m.wait_for_ready;
  if (m.max_response_bytes) {
    const bool caller_set_limit = terms_.options.max_receive_bytes.has_value();
    max_receive_bytes_ =
        caller_set_limit ? std::min(max_receive_bytes_, *m.max_response_bytes) : *m.max_response_bytes;
    terms_.options.max_receive_bytes = max_receive_bytes_;
  }
  if (!m.max_request_bytes) return;
  format_.set_max_send_bytes(std::min(format_.max_send_bytes(), *m.max_request_bytes));
  if (request_body_ && request_body_->size() > format_.max_send_bytes())
    request_failure_ = rpc::too_large_to_send(request_body_->size(), format_.max_send_bytes());
}

[[gnu::noinline]]
void client_call::make_attempts(const method_config* m) {
  if (!m || !(m->retry || m->hedging)) {
    if (watched_) [[unlikely]] {
      watched_attempt_ = watch_attempt(watched_.get(), attempt_kind::first, 0);
      watch_ = watched_attempt_.get();
    }
    return channel_.begin(*this);
  }
  stand_between();
  retry_budget* const budget = counts_ ? counts_->budget : nullptr;
  retry_state plan =
      m->retry ? retry_state(m->retry, m->throttle, budget) : retry_state(m->hedging, m->throttle, budget);
  attempts_ = std::make_unique<retry_controller>(*this, terms_, std::move(plan), channel_, watched_.get());
  attempts_->begin();
}

void client_call::stand_between() noexcept {
  if (counts_) counts_->between.push_back(*this);
}

[[gnu::noinline]]
void client_call::half_close() noexcept {
  advance(call_event::close_requested);
  if (!can_send() || state_ != call_state::closing) return;
  advance(call_event::close_sent);
  if (sends_) [[unlikely]]
    sends_->outgoing_ended();
  or_end([&] { send_end(); });
}

void client_call::expect_reply(const rpc::codec& k, void* into) noexcept {
  reply_codec_ = &k;
  reply_ = into;
  single_message_ = true;
  if (ended()) return read_late_reply();
  // The reply may have begun to arrive, and be larger than the window.
  credit(uncredited_);
  if (!deframer_.empty() && single_reply_data({})) advance(call_event::reply_deferred);
  if (is_over(state_) && state_ != call_state::reply_waits)
    notify_observer(outcome_.ok() ? missing_reply() : outcome_);
}

// The call had ended before its reply was requested.
CORACLE_COLD void client_call::read_late_reply() noexcept {
  if (outcome_.ok() && single_reply_data({})) return advance(call_event::reply_deferred);
  if (outcome_.ok()) outcome_ = missing_reply();
  notify_observer(outcome_);
}

bool client_call::continue_message() noexcept {
  const bool late = state_ == call_state::reply_waits;
  if (single_reply_data({})) return true;
  if (!late) return false;
  advance(call_event::reply_read);
  if (outcome_.ok()) outcome_ = missing_reply();
  notify_observer(outcome_);
  if (chain_) return false;  // its interceptors determine the result
  finish(true);
  return false;
}

// Returns what is wrong with a call whose status is OK.
CORACLE_COLD status client_call::find_missing_reply() const {
  if (state_ == call_state::reply_cancelled) return cancelled_call();
  if (!reply_codec_ || (reply_read_ && deframer_.empty())) return {};
  return deframer_.empty() ? status::unimplemented("the server ended the call without a reply")
                           : status::internal("the reply is incomplete: the stream ended within a message");
}

// Also for messages that are read after the end of the call, which then changes from OK to an error.
CORACLE_COLD void client_call::messages_broken(status reason) noexcept {
  if (is_over(state_) && outcome_.ok()) {
    outcome_ = std::move(reason);
    return;
  }
  if (chain_) outgoing_failed(reason);  // the end of the call waits for its interceptors, this write does not
  end(std::move(reason), false);
}

bool client_call::wait_for_end(end_operation& op) noexcept {
  if (ended()) return false;
  CORACLE_ASSERT(!end_waiter_, about("has two concurrent waits for its end: let one task wait").c_str());
  end_waiter_ = &op;
  if (!reply_codec_) {
    // finish() on a stream that was not read to its end: drops the remaining messages.
    single_message_ = true;
    deframer_.clear();
    drop_deferred();
    credit(uncredited_);
  }
  return true;
}

void client_call::forget(end_operation& op) noexcept {
  if (end_waiter_ == &op) end_waiter_ = nullptr;
}

headers_operation*& client_call::waiter_of(const headers_operation& op) noexcept {
  return op.what_ == headers_operation::awaited::headers ? headers_waiter_ : connection_waiter_;
}

// Returns false if it need not wait: op.outcome_ has the result.
bool client_call::wait_for_headers(headers_operation& op) noexcept {
  const bool for_headers = op.what_ == headers_operation::awaited::headers;
  const bool arrived = for_headers ? headers_received_ : connected_;
  if (!arrived) op.outcome_ = outcome_;
  if (arrived || ended()) return false;
  headers_operation*& waiter = waiter_of(op);
  if (waiter) {
    op.outcome_ = status::internal(
        about(for_headers ? "has two concurrent waits for its initial metadata: let one task wait"
                          : "has two concurrent waits for its connection: let one task wait"));
    return false;
  }
  waiter = &op;
  return true;
}

CORACLE_COLD void client_call::stop_wait(headers_operation* op, const status& outcome) noexcept {
  waiter_of(*op) = nullptr;
  op->outcome_ = outcome;
  op->call_ = nullptr;
  terms_.owner_loop->post(*op);  // resuming it may destroy the call
}

void client_call::has_connection() noexcept {
  connected_ = true;
  if (connection_waiter_) [[unlikely]]
    stop_wait(connection_waiter_, {});
}

CORACLE_COLD loop& client_call::hold() {
  if (!held_on_) {
    held_on_ = begun() ? &owner_loop() : &loop_for(channel_);
    held_channel_ = channel_.handle();
  }
  holders_.fetch_add(1, std::memory_order_relaxed);
  // After the end of the runtime, operations fail on another loop.
  return channel_.runtime_has_ended() ? loop_for(channel_) : *held_on_;
}

void client_call::let_go() noexcept {
  if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) dispose();
}

// Operations hold the call: it ends now, they end because of that, and the last one disposes of it.
CORACLE_COLD void client_call::abandon() noexcept {
  abandoned_.of = this;
  abandoned_.run = [](coro::runnable& w) noexcept {
    client_call& self = *static_cast<abandonment&>(w).of;
    self.cancel();
    self.let_go();
  };
  if (!channel_.post(*held_on_, abandoned_)) let_go();
}

// On the loop of the call. A call that has ended refers to no loop, which may be gone: it is deleted here
// where no loop runs what is posted to it. That also holds for unary calls, whose channel may be gone, too.
void client_call::dispose() noexcept {
  if (holders_.load(std::memory_order_acquire) > 1) [[unlikely]]
    return abandon();
  if (begun() && loop::current() != terms_.owner_loop && !(unary_ && ended())) {
    runnable::run = [](coro::runnable& w) noexcept { static_cast<client_call&>(w).dispose(); };
    if (channel_.post(*terms_.owner_loop, *this)) return;
  }
  unary_ = nullptr;
  if (begun() && !ended()) cancel();
  notify_observer(outcome_);  // for a reply that the caller has not requested
  if (chain_) chain_.release()->orphan();
  delete this;
}

// --- receiving

CORACLE_HOT void client_call::on_headers(transport::header_source& fields, transport::block_kind kind,
                                         bool end_stream) {
  if (kind == transport::block_kind::informational) return;
  const std::uint32_t number = fields.number();
  if (const auto* const known = repeated_headers::find(exchange_, number)) [[likely]] {
    std::span<const transport::varying_field> none;
    if (fields.read_varying(none)) {
      if (fields.ok() && take_headers(*known, {}, kind, end_stream)) take_rest();
      return;
    }
  }
  protocol::grpc::response_headers headers;
  if (!headers.read(fields)) return;
  if (number != 0) repeated_headers::keep(exchange_, number, headers);
  take_headers(headers, metadata(std::move(headers.metadata)), kind, end_stream);
}

// If the small reply of a call and its trailers have arrived with the headers, and the trailers are like
// earlier ones, this takes them at once. A compressed message may have to wait for its share of the loop.
inline void client_call::take_rest() {
  constexpr std::size_t bytes_max = small_message_bytes + protocol::envelope_prefix_bytes;
  if (!single_message_ || !reply_codec_ || !deframer_.empty() || is_over(state_)) return;
  transport::response_rest rest;
  if (!exchange_.peek_rest(bytes_max, rest) || rest.data[0] != 0) return;
  const auto* const known = repeated_headers::find(exchange_, rest.number);
  if (!known) [[unlikely]]
    return;
  exchange_.take_rest(rest);
  single_reply_data(rest.data);
  if (!is_over(state_)) take_headers(*known, {}, transport::block_kind::trailers, true);
}

bool client_call::take_headers(const protocol::grpc::response_headers& headers, metadata&& of_application,
                               transport::block_kind kind, bool end_stream) {
  metadata& received = end_stream ? trailing_ : initial_;
  received = std::move(of_application);
  if (kind == transport::block_kind::headers) {
    if (extras_ && extras_->filters) [[unlikely]]
      extras_->filters->headers_received(received, *terms_.route);
    http_status_ = headers.http_status;
    request_body_.reset();
    if (watched_attempt_ && !end_stream) watched_attempt_->headers_received();
  }
  if (end_stream) {
    stream_ended(headers);
    return false;
  }
  if (kind == transport::block_kind::headers && (http_status_ != 200 || !headers.grpc_content)) {
    end(status_of_non_grpc_response(headers), true);
  } else if (!headers.has_form(terms_.options.subtype())) {
    end(status::internal("the content-type of the response names another codec than that of the request"),
        true);
  } else if (headers.unknown_encoding || !terms_.options.reply_encodings().has(headers.encoding)) {
    end(status::internal("the grpc-encoding of the response is not one that the client accepts"), true);
  } else if (headers.too_large_bytes != 0 && !single_message_) [[unlikely]] {
    end(outcome_without_fields({}, "response headers", headers.too_large_bytes), true);
  } else {
    too_large_headers_bytes_ = headers.too_large_bytes;  // the status follows soon
    format_.set_receive_encoding(headers.encoding);
    headers_received_ = true;
    count_attempt(status_code::ok);
    if (receives_) [[unlikely]]
      receives_->headers_received(initial_);
    if (headers_waiter_) [[unlikely]]
      stop_wait(headers_waiter_, {});
    return true;
  }
  return false;
}

CORACLE_HOT void client_call::on_data(bytes_view bytes, bool end_stream) {
  if (single_message_) {
    exchange_.consume(bytes.size() + std::exchange(uncredited_, 0));
    if (reply_codec_) single_reply_data(bytes);
    if (end_stream && !is_over(state_)) stream_ended({});
    return;
  }
  if (end_stream) {
    // There are no trailers, so the call cannot end with OK, whatever its messages are.
    if (!bytes.empty()) deframer_.append(bytes);
    return stream_ended({});
  }
  take_data(bytes, false);
}

// Handles the only reply. No coroutine is resumed here, but the call may end.
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
    status reason;
    if (s != state::message)
      reason = rpc::broken_message(s, direct ? bytes : deframer_.kept(), max_receive_bytes_);
    else if (reply_read_) reason = status::unimplemented("the server sent more than one reply");
    else if (read_message(*reply_codec_, reply_, message, reason) == decoded::deferred) {
      if (direct) deframer_.append(bytes);
      return true;
    }
    if (!reason.ok()) {
      messages_broken(reason);
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
  status outcome = status_of_trailers(last, http_status_);
  if (too_large_headers_bytes_ != 0) [[unlikely]]
    outcome = outcome_without_fields(outcome, "response headers", too_large_headers_bytes_);
  end(outcome.ok() ? missing_reply() : std::move(outcome), true);
}

CORACLE_COLD void client_call::on_reset(const transport::abnormal_end& e) noexcept {
  exchange_.release();
  if (!retry_transparently(e)) end(status_of_reset(e), true);
}

// --- the end

[[gnu::noinline]]
void client_call::end(status reason, bool inside) noexcept {
  if (is_over(state_)) return;
  advance(call_event::end);
  // The server may cancel the call because of its own deadline timer; if ours has passed, too, report that.
  if (reason.code() == status_code::cancelled && terms_.deadline != never &&
      terms_.owner_loop->now() >= terms_.deadline)
    reason = status::deadline_exceeded("the deadline passed");
  outcome_ = std::move(reason);
  child_.end();
  if (target_ && target_->ends) [[unlikely]]
    target_->ends->attempt_ended(outcome_.code(), trailing_);
  if (counts_) {
    // What the client itself ends says nothing about the server, except that it has not answered in time.
    if (target_ && !headers_received_ && (inside || outcome_.code() == status_code::deadline_exceeded))
      count_attempt(outcome_.code());
    ++(outcome_.ok() ? counts_->succeeded : counts_->failed);
    if (counts_->when_none) [[unlikely]]
      counts_->post_if_none(*terms_.owner_loop);
  }
  if (timer::holder) terms_.owner_loop->disarm(*this);
  on_stop_.unlink();
  if (extras_) [[unlikely]]
    extras_->preparing.reset();
  if (attempts_) attempts_->call_ended(outcome_);
  record_ = nullptr;
  const auto code = static_cast<std::uint8_t>(outcome_.code());
  if (!exchange_ && terms_.owner_loop) [[unlikely]]
    terms_.owner_loop->events().unsent_call_ended(terms_.number, code, terms_.path.data());
  if (exchange_) {
    exchange_.events().ring().client_call_ended(terms_.number, code, terms_.path.data());
    if (outcome_.ok()) exchange_.count_call_ok();
    exchange_.release();
  }
  if (single_message_) drop_deferred();
  else leave_connection();
  end_watched_attempt();
  if (!outcome_.ok() || !terms_.one_reply || reply_codec_) notify_observer(outcome_);
  else if (watched_) watched_->keep_observer();
  leave_queue();
  if (chain_) [[unlikely]]
    return chain_->on_attempt_ended();
  finish(inside);
}

void client_call::finish(bool inside) noexcept {
  stop_waiting(connection_waiter_, outcome_);
  stop_waiting(headers_waiter_, outcome_);
  if (unary_ || !inside) {
    outgoing_failed(outcome_);
    if (outcome_.ok()) incoming_ended();
    else incoming_failed(outcome_, inside);
    return notify_owner(inside);
  }
  // For streams: a reader or writer that resumes here may destroy the call, so they resume through the queue.
  outgoing_failed(outcome_.ok() ? status::cancelled("the server has ended the call") : outcome_);
  notify_owner(false);
  if (outcome_.ok()) incoming_ended();
  else incoming_failed(outcome_, true);
}

CORACLE_COLD void client_call::count_for_throttle(status_code code) noexcept {
  counts_->throttle->count(terms_.owner_loop->now(), call_throttle::is_accepted(code));
}

CORACLE_COLD bool client_call::is_throttled() noexcept {
  if (counts_->throttle->admits(terms_.owner_loop->now(), terms_.owner_loop->io().random())) return false;
  measure_call_throttled();
  return true;
}

CORACLE_COLD void client_call::count_kept() noexcept {
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

CORACLE_COLD void client_call::notify_ended(const status& outcome) noexcept {
  std::exchange(watched_, nullptr)->ended(outcome);
}

// Resumes the task that waits for the end.
[[gnu::noinline]]
void client_call::notify_owner(bool inside) noexcept {
  std::coroutine_handle<> waiter;
  if (unary_ && (unary_->waiter_ || unary_->chain_)) {
    unary_->status_ = outcome_;
    unary_->initial_ = std::move(initial_);
    unary_->trailing_ = std::move(trailing_);
    unary_->peer_ = std::move(peer_);
    unary_->read_compressed_ = read_compressed();
    if (unary_->chain_) [[unlikely]]
      return unary_->chain_->on_attempt_ended(outcome_, inside);
    waiter = std::exchange(unary_->waiter_, {});
  } else if (end_waiter_) {
    end_operation* op = std::exchange(end_waiter_, nullptr);
    op->call_ = nullptr;
    op->unlink();
    waiter = op->waiter_;
  }
  if (!waiter) return;
  if (inside) return waiter.resume();
  resume_later_ = waiter;
  runnable::run = [](coro::runnable& w) noexcept {
    std::exchange(static_cast<client_call&>(w).resume_later_, {}).resume();
  };
  terms_.owner_loop->post(*this);
}

// --- the request

CORACLE_HOT void client_call::attach(transport::exchange x, const call_target& target) noexcept {
  const bool waited = leave_queue();
  exchange_ = x;
  target_ = &target;
  or_end([&] {
    peer_ = exchange_.peer();
    status refused = send_client_headers(exchange_, target, terms_, 0,
                                         watched_attempt_ ? watched_attempt_->more() : nullptr);
    if (!refused.ok()) [[unlikely]]
      return end(std::move(refused), false);
    has_connection();
    if (watched_attempt_) watched_attempt_->attached(exchange_, waited, target.labels);
    send_request();
  });
}

void client_call::record_to(rpc::request_record& r) noexcept {
  record_ = &r;
  has_connection();
  or_end([&] { send_request(); });
}

void client_call::adopt(transport::exchange x, const call_target& target,
                        std::unique_ptr<attempt_watch> watch) noexcept {
  list_hook::unlink();
  target_ = &target;
  record_ = nullptr;
  exchange_ = x;
  exchange_.set_handler(this);
  base::if_memory_allows([&] { peer_ = exchange_.peer(); });
  watched_attempt_ = std::move(watch);
  watch_ = watched_attempt_.get();
  retried_transparently_ = true;  // other attempts are made by the retry_controller
}

CORACLE_COLD void client_call::attempts_failed(attempt_result& last) noexcept {
  trailing_ = std::move(last.trailing);
  end(last.outcome, false);
}

CORACLE_COLD void client_call::fail(const status& reason, refusal) noexcept {
  release_places();
  end(reason, false);
}

void client_call::send_request() {
  if (request_) {
    advance(call_event::close_sent);
    send_single_request();
  } else if (request_body_) {
    advance(call_event::close_sent);
    send_request_body();
  } else {
    retry_writer();
    if (!may_write(state_)) half_close();
  }
}

// Destroys a large request that the operation owns once it is serialized, because the object takes several
// times the memory of its bytes. The bytes are sent like the request of a server-streaming call.
void client_call::send_single_request() {
  constexpr std::size_t small_bytes_max = 64u << 10;
  if (!unary_->may_release()) {
    send_message(*request_codec_, request_, true, true);
    return;
  }
  const std::size_t bytes = request_codec_->size_bytes(request_);
  if (bytes <= small_bytes_max) {
    send_message(*request_codec_, request_, true, true, bytes);
    return;
  }
  const status outcome = format_.write(*request_codec_, request_, request_body_.emplace(), bytes);
  if (!outcome.ok()) return messages_broken(outcome);
  request_ = nullptr;
  unary_->release_(*unary_);
  send_request_body();
}

// Keeps the bytes until the server responds, for a second attempt, unless that takes too much memory.
CORACLE_COLD void client_call::send_request_body() {
  constexpr std::size_t kept_bytes_max = 256u << 10;
  send_body(as_bytes(*request_body_), true, true);
  if (request_body_->size() <= kept_bytes_max) return;
  request_body_.reset();
  wrote_ = true;
}

// Retries once, if nothing is lost: a single request is still available, and a stream has not been written
// to.
bool client_call::retry_transparently(const transport::abnormal_end& e) noexcept {
  if (!e.unprocessed || http_status_ != 0 || wrote_ || std::exchange(retried_transparently_, true))
    return false;
  advance(call_event::send_again);
  end_watch(watched_attempt_, status_of_reset(e));
  watched_attempt_ = watch_attempt(watched_.get(), attempt_kind::transparent_retry, 0);
  watch_ = watched_attempt_.get();
  const call_target& left = *std::exchange(target_, nullptr);
  if (left.ends) left.ends->attempt_abandoned();
  left.source->begin(*this);
  return true;
}

// --- credentials

CORACLE_COLD void client_call::prepare_attempts(const method_config* m, std::string_view secure_authority) {
  if (extras_ && extras_->filters && extras_->filters->waits())
    return prepare([f = extras_->filters] { return f->prepare(); }, m, secure_authority, false);
  if (terms_.options.credentials) return attach_credentials(m, secure_authority);
  make_attempts(m);
}

CORACLE_COLD void client_call::attach_credentials(const method_config* m, std::string_view secure_authority) {
  const call_credentials& by = terms_.options.credentials;
  if (secure_authority.empty())
    return end(
        status::unauthenticated("call credentials are not sent in plaintext: construct the channel with "
                                "coracle::tls::client_options() instead of insecure()"),
        false);
  if (by.authorization()) {
    metadata bearer;
    if (!bearer.add("authorization", *by.authorization()))
      return end(status::unauthenticated("the token has characters that metadata do not permit"), false);
    if (add_credentials(bearer)) make_attempts(m);
    return;
  }
  credentials_request request{std::string(secure_authority), std::string(terms_.path)};
  prepare([from = by.source(), call = std::move(request)] { return fetch_credentials(from, call); }, m,
          secure_authority, true);
}

CORACLE_COLD void client_call::prepare(preparation::work what, const method_config* m,
                                       std::string_view secure_authority, bool credentials) {
  preparation_waiter& self = *this;
  stand_between();
  extra().preparing = std::make_unique<preparation>(
      *terms_.owner_loop, std::move(what), self,
      preparation::rest{m ? std::optional(*m) : std::nullopt, std::string(secure_authority), credentials});
}

// Returns false if the call has ended, because credentials and metadata under the same key contradict each
// other.
CORACLE_COLD bool client_call::add_credentials(const metadata& more) {
  for (const auto field : more) {
    if (!terms_.options.metadata.find(field.name)) continue;
    end(status::unauthenticated("the call has both credentials and metadata with the key \"" +
                                std::string(field.name) + "\": remove one"),
        false);
    return false;
  }
  for (const auto field : more) terms_.options.add_metadata(field.name, field.value);
  return true;
}

CORACLE_COLD void client_call::on_prepared(prepared got) noexcept {
  list_hook::unlink();
  const std::unique_ptr<preparation> done = std::exchange(extras_->preparing, nullptr);
  if (got.outcome && got.outcome->ok()) {
    outgoing_failed(status::cancelled("the call was ended before its request was sent"));
    return end(missing_reply(), false);
  }
  if (got.outcome) return end(*std::move(got.outcome), false);
  or_end([&] {
    const method_config* const config = done->then.config ? &*done->then.config : nullptr;
    if (done->then.has_credentials) {
      if (add_credentials(got.added)) make_attempts(config);
      return;
    }
    for (const auto field : got.added) terms_.options.add_metadata(field.name, field.value);
    if (terms_.options.credentials) attach_credentials(config, done->then.secure_authority);
    else make_attempts(config);
  });
}

// --- the operations that the owner of a call awaits

unary_operation::unary_operation(unary_operation&& other, void* reply)
    : release_(other.release_),
      channel_(other.channel_),
      path_(other.path_),
      request_codec_(other.request_codec_),
      reply_codec_(other.reply_codec_),
      request_(std::exchange(other.request_, nullptr)),
      copy_request_(other.copy_request_),
      reply_(reply),
      options_(std::move(other.options_)),
      call_(std::exchange(other.call_, nullptr)),
      held_channel_(std::move(other.held_channel_)),
      held_request_(std::move(other.held_request_)) {
  CORACLE_ASSERT(!other.chain_ && !(call_ && call_->begun()), "a unary call was moved after it was awaited");
}

inline void unary_operation::make_call() {
  call_ = new client_call(channel_, path_, options_ ? &*options_ : nullptr);
}

loop& unary_operation::hold() {
  loop& where = loop_for(channel_);
  if (held_channel_) return where;
  held_channel_ = channel_.handle();
  if (!request_) return where;  // its start is refused
  if (channel_.interceptors().empty()) {
    make_call();
    call_->set_request(request_codec_, std::exchange(request_, nullptr));
    if (release_) release_(*this);
  } else if (!release_) {
    held_request_ = copy_request_(request_);
    request_ = held_request_.get();
  }
  return where;
}

call_details unary_operation::take_details() noexcept {
  return {std::move(initial_), std::move(trailing_), read_compressed_};
}

unary_operation::~unary_operation() {
  if (chain_) chain_->orphan();
  if (call_) call_->dispose();
}

bool unary_operation::start_chain(std::coroutine_handle<> waiter,
                                  const coro::environment& inherited) noexcept {
  chain_ = new unary_chain(channel_, *this, path_.text(), options_ ? *options_ : call_options::defaults());
  chain_->begin(inherited, inherited.stop);
  if (!chain_) return false;
  chain_->set_waiter(waiter);
  return true;
}

void unary_operation::start_attempt(const coro::environment& inherited, const call_options& options,
                                    const rpc::message_to_send& request,
                                    rpc::message_path* replies) noexcept {
  if (call_) call_->dispose();
  call_options copy = options;
  call_ = new client_call(channel_, path_, &copy);
  call_->set_unary(*this, *request.k, request.message);
  if (replies) call_->pass_reply_by(*replies);
  call_->begin(inherited);
}

CORACLE_COLD bool unary_operation::refuse_second_start() noexcept {
  status_ = status::internal(std::string("the call of ") + path_.text() +
                             " was started twice: start each operation once");
  return false;
}

bool unary_operation::start(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept {
  const bool was_started = chain_ || (call_ ? call_->begun() : !request_);
  if (was_started) [[unlikely]]
    return refuse_second_start();
  if (!channel_.interceptors().empty()) [[unlikely]]
    return start_chain(waiter, inherited);
  if (!call_ && !base::if_memory_allows([&] { make_call(); })) {
    status_ = rpc::out_of_memory();
    return false;
  }
  call_->set_unary(*this, request_codec_, request_);
  call_->begin(inherited);
  if (call_->ended()) {
    status_ = call_->outcome();
    return false;
  }
  waiter_ = waiter;
  return true;
}

end_operation::~end_operation() {
  if (call_) call_->forget(*this);
}

void end_operation::stopped(coro::stop_callback& self) noexcept {
  auto& op = static_cast<end_operation&>(self);
  if (op.call_) op.call_->cancel();
}

bool end_operation::start(client_call& c, std::coroutine_handle<> waiter,
                          const coro::stop_token& stop) noexcept {
  waiter_ = waiter;
  if (stop.stop_requested()) c.cancel();
  if (!c.wait_for_end(*this)) return false;
  call_ = &c;
  stop.subscribe(*this);
  return true;
}

headers_operation::~headers_operation() {
  if (call_) call_->forget(*this);
}

void headers_operation::stopped(coro::stop_callback& self) noexcept {
  auto& op = static_cast<headers_operation&>(self);
  if (op.call_) op.call_->stop_waiting(&op, status::cancelled("the task was asked to stop"));
}

bool headers_operation::start(client_call& c, std::coroutine_handle<> waiter,
                              const coro::stop_token& stop) noexcept {
  run = [](coro::runnable& w) noexcept {
    auto& op = static_cast<headers_operation&>(w);
    op.stop_callback::unlink();
    op.waiter_.resume();
  };
  waiter_ = waiter;
  if (!c.wait_for_headers(*this)) return false;
  call_ = &c;
  if (!stop.subscribe(*this)) c.stop_waiting(this, status::cancelled("the task was asked to stop"));
  return true;
}

void client_stream::deleter::operator()(client_call* c) const noexcept { c->dispose(); }

client_stream::client_stream(const channel& by, method_path path, const call_options& options, bool one_reply)
    : channel_(by) {
  call_options copy = options;
  call_.reset(new client_call(by.implementation(), path, &copy));
  if (one_reply) call_->has_one_reply();
}

client_stream::client_stream(const channel& by, method_path path, const call_options& options,
                             const rpc::codec& k, const void* request)
    : client_stream(by, path, options) {
  call_->set_request(k, request);
}

void client_stream::cancel() { call_->cancel(); }
const metadata& client_stream::initial_metadata() const noexcept { return call_->initial(); }
const metadata& client_stream::trailing_metadata() const noexcept { return call_->trailing(); }
const std::shared_ptr<const connection_peer>& client_stream::peer() const noexcept { return call_->peer(); }
bool client_stream::read_compressed() const noexcept { return call_->read_compressed(); }
loop& client_stream::blocking_loop() const { return blocking_loop_of(*call_); }

void ensure_begun(client_call& c, const coro::environment& inherited) noexcept {
  if (!c.begun() && !c.ended()) c.begin_stream(inherited);
}
rpc::call* stream_of(client_call& c) noexcept { return &c; }
void half_close(client_call& c) noexcept { c.half_close(); }
void expect_reply(client_call& c, const rpc::codec& k, void* into) noexcept { c.expect_reply(k, into); }
const status& status_of(client_call& c) noexcept { return c.outcome(); }
loop& blocking_loop_of(client_call& c) {
  return c.begun() && !c.channel().runtime_has_ended() ? c.owner_loop() : c.channel().blocking_loop();
}
loop& hold_call(client_call& c) { return c.hold(); }
void let_go(client_call& c) noexcept { c.let_go(); }
void cancel(client_call& c) noexcept { c.cancel(); }
const char* method_of(const client_call& c) noexcept { return c.method(); }

}  // namespace coracle::client
