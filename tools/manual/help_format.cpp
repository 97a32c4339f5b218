#include "tools/manual/help_format.hpp"

#include "tools/manual/examples.hpp"
#include "tools/manual/option_text.hpp"
#include "tools/wrapped_text.hpp"

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace coracle::tools {

namespace {

constexpr std::size_t text_column = 26;

// A term that is too long has a line of its own.
void add_entry(std::string& to, const std::string& term, const std::string& text) {
  to.append("  ").append(term);
  if (term.size() + 4 > text_column) to.append("\n").append(text_column, ' ');
  else to.append(text_column - 2 - term.size(), ' ');
  add_wrapped(to, text, text_column);
}

void add_options(std::string& to, const CLI::App& command, const std::string& group) {
  std::string entries;
  for (const CLI::Option* const o : command.get_options()) {
    if (o->get_positional() || o->get_group() != group) continue;
    const std::string term = option_term(*o);
    add_entry(entries, o->get_snames().empty() ? "    " + term : term, option_content(*o));
  }
  if (!entries.empty()) to += "\n" + group + ":\n" + entries;
}

void add_examples(std::string& to, std::span<const example> all) {
  if (!all.empty()) to += "\nExamples:\n";
  for (const example& one : all)
    to.append("  # ").append(one.purpose).append("\n  ").append(one.line).append("\n");
}

}  // namespace

std::string help_format::make_help(const CLI::App* command, std::string name, CLI::AppFormatMode) const {
  std::string text;
  add_wrapped(text, command->get_description(), 0);
  const std::vector<const CLI::App*> inner =
      command->get_subcommands([](const CLI::App* one) { return !is_hidden(*one); });
  const bool is_program = command->get_parent() == nullptr;

  std::string usage = "\nUsage: " + name;
  if (!is_program) usage += " [OPTIONS]";
  for (const std::string& term : positional_terms(*command)) usage += " " + term;
  if (!inner.empty() && command->get_require_subcommand_min() > 0) usage += " COMMAND";
  if (is_program) usage += " [ARGUMENTS]";
  text += usage + "\n";

  std::string arguments;
  for (const CLI::Option* const o : command->get_options())
    if (o->get_positional()) add_entry(arguments, option_term(*o), option_content(*o));
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;

  if (!inner.empty()) text += "\nCommands:\n";
  for (const CLI::App* const one : inner) {
    const std::string summary = one->get_description();
    add_entry(text, one->get_name(), summary.substr(0, summary.find("; ")));
  }
  for (const std::string& group : option_groups(*command)) add_options(text, *command, group);
  if (const std::string footer = command->get_footer(); !footer.empty()) text += "\n" + footer + "\n";
  const bool is_inner = !is_program && command->get_parent()->get_parent() != nullptr;
  const std::string own_name = is_program ? std::string() : command->get_name();
  add_examples(text, examples_of(is_inner ? command->get_parent()->get_name() + " " + own_name : own_name));
  return text;
}

}  // namespace coracle::tools
