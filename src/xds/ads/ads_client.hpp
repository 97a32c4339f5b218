// ads_client: the client of the control planes of a bootstrap, as a state machine.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log_record.hpp"
#include "coracle/base/status.hpp"
#include "xds/bootstrap/bootstrap.hpp"
#include "xds/resource/resource.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::xds {

namespace wire {
class DiscoveryRequest;
class Node;
}  // namespace wire

enum class watch_id : std::uint64_t {};
// A control plane; each of the bootstrap's has one number, however many authorities it serves.
enum class server_id : std::size_t {};

// What the client knows of a resource (envoy.admin.v3.ClientResourceStatus). `nacked`, `does_not_exist` and
// `received_error` may come with a resource that was valid before.
enum class cache_state : unsigned char { requested, acked, nacked, does_not_exist, received_error, timeout };

struct watch_event {
  enum class kind : unsigned char {
    changed,  // There is a resource, which may be the same one as before an error. An ambient error is over.
    error,  // There is no resource, or no longer one.
    ambient,  // The resource stays, and something is wrong; or is no longer, if `reason` is OK.
  };

  watch_id watch;
  kind what;
  std::optional<xds::resource> resource;  // of `changed`
  // Of the others: UNAVAILABLE, whatever the control plane says (gRFC A54), with a text for calls that fail.
  status reason;
};

struct stream_command {
  enum class kind : unsigned char { open, close };

  server_id server;
  kind what;
};

// A change for the operator of a program to know of, for a log line.
struct client_note {
  log_level level;
  std::string text;
};

// What happened, for metrics (gRFC A78).
struct client_event {
  enum class kind : unsigned char {
    server_failure,  // the server worked, and cannot be reached any more
    valid_resource,
    invalid_resource,
  };

  server_id server;
  kind what;
  resource_kind resource{};  // of the other two
};

struct resource_dump {
  resource_kind kind;
  std::string_view name;
  cache_state state;
  std::string_view version;  // of the resource, as are bytes
  std::string_view bytes;
  time_point updated;  // when it arrived; zero if there is none
  const status& error;
  // Of a resource that was rejected, or could not be kept.
  std::string_view failed_version;
  time_point failed_at;
};

// Subscribes to resources at the control planes of a bootstrap, keeps what they send, and decides which of
// them to use (gRFC A27, A46, A47, A53, A54, A57, A71, A88). One client serves the channels of one
// target, whose fallback then moves no other ones, or listeners (A71).
//
// It does no I/O. A driver passes watches, events of streams and the time in, and after each of these calls
// it takes out all commands, requests and events until there is none left. It reads the next message of a
// stream only when those who watch have dealt with the events of the last one; this is gRPC's back-pressure
// on a control plane. Names that are subscribed are limited by limits::subscriptions_max.
//
// Not safe for threads.
class ads_client {
 public:
  struct options {
    std::string user_agent_name;
    std::string user_agent_version;
    std::function<double()> random;  // from 0 to 1, for the jitter of retries
    custom_policies has_policy;
    bool serves = false;  // resource_rules::serves
    std::shared_ptr<const filter_types> filters = nullptr;  // resource_rules::filters
    std::string target{};  // of the channel, or "#server", for metrics
  };

  ads_client(std::shared_ptr<const bootstrap> from, options of);

  // --- For those who need resources.

  // The first event follows at once if something is known: the resource, and then an ambient error, or the
  // error.
  watch_id watch(resource_kind kind, std::string_view name);
  // No event of the watch follows. The resource is forgotten with its last watch: another one subscribes
  // anew.
  void cancel(watch_id watch);

  // --- For the driver.

  // The stream is there, on a channel that is connected: requests may be taken.
  void stream_opened(server_id server, time_point now);
  // It could not be opened, or has ended; RESOURCE_EXHAUSTED if a response was too large to be read. Not to
  // be called after a command to close.
  void stream_ended(server_id server, const status& reason, time_point now);
  void received(server_id server, received_response response, time_point now);
  // To be called at deadline().
  void advance(time_point now);
  [[nodiscard]] time_point deadline() const;

  [[nodiscard]] std::optional<stream_command> next_command(time_point now);
  // To be sent on the server's stream before the next one is taken.
  [[nodiscard]] std::optional<wire::DiscoveryRequest> next_request(server_id server, time_point now);
  [[nodiscard]] std::optional<watch_event> next_event();
  [[nodiscard]] std::optional<client_note> next_note();
  [[nodiscard]] std::optional<client_event> next_client_event();

  [[nodiscard]] const management_server& server(server_id server) const { return at(server).config; }
  // The control plane that a cluster comes from; none if nothing of its authority is watched.
  [[nodiscard]] std::optional<server_id> server_of_cluster(std::string_view name) const;
  // With which responses of this server are to be read. They refer to the client.
  [[nodiscard]] resource_rules rules_of(server_id server) const;

  // --- For those who look at it.

  void visit(const std::function<void(const resource_dump&)>& visitor) const;
  // Those in use, and whether their streams work: gRFC A78 says when.
  void visit_servers(const std::function<void(const management_server&, bool connected)>& visitor) const;
  [[nodiscard]] const std::string& target() const noexcept { return options_.target; }
  // As control planes know the client.
  [[nodiscard]] wire::Node node() const;

