#include "telemetry/pages/calls_in_progress.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/server/server_context.hpp"
#include "server/call/server_call.hpp"

namespace coracle::telemetry_internal {

// Without memory for an entry, the call is not listed.
void calls_in_progress::of_loop::call_started(served_call& c) noexcept {
  c.user = nullptr;
  entry* e = free_.pop_front();
  if (!e && !base::if_memory_allows([&] { e = &entries_.emplace_back(); })) return;
  e->call = &c;
  e->id = ++started_;
  running_.push_back(*e);
  c.user = e;
}

void calls_in_progress::of_loop::call_ended(served_call& c, const status&, time_point) noexcept {
  auto* const e = static_cast<entry*>(c.user);
  if (!e) return;
  e->unlink();
  free_.push_back(*e);
}

bool calls_in_progress::cancel(const loop& here, std::uint64_t id) const noexcept {
  server_context* found = nullptr;
  loops_[here.index()].running_.for_each([&](const of_loop::entry& e) {
    if (e.id == id) found = &e.call->context;
  });
  if (!found) return false;
  // Every context is that of a call: it has no other friend that makes one.
  static_cast<server_internal::server_call*>(found)->cancel(status::cancelled("cancelled by an operator"));
  return true;
}

void calls_in_progress::add_to(calls_listing& to, const loop& here) const {
  std::size_t listed = 0;
  const time_point now = here.now();
  loops_[here.index()].running_.for_each([&](const of_loop::entry& e) {
    const served_call& c = *e.call;
    const std::string_view method = c.context.method().substr(0, method_bytes_max);
    ++to.all;
    const auto counted = to.by_method.find(method);
    if (counted != to.by_method.end()) ++counted->second;
    else if (to.by_method.size() < methods_max) to.by_method.emplace(method, 1);
    else ++to.by_method["other"];
    if (listed++ >= listed_max) return;
    call_row& row = to.oldest.emplace_back();
    row.id = e.id;
    row.method = method;
    row.peer = c.context.peer().to_string();
    row.loop = here.index();
    row.age = now - c.began;
    if (c.context.deadline() != never) row.left = c.context.deadline() - now;
    row.messages_received = c.context.traffic().messages_received;
    row.messages_sent = c.context.traffic().messages_sent;
    row.cancelled = c.context.cancelled();
  });
}

}  // namespace coracle::telemetry_internal
