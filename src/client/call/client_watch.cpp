#include "client/call/client_watch.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/runtime/loop.hpp"

#include <utility>

namespace coracle::client {

call_watch::call_watch(const std::shared_ptr<client_observer>& o, const call_terms& terms,
                       const coro::environment& caller) noexcept
    : of_channel_(o), observer_(*o), terms_(terms) {
  call_.method = terms.path;
  call_.label = terms.options.telemetry_label;
  call_.registered = !terms.unregistered;
  call_.began = terms.owner_loop->now();
  call_.deadline = terms.deadline;
  call_.metadata = &terms.options.metadata;
  call_.caller = &caller;
  observer_.call_started(call_);
  call_.caller = nullptr;
}

void call_watch::resolved() noexcept { observer_.call_resolved(call_); }

void call_watch::ended(const status& outcome) noexcept {
  observer_.call_ended(call_, outcome, terms_.owner_loop->now());
}

attempt_watch::attempt_watch(call_watch& of, attempt_kind kind, unsigned previous_attempts) noexcept
    : of_(of), attempt_(of.call_) {
  ++of.call_.attempts;
  switch (kind) {
    case attempt_kind::first: break;
    case attempt_kind::retry: ++of.call_.retries; break;
    case attempt_kind::hedge: ++of.call_.hedges; break;
    case attempt_kind::transparent_retry: ++of.call_.transparent_retries; break;
  }
  attempt_.kind = kind;
  attempt_.previous_attempts = previous_attempts;
  attempt_.began = of.terms_.owner_loop->now();
  of.observer_.attempt_started(attempt_);
}

void attempt_watch::attached(const transport::exchange& x, bool waited,
                             const std::shared_ptr<const server_labels>& labels) noexcept {
  if (labels) [[unlikely]] {
    labels_ = labels;
    attempt_.labels = labels_.get();
  }
  attempt_.waited_for_connection = waited;
  attempt_.attached = of_.terms_.owner_loop->now();
  attempt_.peer = &x.peer_address();
  of_.observer_.attempt_attached(attempt_);
}

void attempt_watch::headers_received() noexcept {
  of_.observer_.headers_received(attempt_, of_.terms_.owner_loop->now());
}

void attempt_watch::ended(const status& outcome) noexcept {
  attempt_.peer = nullptr;  // its connection may have been destroyed
  of_.observer_.attempt_ended(attempt_, outcome, of_.terms_.owner_loop->now());
}

void attempt_watch::message_sent(message_size m) noexcept {
  ++attempt_.traffic.messages_sent;
  attempt_.traffic.bytes_sent += m.wire_bytes;
  of_.observer_.message_sent(attempt_, m);
}

void attempt_watch::message_received(message_size m) noexcept {
  ++attempt_.traffic.messages_received;
  attempt_.traffic.bytes_received += m.wire_bytes;
  of_.observer_.message_received(attempt_, m);
}

std::unique_ptr<attempt_watch> watch_attempt(call_watch* of, attempt_kind kind,
                                             unsigned previous_attempts) noexcept {
  std::unique_ptr<attempt_watch> made;
  if (of)
    base::if_memory_allows([&] { made = std::make_unique<attempt_watch>(*of, kind, previous_attempts); });
  return made;
}

void end_watch(std::unique_ptr<attempt_watch>& w, const status& outcome) noexcept {
  if (const auto ending = std::exchange(w, nullptr)) ending->ended(outcome);
}

}  // namespace coracle::client
