// chaos: coracle chaos forwards connections to a server, and injures them by a script and a seed.
#include "tools/chaos/relay.hpp"
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"
#include "tools/out_of_memory.hpp"
#include "tools/standard_output.hpp"

#include <coracle/client/sync_wait.hpp>
#include <coracle/net/connect.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/net/signal_watch.hpp>
#include <coracle/runtime.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

using namespace chaos;

constexpr std::size_t script_bytes_max = 1u << 20;

struct chaos_run {
  std::string address;
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> typed;
  std::string script;
  std::uint64_t seed = 0;
  bool has_seed = false;

  std::optional<net::address> known_address{};
  std::string host{};
  std::uint16_t port = 0;
  std::vector<fault> faults{};
  std::optional<impostor_authority> authority{};
  time_point start{};
  std::uint64_t connections = 0;
  std::uint64_t deceived = 0;  // clients that have accepted an impostor's certificate
  std::array<std::uint64_t, fault_kind_count> counts{};

  int run() {
    go_on_when_memory_runs_out();
    read_address();
    if (!script.empty()) faults = parse_script(regular_file_content(script, script_bytes_max), script);
    for (const std::string& one : typed) faults.push_back(parse_fault(one, "--fault"));
    if (faults.empty()) throw usage_failure("there is no fault", "--fault 'close 30s', or --script FILE");
    if (std::ranges::find(faults, fault_kind::certificate, &fault::kind) != faults.end()) authority.emplace();
    if (!has_seed) seed = std::random_device()();
    runtime on({.loops = 1});
    sync_wait(on, on.at(0), serve());
    std::string text = std::to_string(connections) + (connections == 1 ? " connection" : " connections");
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0)
        text.append(", ")
            .append(name_of(static_cast<fault_kind>(i)))
            .append(" ")
            .append(std::to_string(counts[i]));
    if (deceived > 0) text.append(", ACCEPTED ").append(std::to_string(deceived));
    print(text + "\n");
    return 0;
  }

 private:
  // Until a signal comes.
  task<> serve() {
    const auto at = net::parse_addresses(listen);
    if (!at.ok()) throw usage_failure("--listen: " + std::string(at.status().message()));
    result<net::listener> opened = net::listener::open(at->front());
    if (!opened.ok())
      throw failure("cannot listen on " + listen + ": " + std::string(opened.status().message()));
    net::listener front = std::move(opened).value();
    net::signal_watch signals = net::signal_watch::open().value();
    start = loop::current()->now();
    std::fprintf(stderr, "listening on %s, for %s, seed %llu\n", front.local_address().to_string().c_str(),
                 address.c_str(), static_cast<unsigned long long>(seed));
    scope work{co_await coro::this_environment()};
    work.spawn(accept(front, work));
    work.spawn(stop_at_signal(signals, work));
    co_await work.join();
  }

  static task<> stop_at_signal(net::signal_watch& signals, scope& work) {
    static_cast<void>(co_await signals.next());
    work.request_stop();
  }

  task<> accept(net::listener& front, scope& work) {
    while (true) {
      try {
        result<net::stream> accepted = co_await front.accept();
        if (!accepted.ok()) break;
        work.spawn(relay_one(std::move(accepted).value(), ++connections));
      } catch (const std::bad_alloc&) {
        say_that_memory_is_lacking();
      }
    }
    co_await front.close();
  }

  static void say_that_memory_is_lacking() {
    std::fputs("a connection has ended: there is no memory for it\n", stderr);
  }

  // A connection for which there is no memory ends alone.
  task<> relay_one(net::stream client, std::uint64_t number) {
    try {
      co_await relay_with_memory(std::move(client), number);
    } catch (const std::bad_alloc&) {
      say_that_memory_is_lacking();
    } catch (const failure& why) {
      print_line(number, why.what());
    }
  }

  task<> relay_with_memory(net::stream client, std::uint64_t number) {
    const duration began = loop::current()->now() - start;
    fault_plan plan(faults, seed, number, began);
    if (plan.refuses()) {
      hear(number, fault_kind::refuse, "");
      client.close(true);
      co_return;
    }
    result<net::stream> server = co_await connect();
    if (!server.ok()) {
      print_line(number, "no server: " + std::string(server.status().message()));
      client.close(true);
      co_return;
    }
    relay between(std::move(client), std::move(server).value(), std::move(plan),
                  authority ? &*authority : nullptr, start,
                  [this, number](fault_kind k, std::string_view what) { hear(number, k, what); });
    co_await between.run();
    if (between.is_deceived()) ++deceived;
  }

  task<result<net::stream>> connect() {
    if (known_address) co_return co_await net::stream::connect(*known_address);
    co_return co_await net::connect(host, port);
  }

  // Of a name with a port, or of an address.
  void read_address() {
    if (const result<net::address> known = net::address::parse(address); known.ok()) {
      known_address = *known;
      return;
    }
    const std::size_t colon = address.rfind(':');
    const char* const end = address.data() + address.size();
    if (colon != std::string::npos && colon > 0) {
      host = address.substr(0, colon);
      const auto read = std::from_chars(address.data() + colon + 1, end, port);
      if (read.ec == std::errc() && read.ptr == end && port != 0) return;
    }
    throw usage_failure("'" + address + "' is not of the form host:port or unix:/path");
  }

  void hear(std::uint64_t connection, fault_kind k, std::string_view what) {
    ++counts[static_cast<std::size_t>(k)];
    print_line(connection, std::string(name_of(k)) + (what.empty() ? "" : " ") + std::string(what));
  }

  void print_line(std::uint64_t connection, const std::string& text) const {
    std::array<char, 64> head{};
    const double seconds = std::chrono::duration<double>(loop::current()->now() - start).count();
    std::snprintf(head.data(), head.size(), "%10.3f #%llu ", seconds,
                  static_cast<unsigned long long>(connection));
    print(head.data() + text + "\n");
  }
};

}  // namespace

void add_chaos(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("chaos", "Forward connections to a server, with faults by a script and a seed");
  const auto it = std::make_shared<chaos_run>();
  command->add_option("address", it->address, "The server: host:port or unix:/path")
      ->type_name("ADDRESS")
      ->required();
  command->add_option("--listen", it->listen, "The address for clients: host:port or unix:/path")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command
      ->add_option(
          "--fault", it->typed,
          "A fault, such as 'delay 20ms..200ms', 'slow 64KB', 'refuse 10%', 'handshake 10%', 'alert 10%', "
          "'certificate 10%', 'close 30s', 'truncate 1MB', 'stall 30s', 'corrupt 1MB', 'goaway 30s' or "
          "'reset 10%', with 'from 10s to 20s' on request; may be repeated")
      ->type_name("FAULT");
  command->add_option("--script", it->script, "A file with a fault on each line")->type_name("FILE");
  CLI::Option* const seed =
      command->add_option("--seed", it->seed, "Repeats the faults of the run that printed this number")
          ->type_name("N");
  command->callback([it, seed, &chosen] {
    it->has_seed = seed->count() > 0;
    chosen = [it] { return it->run(); };
  });
}

}  // namespace coracle::tools
