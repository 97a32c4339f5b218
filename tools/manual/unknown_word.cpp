#include "tools/manual/unknown_word.hpp"

#include "tools/manual/closest_words.hpp"
#include "tools/manual/command_names.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

// Returns "coracle help certs" for the command certs.
std::string help_on(const CLI::App& command) {
  if (!command.get_parent()) return command.get_name() + " help";
  return help_on(*command.get_parent()) + " " + command.get_name();
}

// Options of other programs for the same purpose, whose names are not close to ours: of protoc, buf, grpcurl
// and others.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {
    {"--proto-path", "--import"},       {"--proto_path", "--import"},         {"--import-path", "--import"},
    {"--import_path", "--import"},      {"--insecure", "--plaintext"},        {"--cacert", "--ca"},
    {"--descriptor-set", "--protoset"}, {"--descriptor_set_in", "--protoset"}};

// What the user probably means.
std::vector<std::string> meant(const CLI::App& of, const std::string& name) {
  const std::vector<std::string> known = flags_of(of);
  for (const auto& [other, ours] : other_names)
    if (name == other && std::find(known.begin(), known.end(), ours) != known.end())
      return {std::string(ours)};
  return closest_words(name, known);
}

std::string unknown_option(const CLI::App& of, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const std::string found = of.get_parent() ? of.get_name() + " has no option " : "there is no option ";
  return found + name + suggestion(meant(of, name)) + " '" + help_on(of) + "' lists its options";
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
