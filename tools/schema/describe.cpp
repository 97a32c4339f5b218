// describe: coracle describe prints services, methods and messages in the syntax of .proto files.
#include "tools/commands.hpp"
#include "tools/schema/definition_text.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle::tools {

namespace {

struct describe {
  session at;
  std::vector<std::string> names;

  int run() {
    at.take_name_for_address(names);
    if (names.empty())
      for (const std::string& name : at.types().services()) print(definition_text(at.types().service(name)));
    for (const std::string& name : names) print(definition_text(at.types(), name));
    return 0;
  }
};

}  // namespace

void add_describe(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("describe",
                                               "services, methods (with their messages), messages and enums, "
                                               "as .proto text; with --proto or --protoset "
                                               "no ADDRESS is needed");
  const auto it = std::make_shared<describe>();
  it->at.add_to(*command, endpoint::address_use::optional);
  command->add_option("NAME", it->names,
                      "package.Service, package.Service/Method, package.Message; default: all services");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
