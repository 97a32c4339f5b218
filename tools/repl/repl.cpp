// repl: coracle repl inspects and calls a server, line by line.
#include "tools/call/call_printer.hpp"
#include "tools/call/messages.hpp"
#include "tools/colors.hpp"
#include "tools/commands.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/format/json_splitter.hpp"
#include "tools/option_names.hpp"
#include "tools/repl/field_prompts.hpp"
#include "tools/repl/interrupts.hpp"
#include "tools/repl/line_editor.hpp"
#include "tools/repl/names.hpp"
#include "tools/schema/definition_text.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"

#include <coracle/client/generic_stub.hpp>
#include <coracle/client/sync_wait.hpp>
#include <coracle/runtime/sync_wait.hpp>

#include <CLI/CLI.hpp>

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;
using conversation = bidi_call<bytes_message, bytes_message>;

constexpr const char* help_text =
    "ls [SERVICE]              list services, or the methods of one\n"
    "describe NAME             show a service, a method with its messages, a message, an enum\n"
    "service NAME              select a service: its methods can then be called by their names alone\n"
    "call METHOD [JSON...]     call a method; without JSON, asks for the fields of the request,\n"
    "                          for streams of each message until Ctrl-D\n"
    "header [NAME[: VALUE]]    set, remove or list metadata for later calls\n"
    "help, exit                Ctrl-C leaves a prompt for a field, Ctrl-D ends the program\n";

// Removes the first word of a line and returns it.
std::string take_word(std::string& line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
  std::string word = line.substr(begin, end - begin);
  line.erase(0, std::min(line.find_first_not_of(" \t", end), line.size()));
  return word;
}

std::vector<std::string> values_of(const std::string& text) {
  json_splitter splitter;
  splitter.add(text);
  std::vector<std::string> values;
  while (auto value = splitter.next()) values.emplace_back(*value);
  if (auto value = splitter.rest()) values.emplace_back(*value);
  return values;
}

class repl {
 public:
  session at;
  bool verbose = false;
  color_option colors;

  // Returns the code of the last line that failed, or 0, for scripts.
  int run() {
    const names all(at, service_);
    line_editor lines(
        [&](std::string_view before, std::string_view word) { return all.fitting(before, word); });
    static_cast<void>(at.types().services());  // fails at once if the server is unreachable
    if (lines.interactive()) {
      on_ctrl_c_.emplace(at.on());
      lines.set_introduction("'help' lists the commands, 'exit' or Ctrl-D ends the program.");
    }
    int code = 0;
    while (one_line(lines, code)) {
    }
    return code;
  }

 private:
  // Returns false at the end. Sets `code` if the line failed.
  bool one_line(line_editor& lines, int& code) {
    try {
      const auto line = lines.next(service_ + "@" + at.where().address() + "> ");
      if (!line) return false;
      lines.remember(*line);
      std::string rest = *line;
      rest.erase(rest.find_last_not_of(" \t") + 1);
      const std::string word = take_word(rest);
      if (word == "exit" || word == "quit") return false;
      if (const int failed = act(word, rest, lines)) code = failed;
    } catch (const interrupted&) {
      // The line, or the call whose fields were being prompted for, is discarded.
    } catch (const output_failure&) {
      throw;  // there is no point in running lines whose output is lost
    } catch (const usage_failure& error) {
      code = say(error, exit_usage);
    } catch (const call_failure& error) {
      code = say(error, error.exit_code());
    } catch (const failure& error) {
      code = say(error, exit_failure);
    }
    return true;
  }

  static int say(const failure& error, int code) {
    print_prompt_error(with_option_names(error.what()), error.hint());
    return code;
  }

  int act(const std::string& word, std::string& rest, line_editor& lines) {
    if (word.empty() || word.starts_with('#')) return 0;
    if (word == "ls") return list(rest), 0;
    if (word == "describe") return describe(rest), 0;
    if (word == "service") return choose(rest), 0;
    if (word == "call") return call(rest, lines);
    if (word == "header") return header(rest), 0;
    if (word != "help") throw usage_failure("there is no command " + word + "; help lists them");
    print(help_text);
    return 0;
  }

  void list(const std::string& of) {
    if (of.empty())
      for (const std::string& name : at.types().services()) print(name + "\n");
    else print(methods_text(at.types().service(of)));
  }

  void choose(const std::string& service) {
    if (service.empty()) throw usage_failure("service requires a name: ls, or Tab, lists the services");
    service_ = at.types().service(service).full_name();
  }

  void describe(const std::string& name) {
    if (name.empty()) throw usage_failure("describe requires the name of a service, method, message or enum");
    const auto* const method = own_method(name);
    const std::string text =
        method ? definition_text(*method)
               : definition_text(at.types(), name, "ls lists services, and ls SERVICE its methods");
    print(colors.use_for(stdout) ? colored_definitions(text) : text);
  }

  const pb::MethodDescriptor* own_method(const std::string& name) {
    const bool bare = name.find_first_of("/.") == std::string::npos;
    return service_.empty() || !bare ? nullptr : at.types().service(service_).FindMethodByName(name);
  }

