#include "tools/manual/command_names.hpp"

#include <CLI/CLI.hpp>

namespace coracle::tools {

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::App* one : app.get_subcommands({}))
    if (!one->get_group().empty()) all.push_back(one->get_name());
  return all;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::Option* o : app.get_options()) {
    for (const std::string& name : o->get_snames()) all.push_back("-" + name);
    for (const std::string& name : o->get_lnames()) all.push_back("--" + name);
  }
  return all;
}

}  // namespace coracle::tools
