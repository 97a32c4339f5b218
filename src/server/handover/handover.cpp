#include "server/handover/handover.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "net/io_wait.hpp"
#include "runtime/kernel/service_manager.hpp"
#include "server/handover/path.hpp"
#include "server/handover/predecessor.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"

#include <cerrno>
#include <chrono>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace coracle::server_internal {

namespace {

namespace kernel = runtime_internal::kernel;

// When no descriptor is left for a process that connects.
constexpr duration accept_pause = std::chrono::milliseconds(100);
constexpr duration refusal_pause = std::chrono::milliseconds(100);
// Further ones are not watched: a connection may wait for the next one then.
constexpr std::size_t refused_max = 16;

}  // namespace

handover::handover(server_state& of)
    : server_(of),
      from_(of.owner, of.options.handover->path),
      ending_(of.loop_of(0)),
      ended_(of.loop_of(0)),
      child_(of.loop_of(0), of.options.handover->start_time,
             [this](std::int64_t process_id) { child_has_ended(process_id); }),
      store_(of, of.options.handover->path),
      out_of_memory_(status::resource_exhausted("the process has no memory to take over")) {}

handover::~handover() { release(); }

status handover::open() {
  const handover_options& o = *server_.options.handover;
  if (!server_.loop_of(0).io().takes_descriptors())
    return status::unimplemented("a simulation has no processes: leave server_options::handover unset");
  if (o.goaway_time < duration::zero() || o.start_time <= duration::zero())
    return status::invalid_argument("handover_options::goaway_time and start_time must not be negative");
  status opened = from_.begin();
  is_successor_ = from_.has_predecessor();
  if (opened.ok() && !is_successor_) owns_path_ = true;
  return opened;
}

void handover::log(log_level level, std::string_view text) noexcept {
  server_.owner.log().write(log_room::server, level, text);
}

// A successor that has the path keeps it.
void handover::release() noexcept {
  if (is_released_.exchange(true)) return;
  from_.abandon();
  if (!owns_path_) return;
  base::if_memory_allows([&] { static_cast<void>(remove_stale_socket(from_.path())); });
  control_ = kernel::owned_descriptor();
}

bool handover::is_being_replaced() const noexcept { return conversation_ && conversation_->peer_serves(); }

void handover::begin(const std::shared_ptr<server_state>& alive) noexcept {
  if (serves_ && !ending_.is_set()) store_.keep(is_successor_);  // after a later listen()
  if (begun_ || ending_.is_set()) return;
  // A service: run() of a runtime does not wait for it, because it ends with its server.
  auto& on = static_cast<runtime_internal::driven_loop&>(server_.loop_of(0));
  begun_ = base::if_memory_allows([&] { server_.owner.core().spawn_service(on, run(alive, *this)); });
  if (!begun_) cannot_begin();
}

void handover::end() noexcept {
  if (ending_.is_set()) return;
  ending_.set();
  if (begun_) return;
  ended_.set();
  finished.set();
}

// Without memory. A predecessor goes on; else a new process finds no path, and hears at once that the
// addresses are in use.
void handover::cannot_begin() noexcept {
  if (from_.has_predecessor()) {
    log(log_level::error, "this process is out of memory, and cannot take over");
    from_.abandon();
    failure_ = std::move(out_of_memory_);
    server_.request_stop();
  } else {
    log(log_level::error, "this process is out of memory: no process can take over from it");
    release();  // before it closes the socket: a process that has connected looks at the path again
    static_cast<void>(from_.take_control());
  }
}

task<> handover::run([[maybe_unused]] std::shared_ptr<server_state> alive, handover& self) {
  try {
    co_await self.run_until_end();
  } catch (const coro::cancelled&) {
    // The runtime stops.
  } catch (const std::bad_alloc&) {
    self.cannot_begin();
  }
  self.service_.stopping();
  if (self.control_.is_open()) self.server_.loop_of(0).io().forget(self.control_.get());
  if (!self.owns_path_) self.control_ = kernel::owned_descriptor();
  self.ended_.set();
  self.finished.set();
}

