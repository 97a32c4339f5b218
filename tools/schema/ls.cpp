// ls: coracle ls lists the services of a server and their methods.
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/schema/definition_text.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle::tools {

namespace {

struct ls {
  session at;
  std::vector<std::string> services;  // at most one
  bool methods = false;

  int run() {
    at.take_name_for_address(services);
    if (services.size() > 1) throw usage_failure("ls takes one service; there are more");
    if (!services.empty()) return print(methods_text(at.types().service(services.front()))), 0;
    for (const std::string& name : at.types().services()) print(methods ? methods_of(name) : name + "\n");
    return 0;
  }

  std::string methods_of(const std::string& name) {
    for (const auto* one : at.types().defined_services())
      if (one->full_name() == name) return methods_text(*one);
    return name + " (its definition is not available)\n";
  }
};

}  // namespace

void add_ls(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("ls", "List services and methods; with --proto or --protoset it needs no ADDRESS");
  const auto it = std::make_shared<ls>();
  it->at.add_to(*command, endpoint::address_use::optional);
  command->add_option("SERVICE", it->services, "List the methods of this service")->expected(0, 1);
  command->add_flag("-m,--methods", it->methods, "List the methods of all services");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
