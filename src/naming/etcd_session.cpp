#include "naming/etcd_session.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/runtime/loop.hpp"
#include "naming/etcd_messages.hpp"
#include "naming/secrets.hpp"

#include <string_view>
#include <utility>

namespace coracle::naming {

namespace {

generic_stub connect_to_etcd(const etcd_options& options) {
  channel_options o;
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

}  // namespace

etcd_session::etcd_session(std::shared_ptr<const etcd_options> options)
    : options_(std::move(options)), stub_(connect_to_etcd(*options_)) {}

void etcd_session::identify(call_options& options) const {
  if (!token_.empty()) options.add_metadata("token", token_);
}

task<status> etcd_session::authenticate(duration timeout) {
  if (options_->user.empty() || authenticated_) co_return ok;
  if (!may_send_secret(options_->credentials, options_->server))
    co_return status::failed_precondition(
        "the password is not sent to another machine in plaintext: set "
        "etcd_options::credentials to tls::client_options");
  call_options options;
  options.timeout = timeout;
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
                                                const call_options& options) {
  for (bool again = false;; again = true) {
    const status known = co_await authenticate(*options.timeout);
    if (!known.ok()) co_return known;
    call_options identified = options;
    identify(identified);
    result<bytes_message> reply = co_await stub_.unary(method, request, identified);
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