task<> handover::run_until_end() {
  const coro::environment& here = co_await coro::this_environment();
  scope path(here);
  scope children(here);
  std::exception_ptr failed;
  try {
    children.spawn(child_.watch());
    children.spawn(store_.run());
    path.spawn(serve_path());
    co_await ending_;
  } catch (...) {
    failed = std::current_exception();
  }
  // A successor that serves already gets everything now: the conversation with it sees `ending_`.
  if (!is_being_replaced()) path.request_stop();
  try {
    co_await path.join();
  } catch (...) {
    if (!failed) failed = std::current_exception();
  }
  children.request_stop();
  refused_.request_stop();
  scope* const others[] = {&children, &refused_};
  for (scope* const other : others) {
    try {
      co_await other->join();
    } catch (...) {
      if (!failed) failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
}

// Returns false if the process must end. Throws std::bad_alloc only before everything belongs to it.
task<bool> handover::become_owner() {
  const bool replaces = from_.has_predecessor();
  if (replaces) {
    {
      const std::lock_guard held(server_.setting_up);  // a listen() on another thread
      from_.close();
    }
    const std::function<void()> paused = [this] { listen_again(); };
    const status taken = co_await from_.take_possession(paused);
    if (!taken.ok()) {
      from_.give_up();
      if (taken.code() == status_code::cancelled) co_return false;
      failure_ = taken;
      base::if_memory_allows(
          [&] { log(log_level::error, "this process cannot take over: " + std::string(taken.message())); });
      server_.request_stop();
      co_return false;
    }
  }
  use_path(replaces);
  co_return true;
}

void handover::use_path(bool replaces) noexcept {
  control_ = from_.take_control();
  owns_path_ = control_.is_open();
  if (!control_.is_open())
    base::if_memory_allows([&] {
      log(log_level::error, "this process serves, and no process can take over from it: " +
                                std::string(from_.path_failed().message()));
    });
  if (shard* const s = server_.shard_of(server_.loop_of(0)); s && replaces)
    for (const auto& l : s->listeners())
      if (!l->name().of_manager) l->set_sharing(net::sharing::exclusive);
  if (replaces) {
    listen_again();
    base::if_memory_allows([&] { log(log_level::info, "this process has taken over at " + from_.path()); });
  }
  serves_ = true;
  service_.ready();
  store_.keep(is_successor_);
  if (std::exchange(start_later_, false)) start_successor();
}

// After another process may have been woken for connections that it has not accepted.
void handover::listen_again() noexcept {
  if (shard* const s = server_.shard_of(server_.loop_of(0)))
    for (const auto& l : s->listeners()) l->look_again();
}

task<> handover::serve_path() {
  bool owner = false;
  try {
    owner = co_await become_owner();
  } catch (const std::bad_alloc&) {
    if (from_.has_predecessor()) {
      cannot_begin();
    } else {
      owner = true;
      use_path(false);
    }
  }
  bool exhaustion_logged = false;
  while (owner && control_.is_open() && !ending_.is_set()) {
    std::int64_t error = 0;
    try {
      error = co_await serve_one_successor();
    } catch (const std::bad_alloc&) {
      error = -ENOMEM;
    }
    if (std::exchange(start_later_, false)) start_successor();
    if (error == -ECANCELED) co_return;
    const bool exhausted = error < 0 && error != -EAGAIN && error != -ECONNABORTED;
    if (exhausted && !exhaustion_logged)
      base::if_memory_allows([&] {
        log(log_level::error, "processes cannot connect to the handover path: " +
                                  std::generic_category().message(static_cast<int>(-error)) +
                                  ": the server tries again until it can accept them");
      });
    exhaustion_logged = exhausted;
    if (exhausted) co_await sleep_for(accept_pause);
  }
}

// Returns -errno if no process has connected.
task<std::int64_t> handover::serve_one_successor() {
  net::io_wait readable(*loop::current(), runtime_internal::operation::kind::poll_in, control_.get());
  const std::int64_t waited = co_await readable;
  const std::int64_t accepted = waited < 0 ? waited : kernel::accept_packets(control_.get());
  if (accepted < 0) co_return accepted;
  co_await serve_successor(kernel::owned_descriptor(static_cast<int>(accepted)));
  co_return 0;
}

struct handover::no_conversation {
  ~no_conversation() { of.conversation_ = nullptr; }
  handover& of;
};

task<> handover::serve_successor(kernel::owned_descriptor connection) {
  predecessor conversation(server_, std::move(connection), control_.get(), ending_, child_);
  conversation_ = &conversation;
  const no_conversation at_end{*this};
  try {
    replaced_ = co_await hand_over_to(conversation);
  } catch (const coro::cancelled&) {
    leave_to_successor(conversation);
    throw;
  }
  if (replaced_) {
    owns_path_ = false;
    store_.leave_to_successor(conversation.given_up());
    service_.replaced_by(conversation.peer_process_id());
    server_.replaced(conversation.given_up());
    ending_.set();
  } else if (conversation.may_be_mistaken()) {
    leave_to_successor(conversation);
  } else if (conversation.has_passed_sockets()) {
    server_.resumed();
    watch_refused(conversation);
  }
}

// A successor that does not hear that it gets nothing takes the end of the connection for the end of this
// process, and the sockets, their files and the path for its own. So a refusal that could not be sent, as
// without memory in the kernel, is repeated until this process ends.
task<bool> handover::hand_over_to(predecessor& conversation) {
  bool replaced = false;
  try {
    replaced = co_await conversation.run();
  } catch (const std::bad_alloc&) {
    conversation.refuse_at_once();
    log(log_level::error, "the process is out of memory: it hands nothing over, and goes on serving");
  }
  while (!replaced && conversation.may_be_mistaken() && !ending_.is_set()) {
    co_await sleep_for(refusal_pause);
    conversation.refuse_at_once();
  }
  co_return replaced;
}

// A process that gets nothing has the sockets registered until it closes them or ends, and the kernel may
// wake it, in place of this one, for a connection.
void handover::watch_refused(predecessor& conversation) noexcept {
  base::if_memory_allows([&] {
    if (refused_.running() < refused_max)
      refused_.spawn(
          until_gone(conversation.take_connection(), kernel::end_of_process(conversation.peer_process_id())));
  });
}

task<> handover::until_gone(kernel::owned_descriptor connection, kernel::owned_descriptor process) {
  loop& on = *loop::current();
  for (bool is_open = true; is_open;) {
    net::io_wait readable(on, runtime_internal::operation::kind::poll_in, connection.get());
    const std::int64_t waited = co_await readable;
    if (waited < 0) break;
    kernel::packet ignored;
    std::int64_t received = 0;  // without memory, as if it had been closed
    base::if_memory_allows([&] { received = kernel::receive_packet(connection.get(), ignored); });
    is_open = received > 0 || received == -EAGAIN;
  }
  on.io().forget(connection.get());
  connection = kernel::owned_descriptor();
  listen_again();
  if (!process.is_open()) co_return;
  // Of a process that was killed, the connection may be closed before the sockets.
  net::io_wait end(on, runtime_internal::operation::kind::poll_in, process.get());
  static_cast<void>(co_await end);
  on.io().forget(process.get());
  listen_again();
}

// This process ends during the conversation. A child that does not serve yet ends, too. Any other process
// that has the sockets may serve with them already: it has them, and the path, alone from now on.
void handover::leave_to_successor(predecessor& conversation) noexcept {
  child_.end_unless_it_serves();
  if (!conversation.may_be_mistaken()) return;
  conversation.leave_sockets();
  store_.leave_to_successor(conversation.given_up());
  owns_path_ = false;
  // Before the connection ends, because the successor binds the path then.
  server_.loop_of(0).io().forget(control_.get());
  control_ = kernel::owned_descriptor();
  if (!conversation.peer_serves()) return;
  replaced_ = true;
  service_.replaced_by(conversation.peer_process_id());
  server_.replaced(conversation.given_up());
}

void handover::start_successor() noexcept {
  if (!base::if_memory_allows([&] { start_successor_now(); }))
    log(log_level::error, "no successor is started: the process is out of memory");
}

void handover::start_successor_now() {
  if (replaced_ || ending_.is_set()) return log(log_level::info, "no successor is started: the server ends");
  if (child_.exists() || is_being_replaced())
    return log(log_level::warning, "no successor is started: the last handover has not finished");
  // A process that this one has not started may be about to take over, or to fail.
  if (!serves_ || (conversation_ && conversation_->has_passed_sockets())) {
    start_later_ = true;
    return;
  }
  if (!control_.is_open())
    return log(log_level::error,
               "no successor is started: this process could not create the handover path when it took over: "
               "restart the server");
  if (!is_successor_ && !kernel::is_started_by_manager()) child_.forget_variable("FDSTORE");
  child_.start();
}

void handover::child_has_ended(std::int64_t process_id) noexcept {
  if (conversation_ && conversation_->peer_process_id() == process_id) conversation_->peer_has_ended();
  listen_again();
}

}  // namespace coracle::server_internal
