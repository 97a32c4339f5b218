#include "naming/watched_names.hpp"

#include "base/printable.hpp"
#include "client/connecting/backoff.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <unordered_set>
#include <vector>

namespace coracle::naming {

namespace {

using client::endpoint;
using client::resolution;

// Of a reason that a source gives, in the log.
constexpr std::size_t shown_reason_bytes_max = 300;

// The endpoints of a list by their addresses.
class address_set {
 public:
  explicit address_set(const std::vector<endpoint>& of) {
    known_.reserve(of.size());
    for (const endpoint& e : of) known_.insert(e.address().to_string());
  }
  [[nodiscard]] bool contains(const endpoint& e) const { return known_.contains(e.address().to_string()); }
  // Returns false if it was there.
  bool add(const endpoint& e) { return known_.insert(e.address().to_string()).second; }

 private:
  std::unordered_set<std::string> known_;
};

std::size_t count_missing(const std::vector<endpoint>& of, const std::vector<endpoint>& in) {
  const address_set there(in);
  return static_cast<std::size_t>(
      std::ranges::count_if(of, [&](const endpoint& e) { return !there.contains(e); }));
}

// The list of one target between its source and its channel.
class followed_list final : public list_sink {
 public:
  followed_list(std::string name, client::resolution_sink& to, loop& on)
      : name_(base::printable(name)), to_(to), loop_(on), wake_(on) {}

  void changed(std::function<server_list()> make) override;
  void failed(const status& reason) override;
  // Ends with coro::cancelled.
  task<> publish_changes();
  // Whether the source has worked since it failed the last time (watched_names::steady_time).
  [[nodiscard]] bool has_worked();

 private:
  // A server that the source does not list any more.
  struct gone_server {
    endpoint server;
    time_point until;  // removal_pause after it has left
    bool in_use = false;
  };

  void collect();
  void publish();
  // Decides which servers that the source does not list any more stay in use.
  void keep_removed();
  void recover();
  [[nodiscard]] std::size_t kept() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(gone_, &gone_server::in_use));
  }
  void log_change(const server_list& next) const;
  [[nodiscard]] bound_log log() const noexcept { return loop_.log().in(log_room::client); }

  const std::string name_;
  client::resolution_sink& to_;
  loop& loop_;
  event<> wake_;
  std::function<server_list()> make_newest_;  // empty: newest_ is up to date
  server_list newest_;  // of the source
  server_list listed_;  // the last one of the source that was published
  server_list used_;  // what the channel has: listed_, and those of gone_ that are in use
  std::vector<gone_server> gone_;  // within the last removal_pause, in the order in which they left
  time_point due_ = never;  // the first of gone_ that is in use leaves
  std::string failure_;  // the last one, until the source works again
  time_point works_at_ = never;  // the source counts as working, unless it fails before
  bool differs_ = false;  // a list since the last failure differs from the one before
  bool published_ = false;
  bool empty_ = false;  // the source has no servers, which has been logged
  bool too_many_ = false;  // which has been logged
};

void followed_list::changed(std::function<server_list()> make) {
  make_newest_ = std::move(make);
  if (works_at_ == never) works_at_ = loop_.now() + watched_names::steady_time;
  wake_.set();
}

void followed_list::collect() {
  if (!make_newest_) return;
  server_list list = std::exchange(make_newest_, nullptr)();
  address_set known({});
  std::erase_if(list.servers, [&](const endpoint& e) { return !known.add(e); });
  const bool too_many = list.servers.size() > resolution::endpoints_max;
  if (too_many && !too_many_)
    log().warning(name_, ": ", list.servers.size(), " servers are listed, limit ", resolution::endpoints_max,
                  ": the rest is ignored");
  too_many_ = too_many;
  if (too_many) list.servers.erase(list.servers.begin() + resolution::endpoints_max, list.servers.end());
  if (list == newest_) return;
  newest_ = std::move(list);
  differs_ = true;
}

bool followed_list::has_worked() {
  collect();
  return differs_ || loop_.now() >= works_at_;
}

void followed_list::recover() {
  if (failure_.empty() || !has_worked()) return;
  failure_.clear();
  log().info(name_, ": the names are available again");
}

