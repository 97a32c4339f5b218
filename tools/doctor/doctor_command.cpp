// doctor: coracle doctor looks for what makes this machine, or a server, not work as expected.
#include "tools/commands.hpp"
#include "tools/doctor/findings.hpp"
#include "tools/doctor/machine.hpp"
#include "tools/doctor/server.hpp"
#include "tools/endpoint.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace coracle::tools {

namespace {

struct doctor_command {
  endpoint where;
  bool as_json = false;

  int run() {
    doctor::findings all(as_json);
    if (where.typed_address().empty()) check_machine(all);
    else check_server(all);
    all.finish();
    return all.has_problems() ? exit_check_failed : 0;
  }

  static void check_machine(doctor::findings& to) {
    to.begin("machine");
    doctor::check_kernel(to);
    doctor::check_limits(to);
    doctor::check_network(to);
  }

  void check_server(doctor::findings& to) {
    static_cast<void>(where.credentials());  // options that contradict each other end the command
    to.begin("server");
    const doctor::server_name server = doctor::check_addresses(to, where);
    if (server.reached && doctor::check_connection(to, where, server)) doctor::check_calls(to, where);
  }
};

}  // namespace

void add_doctor(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("doctor",
                                               "Check this machine, or a server if there is an ADDRESS, and "
                                               "say what to do about each problem; the exit code is 66 "
                                               "if there are problems");
  const auto it = std::make_shared<doctor_command>();
  it->where.add_to(*command, endpoint::address_use::optional);
  command->add_flag("--json", it->as_json, "Print JSON, for support: it contains no secrets");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
