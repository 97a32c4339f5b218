#include "client/balancing/pick_first.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/net/connect.hpp"
#include "net/happy_eyeballs.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace coracle::client {

std::unique_ptr<balancer> pick_first_config::make(balancer_host& host) const {
  return std::make_unique<pick_first>(host);
}

pick_first::pick_first(balancer_host& host) noexcept : balancer(host), subchannel_user(false) {
  timer::fire = [](coro::timer& t) noexcept {
    pick_first& self = static_cast<pick_first&>(t);
    if (!base::if_memory_allows([&] { self.try_next(); })) self.host_.out_of_memory();
  };
}

pick_first::~pick_first() {
  if (timer::holder) host_.owner_loop().disarm(*this);
  for (const entry& e : list_)
    if (e.at) host_.drop_subchannel(*e.at);
  host_.take_waiting(waiting);
}

// --- the list

void pick_first::update(const balancing& policy, const std::vector<endpoint>& servers) {
  shuffle_ = static_cast<const pick_first_config&>(policy.config()).shuffle();
  std::vector<endpoint> order = in_order(servers);
  const bool kept = selected_ && std::any_of(order.begin(), order.end(), [&](const endpoint& e) {
                      return e.address() == selected_->where().address();
                    });
  adopt(std::move(order));
  if (kept) return;
  selected_ = nullptr;
  host_.take_waiting(waiting);
  if (list_.empty()) {
    if (timer::holder) host_.owner_loop().disarm(*this);
    state_ = connectivity::transient_failure;
    return publish(state_, status::unavailable(no_servers_text(false)));
  }
  if (state_ != connectivity::idle) begin_pass();
}

namespace {

// The first of the list is each server with a probability by its weight, the second one each of the others,
// and so on (gRFC A113). `random` gives 64 bits.
template <class Random>
void shuffle_by_weight(std::vector<endpoint>& servers, Random random) {
  const auto differs = [&](const endpoint& e) { return e.weight() != servers.front().weight(); };
  if (std::none_of(servers.begin(), servers.end(), differs)) {
    for (std::size_t i = servers.size(); i > 1; --i) std::swap(servers[i - 1], servers[random() % i]);
    return;
  }
  // The order of times that are exponentially distributed, each with the rate of its weight.
  std::vector<std::pair<double, endpoint>> timed;
  timed.reserve(servers.size());
  for (endpoint& e : servers) {
    const double drawn = static_cast<double>((random() >> 11) + 1) * 0x1.0p-53;  // above 0, at most 1
    const double time = e.weight() == 0 ? std::numeric_limits<double>::infinity()
                                        : -std::log(drawn) / static_cast<double>(e.weight());
    timed.emplace_back(time, std::move(e));
  }
  std::sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  servers.clear();
  for (auto& [time, e] : timed) servers.push_back(std::move(e));
}

}  // namespace

// Removes duplicates, shuffles if configured, and alternates between address families, beginning with that of
// the first server (RFC 8305 4).
std::vector<endpoint> pick_first::in_order(std::vector<endpoint> servers) {
  if (shuffle_) shuffle_by_weight(servers, [this] { return host_.owner_loop().io().random(); });
  std::vector<net::address> addresses;
  std::set<net::address> listed;
  const auto add = [&](const net::address& a) {
    if (listed.insert(a).second) addresses.push_back(a);
  };
  for (const endpoint& e : servers) {
    add(e.address());
    for (const net::address& a : e.other_addresses()) add(a);  // gRFC A61
  }
  std::vector<endpoint> order;
  for (net::address& a : net::interleaved(std::move(addresses))) order.emplace_back(std::move(a));
  return order;
}

// Replaces the list, and keeps the subchannels of servers that were in the old one.
void pick_first::adopt(std::vector<endpoint> order) {
  std::map<net::address, entry*> before;
  for (entry& old : list_) before.emplace(old.where.address(), &old);
  std::vector<entry> after;
  after.reserve(order.size());  // nothing below allocates, so that no subchannel is lost between the lists
  for (endpoint& e : order) {
    entry& made = after.emplace_back(entry{std::move(e)});
    if (const auto old = before.find(made.where.address()); old != before.end())
      made.at = std::exchange(old->second->at, nullptr);
  }
  for (const entry& old : list_)
    if (old.at) host_.drop_subchannel(*old.at);
  list_ = std::move(after);
  for (const entry& e : list_)
    if (e.at) e.at->set_where(e.where);
}

// --- connecting

void pick_first::connect() {
  if (state_ == connectivity::idle) begin_pass();
}

void pick_first::begin_pass() {
  next_ = 0;
  pass_over_ = false;
  for (entry& e : list_) e.failed = false;
  // The state stays TRANSIENT_FAILURE until a server is READY, so that calls do not wait for the whole list
  // each time.
  if (state_ != connectivity::transient_failure) state_ = connectivity::connecting;
  try_next();
  if (state_ == connectivity::connecting) publish(state_);
}