 private:
  struct subscription {
    bool asked = false;  // in a request on this stream
    time_point deadline = never;  // of an answer
  };
  // Of one type at one server.
  struct subscriptions {
    std::map<std::string, subscription, std::less<>> names;
    std::string version;  // the last one that was accepted; outlives a stream
    std::string nonce;
    std::string nack;  // what is wrong with the last response, until it is sent
    bool sent = false;  // a request on this stream
    bool pending = false;  // a request
    bool rejects = false;  // the last response; outlives a stream
    unsigned nacks = 0;  // in a row
    time_point not_before{};  // of the next request
  };
  struct server_state {
    management_server config;
    std::array<subscriptions, resource_kinds.size()> of;
    bool commanded = false;  // to be opened
    bool abandoned = false;  // a command to close is due, even if the server is in use again
    bool open = false;
    bool introduced = false;  // the node was sent on this stream
    bool responded = false;  // on this stream
    unsigned failures = 0;  // to have a response, in a row
    unsigned short_streams = 0;  // that had one, in a row
    time_point opened_at{};
    time_point retry_at{};
    status unreachable;  // OK unless the last stream had no response
  };
  struct resource_state {
    std::set<watch_id> watches;
    std::optional<xds::resource> cached;
    std::string version;
    std::string bytes;
    std::size_t regexes = 0;
    std::size_t elements = 0;
    cache_state state = cache_state::requested;
    status error;
    bool of_connection = false;  // the error
    time_point updated{};
    std::string failed_version;
    time_point failed_at{};
  };
  struct authority_state {
    std::string name;
    std::vector<server_id> servers;
    bool on_reachability_only = false;
    std::size_t in_use = 0;  // the servers 0 to in_use - 1; 0 if nothing is watched
    std::size_t watches = 0;
    status failing;  // OK unless all servers are unreachable
    std::array<std::map<std::string, resource_state, std::less<>>, resource_kinds.size()> resources;
  };
  struct watched {
    authority_state* authority;  // null if the name is invalid
    resource_kind kind;
    std::string name;
  };

  [[nodiscard]] server_state& at(server_id s) { return servers_[static_cast<std::size_t>(s)]; }
  [[nodiscard]] const server_state& at(server_id s) const { return servers_[static_cast<std::size_t>(s)]; }
  [[nodiscard]] static subscriptions& of(server_state& s, resource_kind kind) {
    return s.of[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] static std::map<std::string, resource_state, std::less<>>& of(authority_state& a,
                                                                              resource_kind kind) {
    return a.resources[static_cast<std::size_t>(kind)];
  }

  server_id add_server(const management_server& config);
  [[nodiscard]] authority_state* find_authority(std::string_view name) const;
  [[nodiscard]] static std::optional<std::size_t> rank_of(const authority_state& a, server_id s);
  [[nodiscard]] bool is_in_use(server_id s) const;

  void use_next_server(authority_state& a);
  void leave_servers(authority_state& a, std::size_t keep);
  void subscribe(authority_state& a, resource_kind kind, const std::string& name);
  void unsubscribe(authority_state& a, resource_kind kind, std::string_view name, std::size_t from_rank);
  void forget_unwatched(authority_state& a, resource_kind kind);
  void forget_if_unwatched(authority_state& a, resource_kind kind, std::string_view name);
  [[nodiscard]] bool must_wait_to_forget(const authority_state& a, resource_kind kind) const;
  void reconsider(authority_state& a);
  void reached(server_id s);

  void accept(authority_state& a, resource_kind kind, resource_state& r, received_resource&& from,
              std::string_view version, time_point now);
  // Why the client cannot keep a resource in place of what it has; empty if it can.
  [[nodiscard]] std::string excess_of(const resource_state& r, const received_resource& by) const;
  void clear(resource_state& r);
  void reject(resource_state& r, status reason, const server_state& by, std::string_view version,
              time_point now);
  void note(log_level level, std::string text) { notes_.push_back({level, std::move(text)}); }
  [[nodiscard]] std::string plane_of(const server_state& s) const;
  // An error of the data drops a resource if the server asks for that.
  void data_error(resource_state& r, cache_state state, status reason, bool drops);
  void transient_error(resource_state& r, cache_state state, status reason, bool of_connection);
  void answered(authority_state& a, resource_kind kind, std::string_view name);
  void tell(const resource_state& r, watch_event::kind what);
  [[nodiscard]] watch_event event_for(watch_id watch, const resource_state& r, watch_event::kind what) const;
  [[nodiscard]] status reason_for(resource_kind kind, std::string_view name, std::string_view cause,
                                  const server_state* s) const;

  std::shared_ptr<const bootstrap> bootstrap_;
  options options_;
  std::vector<server_state> servers_;
  std::vector<std::unique_ptr<authority_state>> authorities_;
  std::map<watch_id, watched> watches_;
  std::uint64_t last_watch_ = 0;
  std::deque<watch_event> events_;
  std::deque<client_note> notes_;
  std::deque<client_event> client_events_;
  std::size_t cached_bytes_ = 0;
  std::size_t cached_regexes_ = 0;
  std::size_t cached_elements_ = 0;
};

}  // namespace coracle::xds
