#include "transport/http1_session.hpp"

#include "base/if_memory_allows.hpp"
#include "transport/connection.hpp"
#include "transport/exchange.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace coracle::transport {

namespace {

// The codes of RFC 9110 that end a message without content.
bool has_no_content(int status) noexcept { return status < 200 || status == 204 || status == 304; }

std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

}  // namespace

http1_session::http1_session(connection& owner, http1::role r, const http1_options& o)
    : connection_(owner),
      engine_(r, o.limits, owner.loop_.now()),
      role_(r),
      window_bytes_(o.window_bytes),
      header_bytes_max_(o.limits.header_bytes),
      idle_timeout_(o.idle_timeout),
      header_list_bytes_(o.header_list_bytes) {
  idle_at_ = deadline_after(owner.loop_.now(), idle_timeout_);
}

template <class F>
void http1_session::call_handler(F f) noexcept {
  if (!base::if_memory_allows(f)) {
    abnormal_end end;
    end.code = error_code::enhance_your_calm;
    end.by = initiator::user;
    end.reason = "out of memory";
    exchange_handler* const handler = std::exchange(handler_, nullptr);
    respond_with_error(503, "out of memory\n");
    if (handler) handler->on_reset(end);
    else in_exchange_ = false;
    connection_.broken("out of memory");
  }
}

template <class F>
void http1_session::or_close(F f) noexcept {
  if (!base::if_memory_allows(f)) out_of_memory();
}

void http1_session::out_of_memory() noexcept {
  out_of_memory_ = true;
  connection_.close_at_turn_end("out of memory");
}

// --- receiving

void http1_session::feed(bytes_view bytes, time_point now) noexcept {
  if (!unread_.empty()) {  // received before reading was paused
    or_close([&] { unread_.append(bytes); });
    return;
  }
  engine_.feed(bytes, now);
}

void http1_session::feed_end(time_point now) noexcept {
  at_end_ = true;
  if (unread_.empty()) engine_.feed_end(now);
}

void http1_session::dispatch() noexcept {
  if (dispatching_) return;
  dispatching_ = true;
  for (http1::event e = next_event(); e.type != http1::event::kind::none; e = next_event()) {
    handle(e);
    if (connection_.must_defer()) connection_.defer_input();
  }
  dispatching_ = false;
  if (const bytes_view rest = engine_.take_unread(); !rest.empty() && !connection_.closing_)
    or_close([&] { unread_.append(rest); });
  advance();
  connection_.update_receiving();
  if (!engine_.output().empty() && !connection_.stream_->sending()) connection_.schedule_flush();
  connection_.update_timer();
}

http1::event http1_session::next_event() noexcept {
  engine_.hold_next_request(holds_next_request());
  return engine_.next();
}

bool http1_session::holds_next_request() const noexcept {
  return role_ == http1::role::server && (in_exchange_ || connection_.output_is_full());
}

void http1_session::handle(const http1::event& e) noexcept {
  using kind = http1::event::kind;
  switch (e.type) {
    case kind::headers:
      if (!e.informational) on_message_headers();
      return;
    case kind::data:
      if (!handler_) return;
      unconsumed_ += e.data.size();
      return call_handler([&] { handler_->on_data(e.data, false); });
    case kind::end: return on_message_end();
    case kind::failed: return fail(e);
    case kind::none: return;
  }
}

void http1_session::on_message_headers() noexcept {
  received_ = !engine_.has_body();
  if (role_ == http1::role::client) {
    header_source fields(engine_.fields(), fields_within_limit(), engine_.fields().list_size_bytes());
    connection_.counters_.streams_succeeded += received_;
    if (handler_) call_handler([&] { handler_->on_headers(fields, block_kind::headers, received_); });
    return;
  }
  in_exchange_ = true;
  headers_sent_ = sent_ = false;
  unconsumed_ = 0;
  idle_at_ = never;
  connection_.on_stream_begin();
  if (refusing_) {
    respond_with_error(503, "the server has no memory for another request\n");
    in_exchange_ = false;
    return;
  }
  // The layers above enforce the progress of messages: a stream of requests may be idle between two of them.
  engine_.enforce_body_timeout(false, connection_.loop_.now());
  if (engine_.expects_continue()) or_close([&] { engine_.send_continue(); });
  header_source fields(engine_.fields(), engine_.headers_id());
  call_handler([&] { connection_.acceptor_->on_request(exchange(connection_, *this), fields, received_); });
}

std::size_t http1_session::fields_within_limit() const noexcept {
  const http::header_list& all = engine_.fields();
  if (all.list_size_bytes() <= header_list_bytes_) [[likely]]
    return all.size();
  std::size_t n = 0;
  for (std::size_t bytes = 0; n != all.size(); ++n) {
    bytes += all[n].name.size() + all[n].value.size() + http::header_list::field_overhead_bytes;
    if (bytes > header_list_bytes_) break;
  }
  return n;
}

