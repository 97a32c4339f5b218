#include "sim/swarm/calls_world.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace coracle::swarm {

namespace {

using namespace std::chrono_literals;

// The program of a client owns its channels.
using channels = std::vector<std::unique_ptr<channel>>;

constexpr duration scenario_limit = 24h;
constexpr int most_fails = 6;  // more than any policy has attempts

}  // namespace

status serving::open() {
  server_.emplace(runtime_, options_);
  server_->add(service_);
  return server_->listen("0.0.0.0:50051", credentials_);
}

sim::world_options calls_world::options(run& r, dice& draws, const mixture& m) {
  constexpr std::size_t buffers[] = {500, 4096, 65536, 256 * 1024};
  sim::world_options o = r.world_options();
  o.faults = m.faults;
  o.latency = 50us + draws.up_to(draws.one_in(2) ? 1ms : 80ms);
  o.socket_buffer = buffers[draws.below(4)];
  return o;
}

calls_world::calls_world(run& r, const mixture& m, call_ledger& ledger, const calls_world_options& o)
    : run_(r),
      mix_(m),
      ledger_(ledger),
      policies_(o.policies),
      secure_(o.secure),
      web_(o.web),
      draws_(r.dice_for(2)),
      drains_(draws_.one_in(4)),
      world_(r.seed(), options(r, draws_, m)) {
  start_servers();
  start_clients();
  if (secure_) start_operator();
}

// Renewals affect new connections: over TLS they are frequent. On a slow line the end of one rejects calls,
// as a drain does: its PING takes longer than it waits.
server_options calls_world::draw_server() {
  server_options o;
  o.drain_grace = draws_.up_to(2s);
  if (secure_ && draws_.one_in(2)) {
    o.max_connection_age = {.max = 3s + draws_.up_to(4s)};
    ledger_.expect_drains();
  }
  return o;
}

void calls_world::start_servers() {
  servers_.resize(draws_.between(1, 2));
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    hosts_.push_back("server" + std::to_string(i));
    const server_options drawn = draw_server();
    world_.start(
        hosts_.back(),
        [this, i, drawn](runtime& rt) -> std::shared_ptr<void> {
          auto made = std::make_shared<serving>(rt, ledger_, drawn, secure_);
          const status listening = made->open();
          if (!listening.ok()) run_.report_error("a server cannot listen: " + listening.to_string());
          servers_[i] = made;
          return made;
        },
        draws_.between(1, 3));
  }
}

channel_options calls_world::draw_channel() {
  constexpr call_protocol protocols[] = {call_protocol::connect, call_protocol::grpc_web,
                                         call_protocol::grpc_web_text};
  channel_options o;
  if (policies_) o.service_config = policies_->config;
  if (!web_) return o;
  o.protocol = protocols[draws_.below(3)];
  o.http_version = draws_.one_in(3) ? http_version::http2 : http_version::http1;
  o.http1_connections_per_server = static_cast<std::uint32_t>(draws_.between(1, 5));
  return o;
}

void calls_world::start_clients() {
  const std::uint64_t clients = draws_.between(1, 3);
  for (std::uint64_t i = 0; i < clients; ++i) {
    hosts_.push_back("client" + std::to_string(i));
    std::vector<caller*> mine;
    for (std::uint64_t n = draws_.between(1, 4); n > 0; --n) {
      const std::uint64_t first_id = 1 + 1000 * callers_.size();
      callers_.push_back(
          std::make_unique<caller>(caller{ledger_, mix_, run_.dice_for(100 + first_id), first_id,
                                          draws_.between(1, 10), policies_ ? most_fails : 0}));
      mine.push_back(callers_.back().get());
    }
    std::vector<channel_options> drawn;
    for (std::size_t s = 0; s < servers_.size(); ++s) drawn.push_back(draw_channel());
    world_.start(
        hosts_.back(),
        [this, mine, drawn](runtime& rt) -> std::shared_ptr<void> {
          auto made = std::make_shared<channels>();
          std::vector<echo_stub> stubs;
          channel_credentials credentials = insecure();
          if (secure_) credentials = secure_->call();
          for (std::size_t s = 0; s < servers_.size(); ++s) {
            made->push_back(std::make_unique<channel>(rt, target(s), credentials, drawn[s]));
            ledger_.channel_made();
            stubs.emplace_back(*made->back());
          }
          for (caller* c : mine) rt.spawn(make_calls(*c, stubs));
          return made;
        },
        draws_.between(1, 2));
  }
}

void calls_world::start_operator() {
  hosts_.push_back("operator");
  world_.start(hosts_.back(), [this](runtime& rt) -> std::shared_ptr<void> {
    rt.spawn(secure_->renew_often());
    return nullptr;
  });
}

std::string calls_world::target(std::size_t server) const {
  return world_.address_of(hosts_[server]).append(":50051");
}

bool calls_world::all_done() const {
  return std::all_of(callers_.begin(), callers_.end(), [](const auto& c) { return c->done; });
}

void calls_world::play() {
  if (drains_) ledger_.expect_drains();
  if (wait_and_drain()) {
    mend_all();
    call_once_more();
  }
  run_.note(world_);
}

// A hang is a world without events left, or one in which too much time has passed.
bool calls_world::wait_and_drain() {
  const time_point limit = world_.now() + scenario_limit;
  while (!all_done()) {
    const duration drain_in = drains_ ? 100ms + draws_.up_to(10s) : scenario_limit;
    const time_point drain_at = world_.now() + drain_in;
    if (world_.run_until([this] { return all_done(); }, drain_in)) return true;
    if (world_.now() > limit || (!drains_ && world_.now() <= drain_at))
      return run_.report_error("hang: calls do not end"), false;
    drain_one();
  }
  return true;
}

// Stops a server as an operator would, and opens a new one on the same port. Its host may crash meanwhile.
void calls_world::drain_one() {
  const std::size_t which = draws_.below(servers_.size());
  if (const auto now = servers_[which].lock()) now->stop();
  world_.run_for(draws_.up_to(3s));
  const auto now = servers_[which].lock();
  if (!now) return;
  now->close();
  if (!world_.is_up(hosts_[which]) || servers_[which].lock() != now) return;
  run_.tally("drained");
  const status again = now->open();
  if (!again.ok()) run_.report_error("a server cannot listen again: " + again.to_string());
}

void calls_world::mend_all() {
  world_.set_faults({});
  world_.heal();
  world_.run_for(20min);  // every silent connection has been detected
  for (const std::string& h : hosts_)
    if (!world_.is_up(h)) run_.report_error(h + " was not started again");
}

// Of clients that existed all the time, so that their memory of calls exists, too.
void calls_world::call_once_more() {
  channel_credentials credentials = insecure();
  if (secure_) {
    secure_->replace_all();
    world_.run_for(2s);  // files are looked at every second
    credentials = secure_->last_client();
  }
  std::vector<std::unique_ptr<channel>> fresh;
  int left = 0;
  bool all_well = true;
  runtime& client = world_.host(hosts_[servers_.size()]);
  std::vector<std::unique_ptr<bool>> answers;
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    fresh.push_back(std::make_unique<channel>(client, target(s), credentials));
    answers.push_back(std::make_unique<bool>(false));
    ++left;
    client.spawn(make_last_call(echo_stub(*fresh.back()), *answers.back(), left));
  }
  if (!world_.run_until([&] { return left == 0; }, 3h))
    return run_.report_error("hang: the last calls do not end");
  for (const auto& a : answers) all_well = all_well && *a;
  if (!all_well) run_.report_error("a mended world serves no calls");
}

}  // namespace coracle::swarm
