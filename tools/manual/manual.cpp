// manual: coracle man prints the manual page, generated from the command line's definition.
#include "tools/commands.hpp"

#include <coracle/base/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>

namespace coracle::tools {

namespace {

// Escapes what roff would interpret.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += std::string("\\&") + c;
    else out += c;
  }
  return out;
}

void print_options(const CLI::App& command) {
  for (const CLI::Option* o : command.get_options()) {
    if (o->get_name() == "--help") continue;
    std::printf(".TP\n.B %s\n%s\n", escaped(o->get_name(o->get_positional(), true)).c_str(),
                escaped(o->get_description()).c_str());
  }
}

void print_manual(const CLI::App& app) {
  std::printf(".TH CORACLE 1 \"\" \"coracle %s\" \"User Commands\"\n", version_text);
  std::printf(".SH NAME\ncoracle \\- %s\n", "calls gRPC servers, and looks into them");
  std::printf(".SH SYNOPSIS\n.B coracle\n.I COMMAND\n[\\fIARGUMENT\\fR...]\n.SH COMMANDS\n");
  for (const CLI::App* one : app.get_subcommands({})) {
    std::printf(".SS coracle %s\n%s\n", escaped(one->get_name()).c_str(),
                escaped(one->get_description()).c_str());
    print_options(*one);
    for (const CLI::App* inner : one->get_subcommands({}))
      std::printf(".TP\n.B %s\n%s\n", escaped(inner->get_name()).c_str(),
                  escaped(inner->get_description()).c_str());
  }
  std::printf(
      ".SH EXIT STATUS\n0, the status code of a failed call (1 to 16; 14 where no server can be reached, 4 "
      "where a deadline "
      "expires), 64 for an invalid command line, 65 for "
      "any other failure, memory that has run out among them, 66 where an expectation of\n.B load\ndoes not "
      "hold.\n.B health\n"
      "ends with 0 when the server serves, 1 when it does not, and 2 without an answer.\n");
  std::printf(
      ".SH ENVIRONMENT\n.TP\n.B CORACLE_LOG\ndebug, info, warning or error: what is logged to stderr, and "
      "what is worse; warning unless told.\n.TP\n.B CORACLE_BACKEND\nauto, io_uring or epoll.\n.TP\n.B "
      "grpc_proxy, https_proxy, no_grpc_proxy, no_proxy\nproxies to go by, as in other gRPC clients.\n");
  std::printf(
      ".SH EXAMPLES\n.EX\ncoracle ls localhost:50051 \\-p\ncoracle call localhost:50051 \\-p AddMovie "
      "\\-d \\(aq{\"title\": \"Alien\"}\\(aq\ncoracle load localhost:50051 \\-p AddMovie \\-d "
      "\\(aq{\"title\": \"x\"}\\(aq \\-\\-rate 500 \\-\\-report load.html\n.EE\n");
}

}  // namespace

void add_man(CLI::App& app, action& chosen) {
  app.add_subcommand("man", "prints the manual page: coracle man | man -l -")->callback([&app, &chosen] {
    chosen = [&app] {
      print_manual(app);
      return 0;
    };
  });
}

}  // namespace coracle::tools