void followed_list::failed(const status& reason) {
  collect();
  recover();
  works_at_ = never;
  differs_ = false;
  std::string text = base::printable(reason.message(), shown_reason_bytes_max);
  const bool first = failure_.empty();
  if (text == failure_) return;
  failure_ = std::move(text);
  // The channel logs a failure to which it owes its calls.
  if (!published_) to_.fail(status::unavailable(failure_));
  else if (first)
    log().warning(name_, ": ", failure_, ". The last ", used_.servers.size(), " servers stay in use");
}

task<> followed_list::publish_changes() {
  for (;;) {
    const time_point due = failure_.empty() ? due_ : std::min(due_, works_at_);
    if (due == never) {
      co_await wake_;
    } else {
      auto wait = [](event<>& e) -> task<> { co_await e; };
      const status in_time = co_await with_timeout(due - loop_.now(), wait(wake_));
      static_cast<void>(in_time);  // either way there is something to do
    }
    wake_.reset();
    recover();
    publish();
    co_await sleep_for(watched_names::publish_pause);
  }
}

void followed_list::publish() {
  collect();
  if (newest_.servers.empty()) {
    if (!published_) return to_.publish(resolution());
    if (!std::exchange(empty_, true))
      log().warning(name_, ": no server is listed any more. The last ", used_.servers.size(),
                    " servers stay in use");
    due_ = never;  // those that were leaving stay
    return;
  }
  empty_ = false;
  keep_removed();
  listed_ = newest_;
  server_list next = newest_;
  for (const gone_server& g : gone_)
    if (g.in_use && next.servers.size() < resolution::endpoints_max) next.servers.push_back(g.server);
  if (published_ && next == used_) return;
  log_change(next);
  used_ = std::move(next);
  published_ = true;
  resolution result;
  for (const endpoint& e : used_.servers) result.add(e);
  result.service_config(used_.service_config);
  to_.publish(std::move(result));
}

void followed_list::keep_removed() {
  const time_point now = loop_.now();
  const address_set here(newest_.servers);
  std::erase_if(gone_, [&](const gone_server& g) { return g.until <= now || here.contains(g.server); });
  const std::size_t before = gone_.size();
  for (const endpoint& e : listed_.servers)
    if (!here.contains(e)) gone_.push_back({e, now + watched_names::removal_pause});
  const std::size_t removed = gone_.size() - before;
  if (gone_.size() > resolution::endpoints_max)
    gone_.erase(gone_.begin(), gone_.end() - resolution::endpoints_max);
  // Those that left one by one count against those that are there, so that servers which are replaced one by
  // one by others leave as they should.
  if (removed * 2 > listed_.servers.size() || (removed != 0 && gone_.size() > newest_.servers.size()))
    for (gone_server& g : gone_) g.in_use = true;
  due_ = never;
  for (const gone_server& g : gone_)
    if (g.in_use) due_ = std::min(due_, g.until);
}

void followed_list::log_change(const server_list& next) const {
  if (!published_) return log().info(name_, ": ", next.servers.size(), " servers");
  log().info(name_, ": ", next.servers.size(), " servers, ", count_missing(next.servers, used_.servers),
             " added, ", count_missing(used_.servers, next.servers), " removed, ", kept(),
             " no longer listed");
}

task<> follow(name_source& source, followed_list& to) {
  client::backoff pauses;
  for (;;) {
    const status ended = co_await source.follow(to);
    if (to.has_worked()) pauses.reset();
    to.failed(ended);
    const duration pause = pauses.next(loop::current()->io().random());
    co_await sleep_for(std::min(pause, watched_names::retry_pause_max));
  }
}

}  // namespace

task<> watched_names::run(const client::target& of, client::resolution_sink& to) {
  const result<std::unique_ptr<name_source>> source = make_(of);
  while (!source.ok()) {
    to.fail(source.status());
    co_await to.wait_until_requested();
  }
  followed_list list(of.text(), to, *loop::current());
  scope work(co_await coro::this_environment());
  std::exception_ptr failure;
  try {
    work.spawn(list.publish_changes());
    work.spawn(follow(**source, list));
  } catch (...) {
    failure = std::current_exception();
    work.request_stop();
  }
  co_await work.join();
  if (failure) std::rethrow_exception(failure);
}

void add_scheme(channel_options& to, std::string scheme, std::string (*authority)(const client::target&),
                source_maker make) {
  to.add_resolver(std::move(scheme), [authority, make = std::move(make)](const client::target& of) {
    return std::make_shared<watched_names>(authority(of), make);
  });
}

}  // namespace coracle::naming
