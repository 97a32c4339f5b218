// exchange: one call of any kind, with JSON or text in both directions while it runs.
#pragma once

#include "tools/call/call_printer.hpp"
#include "tools/call/messages.hpp"
#include "tools/call/request_source.hpp"
#include "tools/colors.hpp"
#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/standard_output.hpp"

#include <coracle/client/generic_stub.hpp>
#include <coracle/coro/event.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/runtime/offload.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tools {

// One call on its loop. Messages are converted on threads that may block, in batches: a thread converts one
// batch while the loop fills the next. A stream at full speed thus costs few thread switches, and a single
// message is shown, or sent, at once.
class exchange {
 public:
  // How replies are printed.
  struct style {
    bool indented = false;  // a single reply, over several lines
    bool colored = false;  // only for JSON
    bool printed = true;
  };
  // What was sent and received, as text, for callers that keep it. Without indentation, each reply is one
  // line.
  struct transcript {
    std::vector<std::string> requests;
    std::string replies;
  };

  exchange(const channel& server, const google::protobuf::MethodDescriptor& method, messages& typed,
           request_source& requests, call_printer& printer, style replies, call_protocol protocol,
           transcript* kept = nullptr)
      : method_(method),
        path_(path_of(method)),
        style_(replies),
        whole_(protocol == call_protocol::connect && !method.client_streaming() &&
               !method.server_streaming()),
        typed_(typed),
        requests_(requests),
        printer_(printer),
        kept_(kept),
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
    if (style_.printed) print(style_.colored ? colored_json(lines) : lines);
    if (kept_) kept_->replies += lines;
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
      const std::string_view bytes = *waiting_.next(at);
      const std::string text = typed_.replies->text(bytes, style_.indented);
      if (style_.printed) print((style_.colored ? colored_json(text) : text) + "\n");
      if (kept_) kept_->replies += (style_.indented ? typed_.replies->text(bytes, false) : text) + "\n";
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
        if (kept_) kept_->requests.insert(kept_->requests.end(), texts.begin(), texts.end());
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

  const google::protobuf::MethodDescriptor& method_;
  std::string path_;
  const style style_;
  // The call is unary for the channel, too: the Connect protocol has a form of its own for that.
  const bool whole_;
  messages& typed_;
  request_source& requests_;
  call_printer& printer_;
  transcript* const kept_;
  const generic_stub stub_;
  // On the wire, a method of any kind is a stream in both directions.
  bidi_call<bytes_message, bytes_message> call_;  // not begun if whole_, or if there is the next one
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

}  // namespace coracle::tools
