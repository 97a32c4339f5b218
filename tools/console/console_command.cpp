// console: coracle console serves a page from which people call gRPC servers in a browser.
#include "tools/commands.hpp"
#include "tools/console/any_server.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/out_of_memory.hpp"
#include "tools/standard_output.hpp"

#include <coracle/runtime/sync_wait.hpp>
#include <coracle/server.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace coracle::tools {

namespace {

struct console_command {
  session at;
  // Browsers keep the history and the saved calls by the address of the page.
  std::uint16_t port = 50050;

  int run() {
    go_on_when_memory_runs_out();
    // These check the options, and are only read later, on several threads.
    if (!at.where().typed_address().empty()) static_cast<void>(at.server());
    if (at.has_files()) static_cast<void>(at.types());
    const auto host = std::make_shared<any_server>(at);
    server page(at.on());
    console::add_console(page, "", host);
    if (const status bound = page.listen("127.0.0.1:" + std::to_string(port), insecure()); !bound.ok())
      throw failure("cannot listen on port " + std::to_string(port) + ": " + std::string(bound.message()),
                    "--port 0 takes any free port");
    print("The console is at http://127.0.0.1:" + std::to_string(page.port()) + "/#" + host->token() +
          "\nAnyone who has this address can use the page. Ctrl-C ends it.\n");
    flush_output();
    // Beside run(): a loop that is driven between listen() and run() no longer keeps a SIGTERM for it.
    if (!at.where().typed_address().empty())
      at.on().spawn(warn_unless_connected(at.server(), at.where().address()));
    return page.run();
  }

  static task<> warn_unless_connected(channel& server, std::string address) {
    const bool answers = co_await is_connected(server);
    if (!answers) print_warning(address + " does not answer yet: the page shows its services when it does");
  }

  // Waits for a moment until the channel is connected.
  static task<bool> is_connected(channel& server) {
    constexpr duration patience = std::chrono::milliseconds(500);
    const time_point until = deadline_after(server.owner().now(), patience);
    server.connect();
    for (;;) {
      const connectivity now = server.state();
      if (now == connectivity::ready || now == connectivity::transient_failure)
        co_return now == connectivity::ready;
      const duration left = until - server.owner().now();
      if (left <= duration::zero()) co_return false;
      const bool changed = co_await server.wait_for_state_change(now, left);
      if (!changed) co_return false;
    }
  }
};

}  // namespace

void add_console(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("console", "Serve a page on this machine, from which a browser calls servers");
  const auto it = std::make_shared<console_command>();
  it->at.add_to(*command, endpoint::address_use::optional);
  command->add_option("--port", it->port, "The port of the page on 127.0.0.1; 0 takes any free port")
      ->type_name("PORT")
      ->capture_default_str();
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
