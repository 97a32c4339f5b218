#include "naming/registrations.hpp"

#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "client/connecting/backoff.hpp"
#include "coracle/base/log.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

namespace coracle::naming {

namespace {

constexpr duration register_pause_max = std::chrono::seconds(10);

task<> until(event<>& e) { co_await e; }

bound_log registry_log() noexcept { return loop::current()->log().in(log_room::server); }

// Without memory, the entry counts as lost.
task<status> entered_and_held(registry_entry& entry, event<>& ending, bool& was_entered) {
  try {
    status outcome = co_await entry.enter();
    if (!outcome.ok()) co_return outcome;
    was_entered = true;
    registry_log().info("registered ", entry.text());
    outcome = co_await entry.hold(ending);
    co_return outcome;
  } catch (const std::bad_alloc&) {
    co_return status::resource_exhausted("the process is out of memory");
  }
}

task<status> left(registry_entry& entry) {
  try {
    status outcome = co_await entry.leave();
    co_return outcome;
  } catch (const std::bad_alloc&) {
    co_return status::resource_exhausted("the process is out of memory");
  }
}

}  // namespace

task<bool> set_within(event<>& e, duration d) {
  const status in_time = co_await with_timeout(d, until(e));
  co_return in_time.ok();
}

namespace {

// All interfaces: 0.0.0.0 or [::].
bool is_unspecified(const net::address& at) noexcept {
  return at.is_ip() && std::ranges::all_of(at.ip_bytes(), [](std::uint8_t b) { return b == 0; });
}

}  // namespace

void require_reachable(const net::address& at) {
  CORACLE_REQUIRE(!at.is_ip() || (at.port() != 0 && !is_unspecified(at)),
                  "clients cannot connect to the address to register: write an address of this machine, with "
                  "the port of the server, such as 10.0.0.1:50051, rather than * or 0.0.0.0 or port 0");
}

// While an event is to be set at the end.
class registrations::membership {
 public:
  membership(registrations& of, event<>& ending) : of_(of), ending_(ending) {
    const std::lock_guard lock(of_.mutex_);
    of_.endings_.push_back(&ending_);
    if (of_.ended_) ending_.set();
  }
  membership(const membership&) = delete;
  membership& operator=(const membership&) = delete;
  ~membership() {
    const std::lock_guard lock(of_.mutex_);
    std::erase(of_.endings_, &ending_);
  }

 private:
  registrations& of_;
  event<>& ending_;
};

// Until `ending` is set.
task<> registrations::keep(registrations& of, registry_entry& entry, event<>& ending) {
  client::backoff pauses;
  bool failing = false;
  bool was_entered = false;  // ever
  while (!ending.is_set() || of.begins_anew(ending)) {
    bool entered = false;
    const time_point begun = loop::current()->now();
    const status lost = co_await entered_and_held(entry, ending, entered);
    if (entered) {
      failing = false;
      was_entered = true;
      if (lost.ok() && of.begins_anew(ending)) continue;
      if (lost.ok()) break;
      // An entry that is lost at once is not made anew each second.
      if (loop::current()->now() - begun >= registrations::lease_time) pauses.reset();
      registry_log().warning("the registration of ", entry.text(),
                             " was lost: ", base::printable(lost.message()));
    } else if (!std::exchange(failing, true)) {
      registry_log().warning("cannot register ", entry.text(),
                             ", and tries again: ", base::printable(lost.message()));
    }
    const duration pause = std::min(pauses.next(loop::current()->io().random()), register_pause_max);
    const bool ended = co_await set_within(ending, pause);
    if (ended && !of.begins_anew(ending)) break;
  }
  if (of.is_passed_on(entry.server())) {
    registry_log().info("left ", entry.text(), " to the process that has taken over");
    co_return;
  }
  const status removed = co_await left(entry);
  if (removed.ok() && was_entered) registry_log().info("removed ", entry.text());
  if (!removed.ok())
    registry_log().warning("cannot remove ", entry.text(),
                           ", which ends by itself: ", base::printable(removed.message()));
}

task<> registrations::run(std::shared_ptr<registrations> of,
                          std::function<std::unique_ptr<registry_entry>()> make) {
  event<> ending(*loop::current());
  const membership mine(*of, ending);
  const std::unique_ptr<registry_entry> entry = make();
  co_await keep(*of, *entry, ending);
}

void registrations::begin(const std::shared_ptr<registrations>& of, runtime& on,
                          std::function<std::unique_ptr<registry_entry>()> make) {
  on.spawn(run(of, std::move(make)));
}

// Without memory for the list, everything is left: an entry that no process renews expires.
void registrations::pass_on(std::span<const net::address> given_up) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    passed_on_ = true;
    base::if_memory_allows([&] { given_up_.assign(given_up.begin(), given_up.end()); });
  }
  end();
}

// A server that listens on all interfaces is registered with one of its addresses, and behind a translation
// of addresses with another one: what is not known to be given up is passed on.
bool registrations::is_passed_on(const net::address& server) {
  const std::lock_guard lock(mutex_);
  return passed_on_ && std::ranges::none_of(given_up_, [&](const net::address& a) {
           return a == server ||
                  (is_unspecified(a) && a.kind() == server.kind() && a.port() == server.port());
         });
}

void registrations::end() noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  for (event<>* one : endings_) one->set();
}

void registrations::renew() noexcept {
  const std::lock_guard lock(mutex_);
  for (event<>* one : endings_) one->set();
}

bool registrations::begins_anew(event<>& ending) {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  ending.reset();
  return true;
}

}  // namespace coracle::naming
