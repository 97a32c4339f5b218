// help: coracle help and coracle version print what --help and --version print.
#include "tools/commands.hpp"
#include "tools/exit_codes.hpp"
#include "tools/failure.hpp"
#include "tools/manual/unknown_word.hpp"
#include "tools/standard_output.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace coracle::tools {

namespace {

// "help certs server" prints what "certs server --help" prints.
void print_help(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() == 1 && words.front() == "exit-codes") return print(exit_code_table());
  const CLI::App* command = &app;
  std::string path = app.get_name();
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> inner =
        command->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (inner.empty()) throw usage_failure(unknown_command(*command, word));
    command = inner.front();
    path += " " + word;
  }
  // App::help() would descend to the parsed command, which is `help` itself.
  print(command->get_formatter()->make_help(command, path, CLI::AppFormatMode::Normal));
}

}  // namespace

void add_help(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("help", "Print the commands, or the usage of a command");
  const auto words = std::make_shared<std::vector<std::string>>();
  command->add_option("COMMAND", *words, "A command, or exit-codes");
  command->callback([&app, &chosen, words] {
    chosen = [&app, words] {
      print_help(app, *words);
      return 0;
    };
  });
}

void add_version(CLI::App& app, action& chosen) {
  app.add_subcommand("version", "Print the version of the program")->callback([&app, &chosen] {
    chosen = [&app] {
      print(app.version() + "\n");
      return 0;
    };
  });
}

}  // namespace coracle::tools
