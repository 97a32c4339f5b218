// call: coracle call makes one call of any kind, with JSON in both directions while the call runs.
#include "tools/call/exchange.hpp"
#include "tools/call/http_printer.hpp"
#include "tools/colors.hpp"
#include "tools/commands.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/requests/request_run.hpp"
#include "tools/requests/save_request.hpp"
#include "tools/schema/session.hpp"
#include "tools/terminal_text.hpp"
#include "tools/units.hpp"

#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/sync_wait.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

struct call_command {
  session at;
  std::string name;
  std::vector<std::string> data;
  std::string format = "human";
  std::string connect_timeout;
  std::string file, part, save;
  message_json::options json;
  bool verbose = false;
  color_option colors;

  int run(const CLI::App& typed) {
    if (!file.empty()) return run_file(typed);
    if (at.where().typed_address().empty() || name.empty())
      throw usage_failure(at.where().typed_address().empty() ? "ADDRESS is required" : "METHOD is required",
                          "'coracle call --help' lists the arguments");
    if (!save.empty()) {
      if (format == "text") throw usage_failure("--save writes JSON: remove --format text");
      if (json.ignore_unknown_fields)
        throw usage_failure(
            "--save keeps requests for `coracle test`, which refuses unknown fields: remove "
            "--allow-unknown-fields or --save");
      check_requests_file(save);
    }
    at.where().expect_before(name);
    const auto http = std::make_shared<http_printer>();
    if (verbose) at.observe(http);
    const pb::MethodDescriptor& method = at.types().method(name);
    if (data.empty() && method.client_streaming()) data = {"-"};
    request_source requests(data, syntax());
    call_printer printer(verbose, as_json() ? call_printer::format::json : call_printer::format::human);
    const pb::MethodDescriptor* const methods[] = {&method};
    channel server = at.caller(methods);
    printer.print_begin(at.where(), method, {});
    if (verbose) http->begin();
    exchange::transcript kept;
    status outcome;
    const int code = sync_wait(at.on(), call(server, method, requests, printer, outcome, kept));
    if (!save.empty()) save_request(save, typed, at.where(), method, kept, outcome);
    return code;
  }

  // Makes the calls of the file, and prints their replies.
  int run_file(const CLI::App& typed) {
    if (!name.empty()) throw usage_failure("--file has the method: remove '" + name + "'");
    const std::vector<std::string> address = typed.get_option("ADDRESS")->results();  // perhaps @NAME
    const request_runner runner(typed, address.empty() ? std::string() : address.front(), true);
    const std::vector<saved_request> requests = requests_in(file, part);
    int code = 0;
    for (const saved_request& one : requests) {
      if (requests.size() > 1) std::fprintf(stderr, "### %s\n", terminal_line(one.title()).c_str());
      const request_result result = runner.run(one, file);
      for (const std::string& problem : result.problems) print_error(problem);
      if (!result.problems.empty()) code = exit_check_failed;
      else if (!one.expected && code == 0) code = result.code;
    }
    return code;
  }

  [[nodiscard]] bool as_json() const { return format == "json"; }
  [[nodiscard]] message_syntax syntax() const {
    return format == "text" ? message_syntax::text : message_syntax::json;
  }

  task<int> call(channel& server, const pb::MethodDescriptor& method, request_source& requests,
                 call_printer& printer, status& outcome, exchange::transcript& kept) {
    if (!connect_timeout.empty()) co_await connect(server);
    messages typed(at.types(), method, syntax(), json);
    exchange::style replies;
    replies.indented = !as_json();
    replies.colored = format == "human" && colors.use_for(stdout);
    exchange one(server, method, typed, requests, printer, replies, at.where().protocol(),
                 save.empty() ? nullptr : &kept);
    outcome = co_await one.run();
    co_await offload([&] { printer.print_end(outcome, one.trailers(), at.types(), at.where()); });
    if (outcome.ok() && one.has_unreadable_replies()) co_return exit_failure;
    co_return static_cast<int>(outcome.code());
  }

  // Waits until the channel is connected, or has failed to connect: the call then says why.
  task<> connect(channel& server) {
    const time_point until =
        deadline_after(server.owner().now(), parse_duration(connect_timeout, "--connect-timeout"));
    server.connect();
    for (;;) {
      const connectivity now = server.state();
      if (now == connectivity::ready || now == connectivity::transient_failure) co_return;
      const duration left = until - server.owner().now();
      if (left <= duration::zero() || !co_await server.wait_for_state_change(now, left))
        throw call_failure(status_code::unavailable, "connecting to " + at.where().address() +
                                                         " took longer than " + connect_timeout +
                                                         " (--connect-timeout)");
    }
  }
};

}  // namespace

void add_call(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("call", "Call a method and print its replies");
  const auto it = std::make_shared<call_command>();
  it->at.add_to(*command, endpoint::address_use::optional);
  it->at.add_protocol_to(*command);
  command->add_option("METHOD", it->name, "package.Service/Method, or any unambiguous suffix");
  command
      ->add_option("-d,--data", it->data,
                   "A request, @FILE for a file, or - for the standard input, which may contain several; "
                   "default: an empty request, or the standard input if the method streams requests")
      ->type_name("JSON")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--format", it->format,
                   "How messages are printed. json: each reply, and the status of a failed call, as one "
                   "line; text: protobuf's text format, for requests, too")
      ->check(CLI::IsMember({"human", "json", "text"}))
      ->capture_default_str();
  command->add_flag("--emit-defaults", it->json.write_absent_fields,
                    "Print fields without a value, with the default of their type");
  command->add_flag("--allow-unknown-fields", it->json.ignore_unknown_fields,
                    "Ignore fields of a JSON request that the message does not have");
  command
      ->add_option("--connect-timeout", it->connect_timeout,
                   "How long connecting may take, such as 5s; default: as long as the call may")
      ->type_name("TIME");
  it->colors.add_to(*command);
  command->add_flag("-v,--verbose", it->verbose,
                    "Print the headers of HTTP, trailers, sizes and times to stderr");
  command
      ->add_option("--save", it->save,
                   "Add the call to this file of requests, with its status and replies as the expected ones")
      ->type_name("FILE");
  CLI::Option* const file =
      command->add_option("-f,--file", it->file, "Make the calls of this file of requests; needs no METHOD")
          ->type_name("FILE");
  command->add_option("--name", it->part, "Make only the calls of --file whose name contains this text")
      ->type_name("TEXT")
      ->needs(file);
  for (const char* const other : {"--data", "--format", "--emit-defaults", "--allow-unknown-fields",
                                  "--connect-timeout", "--verbose", "--save"})
    file->excludes(command->get_option(other));
  command->callback([it, command, &chosen] { chosen = [it, command] { return it->run(*command); }; });
}

}  // namespace coracle::tools
