#include "base/printable.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/naming/with_consul.hpp"
#include "coracle/runtime/loop.hpp"
#include "naming/consul_service.hpp"
#include "naming/http_api.hpp"
#include "naming/secrets.hpp"
#include "naming/watched_names.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace coracle::naming {

namespace {

// Of a blocking query. The agent adds up to a 16th, so that clients that began together do not stay together.
constexpr std::string_view query_wait = "300s";
// An agent sends nothing meanwhile, so that a connection that was lost without a word is noticed at the end.
// This is rare, since the agent is mostly that of the machine.
constexpr duration query_timeout = std::chrono::seconds(300 + 300 / 16 + 15);
constexpr duration first_query_timeout = std::chrono::seconds(30);
// From the start of a query to that of the next, however fast the index moves.
constexpr duration query_pause = std::chrono::milliseconds(500);
constexpr char needed_rights[] = ". The token needs service:read and node:read";

class consul_source final : public name_source {
 public:
  consul_source(consul_query of, std::shared_ptr<const consul_options> options)
      : of_(std::move(of)), options_(std::move(options)) {}

  task<status> follow(list_sink& to) override {
    if (!options_->token.empty() && !may_send_secret(options_->credentials, options_->server))
      co_return status::failed_precondition(
          "the token of Consul is not sent to " + base::printable(options_->server) +
          " in plaintext: set consul_options::credentials to tls::client_options");
    if (!api_) api_.emplace(options_->server, options_->credentials);
    std::uint64_t index = 0;
    for (;;) {
      const time_point begun = loop::current()->now();
      http_request r("v1/health/service/" + of_.service);
      r.set("passing", "1").set("dc", of_.datacenter);
      if (!of_.tags.empty()) r.set("tag", of_.tags.front());
      if (index != 0) r.set("index", std::to_string(index)).set("wait", query_wait);
      r.header("x-consul-token", options_->token);
      const duration timeout = index == 0 ? first_query_timeout : query_timeout;
      const result<std::string> answer = co_await api_->get(r, timeout);
      if (!answer.ok()) co_return explain(answer.status());
      const result<std::uint64_t> next = next_consul_index(index, api_->head().index);
      if (!next.ok()) co_return next.status();
      // The same index means that the wait is over, and nothing has changed.
      if (*next != index || index == 0) {
        result<server_list> list = read_consul_answer(*answer, of_.tags);
        if (!list.ok()) co_return list.status();
        // A list of nothing because of missing rights is no answer.
        if (api_->head().filtered && list->servers.empty())
          co_return status::unavailable("Consul: the token may not read the instances of " +
                                        base::printable(of_.service) + needed_rights);
        if (api_->head().filtered && !std::exchange(filtered_, true))
          loop::current()
              ->log()
              .in(log_room::client)
              .warning("Consul: the token may not read all instances of ", base::printable(of_.service),
                       needed_rights);
        filtered_ = api_->head().filtered;
        to.found(*std::move(list));
      }
      index = *next;
      co_await sleep_until(begun + query_pause);
    }
  }

 private:
  [[nodiscard]] status explain(const status& failed) const {
    std::string text = "Consul: " + std::string(failed.message());
    if (api_->head().code == 403) text += needed_rights;
    return status::unavailable(text);
  }

  const consul_query of_;
  const std::shared_ptr<const consul_options> options_;
  std::optional<http_api> api_;
  bool filtered_ = false;  // the last list, which has been logged
};

std::string consul_authority(const client::target& of) {
  const result<consul_query> query = parse_consul_query(of.endpoint());
  return query ? query->service : "localhost";
}

}  // namespace

}  // namespace coracle::naming

namespace coracle {

void with_consul(channel_options& to, consul_options options) {
  auto shared = std::make_shared<const consul_options>(std::move(options));
  naming::add_scheme(to, "consul", naming::consul_authority,
                     [shared](const client::target& of) -> result<std::unique_ptr<naming::name_source>> {
                       if (!of.authority().empty())
                         return status::invalid_argument("\"" + base::printable(of.text()) +
                                                         "\" names a host: write consul:///service");
                       result<naming::consul_query> query = naming::parse_consul_query(of.endpoint());
                       if (!query) return query.status();
                       return std::make_unique<naming::consul_source>(*std::move(query), shared);
                     });
}

}  // namespace coracle
