// replay: coracle replay repeats the calls of a recording, at their original times or faster, and compares
// how they end and what the server replies.
#include "tools/commands.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/option_names.hpp"
#include "tools/proxy/recording.hpp"
#include "tools/proxy/reply_comparison.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"
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
#include <cstddef>
#include <cstdio>
#include <list>
#include <memory>
#include <string>
#include <utility>
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

// What came back, as far as it is not what was recorded.
struct replayed_call {
  explicit replayed_call(const recorded_call& c) : recorded(c) {}
  const recorded_call& recorded;
  std::size_t replies = 0;
  std::vector<std::pair<std::size_t, std::string>> other_replies;  // by index
};

std::string several(std::size_t count, const char* one, const char* more) {
  return std::to_string(count) + " " + (count == 1 ? one : more);
}

struct replay {
  session at;
  std::string file;
  double speed = 1;
  std::vector<std::string> ignored;
  bool status_only = false;

  int calls = 0;
  std::size_t statuses = 0, other_statuses = 0;  // that were compared, and that differ
  std::list<replayed_call> ended_as_recorded;  // with OK

  int run() {
    at.where().expect_before(file);
    const std::vector<recorded_call> recorded = read_recording(file);
    if (recorded.empty()) throw failure(file + " has no calls");
    sync_wait(at.on(), make_all(at.server(), recorded));
    std::string text = "replayed " + several(static_cast<std::size_t>(calls), "call", "calls") + ": " +
                       compared(statuses, other_statuses, "status", "statuses");
    std::size_t other_replies = 0;
    if (status_only) text += "; replies were not compared";
    else text += ", " + compare_replies(other_replies);
    if (const std::size_t left = static_cast<std::size_t>(calls) - statuses; left > 0)
      text += "; " + several(left, "call", "calls") + " without a recorded end, or cancelled, not compared";
    print(terminal_text(text) + "\n");
    return other_statuses + other_replies == 0 ? 0 : exit_check_failed;
  }

  // "all 6 statuses match", "1 of 6 statuses differs"
  static std::string compared(std::size_t count, std::size_t other, const char* one, const char* more) {
    if (count == 0) return std::string("no ") + more + " to compare";
    if (other > 0)
      return std::to_string(other) + " of " + several(count, one, more) +
             (other == 1 ? " differs" : " differ");
    return count == 1 ? std::string("1 ") + one + " matches" : "all " + several(count, one, more) + " match";
  }

  // Prints the differences, and returns what was compared.
  std::string compare_replies(std::size_t& other) {
    reply_comparison comparison(at, ignored);
    std::size_t count = 0;
    bool any_differs = false;
    for (const replayed_call& one : ended_as_recorded) {
      const std::size_t expected = one.recorded.replies.size();
      count += std::max(one.replies, expected);
      for (const auto& [index, bytes] : one.other_replies) {
        any_differs = true;
        std::string found = comparison.differences(one.recorded.path, one.recorded.replies[index], bytes);
        if (found.empty()) continue;
        ++other;
        if (found.back() == '\n') found.pop_back();
        for (std::size_t line = 0; (line = found.find('\n', line)) != found.npos; line += 3)
          found.replace(line, 1, "\n  ");
        report(one.recorded, "reply " + std::to_string(index + 1) + " differs:\n  " + found);
      }
      if (one.replies == expected) continue;
      other += std::max(one.replies, expected) - std::min(one.replies, expected);
      report(one.recorded,
             several(one.replies, "reply", "replies") + ", recorded were " + std::to_string(expected));
    }
    for (const std::string& name : comparison.unused())
      if (any_differs) print_warning("no reply that differs has a field '" + name + "' (--ignore)");
    std::string text = compared(count, other, "reply", "replies");
    for (const std::string& name : ignored) text += (&name == &ignored.front() ? " without " : ", ") + name;
    for (const std::string& path : comparison.in_bytes())
      text += "; those of " + path + " in bytes, because their definition is not available";
    return text;
  }

  static void report(const recorded_call& which, const std::string& text) {
    std::fprintf(stderr, "#%llu %s: %s\n", static_cast<unsigned long long>(which.number),
                 terminal_line(which.path).c_str(), terminal_text(text).c_str());
  }

  // The recorded time since the beginning, divided by the speed; zero if the speed is 0.
  [[nodiscard]] duration scaled(duration moment) const {
    if (speed <= 0) return duration::zero();
    using exact = std::chrono::duration<double, duration::period>;
    return std::chrono::duration_cast<duration>(
        std::clamp<exact>(moment / speed, -recorded_time_max, recorded_time_max));
  }
  task<> until(time_point began, duration moment) {
    const duration left = began + scaled(moment) - coro::this_executor().now();
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
    replayed_call got(one);
    for (;;) {
      const auto received = co_await call.next();
      if (!received.ok() || !*received) break;
      const std::string& bytes = (*received)->bytes();
      const std::size_t index = got.replies++;
      if (!status_only && index < one.replies.size() && one.replies[index] != bytes)
        got.other_replies.emplace_back(index, bytes);
    }
    const status outcome = co_await call.finish();
    background.request_stop();
    co_await background.join();
    ++calls;
    // Whether the client cancels or the server replies first is a race, so such calls are not compared.
    if (one.status < 0 || was_cancelled(one)) co_return;
    ++statuses;
    if (static_cast<int>(outcome.code()) == one.status) {
      // Otherwise the number of replies may depend on the time, as with a deadline.
      if (!status_only && outcome.ok()) ended_as_recorded.push_back(std::move(got));
      co_return;
    }
    ++other_statuses;
    report(one, with_option_names(outcome.to_string()) + ", recorded was " +
                    std::string(name_of(static_cast<status_code>(one.status))));
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
  CLI::App* const command =
      app.add_subcommand("replay", "Repeat recorded calls, and compare their statuses and replies");
  const auto it = std::make_shared<replay>();
  it->at.add_to(*command);
  command->add_option("FILE", it->file, "The file that `coracle proxy --record` wrote")->required();
  command
      ->add_option("--speed", it->speed,
                   "The factor of the speed: 2 is twice as fast, 0 is without any pause")
      ->type_name("N")
      ->check([](const std::string& text) {
        double given = 0;
        const bool good = CLI::detail::lexical_cast(text, given) && given >= 0 && std::isfinite(given);
        return good ? std::string() : "it takes a number from 0 on, not '" + text + "'";
      })
      ->capture_default_str();
  command
      ->add_option("--ignore", it->ignored,
                   "A field of replies that is not compared: id, movieId or movie.Movie.id; may be repeated")
      ->type_name("FIELD")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--status-only", it->status_only, "Compare the statuses of calls, not their replies");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
