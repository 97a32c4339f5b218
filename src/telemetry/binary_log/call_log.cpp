#include "telemetry/binary_log/call_log.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/runtime/loop.hpp"

#include <atomic>
#include <exception>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

// Unique in the process (gRFC A16), never 0.
std::uint64_t next_call_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

duration timeout_of(time_point deadline) {
  return deadline == never ? duration::max() : deadline - loop::current()->now();
}

}  // namespace

call_log::call_log(std::shared_ptr<const binary_log> to, const log_limits& limits, server_context& of)
    : to_(std::move(to)), limits_(limits), side_(log_side::server), call_id_(next_call_id()), server_(&of) {
  write(log_event::client_header, [&](log_entry& e) {
    e.client_header(of.metadata(), of.method(), of.authority(), timeout_of(of.deadline()), limits_);
    e.peer(of.peer());
  });
}

call_log::call_log(std::shared_ptr<const binary_log> to, const log_limits& limits, client_context& of)
    : to_(std::move(to)), limits_(limits), side_(log_side::client), call_id_(next_call_id()), client_(&of) {
  write(log_event::client_header, [&](log_entry& e) {
    e.client_header(of.options().metadata, of.method(), of.authority(), timeout_of(of.deadline()), limits_);
  });
}

call_log::~call_log() {
  if (last_) base::if_memory_allows([&] { write(*std::move(last_)); });
}

log_entry call_log::make_entry(log_event type) const {
  return {type, side_, call_id_, loop::current()->wall_now()};
}

void call_log::write(log_entry&& e) { to_->sink().write(e.numbered(++entries_)); }

template <class F>
void call_log::write(log_event type, F fill) noexcept {
  base::if_memory_allows([&] {
    log_entry e = make_entry(type);
    fill(e);
    write(std::move(e));
  });
}

// A message that its codec cannot write, or for which there is no memory, is left out. In the first case it
// is not sent either, and ends the call with the same error.
void call_log::write_message(log_event type, intercepted_message& m) {
  bytes_view bytes;
  try {
    bytes = m.bytes();
  } catch (const std::exception&) {
    return;
  }
  write(type, [&](log_entry& e) { e.message(bytes, limits_); });
}

status call_log::on_request(intercepted_message& m) {
  write_message(log_event::client_message, m);
  return {};
}

// The headers of a single reply are sent after its hooks.
status call_log::on_reply(intercepted_message& m) {
  if (server_) on_initial_metadata(server_->initial_metadata());
  write_message(log_event::server_message, m);
  return {};
}

void call_log::on_requests_end() noexcept {
  if (!std::exchange(half_closed_, true)) write(log_event::client_half_close, [](log_entry&) {});
}

void call_log::on_initial_metadata(const metadata& m) noexcept {
  if (std::exchange(has_server_header_, true)) return;
  write(log_event::server_header, [&](log_entry& e) {
    e.server_header(m, limits_);
    if (client_ && client_->peer()) e.peer(client_->peer()->address);
  });
}

void call_log::ended(const status& outcome, bool cancelled, bool more_replies) noexcept {
  base::if_memory_allows([&] {
    log_entry e = make_entry(cancelled ? log_event::cancel : log_event::server_trailer);
    if (!cancelled) {
      e.trailer(server_ ? server_->trailing_metadata() : client_->trailing_metadata(), outcome, limits_);
      // Trailers-Only: the first that has come from the server.
      if (client_ && !has_server_header_ && client_->peer()) e.peer(client_->peer()->address);
    }
    if (more_replies) last_.emplace(std::move(e));
    else write(std::move(e));
  });
  server_ = nullptr;
  client_ = nullptr;
}

}  // namespace coracle::telemetry_internal
