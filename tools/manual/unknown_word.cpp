#include "tools/manual/unknown_word.hpp"

#include "tools/manual/closest_words.hpp"
#include "tools/manual/command_names.hpp"

#include <CLI/CLI.hpp>

#include <vector>

namespace coracle::tools {

namespace {

// Returns "coracle help certs" for the command certs.
std::string help_on(const CLI::App& command) {
  if (!command.get_parent()) return command.get_name() + " help";
  return help_on(*command.get_parent()) + " " + command.get_name();
}

std::string unknown_option(const CLI::App& of, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const std::string found = of.get_parent() ? of.get_name() + " has no option " : "there is no option ";
  return found + name + suggestion(closest_words(name, flags_of(of))) + " '" + help_on(of) +
         "' lists its options";
}

}  // namespace

std::string unknown_command(const CLI::App& of, const std::string& word) {
  const std::string found = of.get_parent() ? of.get_name() + " has no command" : "there is no command";
  return found + " '" + word + "'" + suggestion(closest_words(word, commands_of(of))) + " '" + help_on(of) +
         "' lists its commands";
}

std::string unknown_word(const CLI::App& parsed) {
  for (const std::string& word : parsed.remaining()) {
    if (word.size() > 1 && word.front() == '-') return unknown_option(parsed, word);
    if (!commands_of(parsed).empty()) return unknown_command(parsed, word);
  }
  const std::vector<CLI::App*> inner = parsed.get_subcommands();
  return inner.empty() ? std::string() : unknown_word(*inner.front());
}

}  // namespace coracle::tools
