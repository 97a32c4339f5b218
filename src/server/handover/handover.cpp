#include "server/handover/handover.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/process_signal.hpp"
#include "net/io_wait.hpp"
#include "runtime/kernel/process_signals.hpp"
#include "server/handover/path.hpp"
#include "server/handover/predecessor.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"

#include <new>
#include <system_error>
#include <utility>

namespace coracle::server_internal {

namespace {

namespace kernel = runtime_internal::kernel;

task<> until_child_ends(int descriptor, event<>& settled) {
  net::io_wait wait(*loop::current(), runtime_internal::operation::kind::poll_in, descriptor);
  const std::int64_t outcome = co_await wait;
  if (outcome >= 0) settled.set();
}

task<> pass_event_on(event<>& of, event<>& settled) {
  co_await of;
  settled.set();
}

task<> until_event(event<>& e) { co_await e; }

}  // namespace

handover::handover(server_state& of)
    : server_(of),
      program_(kernel::read_own_program()),
      from_(of.owner, of.options.handover->path),
      ending_(of.loop_of(0)),
      ended_(of.loop_of(0)),
      child_wanted_(of.loop_of(0)),
      successor_serves_(of.loop_of(0)) {}

handover::~handover() {
  static_cast<void>(take_early_signal());
  release();
}

status handover::open() {
  const handover_options& o = *server_.options.handover;
  if (!server_.loop_of(0).io().takes_descriptors())
    return status::unimplemented("a simulation has no processes: leave server_options::handover unset");
  if (o.goaway_time < duration::zero() || o.start_time <= duration::zero())
    return status::invalid_argument("handover_options::goaway_time and start_time must not be negative");
  status opened = from_.begin();
  if (opened.ok() && !from_.has_predecessor()) owns_path_ = true;
  constexpr auto starts_a_successor = std::uint32_t{1} << static_cast<unsigned>(process_signal::user2);
  if (opened.ok()) early_signal_ = kernel::open_signals(starts_a_successor);
  return opened;
}

bool handover::take_early_signal() noexcept {
  if (early_signal_ < 0) return false;
  const auto h = static_cast<runtime_internal::handle>(std::exchange(early_signal_, -1));
  const bool arrived = kernel::take_signals(h) != 0;
  kernel::forget_signals(h);
  const kernel::owned_descriptor closed(h);
  return arrived;
}

void handover::log(log_level level, const std::string& text) noexcept {
  server_.owner.log().write(log_room::server, level, text);
}

// A successor that has the path keeps it.
void handover::release() noexcept {
  if (!owns_path_.exchange(false)) return;
  base::if_memory_allows([&] { static_cast<void>(remove_stale_socket(from_.path())); });
  control_ = kernel::owned_descriptor();
}

void handover::begin(const std::shared_ptr<server_state>& alive) {
  if (begun_ || ending_.is_set()) return;
  server_.owner.spawn_on(server_.loop_of(0), run(alive, *this));
  begun_ = true;
}

void handover::end() noexcept {
  if (ending_.is_set()) return;
  ending_.set();
  if (begun_) return;
  ended_.set();
  finished.set();
}

task<> handover::run([[maybe_unused]] std::shared_ptr<server_state> alive, handover& self) {
  try {
    co_await self.run_until_end();
  } catch (const coro::cancelled&) {
    // The runtime stops.
  }
  if (!self.replaced_) static_cast<void>(kernel::notify_service_manager("STOPPING=1"));
  if (self.control_.is_open()) self.server_.loop_of(0).io().forget(self.control_.get());
  if (!self.owns_path_) self.control_ = kernel::owned_descriptor();
  self.ended_.set();
  self.finished.set();
}

task<> handover::run_until_end() {
  const coro::environment& here = co_await coro::this_environment();
  scope path(here);
  scope children(here);
  std::exception_ptr stopped;
  try {
    path.spawn(serve_path());
    children.spawn(watch_child());
    co_await ending_;
  } catch (const coro::cancelled&) {
    stopped = std::current_exception();
  }
  // A successor that serves already gets everything now: the conversation with it sees `ending_`.
  if (!successor_serves_.is_set()) path.request_stop();
  co_await path.join();
  children.request_stop();
  co_await children.join();
  if (stopped) std::rethrow_exception(stopped);
}

// Returns false if the process must end.
task<bool> handover::become_owner() {
  const bool replaces = from_.has_predecessor();
  const status taken = co_await from_.take_possession();
  if (!taken.ok()) {
    if (taken.code() == status_code::cancelled) co_return false;
    failure_ = taken;
    log(log_level::error, "this process cannot take over: " + std::string(taken.message()));
    server_.request_stop();
    co_return false;
  }
  control_ = from_.take_control();
  owns_path_ = true;
  if (shard* const s = server_.shard_of(server_.loop_of(0)); s && replaces)
    for (const auto& l : s->listeners())
      if (!l->name().of_manager) l->set_sharing(net::sharing::exclusive);
  if (replaces) log(log_level::info, "this process has taken over at " + from_.path());
  static_cast<void>(kernel::notify_service_manager("READY=1"));
  if (std::exchange(start_later_, false)) start_successor();
  co_return true;
}

task<> handover::serve_path() {
  const bool owner = co_await become_owner();
  while (owner && !ending_.is_set()) {
    net::io_wait readable(*loop::current(), runtime_internal::operation::kind::poll_in, control_.get());
    const std::int64_t waited = co_await readable;
    if (waited < 0) co_return;
    const std::int64_t accepted = kernel::accept_packets(control_.get());
    if (accepted < 0) continue;
    co_await serve_successor(kernel::owned_descriptor(static_cast<int>(accepted)));
    if (std::exchange(start_later_, false)) start_successor();
  }
}

struct handover::no_conversation {
  ~no_conversation() { of.conversation_ = nullptr; }
  handover& of;
};

task<> handover::serve_successor(kernel::owned_descriptor connection) {
  predecessor conversation(server_, std::move(connection), control_.get(), ending_, successor_serves_);
  conversation_ = &conversation;
  const no_conversation at_end{*this};
  try {
    replaced_ = co_await conversation.run();
  } catch (const std::bad_alloc&) {
    log(log_level::error, "the process is out of memory: it hands nothing over, and goes on serving");
  } catch (const coro::cancelled&) {
    // This process was told to end. Its child ends, too. Any other process serves alone from now on.
    const bool own_child = child_ && child_->process_id == conversation.peer_process_id();
    if (!own_child && conversation.has_passed_sockets()) {
      conversation.leave_sockets();
      owns_path_ = false;
    }
    throw;
  }
  if (!replaced_) {
    successor_serves_.reset();
  } else {
    owns_path_ = false;
    static_cast<void>(
        kernel::notify_service_manager("MAINPID=" + std::to_string(conversation.peer_process_id())));
    server_.replaced(conversation.given_up());
    ending_.set();
  }
}

void handover::start_successor() noexcept {
  base::if_memory_allows([&] {
    if (replaced_ || ending_.is_set())
      return log(log_level::info, "no successor is started: the server ends");
    if (child_ || successor_serves_.is_set())
      return log(log_level::warning, "no successor is started: the last handover has not finished");
    // A process that this one has not started may be about to take over, or to fail.
    if (!control_.is_open() || (conversation_ && conversation_->has_passed_sockets())) {
      start_later_ = true;
      return;
    }
    if (kernel::is_first_process())
      return log(log_level::error,
                 "no successor is started: this is process 1, with which its container ends. Start the new "
                 "program in the container by other means, below an init process, or replace the container");
    kernel::child_process child;
    const std::int64_t started = kernel::start(program_, child);
    if (started < 0)
      return log(log_level::error,
                 "the successor cannot be started: " +
                     (program_.arguments.empty() ? std::string() : program_.arguments.front() + ": ") +
                     std::generic_category().message(static_cast<int>(-started)) +
                     ": this process goes on serving");
    log(log_level::info, "started the successor, process " + std::to_string(child.process_id));
    child_ = std::move(child);
    child_wanted_.set();
  });
}

// Until a child serves, this deals with its end; then the connection to it does. Here it is awaited in any
// case, so that the system forgets it.
task<> handover::watch_child() {
  for (;;) {
    co_await child_wanted_;
    child_wanted_.reset();
    const std::string name = "the successor, process " + std::to_string(child_->process_id) + ", ";
    std::exception_ptr stopped;
    bool in_time = false;
    try {
      in_time = co_await until_child_settles();
    } catch (const coro::cancelled&) {
      stopped = std::current_exception();
    }
    if (!successor_serves_.is_set()) {
      const std::string end = kernel::take_end(*child_);
      if (end.empty() && (stopped || !in_time)) kernel::kill_at_once(*child_);
      if (!stopped)
        log(log_level::error,
            name +
                (!end.empty() ? end
                 : in_time    ? "ended"
                              : "did not serve within handover_options::start_time, and is killed") +
                ": this process goes on serving");
    }
    if (!stopped && child_->end.is_open()) {
      net::io_wait ended(*loop::current(), runtime_internal::operation::kind::poll_in, child_->end.get());
      static_cast<void>(co_await ended);
      static_cast<void>(kernel::take_end(*child_));
    }
    if (child_->end.is_open()) loop::current()->io().forget(child_->end.get());
    child_.reset();
    if (stopped) std::rethrow_exception(stopped);
  }
}

// Until it serves or has ended. False if that takes too long.
task<bool> handover::until_child_settles() {
  event<> settled(*loop::current());
  const coro::environment& here = co_await coro::this_environment();
  scope watching(here);
  if (child_->end.is_open()) watching.spawn(until_child_ends(child_->end.get(), settled));
  watching.spawn(pass_event_on(successor_serves_, settled));
  std::exception_ptr stopped;
  bool in_time = false;
  try {
    const status waited = co_await with_timeout(server_.options.handover->start_time, until_event(settled));
    in_time = waited.ok();
  } catch (const coro::cancelled&) {
    stopped = std::current_exception();
  }
  watching.request_stop();
  co_await watching.join();
  if (stopped) std::rethrow_exception(stopped);
  co_return in_time;
}

}  // namespace coracle::server_internal
