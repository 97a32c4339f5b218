#include "sim/swarm/fleet_world.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace coracle::swarm {

namespace {

using namespace std::chrono_literals;
using stub = echo::rpc::Echo::stub;

constexpr const char* target = "fleet.example:50051";
constexpr int lives_max = 20;  // of programs that have calls: crashes must end at some time

class echoing final : public echo::rpc::Echo::service {
 public:
  explicit echoing(std::string host) : host_(std::move(host)) {}
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    context.initial_metadata().add("x-server", host_);
    if (request.count() % 3 == 0) co_await sleep_for(std::chrono::milliseconds(request.count()));
    co_return request;
  }

 private:
  const std::string host_;
};

struct echo_server {
  echo_server(runtime& on, const std::string& host) : service(host), answers(on) { answers.add(service); }
  echoing service;
  server answers;
};

balancing draw_policy(dice& d, bool& connects_for_calls) {
  switch (d.below(7)) {
    case 0: return balancing::round_robin();
    case 1: return balancing::least_request();
    case 2: return balancing::weighted();
    case 3: return balancing::pick_first(true);
    case 4: connects_for_calls = true; return balancing::ring_hash();
    case 5:
      return balancing::weighted_round_robin(
          {.oob_load_report = d.one_in(2), .blackout_period = d.up_to(1s)});
    default: return balancing::pick_first();
  }
}

// Policies above others that eject early and often. connects_for_calls: it connects to the server that a call
// needs, and to no other.
balancing draw_balancing(dice& d, bool& connects_for_calls) {
  balancing policy = draw_policy(d, connects_for_calls);
  if (d.one_in(4)) {
    policy = balancing::random_subsetting(static_cast<std::uint32_t>(d.between(1, 3)), policy);
    connects_for_calls = true;  // a channel that was idle has another subset
  }
  if (d.one_in(3)) return policy;
  outlier_detection_options o;
  o.interval = 1ms + d.up_to(5s);
  o.base_ejection_time = 1ms + d.up_to(5s);
  o.max_ejection_percent = static_cast<std::uint32_t>(d.between(0, 100));
  if (d.one_in(2)) o.success_rate_ejection = {.stdev_factor = 500, .minimum_hosts = 2, .request_volume = 2};
  if (d.one_in(2)) o.failure_percentage_ejection = {.threshold = 20, .minimum_hosts = 1, .request_volume = 1};
  return balancing::outlier_detection(o, policy);
}

channel_options draw_options(dice& d, bool& connects_for_calls) {
  channel_options o;
  o.balance = draw_balancing(d, connects_for_calls);
  if (d.one_in(2)) o.streams_per_connection = static_cast<std::uint32_t>(d.between(1, 3));
  if (d.one_in(2)) o.connections_per_server = static_cast<std::uint32_t>(d.between(1, 4));
  if (d.one_in(2)) o.idle_timeout = 10ms + d.up_to(10s);
  if (d.one_in(2)) o.resolve_pause = d.up_to(30s);
  if (d.one_in(3))
    o.keepalive = {.time = 10s + d.up_to(60s), .timeout = 1s + d.up_to(20s), .without_calls = d.one_in(2)};
  if (d.one_in(3)) o.max_waiting_calls = static_cast<std::uint32_t>(d.between(0, 5));
  return o;
}

task<> call(fleet_findings& f, stub s, dice d) {
  echo::Text request;
  request.set_text(std::string(d.size(12), 'x'));
  request.set_count(static_cast<int>(d.below(1000)));
  const duration limit = d.up_to(d.one_in(2) ? 1s : 60s);
  call_options options = within(limit);
  if (d.one_in(3)) options.wait_for_ready = true;
  if (d.one_in(2)) options.criticality = static_cast<criticality>(d.below(4));
  const time_point due = deadline_after(coro::this_executor().now(), limit);
  const auto reply = co_await s.Say(request, options);
  if (coro::this_executor().now() > due) f.of.report_error("a call outlived its deadline");
  if (reply && (reply->text() != request.text() || reply->count() != request.count()))
    f.of.report_error("a reply is not the request's");
  f.of.tally(name_of(reply.status().code()));
  const bool displaced = reply.status().code() == status_code::resource_exhausted &&
                         reply.status().message().find("max_waiting_calls") != std::string_view::npos;
  if (const std::string_view code = name_of(reply.status().code());
      !displaced && code != "OK" && code != "UNAVAILABLE" && code != "DEADLINE_EXCEEDED" &&
      code != "CANCELLED")
    f.of.report_error("a call ended with " + reply.status().to_string());
}

// Several channels, one after the other; each is destroyed while some of its calls are open.
task<> use_channels(fleet_findings& f, runtime& rt, dice d) {
  ++f.left;
  ++f.lives;
  struct leave {
    int& count;
    ~leave() { --count; }
  } const on_leaving{f.left};
  for (std::uint64_t n = d.between(1, 3); n > 0; --n) {
    scope calls{co_await coro::this_environment()};
    {
      bool connects_for_calls = false;
      channel c(rt, target, insecure(), draw_options(d, connects_for_calls));
      for (std::uint64_t i = d.between(1, 30); i > 0; --i) {
        calls.spawn(call(f, stub(c), dice(d.draw(), i)));
        if (d.one_in(3))
          co_await sleep_for(d.up_to(d.one_in(5) ? 30s : 300ms));  // sleeps on purpose: virtual time
        if (d.one_in(10)) c.connect();
      }
      if (d.one_in(2)) co_await calls.join();
    }
    co_await calls.join();
    f.of.tally("channels that went");
  }
}

