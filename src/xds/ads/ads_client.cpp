#include "xds/ads/ads_client.hpp"

#include "base/printable.hpp"
#include "xds/ads/node.hpp"
#include "xds/bootstrap/resource_name.hpp"
#include "xds/limits.hpp"
#include "xds/wire/discovery.pb.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

namespace coracle::xds {

namespace {

constexpr duration answer_time = std::chrono::seconds(15);  // gRFC A57
constexpr duration lenient_answer_time = std::chrono::seconds(30);  // gRFC A88
constexpr duration backoff_first = std::chrono::seconds(1);
constexpr duration backoff_longest = std::chrono::seconds(120);
constexpr double backoff_factor = 1.6;
constexpr double backoff_jitter = 0.2;
// A stream that ends sooner than this is opened again with a backoff, though it had responses: a control
// plane or a proxy that cuts each stream would have one after another.
constexpr duration stream_life_min = std::chrono::seconds(5);
// Between two requests that reject what was rejected before. Control planes may send a rejected resource
// again at once, and wait for a request before they do.
constexpr duration rejection_interval = std::chrono::seconds(1);

duration backoff_after(unsigned failures, double random) {
  const double exponent = std::min(failures - 1, 30U);
  const double delay =
      std::min(static_cast<double>(backoff_first.count()) * std::pow(backoff_factor, exponent),
               static_cast<double>(backoff_longest.count()));
  return duration(static_cast<duration::rep>(delay * (1 + backoff_jitter * (2 * random - 1))));
}

void append_cause(std::string& text, std::string_view cause) {
  if (text.size() >= limits::nack_text_bytes_max) return;
  if (!text.empty()) text += "; ";
  text += cause.substr(0, limits::nack_text_bytes_max - std::min(text.size(), limits::nack_text_bytes_max));
}

}  // namespace

ads_client::ads_client(std::shared_ptr<const bootstrap> from, options of)
    : bootstrap_(std::move(from)), options_(std::move(of)) {
  const auto add = [&](std::string name, const std::vector<management_server>& servers,
                       bool reachability_only) {
    auto a = std::make_unique<authority_state>();
    a->name = std::move(name);
    for (const management_server& each : servers) a->servers.push_back(add_server(each));
    a->on_reachability_only = reachability_only;
    authorities_.push_back(std::move(a));
  };
  if (!bootstrap_->servers.empty()) add("", bootstrap_->servers, false);
  for (const auto& [name, a] : bootstrap_->authorities)
    if (!name.empty()) add(name, a.servers, a.fallback_on_reachability_only);
}

server_id ads_client::add_server(const management_server& config) {
  const auto known = std::ranges::find(servers_, config, &server_state::config);
  if (known != servers_.end()) return static_cast<server_id>(known - servers_.begin());
  servers_.emplace_back().config = config;
  return static_cast<server_id>(servers_.size() - 1);
}

ads_client::authority_state* ads_client::find_authority(std::string_view name) const {
  const auto found = std::ranges::find_if(authorities_, [&](const auto& a) { return a->name == name; });
  return found == authorities_.end() ? nullptr : found->get();
}

std::optional<server_id> ads_client::server_of_cluster(std::string_view name) const {
  const auto parsed = parse_resource_name(name, type_name(resource_kind::cluster));
  const authority_state* const a = parsed ? find_authority(parsed->authority) : nullptr;
  if (!a || a->in_use == 0) return std::nullopt;
  return a->servers[a->in_use - 1];
}

std::optional<std::size_t> ads_client::rank_of(const authority_state& a, server_id s) {
  const auto end = a.servers.begin() + static_cast<std::ptrdiff_t>(a.in_use);
  const auto found = std::find(a.servers.begin(), end, s);
  if (found == end) return std::nullopt;
  return static_cast<std::size_t>(found - a.servers.begin());
}

bool ads_client::is_in_use(server_id s) const {
  return std::ranges::any_of(authorities_, [&](const auto& a) { return rank_of(*a, s).has_value(); });
}

// --- Watches

watch_id ads_client::watch(resource_kind kind, std::string_view name) {
  const auto id = static_cast<watch_id>(++last_watch_);
  const auto refuse = [&](std::string_view cause) {
    watches_.emplace(id, watched{nullptr, kind, {}});
    events_.push_back({id, watch_event::kind::error, std::nullopt, reason_for(kind, name, cause, nullptr)});
    return id;
  };
  const auto parsed = parse_resource_name(name, type_name(kind));
  if (!parsed) return refuse("the name is not valid for its type");
  authority_state* const a = find_authority(parsed->authority);
  if (!a) return refuse("the bootstrap has no authority \"" + base::printable(parsed->authority) + "\"");
  auto& known = of(*a, kind);
  if (known.size() >= limits::subscriptions_max && !known.contains(parsed->canonical))
    return refuse("the limit of " + std::to_string(limits::subscriptions_max) + " subscriptions is reached");

  const auto [at, is_new] = known.try_emplace(parsed->canonical);
  resource_state& r = at->second;
  const bool was_watched = !r.watches.empty();
  r.watches.insert(id);
  ++a->watches;
  // Without memory nothing of the watch may stay: it could not be cancelled.
  try {
    watches_.emplace(id, watched{a, kind, parsed->canonical});
  } catch (...) {
    r.watches.erase(id);
    --a->watches;
    throw;
  }
  try {
    if (!was_watched) {
      if (a->in_use == 0) use_next_server(*a);
      subscribe(*a, kind, parsed->canonical);
    }
    if (is_new && !a->failing.ok()) {
      r.error = reason_for(kind, name, a->failing.message(), nullptr);
      r.of_connection = true;
    }
    if (r.cached) events_.push_back(event_for(id, r, watch_event::kind::changed));
    if (!r.error.ok())
      events_.push_back(event_for(id, r, r.cached ? watch_event::kind::ambient : watch_event::kind::error));
    reconsider(*a);
  } catch (...) {
    cancel(id);
    throw;
  }
  return id;
}

void ads_client::cancel(watch_id watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  const watched w = std::move(found->second);
  watches_.erase(found);
  std::erase_if(events_, [&](const watch_event& e) { return e.watch == watch; });
  if (!w.authority) return;
  authority_state& a = *w.authority;
  resource_state& r = of(a, w.kind).find(w.name)->second;
  r.watches.erase(watch);
  --a.watches;
  if (!r.watches.empty()) return;
  unsubscribe(a, w.kind, w.name, 0);
  if (a.watches == 0) {
    leave_servers(a, 0);
    a.failing = status();
  } else {
    forget_if_unwatched(a, w.kind, w.name);
  }
}

// --- Servers of an authority

void ads_client::use_next_server(authority_state& a) {
  ++a.in_use;
  if (a.in_use > 1) {
    note(log_level::warning, "xDS: " + plane_of(at(a.servers[a.in_use - 1])) + " is used in place of " +
                                 plane_of(at(a.servers[a.in_use - 2])));
  }
  for (const resource_kind kind : resource_kinds)
    for (const auto& [name, r] : of(a, kind))
      if (!r.watches.empty()) subscribe(a, kind, name);
}

// Leaves those from rank `keep` on.
void ads_client::leave_servers(authority_state& a, std::size_t keep) {
  for (const resource_kind kind : resource_kinds)
    for (const auto& [name, r] : of(a, kind)) unsubscribe(a, kind, name, keep);
  const std::size_t before = std::exchange(a.in_use, keep);
  if (keep > 0 && keep < before)
    note(log_level::info, "xDS: " + plane_of(at(a.servers[keep - 1])) + " is used again");
  for (std::size_t rank = keep; rank < before; ++rank) {
    server_state& s = at(a.servers[rank]);
    if (is_in_use(a.servers[rank])) continue;
    for (subscriptions& each : s.of) each = {};
    s.abandoned = s.commanded;
    s.open = s.introduced = s.responded = false;
    s.unreachable = status();
  }
  for (const resource_kind kind : resource_kinds) forget_unwatched(a, kind);
}

void ads_client::subscribe(authority_state& a, resource_kind kind, const std::string& name) {
  for (std::size_t rank = 0; rank < a.in_use; ++rank) {
    subscriptions& to = of(at(a.servers[rank]), kind);
    if (to.names.try_emplace(name).second) to.pending = true;
  }
}

void ads_client::unsubscribe(authority_state& a, resource_kind kind, std::string_view name,
                             std::size_t from_rank) {
  for (std::size_t rank = from_rank; rank < a.in_use; ++rank) {
    subscriptions& from = of(at(a.servers[rank]), kind);
    const auto found = from.names.find(name);
    if (found == from.names.end()) continue;
    from.names.erase(found);
    from.pending = true;
  }
}

// A resource without a watch is kept until the control planes know: one that is watched again before would
// not be sent anew.
void ads_client::forget_unwatched(authority_state& a, resource_kind kind) {
  if (must_wait_to_forget(a, kind)) return;
  auto& known = of(a, kind);
  for (auto each = known.begin(); each != known.end();) {
    if (each->second.watches.empty()) {
      clear(each->second);
      each = known.erase(each);
    } else {
      ++each;
    }
  }
}

void ads_client::forget_if_unwatched(authority_state& a, resource_kind kind, std::string_view name) {
  const auto found = of(a, kind).find(name);
  if (found == of(a, kind).end() || !found->second.watches.empty() || must_wait_to_forget(a, kind)) return;
  clear(found->second);
  of(a, kind).erase(found);
}

bool ads_client::must_wait_to_forget(const authority_state& a, resource_kind kind) const {
  for (std::size_t rank = 0; rank < a.in_use; ++rank) {
    const server_state& s = at(a.servers[rank]);
    const subscriptions& type = s.of[static_cast<std::size_t>(kind)];
    if (s.open && type.pending && type.sent) return true;
  }
  return false;
}

// gRFC A71: a server that is unreachable, while something is missing, makes the next one be used. What is
// known not to exist, or to be invalid, is not missing. When all are unreachable, those who watch are told.
void ads_client::reconsider(authority_state& a) {
  const auto misses = [&] {
    for (const resource_kind kind : resource_kinds)
      for (const auto& [name, r] : of(a, kind))
        if (!r.watches.empty() && !r.cached &&
            (r.state == cache_state::requested || r.state == cache_state::timeout))
          return true;
    return false;
  };
  while (a.in_use > 0 && a.in_use < a.servers.size() && !at(a.servers[a.in_use - 1]).unreachable.ok() &&
         (a.on_reachability_only || misses()))
    use_next_server(a);
  if (a.in_use < a.servers.size()) return;
  const bool all = std::ranges::none_of(a.servers, [&](server_id s) { return at(s).unreachable.ok(); });
  if (!all) return;
  const server_state& last = at(a.servers.back());
  status failing = status::unavailable("the control plane " + base::printable(last.config.uri) +
                                       " cannot be reached: " + std::string(last.unreachable.message()));
  if (failing == a.failing) return;  // those who watch know
  a.failing = std::move(failing);
  for (const resource_kind kind : resource_kinds)
    for (auto& [name, r] : of(a, kind))
      transient_error(r, r.state, reason_for(kind, name, a.failing.message(), nullptr), true);
}

// A response has come: errors of the connection are over.
void ads_client::reached(server_id id) {
  server_state& s = at(id);
  s.responded = true;
  s.failures = 0;
  s.unreachable = status();
  note(log_level::info, "xDS: " + plane_of(s) + " answers");
  for (const auto& a : authorities_) {
    if (!rank_of(*a, id)) continue;
    a->failing = status();
    for (const resource_kind kind : resource_kinds) {
      for (auto& [name, r] : of(*a, kind)) {
        if (!r.of_connection) continue;
        r.error = status();
        r.of_connection = false;
        if (r.cached) tell(r, watch_event::kind::ambient);
      }
    }
  }
}

// --- Streams

void ads_client::stream_opened(server_id id, time_point now) {
  server_state& s = at(id);
  if (!s.commanded || s.abandoned) return;
  s.opened_at = now;
  s.open = true;
  s.introduced = s.responded = false;
  for (subscriptions& each : s.of) each.pending = !each.names.empty();
}

void ads_client::stream_ended(server_id id, const status& reason, time_point now) {
  server_state& s = at(id);
  const bool responded = s.responded;
  const bool lived = responded && now - s.opened_at >= stream_life_min;
  if (responded || s.unreachable.ok()) {
    note(responded && reason.ok() ? log_level::info : log_level::warning,
         "xDS: " + plane_of(s) + (responded ? ": the stream ended: " : " cannot be reached: ") +
             base::printable(reason.to_string()));
  }
  s.commanded = s.open = s.introduced = s.responded = false;
  for (subscriptions& each : s.of) {
    each.sent = each.pending = false;
    each.nonce.clear();
    each.nack.clear();
    each.nacks = 0;
    each.not_before = {};
    for (auto& [name, one] : each.names) one = {};
  }
  for (const auto& a : authorities_)
    if (rank_of(*a, id))
      for (const resource_kind kind : resource_kinds) forget_unwatched(*a, kind);
  s.short_streams = lived ? 0 : s.short_streams + (responded ? 1 : 0);
  s.failures += responded ? 0 : 1;
  const unsigned in_a_row = responded ? s.short_streams : s.failures;
  s.retry_at =
      lived ? now : deadline_after(now, backoff_after(in_a_row, options_.random ? options_.random() : 0.5));
  if (responded) {  // gRFC A57: no error
    // Except that of a response that this client cannot read, which comes again on each stream.
    if (reason.code() != status_code::resource_exhausted) return;
    for (const auto& a : authorities_) {
      if (!rank_of(*a, id)) continue;
      for (const resource_kind kind : resource_kinds)
        for (auto& [name, r] : of(*a, kind))
          transient_error(r, r.state, reason_for(kind, name, base::printable(reason.to_string()), &s), true);
    }
    return;
  }
  if (s.unreachable.ok()) client_events_.push_back({id, client_event::kind::server_failure});
  s.unreachable = status::unavailable(reason.ok() ? "the stream ended without a response"
                                                  : base::printable(reason.to_string()));
  for (const auto& a : authorities_)
    if (rank_of(*a, id)) reconsider(*a);
}

void ads_client::received(server_id id, received_response response, time_point now) {
  server_state& s = at(id);
  if (!s.open) return;
  if (!s.responded) reached(id);
  if (!response.kind) return;
  const resource_kind kind = *response.kind;
  subscriptions& type = of(s, kind);
  if (!type.sent) return;  // no name was requested yet; a request without names means all resources

  const auto find = [&](const std::string& name) -> std::pair<authority_state*, resource_state*> {
    const auto parsed = parse_resource_name(name, type_name(kind));
    authority_state* const a = parsed ? find_authority(parsed->authority) : nullptr;
    if (!a || !rank_of(*a, id)) return {nullptr, nullptr};
    const auto found = of(*a, kind).find(name);
    return {a, found == of(*a, kind).end() ? nullptr : &found->second};
  };
  // gRFC A71: until it has sent something valid, a server that is back changes nothing of what one further
  // down has sent.
  const auto is_kept = [&](const authority_state& a, const resource_state& r) {
    return r.cached && *rank_of(a, id) + 1 < a.in_use;
  };

  std::string rejected;
  std::unordered_set<std::string> mentioned;
  bool all_named = true;
  for (received_resource& each : response.resources) {
    if (each.name.empty()) all_named = false;
    else mentioned.insert(each.name);
    const auto [a, r] = find(each.name);
    client_events_.push_back(
        {id, each.content.ok() ? client_event::kind::valid_resource : client_event::kind::invalid_resource,
         kind});
    if (!each.content.ok()) {
      append_cause(rejected, each.content.status().message());
      if (!r || is_kept(*a, *r)) continue;
      answered(*a, kind, each.name);
      reject(*r, reason_for(kind, each.name, each.content.status().message(), &s), s, response.version, now);
      continue;
    }
    if (!a) continue;
    const std::size_t rank = *rank_of(*a, id);
    if (rank + 1 < a->in_use) leave_servers(*a, rank + 1);  // gRFC A71: what is higher is back
    // It may have been forgotten just now, if nothing watches it any longer.
    const auto again = find(each.name).second;
    if (!again) continue;
    const std::string excess = excess_of(*again, each);
    if (excess.empty()) {
      accept(*a, kind, *again, std::move(each), response.version, now);
      continue;
    }
    status reason = reason_for(kind, each.name, excess, &s);
    append_cause(rejected, reason.message());
    answered(*a, kind, each.name);
    reject(*again, std::move(reason), s, response.version, now);
  }
  for (const received_error& each : response.errors) {
    mentioned.insert(each.name);
    const auto [a, r] = find(each.name);
    if (!r || is_kept(*a, *r)) continue;
    answered(*a, kind, each.name);
    const status_code code = each.reason.code();
    status reason = reason_for(kind, each.name, each.reason.to_string(), &s);
    if (code == status_code::not_found || code == status_code::permission_denied)
      data_error(*r, cache_state::received_error, std::move(reason), s.config.fail_on_data_errors);
    else transient_error(*r, cache_state::received_error, std::move(reason), false);
  }
  // One that has no readable name may be any of those that seem to be missing.
  if (is_deleted_by_omission(kind) && all_named) {
    for (const auto& a : authorities_) {
      // While a server further down is in use, this one has not yet sent anything.
      if (const auto rank = rank_of(*a, id); !rank || *rank + 1 != a->in_use) continue;
      for (auto& [name, r] : of(*a, kind)) {
        // What was never there is waited for; its request may have crossed this response.
        if (!r.cached || mentioned.contains(name)) continue;
        data_error(r, cache_state::does_not_exist,
                   reason_for(kind, name, "the control plane has deleted it", &s),
                   s.config.fail_on_data_errors);
      }
    }
  }

  type.nonce = std::move(response.nonce);
  type.pending = true;
  type.nack = std::move(rejected);
  if (type.rejects != !type.nack.empty()) {
    type.rejects = !type.rejects;
    const std::string what = std::string(type_name(kind)) + " of " + plane_of(s);
    constexpr std::size_t reason_bytes_max = 500;
    if (type.rejects)
      note(log_level::warning, "xDS: rejects " + what + ": " + base::printable(type.nack, reason_bytes_max));
    else note(log_level::info, "xDS: accepts " + what + " again");
  }
  if (type.nack.empty()) {
    type.version = std::move(response.version);
    type.nacks = 0;
    type.not_before = {};
  } else if (++type.nacks > 1) {
    type.not_before = deadline_after(now, rejection_interval);
  }
}

void ads_client::advance(time_point now) {
  for (server_state& s : servers_) {
    const auto id = static_cast<server_id>(&s - servers_.data());
    for (const resource_kind kind : resource_kinds) {
      // It may be sent now; a deadline that has passed must not be one any more.
      if (subscriptions& type = of(s, kind); type.not_before <= now) type.not_before = {};
      for (auto& [name, one] : of(s, kind).names) {
        if (one.deadline > now) continue;
        one.deadline = never;
        const auto parsed = parse_resource_name(name, type_name(kind));
        authority_state* const a = find_authority(parsed->authority);
        if (!a || !rank_of(*a, id)) continue;
        const auto found = of(*a, kind).find(name);
        if (found == of(*a, kind).end() || found->second.cached) continue;
        const bool lenient = s.config.resource_timer_is_transient_error;
        data_error(
            found->second, lenient ? cache_state::timeout : cache_state::does_not_exist,
            reason_for(kind, name,
                       lenient ? "the control plane has not sent it within 30 s" : "it does not exist", &s),
            false);
      }
    }
  }
}

time_point ads_client::deadline() const {
  time_point first = never;
  for (const server_state& s : servers_) {
    if (!s.commanded && (s.failures > 0 || s.short_streams > 0) &&
        is_in_use(static_cast<server_id>(&s - servers_.data())))
      first = std::min(first, s.retry_at);
    for (const subscriptions& each : s.of) {
      if (s.open && each.pending && each.not_before != time_point{}) first = std::min(first, each.not_before);
      for (const auto& [name, one] : each.names) first = std::min(first, one.deadline);
    }
  }
  return first;
}

std::optional<stream_command> ads_client::next_command(time_point now) {
  for (server_state& s : servers_) {
    const auto id = static_cast<server_id>(&s - servers_.data());
    const bool wanted = is_in_use(id);
    if (std::exchange(s.abandoned, false)) {
      s.commanded = false;
      return stream_command{id, stream_command::kind::close};
    }
    if (wanted == s.commanded || (wanted && now < s.retry_at)) continue;
    s.commanded = wanted;
    return stream_command{id, wanted ? stream_command::kind::open : stream_command::kind::close};
  }
  return std::nullopt;
}

std::optional<wire::DiscoveryRequest> ads_client::next_request(server_id id, time_point now) {
  server_state& s = at(id);
  if (!s.open) return std::nullopt;
  for (const resource_kind kind : resource_kinds) {
    subscriptions& type = of(s, kind);
    if (!type.pending || now < type.not_before) continue;
    type.pending = false;
    // No names in a first request are all names.
    if (type.names.empty() && !type.sent) continue;
    wire::DiscoveryRequest request;
    if (!std::exchange(s.introduced, true))
      *request.mutable_node() =
          node_message(bootstrap_->node, options_.user_agent_name, options_.user_agent_version);
    request.set_type_url(type_url(kind));
    request.set_version_info(type.version);
    request.set_response_nonce(type.nonce);
    if (!type.nack.empty()) {
      request.mutable_error_detail()->set_code(static_cast<int>(status_code::invalid_argument));
      request.mutable_error_detail()->set_message(std::exchange(type.nack, {}));
    }
    for (auto& [name, one] : type.names) {
      request.add_resource_names(name);
      if (std::exchange(one.asked, true)) continue;
      const auto parsed = parse_resource_name(name, type_name(kind));
      const authority_state* const a = find_authority(parsed->authority);
      const auto& known = a->resources[static_cast<std::size_t>(kind)];
      const auto found = known.find(name);
      // A plane that has restarted need not send again what is cached (gRFC A57).
      if (found == known.end() || found->second.cached) continue;
      one.deadline =
          deadline_after(now, s.config.resource_timer_is_transient_error ? lenient_answer_time : answer_time);
    }
    type.sent = true;
    for (const auto& a : authorities_)
      if (rank_of(*a, id)) forget_unwatched(*a, kind);
    return request;
  }
  return std::nullopt;
}

std::optional<watch_event> ads_client::next_event() {
  if (events_.empty()) return std::nullopt;
  watch_event e = std::move(events_.front());
  events_.pop_front();
  return e;
}

std::optional<client_note> ads_client::next_note() {
  if (notes_.empty()) return std::nullopt;
  client_note n = std::move(notes_.front());
  notes_.pop_front();
  return n;
}

std::optional<client_event> ads_client::next_client_event() {
  if (client_events_.empty()) return std::nullopt;
  const client_event e = client_events_.front();
  client_events_.pop_front();
  return e;
}

void ads_client::visit_servers(
    const std::function<void(const management_server&, bool connected)>& visitor) const {
  for (const server_state& s : servers_)
    if (is_in_use(static_cast<server_id>(&s - servers_.data()))) visitor(s.config, s.unreachable.ok());
}

std::string ads_client::plane_of(const server_state& s) const {
  return "the control plane " + base::printable(s.config.uri);
}

resource_rules ads_client::rules_of(server_id s) const {
  return {at(s).config.trusted,
          [b = bootstrap_](std::string_view instance) { return b->certificate_providers.contains(instance); },
          options_.has_policy,
          [this, s](resource_kind kind, const std::string& name) {
            const auto parsed = parse_resource_name(name, type_name(kind));
            if (!parsed) return false;
            for (const auto& a : authorities_) {
              if (a->name != parsed->authority || !rank_of(*a, s)) continue;
              // Also one without a watch: the control plane does not know yet, and might not send it again.
              return a->resources[static_cast<std::size_t>(kind)].contains(name);
            }
            return false;
          },
          options_.serves,
          options_.filters};
}

// --- Resources

void ads_client::answered(authority_state& a, resource_kind kind, std::string_view name) {
  for (std::size_t rank = 0; rank < a.in_use; ++rank) {
    auto& names = of(at(a.servers[rank]), kind).names;
    if (const auto found = names.find(name); found != names.end()) found->second.deadline = never;
  }
}

std::string ads_client::excess_of(const resource_state& r, const received_resource& by) const {
  const auto fits = [](std::size_t all, std::size_t old, std::size_t next, std::size_t max) {
    return next <= old || all - old + next <= max;
  };
  if (!fits(cached_bytes_, r.bytes.size(), by.bytes.size(), limits::cache_bytes_max)) {
    return "its " + std::to_string(by.bytes.size()) +
           " bytes exceed what this client keeps of all resources, " +
           std::to_string(limits::cache_bytes_max) + " bytes";
  }
  if (!fits(cached_regexes_, r.regexes, by.regexes, limits::regexes_max)) {
    return "its " + std::to_string(by.regexes) +
           " regular expressions exceed what this client keeps of all resources, " +
           std::to_string(limits::regexes_max);
  }
  if (!fits(cached_elements_, r.elements, by.elements, limits::cached_elements_max)) {
    return "its " + std::to_string(by.elements) +
           " elements exceed what this client keeps of all resources, " +
           std::to_string(limits::cached_elements_max);
  }
  return {};
}

void ads_client::clear(resource_state& r) {
  cached_bytes_ -= r.bytes.size();
  cached_regexes_ -= std::exchange(r.regexes, 0);
  cached_elements_ -= std::exchange(r.elements, 0);
  r.cached.reset();
  r.bytes.clear();
  r.version.clear();
  r.updated = {};
}

void ads_client::accept(authority_state& a, resource_kind kind, resource_state& r, received_resource&& from,
                        std::string_view version, time_point now) {
  answered(a, kind, from.name);
  r.version = version;
  r.updated = now;
  r.failed_version.clear();
  r.failed_at = {};
  r.state = cache_state::acked;
  // The same again is news only after an error.
  const bool same = r.cached && r.bytes == from.bytes;
  if (same && r.error.ok()) return;
  r.error = status();
  r.of_connection = false;
  if (!same) {
    cached_bytes_ += from.bytes.size() - r.bytes.size();
    cached_regexes_ += from.regexes - r.regexes;
    cached_elements_ += from.elements - r.elements;
    r.cached = *std::move(from.content);
    r.bytes = std::move(from.bytes);
    r.regexes = from.regexes;
    r.elements = from.elements;
  }
  tell(r, watch_event::kind::changed);
}

void ads_client::reject(resource_state& r, status reason, const server_state& by, std::string_view version,
                        time_point now) {
  data_error(r, cache_state::nacked, std::move(reason), by.config.fail_on_data_errors);
  r.failed_version = version;
  r.failed_at = now;
}

void ads_client::data_error(resource_state& r, cache_state state, status reason, bool drops) {
  if (drops && r.cached) {
    clear(r);
  } else if (r.state == state && r.error == reason) {
    return;  // known
  }
  r.state = state;
  r.error = std::move(reason);
  r.of_connection = false;
  r.failed_version.clear();
  r.failed_at = {};
  tell(r, r.cached ? watch_event::kind::ambient : watch_event::kind::error);
}

void ads_client::transient_error(resource_state& r, cache_state state, status reason, bool of_connection) {
  if (r.state == state && r.error == reason) return;
  r.state = state;
  r.error = std::move(reason);
  r.of_connection = of_connection;
  r.failed_version.clear();
  r.failed_at = {};
  tell(r, r.cached ? watch_event::kind::ambient : watch_event::kind::error);
}

void ads_client::tell(const resource_state& r, watch_event::kind what) {
  for (const watch_id each : r.watches) events_.push_back(event_for(each, r, what));
}

watch_event ads_client::event_for(watch_id watch, const resource_state& r, watch_event::kind what) const {
  if (what == watch_event::kind::changed) return {watch, what, r.cached, status()};
  return {watch, what, std::nullopt, r.error};
}

status ads_client::reason_for(resource_kind kind, std::string_view name, std::string_view cause,
                              const server_state* s) const {
  const std::string_view type = type_name(kind);
  std::string text = "xDS resource ";
  text.append(type.substr(type.rfind('.') + 1))
      .append(" \"")
      .append(base::printable(name))
      .append("\": ")
      .append(cause);
  text.append(" (node \"").append(base::printable(bootstrap_->node.id)).append("\"");
  if (s) text.append(", control plane ").append(base::printable(s->config.uri));
  return status::unavailable(text.append(")"));
}

void ads_client::visit(const std::function<void(const resource_dump&)>& visitor) const {
  for (const auto& a : authorities_)
    for (const resource_kind kind : resource_kinds)
      for (const auto& [name, r] : a->resources[static_cast<std::size_t>(kind)])
        if (!r.watches.empty())
          visitor(
              {kind, name, r.state, r.version, r.bytes, r.updated, r.error, r.failed_version, r.failed_at});
}

wire::Node ads_client::node() const {
  return node_message(bootstrap_->node, options_.user_agent_name, options_.user_agent_version);
}

}  // namespace coracle::xds
