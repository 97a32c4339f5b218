// replay: coracle replay repeats the calls of a recording, at their original times or faster.
#include "tools/commands.hpp"
#include "tools/endpoint.hpp"
#include "tools/failure.hpp"
#include "tools/option_names.hpp"
#include "tools/proxy/recording.hpp"
#include "tools/terminal_text.hpp"

#include <coracle/client/generic_stub.hpp>
#include <coracle/coro/event.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/coro/sleep.hpp>
#include <coracle/runtime.hpp>
#include <coracle/runtime/sync_wait.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tools {

namespace {

using conversation = bidi_call<bytes_message, bytes_message>;

// A running call whose end was recorded.
struct running_call {
  explicit running_call(const recorded_call& c) : recorded(c) {}
  const recorded_call& recorded;
  coracle::event<> end;
};

struct replay {
  endpoint where;
  std::string file;
  double speed = 1;
  int other_ends = 0;
  int calls = 0;

  int run() {
    const std::vector<recorded_call> recorded = read_recording(file);
    if (recorded.empty()) throw failure(file + " has no calls");
    runtime on(1);
    channel server(on, where.address(), where.credentials(), where.options());
    sync_wait(on, make_all(server, recorded));
    std::printf("%d calls, %d ended otherwise than recorded\n", calls, other_ends);
    return other_ends == 0 ? 0 : exit_failure;
  }

  // The recorded time since the beginning, divided by the speed; zero if the speed is 0.
  [[nodiscard]] duration scaled(duration at) const {
    if (speed <= 0) return duration::zero();
    using exact = std::chrono::duration<double, duration::period>;
    return std::chrono::duration_cast<duration>(
        std::clamp<exact>(at / speed, -recorded_time_max, recorded_time_max));
  }
  task<> until(time_point began, duration at) {
    const duration left = began + scaled(at) - coro::this_executor().now();
    if (left > duration::zero()) co_await sleep_for(left);
  }

  task<> make_all(channel& server, const std::vector<recorded_call>& recorded) {
    const time_point began = coro::this_executor().now();
    const duration first = recorded.front().at;
    scope all{co_await coro::this_environment()};
    std::list<running_call> running;
    for (const recorded_call& one : recorded) {
      co_await until(began, one.at - first);
      // Waits for the calls that had ended before this one began: it may depend on them, whatever the speed.
      for (auto before = running.begin(); before != running.end();) {
        if (before->recorded.ended > one.at) {
          ++before;
          continue;
        }
        co_await before->end;
        before = running.erase(before);
      }
      if (one.status < 0) all.spawn(make(server, one, began - scaled(first)));
      else all.spawn(make_and_log(server, began - scaled(first), running.emplace_back(one)));
    }
    co_await all.join();
  }

  task<> make_and_log(channel& server, time_point began, running_call& which) {
    co_await make(server, which.recorded, began);
    which.end.set();
  }

  task<> make(channel& server, const recorded_call& one, time_point began) {
    call_options options;
    metadata sent;  // fields that a call may not set, such as the user-agent, are skipped
    for (const auto& [name, value] : one.metadata) static_cast<void>(sent.add(name, value));
    options.metadata.add_all(sent);
    options.content_subtype = one.content_subtype;
    if (one.timeout != duration::max()) options.timeout = one.timeout;
    const generic_stub stub(server);
    conversation call = stub.bidi(one.path.c_str(), options);
    scope background{co_await coro::this_environment()};
    background.spawn(send(call, one, began));
    if (was_cancelled(one)) background.spawn(cancel(call, one, began));
    bytes_message reply;
    for (;;) {
      const auto received = co_await call.next();
      if (!received.ok() || !*received) break;
    }
    const status outcome = co_await call.finish();
    background.request_stop();
    co_await background.join();
    ++calls;
    // Whether the client cancels or the server replies first is a race, so such calls are not compared.
    if (one.status < 0 || was_cancelled(one) || static_cast<int>(outcome.code()) == one.status) co_return;
    ++other_ends;
    std::fprintf(stderr, "#%llu %s: %s, recorded was %s\n", static_cast<unsigned long long>(one.number),
                 terminal_line(one.path).c_str(),
                 terminal_text(with_option_names(outcome.to_string())).c_str(),
                 std::string(name_of(static_cast<status_code>(one.status))).c_str());
  }

  static bool was_cancelled(const recorded_call& one) {
    return one.status == static_cast<int>(status_code::cancelled);
  }

  // Cancels the call when its original caller did.
  task<> cancel(conversation& call, const recorded_call& one, time_point began) {
    co_await until(began, one.ended);
    call.cancel();
  }

  task<> send(conversation& call, const recorded_call& one, time_point began) {
    for (const recorded_step& step : one.requests) {
      co_await until(began, step.at);
      const bytes_message request(step.request);
      const status sent = co_await call.write(request);
      if (!sent.ok()) co_return;
    }
    co_await call.writes_done();
  }
};

}  // namespace

void add_replay(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "replay", "repeats the calls that `coracle proxy --record` wrote, and compares the results");
  const auto it = std::make_shared<replay>();
  it->where.add_to(*command);
  command->add_option("FILE", it->file, "the recording")->required();
  command
      ->add_option("--speed", it->speed,
                   "the factor of the speed: 2 is twice as fast, 0 is without any pause")
      ->check([](const std::string& text) {
        double given = 0;
        const bool good = CLI::detail::lexical_cast(text, given) && given >= 0 && std::isfinite(given);
        return good ? std::string() : "it takes a number from 0 on, not '" + text + "'";
      })
      ->capture_default_str();
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
