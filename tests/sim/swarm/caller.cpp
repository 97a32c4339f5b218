#include "sim/swarm/caller.hpp"

#include "sim/swarm/numbered_text.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace coracle::swarm {

namespace {

using namespace std::chrono_literals;

// The result of a call.
struct attempt {
  status outcome = status::internal("it never ended");
  bool whole = false;
  bool stopping = false;  // it was asked to end
  time_point ended{};
};

call_options options_of(const call_plan& p) {
  call_options o;
  if (p.deadline > duration::zero()) o.timeout = p.deadline;
  o.add_metadata("x-call", std::to_string(p.id));
  o.add_metadata("x-messages", std::to_string(p.messages));
  o.add_metadata("x-bytes", std::to_string(p.bytes));
  o.add_metadata("x-pause-ms", std::to_string(p.pause_ms));
  return o;
}

task<> call_unary(echo_stub server, const call_plan& p, attempt& a) {
  const echo::Text request = numbered_text(p.id, 0, p.bytes);
  const call_options options = options_of(p);
  const auto reply = co_await server.Say(request, options);
  a.outcome = reply.status();
  a.whole = reply && is_numbered(*reply, p.id, 0) && reply->text() == request.text();
}

task<> call_collect(echo_stub server, const call_plan& p, attempt& a) {
  auto call = server.Collect(options_of(p));
  for (std::uint64_t i = 0; i < p.messages; ++i) {
    const echo::Text one = numbered_text(p.id, i, p.bytes);
    const status sent = co_await call.write(one);
    if (!sent.ok()) break;
    if (i + 1 == p.drop_after) {
      a.stopping = true;
      a.outcome = status::cancelled("dropped");
      co_return;
    }
  }
  const auto reply = co_await call.finish();
  a.outcome = reply.status();
  a.whole = reply && is_numbered(*reply, p.id, p.messages);
}

// Reads to the end; whole if all messages arrived, each once and in order.
template <class Call>
task<> read_all(Call& call, const call_plan& p, call_ledger& ledger, attempt& a) {
  for (std::uint64_t count = 0;; ++count) {
    const auto next = co_await call.next();
    if (!next.ok() || !*next) {
      a.outcome = next.status();
      a.whole = count == p.messages;
      co_return;
    }
    if (!is_numbered(**next, p.id, count))
      ledger.report_error(p.id, "a reply is lost, doubled, harmed or out of order");
    if (count + 1 == p.drop_after) {
      a.stopping = true;
      a.outcome = status::cancelled("dropped");
      co_return;
    }
  }
}

task<> call_repeat(echo_stub server, const call_plan& p, call_ledger& ledger, attempt& a) {
  const echo::Text request = numbered_text(p.id, 0, 10);
  auto call = server.Repeat(request, options_of(p));
  co_await read_all(call, p, ledger, a);
}

template <class Call>
task<> write_all(Call& call, const call_plan& p) {
  for (std::uint64_t i = 0; i < p.messages; ++i) {
    const echo::Text one = numbered_text(p.id, i, p.bytes);
    const status sent = co_await call.write(one);
    if (!sent.ok()) co_return;
  }
  co_await call.writes_done();
}

task<> call_chat(echo_stub server, const call_plan& p, call_ledger& ledger, attempt& a) {
  auto call = server.Chat(options_of(p));
  scope writing{co_await coro::this_environment()};
  writing.spawn(write_all(call, p));
  co_await read_all(call, p, ledger, a);
  if (a.stopping) call.cancel();  // ends pending writes
  co_await writing.join();
}

task<> make_one(echo_stub server, const call_plan& p, call_ledger& ledger, attempt& a) {
  try {
    switch (p.kind) {
      case call_kind::unary: co_await call_unary(server, p, a); break;
      case call_kind::client_streaming: co_await call_collect(server, p, a); break;
      case call_kind::server_streaming: co_await call_repeat(server, p, ledger, a); break;
      case call_kind::bidi: co_await call_chat(server, p, ledger, a); break;
    }
  } catch (const coro::cancelled&) {
    a.outcome = status::cancelled("stopped");
  }
  a.ended = coro::this_executor().now();
}

// False if it was stopped.
task<bool> rest(duration d) {
  try {
    co_await sleep_for(d);  // sleeps on purpose: virtual time
  } catch (const coro::cancelled&) {
    co_return false;
  }
  co_return true;
}

}  // namespace

call_plan caller::plan_next() {
  call_plan p;
  p.id = first_id + next++;
  p.kind = static_cast<call_kind>(draws.below(4));
  p.bytes = draws.size(17);
  p.messages = draws.size(p.bytes > 10'000 ? 2 : 5);
  if (p.kind == call_kind::unary) p.messages = 1;
  if (draws.one_in(3)) p.pause_ms = draws.size(11);
  if (mix.silent || draws.one_in(3)) p.deadline = std::chrono::milliseconds(1 + draws.size(15));
  if (draws.one_in(6)) p.cancel_after = std::chrono::microseconds(1 + draws.size(18));
  if (draws.one_in(8)) p.drop_after = 1 + draws.below(4);
  if (fails_max > 0 && draws.one_in(3))
    p.fails = 1 + static_cast<int>(draws.below(static_cast<std::uint64_t>(fails_max)));
  return p;
}

task<> make_calls(caller& from, std::vector<echo_stub> servers) {
  const coro::environment& here = co_await coro::this_environment();
  while (from.next < from.total) {
    const call_plan p = from.plan_next();
    const echo_stub& server = servers[from.draws.below(servers.size())];
    attempt a;
    scope work{here};
    from.ledger.begun(p, coro::this_executor().now());
    work.spawn(make_one(server, p, from.ledger, a));
    if (p.cancel_after > duration::zero()) {
      const bool rested = co_await rest(p.cancel_after);
      if (rested && work.running() > 0) a.stopping = true;
      work.request_stop();
    }
    co_await work.join();
    if (here.stop.stop_requested()) {
      from.ledger.cut_off(p);
      co_return;
    }
    from.ledger.ended(p, a.outcome, a.ended, a.whole, a.stopping);
    if (from.draws.one_in(2)) {
      const bool rested = co_await rest(from.draws.up_to(3s));
      if (!rested) co_return;
    }
  }
  from.done = true;
}

task<> make_last_call(echo_stub server, bool& succeeded, int& left) {
  // A connection that stops responding is given up after a quarter of an hour.
  for (int i = 0; i < 8; ++i) {
    const echo::Text request = numbered_text(0, 0, 10);
    const call_options limit = within(30s);
    const auto reply = co_await server.SayAtOnce(request, limit);
    succeeded = reply.ok();
    if (succeeded) break;
    const bool rested = co_await rest(3min);
    if (!rested) break;
  }
  --left;
}

}  // namespace coracle::swarm
