#include "base/printable.hpp"
#include "client/connecting/backoff.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/net/connect.hpp"
#include "coracle/runtime/loop.hpp"
#include "naming/etcd_names.hpp"
#include "naming/etcd_session.hpp"
#include "naming/watched_names.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace coracle::naming {

namespace {

status explain_etcd(const status& failed) {
  return {failed.code(), "etcd: " + std::string(failed.message())};
}
// Whether another member may do better.
bool is_of_member(const status& failed) noexcept {
  return failed.code() == status_code::unavailable || failed.code() == status_code::deadline_exceeded;
}
status malformed_etcd() { return status::internal("etcd: the answer is malformed"); }

class etcd_source final : public name_source {
 public:
  etcd_source(std::string_view name, std::shared_ptr<const etcd_options> options)
      : options_(std::move(options)), names_(name) {}

  // Reads everything anew each time: after a loss of etcd's data, its revisions begin anew as well, and a
  // watch would wait for one that never comes.
  task<status> follow(list_sink& to) override {
    if (!session_) session_.emplace(options_);
    for (;;) {
      const status ended = co_await read_and_watch(to);
      session_->next_member();
      // A member that refuses delays the first list by no more than about a quarter of a second. A silent one
      // takes its timeout.
      if (listed_ || failures_ != 1 || !is_of_member(ended)) co_return ended;
      co_await sleep_for(client::jittered(net::connection_attempt_delay, loop::current()->io().random()));
    }
  }

 private:
  // One request for a list: after a failure there is a pause, and the next one goes to another member.
  task<status> read_and_watch(list_sink& to) {
    std::int64_t revision = 0;
    // The first list may be an old one, which is better than none, but not before another member was asked. A
    // later one may not: a member that was cut off for an hour would bring back servers that are gone.
    const bool may_be_old = !listed_ && failures_ >= 2;
    const status read = co_await list(revision, may_be_old ? etcd::freshness::any : etcd::freshness::current);
    if (is_of_member(read)) ++failures_;
    if (!read.ok()) co_return read;
    listed_ = true;
    report(to);
    co_return co_await watch(revision + 1, to);
  }

  // The list is made when it is used, rather than with each event.
  void report(list_sink& to) {
    to.changed([this] { return make_list(); });
  }

  server_list make_list() {
    std::string invalid = names_.invalid();
    if (!invalid.empty() && invalid != invalid_)
      loop::current()->log().in(log_room::client).warning("etcd: a value is passed over: ", invalid);
    invalid_ = std::move(invalid);
    return names_.servers();
  }

  task<status> list(std::int64_t& revision, etcd::freshness of) {
    revision = 0;
    names_.clear();
    const std::string end = etcd::end_of_prefix(names_.prefix());
    std::string key = names_.prefix();
    for (;;) {
      const bytes_message request = etcd::range_request(key, end, etcd_names::page_keys, revision, of);
      const result<bytes_message> reply = co_await session_->unary(etcd::range_method, request);
      if (!reply.ok()) co_return explain_etcd(reply.status());
      etcd::range_response page;
      if (!etcd::read(*reply, page)) co_return malformed_etcd();
      result<std::string> next = names_.add_page(page, key);
      if (!next.ok()) co_return next.status();
      if (revision == 0) revision = page.revision;
      if (next->empty()) co_return ok;
      key = *std::move(next);
    }
  }

  task<status> watch(std::int64_t from, list_sink& to) {
    call_options options;
    // A member that is cut off from the others then ends the watch, rather than staying silent.
    options.add_metadata("hasleader", "true");
    auto call = session_->bidi(etcd::watch_method, std::move(options));
    const bytes_message request =
        etcd::watch_request(names_.prefix(), etcd::end_of_prefix(names_.prefix()), from);
    const status sent = co_await call.write(request);
    if (!sent.ok()) co_return explain_etcd(sent);
    for (;;) {
      const result<std::optional<bytes_message>> reply = co_await call.next();
      if (!reply.ok()) co_return explain_etcd(reply.status());
      if (!reply->has_value()) co_return status::unavailable("etcd ended the watch");
      etcd::watch_response response;
      if (!etcd::read(**reply, response)) co_return malformed_etcd();
      for (const auto& event : response.events) {
        if (event.deleted) names_.remove(event.pair.key);
        else if (status failed = names_.put(event.pair); !failed.ok()) co_return failed;
      }
      if (!response.events.empty()) report(to);
      if (response.canceled) {
        std::string reason = "etcd cancelled the watch";
        if (response.compact_revision != 0) reason += ": its revision has been compacted";
        else if (!response.reason.empty()) reason += ": " + base::printable(response.reason);
        co_return status::unavailable(reason);
      }
    }
  }

  const std::shared_ptr<const etcd_options> options_;
  etcd_names names_;
  std::string invalid_;  // the last one that was reported
  std::optional<etcd_session> session_;
  bool listed_ = false;  // ever
  std::size_t failures_ = 0;  // of members to give a list
};

std::string etcd_authority(const client::target& of) {
  const std::string& name = of.endpoint();
  std::string last = name.substr(name.rfind('/') + 1);  // all of it, if there is none
  const bool host = !last.empty() && std::ranges::all_of(last, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
  return host ? last : "localhost";
}

}  // namespace

}  // namespace coracle::naming

namespace coracle {

void with_etcd(channel_options& to, etcd_options options) {
  auto shared = std::make_shared<const etcd_options>(std::move(options));
  naming::add_scheme(to, "etcd", naming::etcd_authority,
                     [shared](const client::target& of) -> result<std::unique_ptr<naming::name_source>> {
                       if (!of.authority().empty() || !naming::is_etcd_name(of.endpoint()))
                         return status::invalid_argument("\"" + base::printable(of.text()) +
                                                         "\" is not a name in etcd: write etcd:///name");
                       return std::make_unique<naming::etcd_source>(of.endpoint(), shared);
                     });
}

}  // namespace coracle
