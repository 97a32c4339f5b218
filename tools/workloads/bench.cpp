// bench: coracle bench runs gRPCClient.jl's five workloads against any server of that .proto.
#include "tools/commands.hpp"
#include "tools/endpoint.hpp"
#include "tools/failure.hpp"
#include "tools/standard_output.hpp"
#include "tools/units.hpp"
#include "tools/workloads/allocated.hpp"
#include "tools/workloads/workloads.hpp"

#include <coracle/client.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/runtime.hpp>
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/sync_wait.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace coracle::tools {

namespace {

using stub = test::rpc::TestService::stub;

// The measurements of one loop.
struct measured {
  std::vector<double> us_per_message;  // of each round
  std::uint64_t messages = 0;
  double seconds = 0;
  allocated taken;
};

double seconds_of(duration d) { return std::chrono::duration<double>(d).count(); }

// The first round connects and warms up, and does not count.
task<> drive(stub to, const workloads::workload& one, duration length, measured& m) {
  co_await one.run(to);
  const time_point began = coro::this_executor().now();
  const allocated before = allocated_here();
  for (time_point round_began = began; round_began - began < length;) {
    const int n = co_await one.run(to);
    co_await sleep_for(duration::zero());  // the loop's clock advances only between iterations
    const time_point now = coro::this_executor().now();
    m.us_per_message.push_back(seconds_of(now - round_began) * 1e6 / n);
    m.messages += static_cast<std::uint64_t>(n);
    m.seconds = seconds_of(now - began);
    round_began = now;
  }
  m.taken = {allocated_here().count - before.count, allocated_here().bytes - before.bytes};
}

task<> drive_there(loop& there, stub to, const workloads::workload& one, duration length, measured& m) {
  co_await on(there, drive(to, one, length, m));
}

struct bench {
  endpoint where;
  std::vector<std::string> loops{"1"};
  std::vector<std::string> names;
  std::string seconds = "2s";
  bool stress = false;

  int run() {
    std::vector<const workloads::workload*> chosen;
    for (const std::string& name : names) {
      chosen.push_back(workloads::find(name));
      if (!chosen.back())
        throw usage_failure("there is no workload " + name + "; there are smol, big, req, resp and bidi");
    }
    if (names.empty())
      for (const auto& one : workloads::all()) chosen.push_back(&one);
    const duration length = parse_duration(seconds, "--seconds");
    if (length <= duration::zero()) throw usage_failure("--seconds must be more than 0s");
    try {
      do
        for (const std::string& n : loops) print_table(loops_of(n), chosen, length);
      while (stress);
    } catch (const status_error& error) {
      if (error.status().code() != status_code::unimplemented) throw;
      throw failure(where.address() + " has no test.TestService, as bench/protos/testsvc.proto defines it");
    }
    return 0;
  }

  static std::size_t loops_of(const std::string& text) {
    if (text == "auto") return std::max(1u, std::thread::hardware_concurrency());
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size() || n == 0 || n > 1024)
      throw usage_failure("--loops takes numbers and auto, such as 1,auto, not '" + text + "'");
    return n;
  }

  void print_table(std::size_t n, const std::vector<const workloads::workload*>& chosen,
                   duration length) const {
    for (const auto* one : chosen) {
      const std::vector<measured> all = measure(n, *one, length);
      if (one == chosen.front())  // the table's head is printed with its first line
        std::printf("%zu loop%s%53s%14s%14s%11s%10s%10s%10s\n", n, n == 1 ? " " : "s", "KiB/message",
                    "allocations", "messages/s", "mean µs", "std-dev", "min", "max");
      print_row(*one, all);
      flush_output();
    }
  }

  [[nodiscard]] std::vector<measured> measure(std::size_t n, const workloads::workload& one,
                                              duration length) const {
    runtime on_loops(n);
    channel server(on_loops, where.address(), where.credentials(), where.options());
    std::vector<measured> all(n);
    sync_wait(on_loops, drive_all(on_loops, server, one, length, all));
    return all;
  }

  static task<> drive_all(runtime& on_loops, channel& server, const workloads::workload& one, duration length,
                          std::vector<measured>& all) {
    scope work{co_await coro::this_environment()};
    for (std::size_t i = 0; i < all.size(); ++i)
      work.spawn(drive_there(on_loops.at(i), stub(server), one, length, all[i]));
    co_await work.join();
  }

  static void print_row(const workloads::workload& one, const std::vector<measured>& all) {
    std::vector<double> us;
    double messages = 0, rate = 0, count = 0, bytes = 0;
    for (const measured& m : all) {
      us.insert(us.end(), m.us_per_message.begin(), m.us_per_message.end());
      messages += static_cast<double>(m.messages);
      rate += static_cast<double>(m.messages) / m.seconds;
      count += static_cast<double>(m.taken.count);
      bytes += static_cast<double>(m.taken.bytes);
    }
    double mean = 0, square = 0;
    for (const double x : us) mean += x / static_cast<double>(us.size());
    for (const double x : us) square += (x - mean) * (x - mean) / static_cast<double>(us.size());
    const auto [least, most] = std::minmax_element(us.begin(), us.end());
    std::printf("%-60s%10.2f%14.2f%14.0f%10.2f%10.2f%10.2f%10.2f\n",
                (std::string(one.name) + ": " + std::string(one.text)).c_str(), bytes / messages / 1024,
                count / messages, rate, mean, std::sqrt(square), *least, *most);
  }
};

}  // namespace

void add_bench(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand(
      "bench", "Run the project's benchmark workloads against a server of test.TestService");
  command->group("");  // an internal benchmark: it needs a service of its own
  const auto it = std::make_shared<bench>();
  it->where.add_to(*command);
  command->add_option("WORKLOAD", it->names, "smol, big, req, resp or bidi; default: all");
  command->add_option("--loops", it->loops, "The numbers of threads, each of which gets a table")
      ->type_name("N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command->add_option("--seconds", it->seconds, "How long each workload runs")
      ->type_name("TIME")
      ->capture_default_str();
  command->add_flag("--stress", it->stress, "Repeat the workloads until it is stopped or a reply is wrong");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
