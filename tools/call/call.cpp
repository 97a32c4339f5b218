// call: coracle call makes one call of any kind, with JSON in both directions while the call runs.
#include "tools/call/call_printer.hpp"
#include "tools/call/messages.hpp"
#include "tools/call/request_source.hpp"
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"
#include "tools/terminal_text.hpp"

#include <coracle/client/generic_stub.hpp>
#include <coracle/coro/event.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/sync_wait.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

// On the wire, a method of any kind is a stream in both directions.
using conversation = bidi_call<bytes_message, bytes_message>;

// One call on its loop. Messages are converted on threads that may block, in batches: a thread converts one
// batch while the loop fills the next. A stream at full speed thus costs few thread switches, and a single
// message is shown, or sent, at once.
class exchange {
 public:
  exchange(const channel& server, const pb::MethodDescriptor& method, messages& typed,
           request_source& requests, call_printer& printer, bool indented)
      : method_(method),
        path_(path_of(method)),
        indented_(indented),
        typed_(typed),
        requests_(requests),
        printer_(printer),
        call_(generic_stub(server).bidi(path_.c_str())) {}

  // Returns the call's status. Throws the errors of its requests and of the output.
  task<status> run() {
    scope sending{co_await coro::this_environment()};
    scope showing{co_await coro::this_environment()};
    sending.spawn(send_all());
    showing.spawn(show_all());
    const status headed = co_await call_.wait_for_initial_metadata();
    if (headed.ok()) printer_.print_headers(call_.initial_metadata());
    co_await read_all();
    status outcome = co_await call_.finish();
    sending.request_stop();
    co_await sending.join();
    all_received_ = true;
    arrived_.set();
    co_await showing.join();
    if (wrong_) std::rethrow_exception(wrong_);
    if (!method_.server_streaming()) co_await show_single(outcome);
    co_return outcome;
  }

  [[nodiscard]] const metadata& trailers() const noexcept { return call_.trailing_metadata(); }
  // A reply could not be printed, and the reason was written to stderr.
  [[nodiscard]] bool has_unreadable_replies() const noexcept { return unreadable_; }

 private:
  static constexpr std::size_t waiting_bytes_max = 256u << 10;

  task<> read_all() {
    for (;;) {
      const auto reply = co_await call_.next();
      if (!reply.ok() || !reply->has_value()) co_return;
      const std::string& bytes = (*reply)->bytes();
      printer_.print_received(bytes.size());
      waiting_.add(bytes);
      if (!method_.server_streaming()) {
        if (waiting_.count() > 1) co_return call_.cancel();
        continue;
      }
      arrived_.set();
      if (waiting_.bytes().size() < waiting_bytes_max) continue;
      room_.reset();
      co_await room_;
    }
  }

  task<> show_all() {
    message_batch batch;
    for (;;) {
      co_await arrived_;
      arrived_.reset();
      if (!method_.server_streaming() || waiting_.empty()) {
        if (all_received_) co_return;
        continue;
      }
      std::swap(batch, waiting_);
      room_.set();
      try {
        co_await offload([&] { show(batch); });
      } catch (...) {
        fail();
        co_return;
      }
      batch.clear();
      if (all_received_) arrived_.set();
    }
  }

  void show(const message_batch& batch) {
    std::string lines, errors;
    typed_.replies.add_lines(batch, lines, errors);
    print(lines);
    say(errors);
  }

  // Shows the reply of a call with one reply, once it is known that there is no second one.
  task<> show_single(status& outcome) {
    if (waiting_.count() > 1)
      outcome = status::unimplemented("the server sent more than one reply to " + path_);
    else if (outcome.ok() && waiting_.empty())
      outcome = status::unimplemented("the server sent no reply to " + path_);
    if (outcome.ok()) co_await offload([&] { show_only(); });
  }

  void show_only() {
    std::size_t at = 0;
    try {
      print(typed_.replies.text(*waiting_.next(at), indented_) + "\n");
    } catch (const output_failure&) {
      throw;
    } catch (const failure& error) {
      say(error.what());
    }
  }

  void say(std::string_view errors) {
    if (errors.empty()) return;
    unreadable_ = true;
    if (errors.ends_with('\n')) errors.remove_suffix(1);
    std::fprintf(stderr, "coracle: %s\n", terminal_text(errors).c_str());
  }