bool pick_first::is_connecting(const entry& e) noexcept {
  return e.at && e.at->state() == connectivity::connecting;
}

void pick_first::try_next() {
  if (timer::holder) host_.owner_loop().disarm(*this);
  while (next_ < list_.size()) {
    entry& e = list_[next_++];
    if (!e.at) e.at = &host_.make_subchannel(e.where, *this);
    e.at->connect();
    switch (e.at->state()) {
      case connectivity::ready: return select(e);
      case connectivity::transient_failure:  // its pause has not passed
        e.failed = true;
        last_failure_ = e.at->failure();
        continue;
      default: break;
    }
    // An update begins the pass anew: of those that are dialed already, all up to the next new one have one
    // delay together.
    while (next_ < list_.size() && is_connecting(list_[next_])) ++next_;
    if (next_ < list_.size())
      host_.owner_loop().arm(*this, deadline_after(host_.owner_loop().now(), net::connection_attempt_delay));
    return;
  }
  end_pass_if_all_failed();
}

void pick_first::on_state(subchannel& s) {
  entry* e = entry_of(s);
  if (!e) return;
  const connectivity now = s.state();
  if (selected_) {
    if (&s == selected_ && now != connectivity::ready) lost(now);
    return;
  }
  switch (now) {
    case connectivity::ready: return select(*e);
    case connectivity::transient_failure: return failed(*e);
    case connectivity::idle:
      // Its pause has passed, or it was READY for less than one turn of the loop: a server that drains its
      // connections just then takes the next one. The second one in a row has a pause, and with it a failure.
      if (pass_over_) {
        s.connect();
      } else if (!e->failed && static_cast<std::size_t>(e - list_.data()) < next_) {
        host_.resolve_again();
        s.connect();
      }
      return;
    default: return;
  }
}

void pick_first::failed(entry& e) {
  last_failure_ = e.at->failure();
  if (pass_over_) {
    if (++failures_ >= list_.size()) {
      failures_ = 0;
      host_.resolve_again();
    }
    return publish_failure();
  }
  e.failed = true;
  const bool newest = static_cast<std::size_t>(&e - list_.data()) + 1 == next_;
  if (newest && next_ < list_.size()) try_next();
  else end_pass_if_all_failed();
}

void pick_first::end_pass_if_all_failed() {
  if (!std::all_of(list_.begin(), list_.end(), [](const entry& e) { return e.failed; })) return;
  pass_over_ = true;
  failures_ = 0;
  for (const entry& e : list_) e.at->connect();  // those whose pause has already passed
  state_ = connectivity::transient_failure;
  host_.resolve_again();
  publish_failure();
}

void pick_first::publish_failure() {
  if (last_failure_.ok())
    last_failure_ = status::unavailable("the server closed each connection immediately");
  if (list_.size() == 1) return publish(connectivity::transient_failure, last_failure_);
  // The last error need not be the useful one: localhost is two addresses, and a server may listen on only
  // one of them.
  constexpr std::size_t failures_listed_max = 3;
  std::string text = "none of " + std::to_string(list_.size()) + " servers can be reached";
  for (std::size_t i = 0; i < list_.size() && i < failures_listed_max; ++i) {
    const status& reason = list_[i].at->failure();
    text.append(i == 0 ? ": " : "; ")
        .append(reason.ok() ? "it closed the connection immediately" : reason.message());
  }
  publish(connectivity::transient_failure, status::unavailable(text));
}

void pick_first::publish(connectivity c, status reason) noexcept {
  using action = no_server::action;
  otherwise_.then = c == connectivity::idle                ? action::connect
                    : c == connectivity::transient_failure ? action::fail
                                                           : action::wait;
  otherwise_.reason = std::move(reason);
  host_.publish(c, otherwise_.reason);
}

// --- connected

void pick_first::select(entry& winner) {
  if (timer::holder) host_.owner_loop().disarm(*this);
  selected_ = winner.at;
  next_ = list_.size();
  // Subchannels in their pause stay, because a new subchannel would begin to connect without one.
  for (entry& e : list_)
    if (e.at && e.at != selected_ && e.at->state() != connectivity::transient_failure)
      host_.drop_subchannel(*std::exchange(e.at, nullptr));
  state_ = connectivity::ready;
  publish(state_);
}

void pick_first::lost(connectivity now) {
  selected_ = nullptr;
  host_.resolve_again();
  // gRFC A105: an attempt for another connection is in flight, or has failed.
  if (now != connectivity::idle) return begin_pass();
  state_ = connectivity::idle;
  publish(state_);
}

pick_first::entry* pick_first::entry_of(const subchannel& s) noexcept {
  const auto found = std::find_if(list_.begin(), list_.end(), [&](const entry& e) { return e.at == &s; });
  return found == list_.end() ? nullptr : &*found;
}

}  // namespace coracle::client
