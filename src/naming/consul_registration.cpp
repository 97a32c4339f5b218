#include "base/printable.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/naming/with_consul.hpp"
#include "coracle/runtime/loop.hpp"
#include "naming/consul_service.hpp"
#include "naming/http_api.hpp"
#include "naming/registrations.hpp"
#include "naming/secrets.hpp"

#include <utility>

namespace coracle {

namespace naming {

namespace {

// Of a request to an agent, which is near.
constexpr duration agent_timeout = std::chrono::seconds(5);

class consul_entry final : public registry_entry {
 public:
  consul_entry(std::string name, client::endpoint server, std::vector<std::string> tags,
               std::shared_ptr<const consul_options> options)
      : name_(std::move(name)),
        server_(std::move(server)),
        tags_(std::move(tags)),
        id_(name_ + "-" + server_.address().to_string()),
        text_(id_ + " in Consul"),
        options_(std::move(options)),
        api_(options_->server, options_->credentials) {}

  [[nodiscard]] const net::address& server() const noexcept override { return server_.address(); }
  [[nodiscard]] const std::string& text() const noexcept override { return text_; }

  task<status> enter() override {
    if (!options_->token.empty() && !may_send_secret(options_->credentials, options_->server))
      co_return status::failed_precondition(
          "the token of Consul is not sent to " + base::printable(options_->server) +
          " in plaintext: set consul_options::credentials to tls::client_options");
    http_request r("v1/agent/service/register");
    r.body(write_consul_instance(
        id_, name_, server_, tags_,
        std::chrono::duration_cast<std::chrono::seconds>(consul_registration::lease_time).count()));
    entered_ = true;  // it may have been, even if that fails
    const status done = co_await put(r);
    co_return done;
  }

  task<status> hold(event<>& ending) override {
    for (;;) {
      const bool ended = co_await set_within(ending, consul_registration::lease_time / 3);
      if (ended) co_return ok;
      const http_request r("v1/agent/check/pass/service:" + id_);
      const status passed = co_await put(r);
      if (!passed.ok()) co_return passed;
    }
  }

  task<status> leave() override {
    if (!entered_) co_return ok;
    const http_request r("v1/agent/service/deregister/" + id_);
    const status done = co_await put(r);
    co_return api_.head().code == 404 ? ok : done;
  }

 private:
  task<status> put(http_request r) {
    r.header("x-consul-token", options_->token);
    const result<std::string> done = co_await api_.put(r, agent_timeout);
    co_return done.status();
  }

  const std::string name_;
  const client::endpoint server_;
  const std::vector<std::string> tags_;
  const std::string id_;
  const std::string text_;
  const std::shared_ptr<const consul_options> options_;
  http_api api_;
  bool entered_ = false;
};

}  // namespace

}  // namespace naming

class consul_registration::state : public naming::registrations {
 public:
  explicit state(consul_options o) : options(std::make_shared<const consul_options>(std::move(o))) {}
  const std::shared_ptr<const consul_options> options;
};

consul_registration::consul_registration(consul_options options)
    : state_(std::make_shared<state>(std::move(options))) {}
consul_registration::~consul_registration() { state_->end(); }

void consul_registration::announce(runtime& on, const std::string& name, const client::endpoint& server,
                                   const std::vector<std::string>& tags) {
  CORACLE_REQUIRE(!name.empty() && name.find('/') == std::string::npos,
                  "the name of a service in Consul must not be empty, nor have a '/'");
  CORACLE_REQUIRE(server.address().is_ip(), "Consul has IP addresses only: write one of this machine");
  naming::require_reachable(server.address());
  naming::registrations::begin(state_, on, [name, server, tags, options = state_->options] {
    return std::make_unique<naming::consul_entry>(name, server, tags, options);
  });
}

void consul_registration::leaving() noexcept { state_->end(); }
void consul_registration::replaced(std::span<const net::address> given_up) noexcept {
  state_->pass_on(given_up);
}
void consul_registration::resumed() noexcept { state_->renew(); }

}  // namespace coracle