  task<> send_all() {
    try {
      std::size_t count = 0;
      std::vector<std::string_view> texts;
      message_batch batch;
      for (bool more = true; more;) {
        if (!requests_.take(texts) && texts.empty()) {
          more = co_await requests_.read_more();
          continue;
        }
        count += texts.size();
        if (count > 1 && !method_.client_streaming())
          throw usage_failure(path_ + " takes one request; there are more");
        std::exception_ptr invalid;
        co_await offload([&] { convert(texts, batch, invalid); });
        bytes_message request;
        std::size_t at = 0;
        while (const auto one = batch.next(at)) {
          request.assign(as_bytes(*one));
          const status sent = co_await call_.write(request);
          if (!sent.ok()) co_return;  // the call has ended: its reader has the status
          printer_.print_sent(one->size());
        }
        if (invalid) std::rethrow_exception(invalid);
        batch.clear();
        texts.clear();
      }
      if (count == 0 && !method_.client_streaming())
        throw usage_failure(path_ + " takes one request; there is none ('{}' is an empty one)");
      co_await call_.writes_done();
    } catch (const coro::cancelled&) {
      throw;
    } catch (...) {
      fail();
    }
  }

  void convert(const std::vector<std::string_view>& texts, message_batch& to, std::exception_ptr& invalid) {
    try {
      typed_.requests.add_messages(texts, to);
    } catch (const failure&) {
      invalid = std::current_exception();
    }
  }

  // Call it in an exception handler: keeps the exception and cancels the call.
  void fail() {
    wrong_ = std::current_exception();
    call_.cancel();
    room_.set();
  }

  const pb::MethodDescriptor& method_;
  std::string path_;
  const bool indented_;  // a single reply, over several lines
  messages& typed_;
  request_source& requests_;
  call_printer& printer_;
  conversation call_;
  message_batch waiting_;  // replies that are not being shown yet
  event<> arrived_;
  event<> room_;
  bool all_received_ = false;
  bool unreadable_ = false;
  std::exception_ptr wrong_;
};

struct call_command {
  session at;
  std::string name;
  std::vector<std::string> data;
  std::string format = "human";
  bool emit_defaults = false;
  bool verbose = false;

  int run() {
    const pb::MethodDescriptor& method = at.types().method(name);
    if (data.empty() && method.client_streaming()) data = {"-"};
    request_source requests(data, "{}");
    call_printer printer(verbose, as_json() ? call_printer::format::json : call_printer::format::human);
    channel& server = at.server();
    printer.print_begin(at.where(), method, at.where().options().calls.metadata);
    return sync_wait(at.on(), call(server, method, requests, printer));
  }

  [[nodiscard]] bool as_json() const { return format == "json"; }

  task<int> call(channel& server, const pb::MethodDescriptor& method, request_source& requests,
                 call_printer& printer) {
    using absent = message_json::absent_fields;
    messages typed(at.types(), method, emit_defaults ? absent::written : absent::omitted);
    exchange one(server, method, typed, requests, printer, !as_json());
    const status outcome = co_await one.run();
    co_await offload([&] { printer.print_end(outcome, one.trailers(), at.types(), at.where()); });
    if (outcome.ok() && one.has_unreadable_replies()) co_return exit_failure;
    co_return static_cast<int>(outcome.code());
  }
};

}  // namespace

void add_call(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("call", "calls a method; ends with the call's status code");
  const auto it = std::make_shared<call_command>();
  it->at.add_to(*command);
  command->add_option("METHOD", it->name, "package.Service/Method, or as much of its end as only one has")
      ->required();
  command
      ->add_option(
          "-d,--data", it->data,
          "a request as JSON, @FILE, or - for the standard input, which may have several; default: an empty "
          "one, or the standard input if the method streams requests")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--format", it->format,
                   "human, or json: each reply, and the status of a failed call, as one line of JSON")
      ->check(CLI::IsMember({"human", "json"}))
      ->capture_default_str();
  command->add_flag("--emit-defaults", it->emit_defaults, "prints fields without a value, too");
  command->add_flag("-v,--verbose", it->verbose, "headers, trailers, sizes and times, on stderr");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
