// call: coracle call makes one call of any kind, with JSON in both directions while the call runs.
#include "tools/call/call_printer.hpp"
#include "tools/call/http_printer.hpp"
#include "tools/call/messages.hpp"
#include "tools/call/request_source.hpp"
#include "tools/colors.hpp"
#include "tools/commands.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"
#include "tools/units.hpp"

#include <coracle/client/generic_stub.hpp>
#include <coracle/coro/event.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/sync_wait.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstddef>
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
  // How replies are printed.
  struct style {
    bool indented = false;  // a single reply, over several lines
    bool colored = false;  // only for JSON
  };

  exchange(const channel& server, const pb::MethodDescriptor& method, messages& typed,
           request_source& requests, call_printer& printer, style replies, call_protocol protocol)
      : method_(method),
        path_(path_of(method)),
        style_(replies),
        whole_(protocol == call_protocol::connect && !method.client_streaming() &&
               !method.server_streaming()),
        typed_(typed),
        requests_(requests),
        printer_(printer),
        stub_(server),
        call_(stub_.bidi(path_.c_str())) {
    if (protocol == call_protocol::grpc_web_text && method.client_streaming() && !method.server_streaming())
      collected_.emplace(stub_.client_streaming(path_.c_str()));
  }

  // Returns the call's status. Throws the errors of its requests and of the output.
  task<status> run() {
    if (whole_) co_return co_await run_unary();
    if (collected_) co_return co_await run_collected();
    scope sending{co_await coro::this_environment()};
    scope showing{co_await coro::this_environment()};
    sending.spawn(send_all());
    showing.spawn(show_all());
    co_await read_all();
    status outcome = co_await call_.finish();
    trailers_ = call_.trailing_metadata();
    sending.request_stop();
    co_await sending.join();
    all_received_ = true;
    arrived_.set();
    co_await showing.join();
    if (wrong_) std::rethrow_exception(wrong_);
    if (!method_.server_streaming()) co_await show_single(outcome);
    co_return outcome;
  }

  [[nodiscard]] const metadata& trailers() const noexcept { return trailers_; }
  // A reply could not be printed, and the reason was written to stderr.
  [[nodiscard]] bool has_unreadable_replies() const noexcept { return unreadable_; }

 private:
  static constexpr std::size_t waiting_bytes_max = 256u << 10;

  task<status> run_unary() {
    co_await send_all();
    if (wrong_) std::rethrow_exception(wrong_);
    auto call = stub_.unary(path_.c_str(), request_);
    printer_.print_sent(request_.view().size());
    const auto reply = co_await call;
    trailers_ = call.trailing_metadata();
    co_return co_await show_reply(reply);
  }

  task<status> run_collected() {
    co_await send_all();
    if (wrong_) std::rethrow_exception(wrong_);
    const auto reply = co_await collected_->finish();
    trailers_ = collected_->trailing_metadata();
    co_return co_await show_reply(reply);
  }

  task<status> show_reply(const result<bytes_message>& reply) {
    if (!reply.ok()) co_return reply.status();
    printer_.print_received(reply->view().size());
    waiting_.add(reply->bytes());
    co_await offload([&] { show_only(); });
    co_return status();
  }

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
    typed_.replies->add_lines(batch, lines, errors);
    print(style_.colored ? colored_json(lines) : lines);
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
      const std::string text = typed_.replies->text(*waiting_.next(at), style_.indented);
      print((style_.colored ? colored_json(text) : text) + "\n");
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
    print_error(errors);
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
        std::size_t at = 0;
        while (const auto one = batch.next(at)) {
          request_.assign(as_bytes(*one));
          if (whole_) continue;
          status sent;
          if (collected_) sent = co_await collected_->write(request_);
          else sent = co_await call_.write(request_);
          if (!sent.ok()) co_return;  // the call has ended: its reader has the status
          printer_.print_sent(one->size());
        }
        if (invalid) std::rethrow_exception(invalid);
        batch.clear();
        texts.clear();
      }
      if (count == 0 && !method_.client_streaming())
        throw usage_failure(path_ + " takes one request; there is none ('{}' is an empty one)");
      if (!whole_ && !collected_) co_await call_.writes_done();
    } catch (const coro::cancelled&) {
      throw;
    } catch (...) {
      fail();
    }
  }

  void convert(const std::vector<std::string_view>& texts, message_batch& to, std::exception_ptr& invalid) {
    try {
      typed_.requests->add_messages(texts, to);
    } catch (const failure&) {
      invalid = std::current_exception();
    }
  }

  // Call it in an exception handler: keeps the exception and cancels the call.
  void fail() {
    wrong_ = std::current_exception();
    if (collected_) collected_->cancel();
    else if (!whole_) call_.cancel();
    room_.set();
  }

  const pb::MethodDescriptor& method_;
  std::string path_;
  const style style_;
  // The call is unary for the channel, too: the Connect protocol has a form of its own for that.
  const bool whole_;
  messages& typed_;
  request_source& requests_;
  call_printer& printer_;
  const generic_stub stub_;
  conversation call_;  // not begun if whole_, or if there is the next one
  // In gRPC-Web's text form, the requests are one text only if the channel knows that one reply follows them.
  std::optional<client_streaming_call<bytes_message, bytes_message>> collected_;
  bytes_message request_;
  metadata trailers_;
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
  std::string connect_timeout;
  message_json::options json;
  bool verbose = false;
  color_option colors;

  int run() {
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
    return sync_wait(at.on(), call(server, method, requests, printer));
  }

  [[nodiscard]] bool as_json() const { return format == "json"; }
  [[nodiscard]] message_syntax syntax() const {
    return format == "text" ? message_syntax::text : message_syntax::json;
  }

  task<int> call(channel& server, const pb::MethodDescriptor& method, request_source& requests,
                 call_printer& printer) {
    if (!connect_timeout.empty()) co_await connect(server);
    messages typed(at.types(), method, syntax(), json);
    exchange::style replies;
    replies.indented = !as_json();
    replies.colored = format == "human" && colors.use_for(stdout);
    exchange one(server, method, typed, requests, printer, replies, at.where().protocol());
    const status outcome = co_await one.run();
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
  it->at.add_to(*command);
  it->at.add_protocol_to(*command);
  command->add_option("METHOD", it->name, "package.Service/Method, or any unambiguous suffix")->required();
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
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