void http1_session::on_message_end() noexcept {
  if (std::exchange(received_, true)) {
    // A client's exchange without a body is released before this event, which makes the connection free.
    if (role_ == http1::role::client && !in_exchange_) connection_.on_http1_released();
    return;
  }
  if (!handler_) return;
  if (role_ == http1::role::client) ++connection_.counters_.streams_succeeded;
  if (engine_.trailers().empty()) return call_handler([&] { handler_->on_data({}, true); });
  header_source fields(engine_.trailers());
  call_handler([&] { handler_->on_headers(fields, block_kind::trailers, true); });
}

void http1_session::fail(const http1::event& e) noexcept {
  if (role_ == http1::role::server && !headers_sent_ && e.status != 0) {
    std::string text;
    base::if_memory_allows([&] { text.append(e.reason).append("\n"); });
    respond_with_error(e.status, text);
  } else if (role_ == http1::role::client && e.out_of_memory) {
    out_of_memory_ = true;
  } else if (role_ == http1::role::server && !used_ && e.status == 0) {
    // Not HTTP at all. An empty SETTINGS frame tells a client of TLS that this port speaks plaintext.
    static constexpr std::uint8_t settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    or_close([&] { engine_.output().append(settings); });
    connection_.owner_.on_other_protocol(connection_, e.reason);
  }
  abnormal_end reason;
  reason.code = e.too_large ? error_code::enhance_your_calm : error_code::protocol_error;
  reason.by = initiator::library;
  reason.reason = e.reason;
  if (at_end_ && role_ == http1::role::client) {
    reason.by = initiator::peer;
    reason.disconnected = true;
    reason.reason = connection_.end_reason_;
  }
  end(reason);
  connection_.broken(e.reason);
}

void http1_session::end(const abnormal_end& reason) noexcept {
  exchange_handler* const handler = std::exchange(handler_, nullptr);
  if (!handler) return;
  abnormal_end e = reason;
  if (out_of_memory_) {
    e = {};
    e.code = error_code::enhance_your_calm;
    e.by = initiator::user;
    e.reason = "out of memory";
    return handler->on_reset(e);
  }
  // The server may have closed a connection that was idle, while the request was on its way; but it may also
  // have failed while it handled the request (RFC 9110 9.2.2).
  const bool unsent = connection_.counters_.bytes_sent == sent_before_;
  if (role_ == http1::role::client && e.disconnected && !engine_.response_begun())
    e.unprocessed = unsent || (safe_ && used_);
  handler->on_reset(e);
}

void http1_session::advance() noexcept {
  if (connection_.closing_ || dispatching_) return;
  if (wants_writable_ && handler_ && engine_.output().size() <= low_bytes_) {
    wants_writable_ = false;
    call_handler([&] { handler_->on_writable(); });
  }
  if (in_exchange_ || !engine_.exchange_done()) return;
  if (engine_.closes()) {
    // A closing connection has little time to send the rest: a slow peer would not get a large response.
    if (!connection_.unsent()) connection_.broken("the connection is not used for another request");
    return;
  }
  resume_reading();
}

// Reads what arrived while the response was not complete.
void http1_session::resume_reading() noexcept {
  if (unread_.empty() || holds_next_request()) return;
  base::output_buffer pending;
  pending.swap(unread_);
  engine_.feed(pending.pending(), connection_.loop_.now());
  dispatch();
}

void http1_session::on_timeout(time_point now) noexcept {
  if (now >= idle_at_ && !in_exchange()) {
    if (!connection_.unsent()) return connection_.broken("idle");
    idle_at_ = deadline_after(now, idle_timeout_);  // a slow peer still receives the response
  }
  engine_.on_timeout(now);
}

// A message that has begun ends the idle time: only its own deadlines are left.
time_point http1_session::next_timeout() const noexcept {
  return in_exchange() ? engine_.next_timeout() : std::min(engine_.next_timeout(), idle_at_);
}

std::size_t http1_session::memory_bytes() const noexcept {
  return sizeof *this - sizeof engine_ + engine_.memory_bytes() + unread_.capacity() +
         block_.capacity_bytes() + kept_bytes_;
}

void http1_session::release_idle_memory() noexcept {
  engine_.release_idle_memory();
  unread_.release(0);
  if (!in_exchange_) block_.release();
}

void http1_session::open(exchange_handler& handler) noexcept {
  handler_ = &handler;
  in_exchange_ = true;
  headers_sent_ = sent_ = received_ = false;
  sent_before_ = connection_.counters_.bytes_sent;
  unconsumed_ = 0;
  idle_at_ = never;
}

// --- sending

bool http1_session::begin_headers() noexcept {
  block_.clear();
  return !connection_.closing_ && !out_of_memory_;
}

void http1_session::add_field(std::string_view name, std::string_view value, hpack::indexing) noexcept {
  if (!out_of_memory_) or_close([&] { block_.add(name, value); });
}

void http1_session::end_headers(bool end_stream) noexcept {
  if (out_of_memory_) return;
  or_close([&] {
    if (headers_sent_) engine_.end_body(&block_);
    else write_headers(end_stream);
  });
  headers_sent_ = true;
  sent_ = sent_ || end_stream;
  if (end_stream && role_ == http1::role::server) ++connection_.counters_.streams_succeeded;
  connection_.schedule_flush();
}

