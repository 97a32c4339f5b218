// coracle ls: which services a server has, and which methods they have.
#include "tools/commands.hpp"
#include "tools/schema/definition_text.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace coracle::tools {

namespace {

struct ls {
  session at;
  std::string service;
  bool methods = false;

  int run() {
    if (!service.empty()) return print(methods_text(at.types().service(service))), 0;
    for (const std::string& name : at.types().services())
      print(methods ? methods_text(at.types().service(name)) : name + "\n");
    return 0;
  }
};

}  // namespace

void add_ls(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("ls", "the services of a server, or the methods of one");
  const auto it = std::make_shared<ls>();
  it->at.add_to(*command);
  command->add_option("SERVICE", it->service, "its methods");
  command->add_flag("-m,--methods", it->methods, "the methods of all services");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
