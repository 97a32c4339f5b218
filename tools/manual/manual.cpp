// manual: coracle man prints manual pages in roff: one of the program, and one of each command. They are made
// from the command line's definition.
#include "tools/commands.hpp"
#include "tools/exit_codes.hpp"
#include "tools/failure.hpp"
#include "tools/manual/command_names.hpp"
#include "tools/manual/examples.hpp"
#include "tools/manual/option_text.hpp"
#include "tools/manual/unknown_word.hpp"
#include "tools/standard_output.hpp"

#include <coracle/base/version.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <span>
#include <string>

namespace coracle::tools {

namespace {

// Escapes what roff would interpret.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (c == '\'') out += "\\(aq";
    else if (c == '.' && (out.empty() || out.back() == '\n')) out += "\\&.";
    else out += c;
  }
  return out;
}

class page {
 public:
  explicit page(const std::string& title) {
    add(".TH " + title + " 1 \"\" \"coracle " + version_text + "\" \"User Commands\"\n");
  }

  void section(const std::string& name) { add(".SH " + name + "\n"); }
  void text(const std::string& content) { add(escaped(content) + "\n"); }
  void item(const std::string& term, const std::string& content) {
    add(".TP\n.B " + escaped(term) + "\n" + escaped(content) + "\n");
  }
  void add(const std::string& roff) { all_ += roff; }

  void name(const std::string& command, const std::string& summary) {
    section("NAME");
    add(escaped(command) + " \\- " + escaped(summary) + "\n");
  }

  void exit_status(std::span<const exit_code> codes) {
    section("EXIT STATUS");
    for (const exit_code& one : codes) item(one.code, one.meaning);
  }

  void examples(std::span<const example> examples) {
    if (examples.empty()) return;
    section("EXAMPLES");
    for (const example& one : examples)
      add((&one == examples.data() ? "" : ".PP\n") + escaped(one.purpose) + "\n.PP\n.RS 4\n.EX\n" +
          escaped(one.line) + "\n.EE\n.RE\n");
  }

  [[nodiscard]] const std::string& roff() const noexcept { return all_; }

 private:
  std::string all_;
};

void add_options(page& to, const CLI::App& command, const std::string& group) {
  for (const CLI::Option* o : command.get_options())
    if (!o->get_positional() && o->get_group() == group && o->get_name() != "--help")
      to.item(option_term(*o), option_content(*o));
}

std::string command_page(const CLI::App& command) {
  const std::string name = "coracle " + command.get_name();
  std::string title = "CORACLE-" + command.get_name();
  for (char& c : title) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  page p(title);
  p.name("coracle-" + command.get_name(), command.get_description());
  p.section("SYNOPSIS");
  std::string synopsis = ".B " + name + "\n[\\fIOPTION\\fR...]";
  for (const std::string& term : positional_terms(command)) {
    // What is not the name is not set in italics.
    const bool optional = term.starts_with('['), repeated = term.find("...") != term.npos;
    const std::string positional = term.substr(optional, term.find_first_of(".]") - optional);
    synopsis += std::string(optional ? " [\\fI" : " \\fI") + escaped(positional) +
                (repeated ? "\\fR..." : "\\fR") + (optional ? "]" : "");
  }
  if (!commands_of(command).empty()) synopsis += " \\fICOMMAND\\fR";
  p.add(synopsis + "\n");
  if (!commands_of(command).empty()) p.section("COMMANDS");
  for (const CLI::App* inner : command.get_subcommands({})) {
    p.item(inner->get_name(), inner->get_description());
    for (const CLI::Option* o : inner->get_options())
      if (o->get_name() != "--help")
        p.add(".RS\n"), p.item(option_term(*o), option_content(*o)), p.add(".RE\n");
  }
  p.section("ARGUMENTS AND OPTIONS");
  for (const CLI::Option* o : command.get_options())
    if (o->get_positional()) p.item(o->get_name(true), option_content(*o));
  for (const std::string& group : option_groups(command)) {
    if (group != "Options") p.add(".SS " + escaped(group) + "\n");
    add_options(p, command, group);
  }
  p.item("-h, --help", "Print this help");
  p.exit_status(command.get_name() == "health" ? std::span<const exit_code>(health_exit_codes) : exit_codes);
  p.examples(examples_of(command.get_name()));
  p.section("SEE ALSO");
  p.add(".BR coracle (1)\n");
  return p.roff();
}

std::string overview_page(const CLI::App& app) {
  page p("CORACLE");
  p.name("coracle", app.get_description());
  p.section("SYNOPSIS");
  p.add(".B coracle\n.I COMMAND\n[\\fIARGUMENT\\fR...]\n");
  p.section("DESCRIPTION");
  p.text(
      "coracle lists the services of a server, calls their methods, measures them under load, and records "
      "and "
      "repeats calls. It works with any gRPC server. It reads the definitions of messages by reflection, "
      "from "
      ".proto files or from descriptor sets.");
  p.section("COMMANDS");
  for (const CLI::App* one : app.get_subcommands({})) {
    if (is_hidden(*one)) continue;
    p.item("coracle " + one->get_name(), one->get_description());
  }
  p.exit_status(exit_codes);
  p.section("ENVIRONMENT");
  p.item("CORACLE_LOG",
         "the least severe messages that are logged to stderr: debug, info, warning (the "
         "default) or error");
  p.item("CORACLE_BACKEND", "auto (the default), io_uring or epoll");
  p.item("CORACLE_CONFIG",
         "the configuration file with named targets, in place of coracle/config.json in "
         "XDG_CONFIG_HOME (normally ~/.config)");
  p.item("NO_COLOR, CLICOLOR_FORCE", "if set, output has no colours, or has them also in files and pipes");
  p.item("grpc_proxy, https_proxy, no_grpc_proxy, no_proxy", "HTTP proxies, as in other gRPC clients");
  p.examples(examples_of(""));
  p.section("SEE ALSO");
  std::string others;
  for (const CLI::App* one : app.get_subcommands({}))
    if (!is_hidden(*one))
      others += (others.empty() ? "" : ",\n") + (".BR coracle\\-" + one->get_name()) + " (1)";
  p.add(others + "\n");
  return p.roff();
}

}  // namespace

void add_man(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("man", "Print a manual page: coracle man call | man -l -");
  const auto name = std::make_shared<std::string>();
  command->add_option("COMMAND", *name, "The command; default: the whole program");
  command->callback([&app, &chosen, name] {
    chosen = [&app, name] {
      if (name->empty()) return print(overview_page(app)), 0;
      const auto found = app.get_subcommands(
          [&](const CLI::App* one) { return one->get_name() == *name && !is_hidden(*one); });
      if (found.empty()) throw usage_failure(unknown_command(app, *name));
      return print(command_page(*found.front())), 0;
    };
  });
}

}  // namespace coracle::tools
