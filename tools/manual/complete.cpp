// complete: coracle complete, a hidden command that the completion scripts of all shells call. It prints one
// candidate a line, with a tab and a description behind it; ":files" asks the shell for file names.
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/manual/command_names.hpp"
#include "tools/manual/remote_names.hpp"
#include "tools/manual/shell_words.hpp"
#include "tools/standard_output.hpp"
#include "tools/targets.hpp"
#include "tools/terminal_text.hpp"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

namespace {

using word_list = std::vector<std::string>;

class candidates {
 public:
  explicit candidates(std::string_view begun) : begun_(begun) {}

  void add(const std::string& value, const std::string& description = {}) {
    if (!value.starts_with(begun_)) return;
    all_ += terminal_line(value);
    if (!description.empty()) all_ += "\t" + terminal_line(description);
    all_ += "\n";
  }
  void add_files() { all_ += ":files\n"; }
  [[nodiscard]] const std::string& text() const noexcept { return all_; }

 private:
  std::string_view begun_;
  std::string all_;
};

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// The option that `word` names, or null.
const CLI::Option* option_named(const CLI::App& command, const std::string& word) {
  return is_option(word) ? command.get_option_no_throw(word.substr(0, word.find('='))) : nullptr;
}

bool takes_value(const CLI::Option& o) { return o.get_expected_max() > 0; }

// The values of an option that has a fixed set, which its check describes as {a,b}.
word_list choices_of(const CLI::Option& o) {
  const std::string type = o.get_type_name();
  const std::size_t begin = type.find('{');
  word_list all;
  for (std::size_t at = begin; at != type.npos && type[at] != '}';) {
    const std::size_t end = type.find_first_of(",}", at + 1);
    if (end == type.npos) break;
    all.push_back(type.substr(at + 1, end - at - 1));
    at = end;
  }
  return all;
}

void add_values(candidates& to, const CLI::Option& o, const std::string& before = {}) {
  const word_list all = choices_of(o);
  for (const std::string& one : all) to.add(before + one);
  if (all.empty() && before.empty()) to.add_files();
}

void add_options(candidates& to, const CLI::App& command) {
  for (const CLI::Option* o : command.get_options()) {
    for (const std::string& name : o->get_lnames()) to.add("--" + name, o->get_description());
    for (const std::string& name : o->get_snames())
      if (o->get_lnames().empty()) to.add("-" + name, o->get_description());
  }
}

// How many positional arguments are among the words.
std::size_t positionals(const CLI::App& command, const word_list& typed) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < typed.size(); ++i) {
    const CLI::Option* const o = option_named(command, typed[i]);
    if (o && takes_value(*o) && typed[i].find('=') == std::string::npos) ++i;
    else if (!o && !is_option(typed[i])) ++count;
  }
  return count;
}

void add_arguments(candidates& to, const CLI::App& command, const word_list& typed,
                   const std::string& begun) {
  const std::string name = command.get_name();
  const std::size_t at = positionals(command, typed);
  const bool has_address = command.get_option_no_throw("ADDRESS") != nullptr;
  if (has_address && at == 0)
    for (const std::string& target : target_names())
      to.add("@" + target, "a target of the configuration file");
  if (name == "call" || name == "load" || name == "describe" || name == "ls" || name == "openapi")
    for (const remote_name& one : remote_names(name, typed, begun)) to.add(one.name, one.description);
  if (name == "binlog" || name == "diff" || name == "frames" || name == "replay" || name == "test")
    to.add_files();
}

// `typed` are the words behind "coracle" before the one that is being completed.
std::string complete(const CLI::App& app, word_list typed, const std::string& begun) {
  candidates found(begun);
  const CLI::App* command = &app;
  while (!typed.empty()) {
    const auto inner =
        command->get_subcommands([&](const CLI::App* one) { return one->get_name() == typed.front(); });
    if (inner.empty()) break;
    command = inner.front();
    typed.erase(typed.begin());
    if (command->get_name() == "help" || command->get_name() == "man") command = &app;
  }
  if (!typed.empty()) {
    const CLI::Option* const before = option_named(*command, typed.back());
    if (before && takes_value(*before) && typed.back().find('=') == std::string::npos)
      return add_values(found, *before), found.text();
  }
  if (is_option(begun) || begun == "-") {
    const CLI::Option* const o = begun.find('=') == begun.npos ? nullptr : option_named(*command, begun);
    if (o) add_values(found, *o, begun.substr(0, begun.find('=') + 1));
    else add_options(found, *command);
    return found.text();
  }
  if (typed.empty())
    for (const CLI::App* one : command->get_subcommands({}))
      if (!one->get_group().empty()) found.add(one->get_name(), one->get_description());
  if (command != &app) add_arguments(found, *command, typed, begun);
  return found.text();
}

}  // namespace

void add_complete(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("complete", "Print completions for the scripts of shells");
  command->group("");
  const auto typed = std::make_shared<word_list>();
  const auto line = std::make_shared<std::string>();
  command->add_option("WORD", *typed, "The words behind coracle; the last one is being completed");
  command->add_option("--line", *line, "The whole line up to the cursor, in place of the words");
  command->callback([&app, &chosen, typed, line] {
    chosen = [&app, typed, line] {
      word_list all = *typed;
      if (!line->empty()) {
        all = shell_words(*line);
        if (!all.empty()) all.erase(all.begin());
      }
      std::string begun;
      if (!all.empty()) begun = all.back(), all.pop_back();
      print(complete(app, all, begun));
      return 0;
    };
  });
}

}  // namespace coracle::tools