task<> last_call(run& r, channel& to, bool& answered) {
  const echo::Text request;
  call_options options = within(1h);
  options.wait_for_ready = true;
  const auto reply = co_await stub(to).Say(request, options);
  answered = true;
  if (!reply) r.report_error("a mended world serves no calls: " + reply.status().to_string());
}

// Calls after a while. The first ones may discover that servers are gone.
task<> call_the_one(run& r, channel& to, std::string host, bool& answered) {
  for (int i = 0; i < 32; ++i) {
    const bool settled = i >= 24;  // a policy that draws servers has tried each of them
    if (i == 24) co_await sleep_for(20min);  // sleeps on purpose: virtual time
    const echo::Text request;
    call_options options = within(10min);
    options.wait_for_ready = true;
    auto call = stub(to).Say(request, options);
    const auto reply = co_await call;
    if (!settled) continue;
    if (!reply) r.report_error("the one that is left serves no calls: " + reply.status().to_string());
    else if (call.initial_metadata().find("x-server") != host)
      r.report_error("a server that the name has left is called");
  }
  answered = true;
}

}  // namespace

static sim::world_options options_of_world(run& r, const mixture& m, duration latency) {
  sim::world_options o = r.world_options();
  o.faults = m.faults;
  o.latency = latency;
  return o;
}

fleet_world::fleet_world(run& r, const mixture& m)
    : run_(r), draws_(r.dice_for(2)), world_(r.seed(), options_of_world(r, m, 50us + draws_.up_to(50ms))) {
  start_servers();
  rename();
  start_clients();
}

void fleet_world::start_servers() {
  for (std::uint64_t n = draws_.between(2, 4); n > 0; --n) {
    servers_.push_back("server" + std::to_string(n));
    world_.start(
        servers_.back(),
        [this, host = servers_.back()](runtime& rt) -> std::shared_ptr<void> {
          auto made = std::make_shared<echo_server>(rt, host);
          const status listening = made->answers.listen("0.0.0.0:50051", insecure());
          if (!listening.ok()) run_.report_error("a server cannot listen: " + listening.to_string());
          return made;
        },
        draws_.between(1, 2));
  }
}

void fleet_world::start_clients() {
  for (std::uint64_t n = draws_.between(1, 2); n > 0; --n) {
    clients_.push_back("client" + std::to_string(n));
    world_.start(
        clients_.back(),
        [this](runtime& rt) -> std::shared_ptr<void> {
          if (findings_.lives > lives_max) return nullptr;
          for (std::uint64_t i = draws_.between(1, 3); i > 0; --i)
            rt.spawn(use_channels(findings_, rt, dice(draws_.draw(), i)));
          return nullptr;
        },
        draws_.between(1, 2));
  }
}

void fleet_world::rename() {
  sim::name_record now;
  for (const std::string& s : servers_)
    if (draws_.one_in(2)) now.address(world_.address_of(s));
  now.latency(draws_.up_to(200ms));
  if (draws_.one_in(6)) now.failing();
  world_.set_name("fleet.example", now);
}

void fleet_world::rename_to(const std::vector<std::string>& hosts) {
  sim::name_record now;
  for (const std::string& s : hosts) now.address(world_.address_of(s));
  world_.set_name("fleet.example", now);
}

void fleet_world::play() {
  const time_point limit = world_.now() + 6h;
  const auto done = [this] {
    if (findings_.left > 0 || findings_.lives == 0) return false;
    return findings_.lives > lives_max ||
           std::all_of(clients_.begin(), clients_.end(), [this](const auto& c) { return world_.is_up(c); });
  };
  world_.run_for(1ms);  // the programs begin
  while (!done() && world_.now() < limit) {
    world_.run_for(draws_.up_to(20s));
    rename();
  }
  if (!done()) return run_.report_error("hang: calls do not end"), run_.note(world_);
  world_.set_faults({});
  world_.heal();
  rename_to(servers_);
  world_.run_for(20min);
  call_once_more();
  run_.note(world_);
}

void fleet_world::call_once_more() {
  bool answered = false;
  bool connects_for_calls = false;
  channel_options o = draw_options(draws_, connects_for_calls);
  o.max_waiting_calls = channel_options().max_waiting_calls;  // each of the last calls must be served
  runtime& rt = world_.host(clients_.back());
  channel c(rt, target, insecure(), o);
  rt.spawn(last_call(run_, c, answered));
  if (!world_.run_until([&] { return answered; }, 2h))
    return run_.report_error("hang: the last call does not end");
  answered = false;
  const std::string& one = leave_one(!connects_for_calls);
  rt.spawn(call_the_one(run_, c, one, answered));
  if (!world_.run_until([&] { return answered; }, 6h)) run_.report_error("hang: calls of the one do not end");
}

// The name resolves to one of the servers, and the others lose their connections. Clients that have one to
// those learn of it, or that cannot connect to them.
const std::string& fleet_world::leave_one(bool others_return) {
  const std::string& one = servers_[draws_.below(servers_.size())];
  rename_to({one});
  for (const std::string& s : servers_)
    if (s != one) world_.crash(s);
  world_.run_for(1s);
  for (const std::string& s : servers_)
    if (s != one && others_return) world_.restart(s);
  return one;
}

}  // namespace coracle::swarm
