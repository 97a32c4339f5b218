// commands: the subcommands of coracle; each function adds one to the command line.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace coracle::tools {

// Runs a subcommand and returns the program's exit code. Set by the subcommand that the command line names.
using action = std::function<int()>;

void add_ls(CLI::App& app, action& chosen);
void add_describe(CLI::App& app, action& chosen);
void add_call(CLI::App& app, action& chosen);
void add_test(CLI::App& app, action& chosen);
void add_repl(CLI::App& app, action& chosen);
void add_console(CLI::App& app, action& chosen);
void add_proxy(CLI::App& app, action& chosen);
void add_chaos(CLI::App& app, action& chosen);
void add_replay(CLI::App& app, action& chosen);
void add_load(CLI::App& app, action& chosen);
void add_health(CLI::App& app, action& chosen);
void add_doctor(CLI::App& app, action& chosen);
void add_top(CLI::App& app, action& chosen);
void add_pages(CLI::App& app, action& chosen);
void add_xds(CLI::App& app, action& chosen);
void add_bench(CLI::App& app, action& chosen);
void add_openapi(CLI::App& app, action& chosen);
void add_diff(CLI::App& app, action& chosen);
void add_binlog(CLI::App& app, action& chosen);
void add_frames(CLI::App& app, action& chosen);
void add_certs(CLI::App& app, action& chosen);
void add_new(CLI::App& app, action& chosen);
void add_completion(CLI::App& app, action& chosen);
void add_complete(CLI::App& app, action& chosen);
void add_man(CLI::App& app, action& chosen);
void add_help(CLI::App& app, action& chosen);
void add_version(CLI::App& app, action& chosen);

}  // namespace coracle::tools