void http1_session::write_headers(bool end_stream) {
  using kind = http1::framing::kind;
  std::string_view method;
  std::string_view path;
  std::string_view authority;
  int status = 0;
  http1::framing body{end_stream ? kind::none : kind::chunked, 0};
  for (const auto& [name, value] : block_) {
    if (name == ":status") status = static_cast<int>(number_in(value).value_or(500));
    else if (name == ":method") method = value;
    else if (name == ":path") path = value;
    else if (name == ":authority") authority = value;
    else if (name == "content-length") body = {kind::counted, number_in(value).value_or(0)};
  }
  const bool server = role_ == http1::role::server;
  if (body.type == kind::none && (server ? !has_no_content(status) && !engine_.is_head_request()
                                         : method == "POST" || method == "PUT" || method == "PATCH"))
    body = {kind::counted, 0};
  safe_ = method == "GET";
  if (server) engine_.begin_response(status, body);
  else if (!engine_.begin_request(method, path, authority, body)) {
    sent_ = true;
    return connection_.close_at_turn_end("the path or the authority of a request is not valid in HTTP");
  }
  for (const auto& [name, value] : block_)
    if (!name.starts_with(':') && name != "content-length") engine_.add_field(name, value);
  engine_.end_headers();
  if (end_stream) engine_.end_body(nullptr);
}

std::uint8_t* http1_session::reserve_data(std::size_t n) {
  static std::uint8_t nothing;
  if (connection_.closing_ || sent_ || out_of_memory_) return nullptr;
  return n == 0 ? &nothing : engine_.reserve_body(n);
}

void http1_session::commit_data(std::size_t n, bool end_stream) noexcept {
  if (n != 0) engine_.commit_body(n);
  if (end_stream) {
    or_close([&] { engine_.end_body(nullptr); });
    sent_ = true;
    if (role_ == http1::role::server) ++connection_.counters_.streams_succeeded;
  }
  if (n >= large_message_bytes) connection_.accounting_due_ = role_ == http1::role::server;
  connection_.schedule_flush();
}

bool http1_session::queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) {
  std::uint8_t* const to = reserve_data(n);
  if (!to) return false;
  if (n != 0) std::memcpy(to, bytes.get(), n);
  commit_data(n, end_stream);
  return true;
}

std::size_t http1_session::queued() const noexcept {
  return const_cast<http1_session*>(this)->engine_.output().size();
}

void http1_session::want_writable(std::size_t low_bytes) noexcept {
  wants_writable_ = true;
  low_bytes_ = low_bytes;
  connection_.schedule_flush();
}

void http1_session::respond_with_error(int status, std::string_view text) noexcept {
  if (headers_sent_ || out_of_memory_ || connection_.closing_) return;
  headers_sent_ = sent_ = true;
  or_close([&] {
    engine_.close_after_response();
    engine_.begin_response(status, {http1::framing::kind::counted, text.size()});
    engine_.add_field("content-type", "text/plain; charset=utf-8");
    for (const auto& [name, value] : connection_.owner_.general_fields(connection_))
      engine_.add_field(name, value);
    engine_.end_headers();
    if (!text.empty() && !engine_.is_head_request()) {
      std::memcpy(engine_.reserve_body(text.size()), text.data(), text.size());
      engine_.commit_body(text.size());
    }
    engine_.end_body(nullptr);
  });
  connection_.schedule_flush();
}

// --- credit, memory and the end

void http1_session::consume(std::size_t n) noexcept {
  unconsumed_ -= std::min(n, unconsumed_);
  if (!dispatching_) connection_.update_receiving();
}

void http1_session::set_kept(std::size_t bytes) noexcept {
  kept_bytes_ = bytes;
  connection_.note_kept(bytes);
}

// A connection has one request at a time, and holds_next_request() bounds the responses.
void http1_session::wait_until_uncongested() noexcept {}

void http1_session::reset(error_code code) noexcept {
  handler_ = nullptr;
  if (role_ == http1::role::server && !headers_sent_)
    respond_with_error(code == error_code::enhance_your_calm ? 503 : 500, "the request was not completed\n");
  abort("the exchange was reset");
}

void http1_session::abort(std::string_view reason) noexcept {
  if (connection_.closing_) return;
  connection_.abandoned_ = true;
  connection_.broken(reason);
}

void http1_session::release() noexcept {
  handler_ = nullptr;
  in_exchange_ = wants_writable_ = false;
  unconsumed_ = kept_bytes_ = 0;
  if (connection_.closing_) return;
  const bool client = role_ == http1::role::client;
  if (client && !headers_sent_) return connection_.on_http1_released();
  if (!sent_ || (client && !received_)) return abort("the exchange was released before its end");
  used_ = true;
  idle_at_ = deadline_after(connection_.loop_.now(), idle_timeout_);
  connection_.on_http1_released();
}

}  // namespace coracle::transport
