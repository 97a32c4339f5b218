#include "coracle/base/usage_error.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "naming/etcd_names.hpp"
#include "naming/etcd_session.hpp"
#include "naming/registrations.hpp"

#include <utility>

namespace coracle {

namespace naming {

namespace {

class etcd_entry final : public registry_entry {
 public:
  etcd_entry(const std::string& name, const client::endpoint& server,
             std::shared_ptr<const etcd_options> options)
      : server_(server.address()),
        key_(name + "/" + server.address().to_string()),
        text_(key_ + " in etcd"),
        value_(write_etcd_value(server)),
        session_(std::move(options)) {}

  [[nodiscard]] const net::address& server() const noexcept override { return server_; }
  [[nodiscard]] const std::string& text() const noexcept override { return text_; }

  task<status> enter() override {
    const status entered = co_await put_key();
    if (!entered.ok()) session_.next_member();
    co_return entered;
  }
  task<status> hold(event<>& ending) override {
    const status held = co_await keep_lease(ending);
    if (!held.ok()) session_.next_member();
    co_return held;
  }
  task<status> leave() override {
    const time_point end = loop::current()->now() + etcd_timeout;  // of both
    const status first = co_await revoke(lease_, end);
    const status second = co_await revoke(pending_, end);
    co_return first.ok() ? second : first;
  }

 private:
  // Gets a lease, and puts the key with it. A key that an older lease of this server still holds passes to
  // the new lease. If that fails, the key may be with either, or with none.
  task<status> put_key() {
    if (pending_ == 0) {
      const status granted = co_await get_lease();
      if (!granted.ok()) co_return granted;
    }
    const bytes_message put = etcd::put_request(key_, value_, pending_);
    const result<bytes_message> done = co_await session_.unary(etcd::put_method, put);
    if (done.ok()) lease_ = std::exchange(pending_, 0);
    else if (done.status().code() == status_code::not_found) pending_ = 0;  // it has expired
    co_return done.status();
  }

  task<status> keep_lease(event<>& ending) {
    auto call = session_.bidi(etcd::keep_alive_method);
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
      const bool ended = co_await set_within(ending, etcd_registration::lease_time / 3);
      if (ended) co_return ok;
    }
  }
  task<status> get_lease() {
    const bytes_message grant = etcd::grant_request(
        std::chrono::duration_cast<std::chrono::seconds>(etcd_registration::lease_time).count());
    const result<bytes_message> granted = co_await session_.unary(etcd::grant_method, grant);
    if (!granted.ok()) co_return granted.status();
    etcd::lease_response lease;
    if (!etcd::read(*granted, lease) || lease.lease == 0)
      co_return status::unavailable("the lease is malformed");
    pending_ = lease.lease;
    co_return ok;
  }

  static task<result<std::optional<bytes_message>>> read_one(bidi_call<bytes_message, bytes_message>& call) {
    co_return co_await call.next();
  }

  task<status> revoke(std::int64_t lease, time_point end) {
    if (lease == 0) co_return ok;
    const bytes_message request = etcd::lease_request(lease);
    const result<bytes_message> done =
        co_await session_.unary(etcd::revoke_method, request, end - loop::current()->now());
    // A lease that has expired has taken its key along.
    if (done.status().code() == status_code::not_found) co_return ok;
    co_return done.status();
  }

  const net::address server_;
  const std::string key_;
  const std::string text_;
  const std::string value_;
  etcd_session session_;
  std::int64_t lease_ = 0;  // with which the key was put last; 0: none
  std::int64_t pending_ = 0;  // with which the key is to be put, and may have been; 0: none
};

}  // namespace

}  // namespace naming

class etcd_registration::state : public naming::registrations {
 public:
  explicit state(etcd_options o) : options(std::make_shared<const etcd_options>(std::move(o))) {}
  const std::shared_ptr<const etcd_options> options;
};

etcd_registration::etcd_registration(etcd_options options)
    : state_(std::make_shared<state>(std::move(options))) {}
etcd_registration::~etcd_registration() { state_->end(); }

void etcd_registration::announce(runtime& on, const std::string& name, const std::string& address) {
  const result<net::address> at = net::address::parse(address);
  CORACLE_REQUIRE(at.ok(), "the address to register is invalid: write 10.0.0.1:50051");
  announce(on, name, client::endpoint(*at));
}

void etcd_registration::announce(runtime& on, const std::string& name, const client::endpoint& server) {
  CORACLE_REQUIRE(naming::is_etcd_name(name), "a name in etcd must not be empty, nor begin or end with '/'");
  naming::require_reachable(server.address());
  naming::registrations::begin(state_, on, [name, server, options = state_->options] {
    return std::make_unique<naming::etcd_entry>(name, server, options);
  });
}

void etcd_registration::leaving() noexcept { state_->end(); }
void etcd_registration::replaced(std::span<const net::address> given_up) noexcept {
  state_->pass_on(given_up);
}
void etcd_registration::resumed() noexcept { state_->renew(); }

}  // namespace coracle
