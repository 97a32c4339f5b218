#include "server/handover/predecessor.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "net/io_wait.hpp"
#include "runtime/kernel/own_program.hpp"
#include "server/handover/successor_process.hpp"
#include "server/shard.hpp"

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

namespace coracle::server_internal {

namespace {

namespace to_successor = handover_protocol;
using runtime_internal::kernel::packet;

// A process that connects asks at once. Others wait meanwhile.
constexpr duration question_time = std::chrono::seconds(5);
// GOAWAYs are sent in this rhythm: a part of the connections each time.
constexpr duration goaway_tick = std::chrono::milliseconds(20);

task<> until_set(event<>& e) { co_await e; }

// Sets the event when the connection has something to read, or has ended.
task<> watch_readable(int descriptor, bool& readable, event<>& changed) {
  net::io_wait wait(*loop::current(), runtime_internal::operation::kind::poll_in, descriptor);
  const std::int64_t outcome = co_await wait;
  if (outcome == -ECANCELED) co_return;
  readable = true;
  changed.set();
}

task<> watch_event(event<>& of, event<>& changed) {
  co_await of;
  changed.set();
}

}  // namespace

predecessor::predecessor(server_state& of, runtime_internal::kernel::owned_descriptor connection, int control,
                         event<>& hurry, successor_process& child)
    : server_(of),
      on_(of.loop_of(0)),
      connection_(std::move(connection)),
      control_(control),
      hurry_(hurry),
      child_(child) {}

predecessor::~predecessor() {
  if (keeps_sockets_) {
    resume_listeners();
    if (peer_is_out_) share(false);
  }
  static_cast<void>(take_connection());
}

runtime_internal::kernel::owned_descriptor predecessor::take_connection() noexcept {
  if (connection_.is_open()) on_.io().forget(connection_.get());
  return std::move(connection_);
}

void predecessor::log(log_level level, const std::string& text) {
  server_.owner.log().write(log_room::server, level, text);
}

bool predecessor::is_trusted() {
  const auto peer = runtime_internal::kernel::peer_of(connection_.get());
  if (peer) peer_process_id_ = peer->process_id;
  if (peer && runtime_internal::kernel::is_trusted(*peer)) return true;
  log(log_level::warning,
      "a process of another user (" +
          (peer ? "user " + std::to_string(peer->user_id) + ", process " + std::to_string(peer->process_id)
                : std::string("unknown")) +
          ") asked for the sockets of the server, and gets none");
  return false;
}

bool predecessor::send(message::kind what) {
  message m;
  m.type = what;
  return runtime_internal::kernel::send_packet(connection_.get(), to_successor::write(m)) >= 0;
}

namespace {

// The result of sending: also a process that has closed the connection knows that it gets nothing.
bool knows(std::int64_t sent) noexcept { return sent >= 0 || sent == -EPIPE || sent == -ECONNRESET; }

}  // namespace

void predecessor::refuse(std::string reason) {
  message m;
  m.type = message::kind::refused;
  m.reason = std::move(reason);
  refusal_ = to_successor::write(m);
  refuse_at_once();
}

void predecessor::refuse_at_once() noexcept {
  const std::string_view text =
      refusal_.empty() ? "refused the process that serves is out of memory" : std::string_view(refusal_);
  if (knows(runtime_internal::kernel::send_packet(connection_.get(), text))) peer_is_out_ = true;
}

namespace {

task<std::int64_t> readable(int descriptor) {
  net::io_wait wait(*loop::current(), runtime_internal::operation::kind::poll_in, descriptor);
  co_return co_await wait;
}

}  // namespace

task<std::optional<predecessor::message>> predecessor::receive(duration within, std::string& why_not) {
  const result<std::int64_t> waited = co_await with_timeout(within, readable(connection_.get()));
  packet got;
  // What has arrived before a stop, or in time, counts: the successor may serve already.
  const std::int64_t received = runtime_internal::kernel::receive_packet(connection_.get(), got);
  if (received == -EAGAIN && (!waited || *waited < 0)) {
    const coro::environment& here = co_await coro::this_environment();
    if (here.stop.stop_requested()) throw coro::cancelled();
    why_not = "took too long";
    co_return std::nullopt;
  }
  if (received == 0 || received == -ECONNRESET) why_not = "has ended";
  if (received <= 0) {
    if (why_not.empty()) why_not = "sent a malformed message";
    co_return std::nullopt;
  }
  std::optional<message> m = to_successor::parse(got.text);
  if (!m) why_not = "sent a malformed message";
  co_return m;
}

// Returns the reason why it failed.
std::string predecessor::pass_sockets(shard& s) {
  passed_.reserve(std::min(s.listeners().size(), to_successor::sockets_max));
  for (const auto& l : s.listeners()) {
    if (passed_.size() == to_successor::sockets_max) break;
    message m;
    m.type = message::kind::socket;
    m.name = l->name();
    if (runtime_internal::kernel::send_packet(connection_.get(), to_successor::write(m), l->descriptor()) < 0)
      return "has ended, or takes nothing";
    passed_.push_back(l->id());
  }
  share(true);
  message control;
  control.type = message::kind::control;
  if (runtime_internal::kernel::send_packet(connection_.get(), to_successor::write(control), control_) < 0)
    return "has ended, or takes nothing";
  message end;
  end.type = message::kind::end;
  end.number = passed_.size();
  if (runtime_internal::kernel::send_packet(connection_.get(), to_successor::write(end)) < 0)
    return "has ended, or takes nothing";
  return {};
}

// What the successor has is shared with it: neither process may take away what the other one serves.
void predecessor::share(bool with_successor) noexcept {
  shard* const s = server_.shard_of(on_);
  if (!s) return;
  for (const auto& l : s->listeners())
    if (!l->name().of_manager && std::find(passed_.begin(), passed_.end(), l->id()) != passed_.end())
      l->set_sharing(with_successor ? net::sharing::shared : net::sharing::exclusive);
}

std::vector<server_listener*> predecessor::taken(shard& s) {
  std::vector<server_listener*> all;
  for (const std::size_t i : taken_)
    for (const auto& l : s.listeners())
      if (i < passed_.size() && l->id() == passed_[i]) all.push_back(l.get());
  return all;
}

// Connections that this process has accepted before it pauses are its own; the others wait for the successor.
task<> predecessor::pause_listeners() {
  shard* const s = server_.shard_of(on_);
  if (!s) co_return;
  auto paused = std::make_shared<event<>>(on_);
  auto left = std::make_shared<std::size_t>(1);
  const std::function<void()> one_less = [left, paused] {
    if (--*left == 0) paused->set();
  };
  for (server_listener* l : taken(*s))
    if (l->pause(one_less)) ++*left;
  one_less();
  co_await *paused;
}

void predecessor::resume_listeners() noexcept {
  if (shard* const s = server_.shard_of(on_))
    for (const auto& l : s->listeners()) {
      if (!passed_.empty()) l->look_again();
      l->resume();
    }
}

// Returns whether the successor is still there at the end.
task<bool> predecessor::send_goaways() {
  const duration time = server_.options.handover->goaway_time;
  const std::size_t parts =
      static_cast<std::size_t>(std::clamp<std::int64_t>(time / goaway_tick, 1, 1 << 20));
  for (std::size_t i = 0; i < server_.size(); ++i)
    server_.with_shard(i, [](shard* s) {
      if (s) s->begin_goaways();
    });
  event<> changed(on_);
  bool has_ended = false;
  const coro::environment& here = co_await coro::this_environment();
  scope watching(here);
  const time_point start = on_.now();
  std::exception_ptr stopped;
  try {
    watching.spawn(watch_readable(connection_.get(), has_ended, changed));
    watching.spawn(watch_event(hurry_, changed));
    for (std::size_t part = 1; part <= parts && !changed.is_set(); ++part) {
      for (std::size_t i = 0; i < server_.size(); ++i)
        server_.with_shard(i, [part, parts](shard* s) {
          if (s) s->send_goaways(part, parts);
        });
      const time_point next =
          start + time / static_cast<std::int64_t>(parts) * static_cast<std::int64_t>(part);
      static_cast<void>(co_await with_timeout(next - on_.now(), until_set(changed)));
    }
  } catch (...) {
    stopped = std::current_exception();
  }
  watching.request_stop();
  co_await watching.join();
  if (stopped) std::rethrow_exception(stopped);
  co_return !has_ended;
}

// Why the server goes on instead; empty if the successor takes over.
std::string predecessor::why_not_ready(const std::optional<message>& ready, const std::string& otherwise) {
  const bool knows_sockets = ready && ready->type == message::kind::ready &&
                             (ready->indices.empty() || ready->indices.back() < passed_.size());
  if (!knows_sockets) return otherwise.empty() ? "sent a malformed message" : otherwise;
  if (!ready->indices.empty() || passed_.empty()) return {};
  std::string text =
      "listens on none of the addresses of the process that serves: give it one of them, or a handover path "
      "of its own. They are:";
  if (shard* const s = server_.shard_of(on_))
    for (const auto& l : s->listeners()) text.append(" ").append(l->local_address().to_string());
  return text;
}

task<bool> predecessor::run() {
  if (!is_trusted()) co_return false;
  const std::string who = "the successor, process " + std::to_string(peer_process_id_) + ", ";
  std::string why_not;
  const time_point begin = on_.now();
  const std::optional<message> question = co_await receive(question_time, why_not);
  if (!question || question->type != message::kind::take) {
    log(log_level::warning, "process " + std::to_string(peer_process_id_) +
                                " connected to the handover path, and did not ask for the sockets" +
                                (why_not.empty() ? "" : ": it " + why_not));
    co_return false;
  }
  if (question->number != to_successor::version) {
    refuse("it speaks version " + std::to_string(to_successor::version) + " of the protocol, not " +
           std::to_string(question->number));
    log(log_level::warning, who + "speaks an unknown version of the protocol");
    co_return false;
  }
  if (runtime_internal::kernel::is_first_process()) {
    refuse(std::string(first_process));
    log(log_level::error, who + "gets nothing: " + std::string(first_process));
    co_return false;
  }
  shard* const s = server_.shard_of(on_);
  if (!s) co_return false;
  log(log_level::info, who + "takes the listening sockets");
  why_not = pass_sockets(*s);
  std::optional<message> ready;
  if (why_not.empty())
    ready = co_await receive(server_.options.handover->start_time - (on_.now() - begin), why_not);
  why_not = why_not_ready(ready, why_not);
  if (!why_not.empty()) {
    refuse("the successor " + why_not);
    log(log_level::error, who + "does not take over: it " + why_not + ": this process goes on serving");
    co_return false;
  }
  peer_serves_ = true;
  child_.note_serving(peer_process_id_);
  taken_ = ready->indices;
  co_await pause_listeners();
  const bool told = send(message::kind::go);
  log(log_level::info, who + "serves: this process sends GOAWAY to its clients");
  bool still_there = false;
  if (told) still_there = co_await send_goaways();
  // What the successor does not serve ends with this process.
  std::vector<server_listener*> kept;
  if (shard* const now = server_.shard_of(on_)) {
    const std::vector<server_listener*> given = taken(*now);
    for (const auto& l : now->listeners())
      if (std::find(given.begin(), given.end(), l.get()) == given.end()) {
        kept.push_back(l.get());
        given_up_.push_back(l->local_address());
      }
  }
  const std::string taken_over = who + "has taken over: this process drains and ends";
  if (!still_there || !send(message::kind::done)) {
    refuse("the connection has ended");
    log(log_level::error, who + "has ended within goaway_time: this process goes on serving");
    co_return false;
  }
  // From here on nothing may fail.
  keeps_sockets_ = false;
  for (server_listener* l : kept)
    if (!l->name().of_manager) l->set_sharing(net::sharing::exclusive);
  base::if_memory_allows([&] { log(log_level::info, taken_over); });
  co_return true;
}

}  // namespace coracle::server_internal
