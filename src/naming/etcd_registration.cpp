#include "base/printable.hpp"
#include "client/connecting/backoff.hpp"
#include "coracle/base/log.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/runtime.hpp"
#include "naming/etcd_channel.hpp"
#include "naming/etcd_names.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace coracle {

namespace naming {

namespace {

constexpr duration register_pause_max = std::chrono::seconds(10);

bool is_unspecified(const net::address& a) noexcept {
  return std::ranges::all_of(a.ip_bytes(), [](std::uint8_t b) { return b == 0; });
}

task<> until(event<>& e) { co_await e; }

// Waits for `d`, or until the event is set. Returns whether it is.
task<bool> ended_within(event<>& e, duration d) {
  const status in_time = co_await with_timeout(d, until(e));
  co_return in_time.ok();
}

// One server under one name.
class registered_server {
 public:
  registered_server(std::string name, std::string address, const etcd_options& options)
      : key_(name + "/" + address), value_(write_etcd_value(address)), stub_(connect_to_etcd(options)) {}

  // Until `ending` is set.
  task<> keep(event<>& ending) {
    client::backoff pauses;
    bool failing = false;
    while (!ending.is_set()) {
      const status registered = co_await enter();
      if (registered.ok()) {
        failing = false;
        log().info("registered ", key_, " in etcd");
        const time_point begun = loop::current()->now();
        const status lost = co_await keep_alive(ending);
        if (lost.ok()) break;
        // A lease that is lost at once is not taken anew each second.
        if (loop::current()->now() - begun >= etcd_registration::lease_time) pauses.reset();
        log().warning("the registration of ", key_, " in etcd was lost: ", shown(lost));
      } else if (!std::exchange(failing, true)) {
        log().warning("cannot register ", key_, " in etcd, and tries again: ", shown(registered));
      }
      const duration pause = std::min(pauses.next(loop::current()->io().random()), register_pause_max);
      const bool ended = co_await ended_within(ending, pause);
      if (ended) break;
    }
    co_await leave();
  }

 private:
  [[nodiscard]] static bound_log log() noexcept { return loop::current()->log().in(log_room::server); }
  [[nodiscard]] static std::string shown(const status& s) { return base::printable(s.message()); }
  [[nodiscard]] static call_options in_time() {
    call_options options;
    options.timeout = etcd_timeout;
    return options;
  }

  // Gets a lease, and puts the key with it. A key that an older lease of this server still holds passes to
  // the new lease. If that fails, the key may be with either, or with none.
  task<status> enter() {
    const call_options options = in_time();
    if (pending_ == 0) {
      const status granted = co_await get_lease();
      if (!granted.ok()) co_return granted;
    }
    const bytes_message put = etcd::put_request(key_, value_, pending_);
    const result<bytes_message> done = co_await stub_.unary(etcd::put_method, put, options);
    if (done.ok()) lease_ = std::exchange(pending_, 0);
    else if (done.status().code() == status_code::not_found) pending_ = 0;  // it has expired
    co_return done.status();
  }

  task<status> get_lease() {
    const call_options options = in_time();
    const bytes_message grant = etcd::grant_request(
        std::chrono::duration_cast<std::chrono::seconds>(etcd_registration::lease_time).count());
    const result<bytes_message> granted = co_await stub_.unary(etcd::grant_method, grant, options);
    if (!granted.ok()) co_return granted.status();
    etcd::lease_response lease;
    if (!etcd::read(*granted, lease) || lease.lease == 0)
      co_return status::unavailable("the lease is malformed");
    pending_ = lease.lease;
    co_return ok;
  }

  // OK: `ending` is set. Otherwise the lease is lost, or may be.
  task<status> keep_alive(event<>& ending) {
    auto call = stub_.bidi(etcd::keep_alive_method);
    const bytes_message request = etcd::lease_request(lease_);
    for (;;) {
      // At once the first time: the lease may be one of an earlier attempt.
      const status sent = co_await call.write(request);
      if (!sent.ok()) co_return sent;
      const result<std::optional<bytes_message>> reply = co_await with_timeout(etcd_timeout, read_one(call));
      if (!reply.ok()) co_return reply.status();
      etcd::lease_response lease;
      if (!reply->has_value() || !etcd::read(**reply, lease))
        co_return status::unavailable("etcd ended the stream");
      if (lease.seconds == 0) co_return status::not_found("the lease has expired");
      const bool ended = co_await ended_within(ending, etcd_registration::lease_time / 3);
      if (ended) co_return ok;
    }
  }
  static task<result<std::optional<bytes_message>>> read_one(bidi_call<bytes_message, bytes_message>& call) {
    co_return co_await call.next();
  }

  task<> leave() {
    if (lease_ == 0 && pending_ == 0) co_return;
    const time_point end = loop::current()->now() + etcd_timeout;  // of both
    const status first = co_await revoke(lease_, end);
    const status second = co_await revoke(pending_, end);
    const status& failed = first.ok() ? second : first;
    if (failed.ok()) log().info("removed ", key_, " from etcd");
    else
      log().warning("cannot remove ", key_, " from etcd, which does so when its lease ends: ", shown(failed));
  }

  task<status> revoke(std::int64_t lease, time_point end) {
    if (lease == 0) co_return ok;
    call_options options;
    options.timeout = end - loop::current()->now();
    const bytes_message request = etcd::lease_request(lease);
    const result<bytes_message> done = co_await stub_.unary(etcd::revoke_method, request, options);
    // A lease that has expired has taken its key along.
    if (done.status().code() == status_code::not_found) co_return ok;
    co_return done.status();
  }

  const std::string key_;
  const std::string value_;
  const generic_stub stub_;
  std::int64_t lease_ = 0;  // with which the key was put last; 0: none
  std::int64_t pending_ = 0;  // with which the key is to be put, and may have been; 0: none
};

}  // namespace

}  // namespace naming

class etcd_registration::state {
 public:
  explicit state(etcd_options options) : options_(std::move(options)) {}

  static task<> keep(std::shared_ptr<state> of, std::string name, std::string address) {
    event<> ending(*loop::current());
    const membership mine(*of, ending);
    naming::registered_server server(std::move(name), std::move(address), of->options_);
    co_await server.keep(ending);
  }

  void end() noexcept {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (event<>* one : endings_) one->set();
  }

 private:
  // While an event is to be set at the end.
  class membership {
   public:
    membership(state& of, event<>& ending) : of_(of), ending_(ending) {
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
    state& of_;
    event<>& ending_;
  };

  const etcd_options options_;
  std::mutex mutex_;
  std::vector<event<>*> endings_;  // one for each server, of its loop
  bool ended_ = false;
};

etcd_registration::etcd_registration(etcd_options options)
    : state_(std::make_shared<state>(std::move(options))) {}
etcd_registration::~etcd_registration() { state_->end(); }

void etcd_registration::announce(runtime& on, const std::string& name, const std::string& address) {
  CORACLE_REQUIRE(naming::is_etcd_name(name), "a name in etcd must not be empty, nor begin or end with '/'");
  const result<net::address> at = net::address::parse(address);
  CORACLE_REQUIRE(at.ok(), "the address to register is invalid: write 10.0.0.1:50051");
  CORACLE_REQUIRE(!at->is_ip() || (at->port() != 0 && !naming::is_unspecified(*at)),
                  "clients cannot connect to the address to register: write an address of this machine, with "
                  "the port of the server, such as 10.0.0.1:50051, rather than * or 0.0.0.0 or port 0");
  on.spawn(state::keep(state_, name, address));
}

void etcd_registration::draining() noexcept { state_->end(); }

}  // namespace coracle
