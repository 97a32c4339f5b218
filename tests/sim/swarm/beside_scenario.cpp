// A well-behaved client together with malicious ones on one loop of a server: the work for them between the
// arrival of its call and the reply is bounded, whatever they do.
#include "sim/swarm/attacker.hpp"
#include "sim/swarm/scenario.hpp"

#include "coracle/client.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/server.hpp"
#include "echo.coracle.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace coracle::swarm {

namespace {

using namespace std::chrono_literals;

// Its bytes are read in the first turn of the loop that has them, and answered at the end of that turn; the
// second turn is for a call whose connection is read after an attacker's.
constexpr std::uint64_t turns_max = 2;
// What a turn may read of each connection, and the shortest frames that begin a call.
constexpr std::uint64_t read_bytes = 16 * 1024;
constexpr std::uint64_t shortest_call_bytes = 100;

constexpr int calls_made = 6;
constexpr int mark_of_healthy = -1;

// One call of the healthy client, as its server's loop observes it.
struct watched {
  run& of;
  duration latency;
  std::uint64_t attackers;
  time_point arrives = never;  // at the server
  bool arrived = false;
  loop_counters before;
  std::uint64_t others = 0;  // handlers begun for attackers
  std::uint64_t others_before = 0;

  // Between rounds of turns.
  void look(const loop& serving, time_point now) {
    if (arrived || now < arrives) return;
    arrived = true;
    before = serving.stats();
    others_before = others;
  }
  void handled(const loop& serving) {
    if (arrives == never) return;  // the first call, which connects
    if (!arrived) return of.report_error("a call came before its bytes could");
    const std::uint64_t turns = (serving.stats() - before).turns;
    of.tally("turns to a handler: " + std::to_string(turns));
    if (turns > turns_max)
      of.report_error(std::to_string(turns) + " turns went by before a call was handled");
    const std::uint64_t ahead = others - others_before;
    if (ahead > turns_max * attackers * read_bytes / shortest_call_bytes)
      of.report_error(std::to_string(ahead) + " handlers began for others before a call was handled");
  }
};

class marking final : public echo::rpc::Echo::service {
 public:
  explicit marking(watched& w) noexcept : watched_(w) {}
  reply<echo::Text> SayAtOnce(server_context&, const echo::Text& request) override {
    if (request.count() == mark_of_healthy) {
      watched_.handled(*loop::current());
      return request;
    }
    ++watched_.others;
    echo::Text large;
    large.set_text(std::string(static_cast<std::size_t>(request.count()), 'x'));
    return large;
  }
  reply<echo::Text> Collect(server_context&, reader<echo::Text> texts) override {
    ++watched_.others;
    echo::Text one;
    while (true) {
      const bool more = co_await texts.read(one);
      if (!more) break;
    }
    co_return echo::Text();
  }

 private:
  watched& watched_;
};

task<> call_often(watched& w, channel& to, dice d, bool& done) {
  const echo::rpc::Echo::stub server(to);
  echo::Text request;
  request.set_count(mark_of_healthy);
  for (int i = 0; i < calls_made; ++i) {
    const time_point begun = coro::this_executor().now();
    w.arrived = false;
    if (i > 0) w.arrives = deadline_after(begun, w.latency);
    const auto reply = co_await server.SayAtOnce(request);
    const duration took = coro::this_executor().now() - begun;
    w.arrives = never;
    if (!reply) w.of.report_error("a healthy call failed: " + reply.status().to_string());
    else if (i > 0 && took > 2 * w.latency)
      w.of.report_error("a healthy call took " + std::to_string((took - 2 * w.latency).count()) +
                        " ns too long");
    else w.of.tally("served");
    co_await sleep_for(d.up_to(5ms));  // sleeps on purpose: virtual time
  }
  done = true;
}

}  // namespace

void play_beside(run& r) {
  dice draws = r.dice_for(1);
  const duration latency = 1ms + draws.up_to(2ms);
  const std::uint64_t attackers = draws.between(1, 2);
  watched w{r, latency, attackers, never, false, {}, 0, 0};
  marking service(w);
  bool done = false;
  sim::world_options links = r.world_options();
  links.latency = latency;
  links.socket_buffer = 32 * 1024;
  sim::world world(r.seed(), links);
  runtime& serving = world.host("server");
  runtime& calling = world.host("healthy");
  server_options options;
  options.limits = server_limits{.stall_time = 1s};
  {
    server srv(serving, options);
    srv.add(service);
    if (const status s = srv.listen("0.0.0.0:50051", insecure()); !s.ok()) r.report_error(s.to_string());
    const std::string at = world.address_of("server") + ":50051";
    channel c(calling, at, insecure());
    calling.spawn(call_often(w, c, r.dice_for(2), done));
    for (std::uint64_t i = 0; i < attackers; ++i)
      world.host("attacker" + std::to_string(i))
          .spawn(attack_until(done, r, static_cast<attack>(draws.below(4)), at));
    const auto look = [&] {
      w.look(serving.at(0), world.now());
      return done;
    };
    if (!world.run_until(look, 1h)) r.report_error("hang: calls do not end");
    done = true;
    r.note(world);
  }
}

}  // namespace coracle::swarm
