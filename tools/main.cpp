// main: the program coracle, which calls and inspects gRPC servers of any implementation.
#include "tools/commands.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/manual/help_format.hpp"
#include "tools/manual/unknown_word.hpp"
#include "tools/option_names.hpp"
#include "tools/out_of_memory.hpp"
#include "tools/protobuf_log.hpp"
#include "tools/standard_files.hpp"
#include "tools/standard_output.hpp"

#include <coracle/base/version.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <system_error>

namespace {

using namespace coracle::tools;

// Prints requested help to stdout, and an error in the command line to stderr.
int end_of_parsing(CLI::App& app, const CLI::ParseError& error) {
  const bool wrong = error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success);
  if (const std::string text = wrong ? unknown_word(app) : std::string(); !text.empty())
    throw usage_failure(text);
  return app.exit(error) == 0 ? 0 : exit_usage;
}

std::string parse_error_text(const CLI::App* program, const CLI::Error& error) {
  std::string name = program->get_name();
  for (const CLI::App* at = program; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  return error_lines(error.what(), "'" + name + " --help' lists the arguments");
}

int run(CLI::App& app, int argc, char** argv, const action& chosen) {
  int code = 0;
  try {
    app.parse(argc, argv);
    code = chosen();
  } catch (const CLI::ParseError& error) {
    code = end_of_parsing(app, error);
  }
  flush_output();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_files();
  end_when_memory_runs_out();
  silence_protobuf();
  CLI::App app("Call, inspect and load test any gRPC server", "coracle");
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", std::string("coracle ") + coracle::version_text, "Print the version");
  app.formatter(std::make_shared<help_format>());
  app.failure_message(parse_error_text);
  app.require_subcommand(1);
  action chosen;
  for (const auto add :
       {add_ls,     add_describe,   add_call,     add_test, add_repl,    add_load,   add_health,
        add_doctor, add_top,        add_pages,    add_xds,  add_console, add_proxy,  add_replay,
        add_chaos,  add_openapi,    add_bench,    add_diff, add_binlog,  add_frames, add_certs,
        add_new,    add_completion, add_complete, add_man,  add_help,    add_version})
    add(app, chosen);
  app.footer("'coracle help COMMAND' describes a command, 'coracle help exit-codes' lists the exit codes.");
  try {
    return run(app, argc, argv, chosen);
  } catch (const output_failure& error) {
    if (error.reader_closed()) return exit_reader_closed;
    print_error(error.what());
    return exit_failure;
  } catch (const usage_failure& error) {
    print_error(error.what(), error.hint());
    return exit_usage;
  } catch (const std::bad_alloc&) {
    end_out_of_memory();
  } catch (const std::system_error& error) {
    const bool lacks_thread = error.code() == std::errc::resource_unavailable_try_again;
    print_error(std::string(error.what()) + (lacks_thread ? ": a thread cannot be started" : ""),
                lacks_thread ? "raise the limits on memory (ulimit -v) and processes (ulimit -u)"
                             : std::string_view());
    // Destructors wait for their calls, and would start the thread again.
    std::fflush(nullptr);
    std::_Exit(exit_failure);
  } catch (const call_failure& error) {
    print_error(with_option_names(error.what()), error.hint());
    return error.exit_code();
  } catch (const failure& error) {
    print_error(with_option_names(error.what()), error.hint());
    return exit_failure;
  } catch (const std::exception& error) {
    print_error(with_option_names(error.what()));
    return exit_failure;
  }
}
