#include "naming/etcd_session.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/client/pick_policy.hpp"
#include "coracle/runtime/loop.hpp"
#include "naming/etcd_messages.hpp"
#include "naming/secrets.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace coracle::naming {

namespace {

// Picks the member that it has picked before, and after another failure of the session the one behind it in
// the list.
class one_member final : public client::pick_policy {
 public:
  explicit one_member(std::shared_ptr<const std::size_t> failures) : failures_(std::move(failures)) {}
  std::size_t pick(std::span<const client::pick_candidate> ready, const client::pick_info&) override {
    const auto is_last = [this](const client::pick_candidate& c) { return c.where().address() == last_; };
    const auto found = std::ranges::find_if(ready, is_last);
    const std::size_t failures_before = std::exchange(seen_, *failures_);
    std::size_t next = 0;
    if (found != ready.end()) {
      next = static_cast<std::size_t>(found - ready.begin());
      if (*failures_ != failures_before) next = (next + 1) % ready.size();
    }
    last_ = ready[next].where().address();
    return next;
  }

 private:
  const std::shared_ptr<const std::size_t> failures_;
  std::size_t seen_ = 0;  // of them, at the last pick
  std::optional<net::address> last_;
};

generic_stub connect_to_etcd(const etcd_options& options, std::shared_ptr<const std::size_t> failures) {
  channel_options o;
  o.balance = balancing::by(
      [failures = std::move(failures)](std::uint64_t) { return std::make_unique<one_member>(failures); });
  o.retries = false;
  o.proxy.emplace();  // a registry is near: the proxies of the environment are for other servers
  // A watch may be idle for days: without this, a member that is gone without a word is not noticed.
  o.keepalive = {.time = std::chrono::seconds(30), .timeout = std::chrono::seconds(10)};
  return generic_stub(channel(loop::current()->owner(), options.server, options.credentials, std::move(o)));
}

// The token is unknown, such as after its time or a restart of etcd; it was made before users or roles
// changed; or there is none, because authentication was enabled later.
bool needs_another_token(const status& s) noexcept {
  const std::string_view text = s.message();
  return s.code() == status_code::unauthenticated || text.find("auth store is old") != text.npos ||
         text.find("revision in header is old") != text.npos || text.find("user name is empty") != text.npos;
}

call_options until(time_point end) {
  call_options options;
  options.timeout = end - loop::current()->now();
  return options;
}

}  // namespace

etcd_session::etcd_session(std::shared_ptr<const etcd_options> options)
    : options_(std::move(options)), stub_(connect_to_etcd(*options_, failures_)) {}

void etcd_session::identify(call_options& options) const {
  if (!token_.empty()) options.add_metadata("token", token_);
}

task<status> etcd_session::authenticate(time_point end) {
  if (options_->user.empty() || authenticated_) co_return ok;
  if (!may_send_secret(options_->credentials, options_->server))
    co_return status::failed_precondition(
        "the password is not sent to another machine in plaintext: set "
        "etcd_options::credentials to tls::client_options");
  const call_options options = until(end);
  const bytes_message request = etcd::authenticate_request(options_->user, options_->password);
  const result<bytes_message> reply = co_await stub_.unary(etcd::authenticate_method, request, options);
  // Without authentication, etcd needs no token.
  const bool disabled = reply.status().code() == status_code::failed_precondition;
  if (!reply.ok() && !disabled) co_return reply.status();
  token_.clear();
  if (reply.ok() && (!etcd::read_token(*reply, token_) || token_.empty()))
    co_return status::unavailable("the answer to the password is malformed");
  authenticated_ = true;
  co_return ok;
}

task<result<bytes_message>> etcd_session::unary(const char* method, const bytes_message& request,
                                                duration timeout) {
  const time_point end = deadline_after(loop::current()->now(), timeout);
  for (bool again = false;; again = true) {
    const status known = co_await authenticate(end);
    if (!known.ok()) co_return known;
    call_options options = until(end);
    identify(options);
    result<bytes_message> reply = co_await stub_.unary(method, request, options);
    if (reply.ok() || again || options_->user.empty() || !needs_another_token(reply.status()))
      co_return reply;
    authenticated_ = false;
  }
}

bidi_call<bytes_message, bytes_message> etcd_session::bidi(const char* method, call_options options) const {
  identify(options);
  return stub_.bidi(method, options);
}

}  // namespace coracle::naming