  // The headers of -H are sent with all calls of the channel; those of this session are added to its calls.
  void header(const std::string& text) {
    if (text.empty()) {
      print(metadata_text(at.where().options().calls.metadata, "") + metadata_text(headers(), ""));
    } else if (text.find(':') == std::string::npos) {
      if (headers_.erase(lower(text)) == 0)
        throw usage_failure("no header " + text + " was set here; 'header " + text + ": VALUE' would");
    } else {
      metadata checked;
      endpoint::add_header(text, checked);
      headers_[std::string((*checked.begin()).name)] = text;
    }
  }

  static std::string lower(std::string name) {
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return name;
  }

  [[nodiscard]] metadata headers() const {
    metadata all;
    for (const auto& [name, line] : headers_) endpoint::add_header(line, all);
    return all;
  }

  int call(std::string& rest, line_editor& lines) {
    const std::string name = take_word(rest);
    if (name.empty()) throw usage_failure("call requires a method: ls SERVICE, or Tab, lists methods");
    const auto* const own = own_method(name);
    const pb::MethodDescriptor& method = own ? *own : at.types().method(name);
    const std::vector<std::string> json = values_of(rest);
    if (json.size() > 1 && !method.client_streaming())
      throw usage_failure(path_of(method) + " takes one request; there are more");
    const metadata sent = headers();
    call_options options;
    options.metadata.add_all(sent);

    const generic_stub stub(at.server());
    const std::string path = path_of(method);
    conversation c = stub.bidi(path.c_str(), options);
    call_printer printer(verbose);
    printer.print_begin(at.where(), method, sent);
    sync_wait(at.on(), begin(c));
    messages typed(at.types(), method);
    std::exception_ptr unread;
    std::thread replies =
        start_without_interrupts([&] { read_all(c, method.server_streaming(), typed, printer, unread); });
    std::exception_ptr slip;
    try {
      send_all(c, method, typed, json, lines, printer);
    } catch (...) {
      slip = std::current_exception();
      sync_wait(at.on(), stop(c));
    }
    replies.join();
    const status outcome = sync_wait(c.finish());
    sync_wait(at.on(), end());
    if (slip) std::rethrow_exception(slip);
    if (unread) std::rethrow_exception(unread);
    printer.print_end(outcome, c.trailing_metadata(), at.types(), at.where());
    return static_cast<int>(outcome.code());
  }

  task<> begin(conversation& c) {
    if (on_ctrl_c_) on_ctrl_c_->cancel(&c);
    co_await c.start();
  }

  task<> end() {
    if (on_ctrl_c_) on_ctrl_c_->cancel(nullptr);
    co_return;
  }

  static task<> stop(conversation& c) {
    c.cancel();
    co_return;
  }

  void show(const std::string& json) { print((colors.use_for(stdout) ? colored_json(json) : json) + "\n"); }

  void read_all(conversation& c, bool streaming, messages& typed, call_printer& printer,
                std::exception_ptr& unread) {
    bool headed = false;
    std::optional<bytes_message> only;  // for a method with one reply, shown if no second one arrives
    try {
      for (;;) {
        const auto reply = sync_wait(c.next());
        if (!std::exchange(headed, true)) printer.print_headers(c.initial_metadata());
        if (!reply.ok()) return;
        if (!reply->has_value()) break;
        printer.print_received((*reply)->view().size());
        if (!streaming && only)
          throw call_failure(status_code::unimplemented, "the server sent more than one reply");
        if (!streaming) only = **reply;
        else show(typed.replies->text((*reply)->bytes(), false));
      }
      if (only) show(typed.replies->text(only->bytes(), true));
    } catch (const failure&) {
      unread = std::current_exception();
      sync_wait(at.on(), stop(c));
    }
  }

  void send_all(conversation& c, const pb::MethodDescriptor& method, messages& typed,
                const std::vector<std::string>& json, line_editor& lines, call_printer& printer) {
    const auto send = [&](const bytes_message& request) {
      const status sent = sync_wait(c.write(request));
      if (sent.ok()) printer.print_sent(request.view().size());
      return sent.ok();
    };
    for (const std::string& value : json)
      if (!send(bytes_message(typed.requests->bytes(value)))) return;
    if (json.empty() && lines.interactive() && method.input_type()->field_count() > 0)
      print(method.client_streaming()
                ? "(Enter: leave the field out; Ctrl-D at a first field: end the requests; Ctrl-C: cancel)\n"
                : "(Enter: leave the field out; Ctrl-D: send what is filled in; Ctrl-C: cancel)\n");
    field_prompts prompts(lines);
    for (bool more = json.empty(); more; more = method.client_streaming()) {
      const auto message = at.types().make(*method.input_type());
      const bool filled = prompts.fill(*message);
      if (!filled && method.client_streaming()) break;
      if (!send(bytes_message(message->SerializeAsString()))) return;
    }
    sync_wait(at.on(), done(c));
  }

  static task<> done(conversation& c) { co_await c.writes_done(); }

  std::optional<interrupts> on_ctrl_c_;
  std::string service_;
  std::map<std::string, std::string> headers_;  // by lower-case name, as typed
};

}  // namespace

void add_repl(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("repl", "Explore a server and call its methods, line by line");
  const auto it = std::make_shared<repl>();
  it->at.add_to(*command);
  command->add_flag("-v,--verbose", it->verbose, "Print headers, trailers, sizes and times of calls");
  it->colors.add_to(*command);
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
