// proxy: coracle proxy forwards calls from clients to a server, prints them, and can record them.
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/out_of_memory.hpp"
#include "tools/proxy/recording_service.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace coracle::tools {

namespace {

struct proxy {
  session at;
  std::string listen = "127.0.0.1:0";
  std::string record;
  bool reflection = false;

  int run() {
    go_on_when_memory_runs_out();
    std::optional<recorder> recording;
    if (!record.empty()) recording.emplace(record);
    recording_service service(at, recording ? &*recording : nullptr, reflection);
    server_options options;
    options.max_receive_bytes = at.where().max_message_bytes();
    server front(at.on(), options);
    front.set_fallback(service);
    if (const status bound = front.listen(listen, insecure()); !bound.ok())
      throw failure("cannot listen on " + listen + ": " + std::string(bound.message()));
    const bool by_port = !listen.starts_with("unix");
    const std::string here =
        by_port ? listen.substr(0, listen.rfind(':') + 1) + std::to_string(front.port()) : listen;
    std::fprintf(stderr, "listening on %s, for %s\n", here.c_str(), at.where().address().c_str());
    const int code = front.run();
    return service.lost() ? exit_failure : code;
  }
};

}  // namespace

void add_proxy(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("proxy", "Forward calls to a server, and print or record them");
  const auto it = std::make_shared<proxy>();
  it->at.add_to(*command);
  command->add_option("--listen", it->listen, "The address for clients, without TLS: host:port or unix:/path")
      ->type_name("ADDRESS")
      ->capture_default_str();
  command
      ->add_option("--record", it->record,
                   "Write the calls, with their metadata, into a new file for `coracle replay`")
      ->type_name("FILE");
  command->add_flag("--reflection", it->reflection, "Print and record the calls of reflection, too");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
