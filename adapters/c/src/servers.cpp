// Servers: a generic service whose calls are answered from any thread.
#include "coracle/coro/when_any.hpp"
#include "coracle/server/server.hpp"

#include "handles.hpp"
#include "options.hpp"
#include "streams.hpp"

#include <map>
#include <optional>
#include <string>

namespace coracle::c_abi {
namespace {

class server_side {
 public:
  server_side(reader<bytes_message> r, writer<bytes_message> w, const bool& answered) noexcept
      : reader_(r), writer_(w), answered_(answered) {}
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): `into` outlives the await
  task<read_outcome> read(bytes_message& into) {
    status end;
    try {
      auto wait = reader_.read(into);
      if (co_await std::move(wait)) co_return read_outcome(true);
    } catch (const call_ended& e) {
      end = e.status();
    } catch (const coro::cancelled&) {
      end = status::cancelled("the call has ended");
    }
    co_return read_outcome(std::move(end));
  }
  task<status> write(const outgoing& m) {
    try {
      auto wait = writer_.write(m.sent, m.options);
      co_await std::move(wait);
    } catch (const call_ended& e) {
      co_return e.status();
    }
    co_return status();
  }
  static std::suspend_never writes_done() noexcept { return {}; }
  [[nodiscard]] bool written() const noexcept { return answered_; }

 private:
  reader<bytes_message> reader_;
  writer<bytes_message> writer_;
  const bool& answered_;
};

class server_stream_object : public stream {
 public:
  server_stream_object(std::shared_ptr<shared_runtime> of, server_context& context, bool unary)
      : stream(std::move(of), *loop::current(), std::string(context.method())),
        context_(&context),
        unary_(unary) {}

  void answer_with(answer a) override {
    if (unary_ && a.outcome.ok() && !a.has_message)
      invalid("the call of " + path_ + " is unary: answer it with a message or a status that is not OK");
    if (answered_once_.exchange(true))
      throw failure(CORACLE_WRONG_STATE,
                    "the call of " + path_ + " was answered twice: answer each call once");
    send({.type = command::kind::answer, .ending = std::make_unique<answer>(std::move(a))}, true);
  }
  void send_headers(metadata pairs) override {
    send({.type = command::kind::pairs, .pairs = std::move(pairs)}, true);
  }
  void released() noexcept override {
    if (!answered_once_.exchange(true)) stream::released();
  }
  // As an exception of a handler.
  void on_callback_exception() noexcept override {
    if (answered_once_.exchange(true) || has_ended()) return;
    answer failed;
    failed.outcome = status::unknown("the handler failed");
    finish_with(std::move(failed));
  }

  // Runs until the call was answered, or has ended; `end_` then has the status.
  task<status> serve(reader<bytes_message> requests, writer<bytes_message> replies) {
    server_side side(requests, replies, answered_);
    status outcome;
    try {
      if (unary_) {
        co_await write_messages(*this, side);
      } else {
        auto first = when_any(write_messages(*this, side), read_messages(*this, side));
        co_await first;
      }
      outcome = answer_.outcome;
      context_->trailing_metadata().add_all(answer_.trailing);
    } catch (const call_ended& e) {
      outcome = e.status();
    } catch (const coro::cancelled&) {
      outcome = status::cancelled("the call has ended");
    }
    context_ = nullptr;
    end(outcome);
    co_return outcome;
  }

 private:
  void obey(command& c) noexcept override {
    using kind = command::kind;
    try {
      switch (c.type) {
        case kind::answer: return finish_with(std::move(*c.ending));
        case kind::pairs:
          for (const auto& [key, value] : c.pairs) context_->initial_metadata().add(key, value);
          context_->send_initial_metadata();
          return;
        case kind::release: {
          where_.log().write(
              log_room::adapters, log_level::warning,
              "the handle of a call of " + path_ + " was released without an answer: it ends with UNKNOWN");
          answer dropped;
          dropped.outcome = status::unknown("the handler gave no answer");
          return finish_with(std::move(dropped));
        }
        default: {
          if (answered_once_.exchange(true)) return;
          answer cancelled;
          cancelled.outcome = status::cancelled("the server cancelled the call");
          return finish_with(std::move(cancelled));
        }
      }
    } catch (const std::exception& e) {
      where_.log().write(log_room::adapters, log_level::error,
                         std::string("the C interface could not answer a call: ") + e.what());
    }
  }
  void finish_with(answer a) {
    if (a.has_message)
      writes_.push_back(
          std::make_unique<outgoing>(destination(), std::move(a.message), write_options(), false));
    answer_ = std::move(a);
    answered_ = true;
    write_wake_.set();
  }

  server_context* context_;  // until the end
  const bool unary_;
  std::atomic<bool> answered_once_{false};
  bool answered_ = false;  // on the loop
  answer answer_;
};

class dispatcher : public generic_service {
 public:
  struct method {
    bool unary = false;
    destination to;
    reservation reserved;
  };
  std::map<std::string, method, std::less<>> methods;
  std::shared_ptr<shared_runtime> owner;

  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override {
    auto found = methods.find(context.method());
    if (found == methods.end()) found = methods.find("*");
    if (found == methods.end()) co_return unimplemented().status();
    const method& m = found->second;
    auto event = std::make_unique<completion>(CORACLE_EVENT_REQUEST, m.to);
    if (m.unary) {
      auto first = requests.read(event->message);
      if (!co_await first)
        co_return status::unimplemented("a unary call has one request, and this one has none");
      event->has_message = true;
    }
    const auto object = std::make_shared<server_stream_object>(owner, context, m.unary);
    event->method = context.method();
    event->peer = context.peer().to_string();
    event->initial = context.metadata();
    const time_point deadline = context.deadline();
    event->timeout_ns =
        deadline == never ? duration::max().count() : (deadline - loop::current()->now()).count();
    event->call = open_handle(handle_kind::call, object);
    object->set_handle(event->call);
    completion::finish(std::move(event));
    const writer<bytes_message> replies = co_await coracle::replies<bytes_message>::writer();
    auto serving = object->serve(requests, replies);
    co_return co_await std::move(serving);
  }
};

class server_object {
 public:
  static constexpr handle_kind kind_of_handle = handle_kind::server;
  server_object(std::shared_ptr<shared_runtime> of, const server_options& options) : owner(std::move(of)) {
    const shared_runtime::use using_runtime(*owner);
    calls.owner = owner;
    server.emplace(using_runtime.get(), options);
    server->set_fallback(calls);
  }
  const std::shared_ptr<shared_runtime> owner;
  dispatcher calls;
  std::mutex changing;
  bool listens = false;
  std::optional<coracle::server> server;
};

}  // namespace
}  // namespace coracle::c_abi

using namespace coracle::c_abi;

extern "C" {

int coracle_server_create(coracle_runtime runtime, const coracle_option* options, size_t count,
                          coracle_server* out) {
  return guarded([&] {
    require_out(out, "out");
    const auto parsed = parse_server_options(options, count);
    *out = open_handle(handle_kind::server, std::make_shared<server_object>(runtime_of(runtime), parsed));
  });
}

int coracle_server_method(coracle_server server, const char* path, int method_kind,
                          const coracle_completion* completion) {
  return guarded([&] {
    const auto object = object_of<server_object>(server);
    require_text(path, "path");
    if (method_kind != CORACLE_METHOD_UNARY && method_kind != CORACLE_METHOD_STREAM)
      invalid("method_kind is neither CORACLE_METHOD_UNARY nor CORACLE_METHOD_STREAM");
    dispatcher::method m;
    m.unary = method_kind == CORACLE_METHOD_UNARY;
    m.to = destination::of(completion, *object->owner);
    m.reserved = reservation(m.to.queue);
    const std::lock_guard lock(object->changing);
    if (object->listens)
      throw failure(CORACLE_WRONG_STATE, "a method was registered after the server had begun to listen");
    if (!object->calls.methods.try_emplace(path, std::move(m)).second)
      throw failure(CORACLE_WRONG_STATE, std::string(path) + " was registered twice");
  });
}

int coracle_server_listen(coracle_server server, const char* address, const coracle_option* options,
                          size_t count, uint16_t* port) {
  return guarded([&] {
    const auto object = object_of<server_object>(server);
    require_text(address, "address");
    const auto credentials = parse_listener_options(options, count);
    const shared_runtime::use using_runtime(*object->owner);
    const std::lock_guard lock(object->changing);
    if (!object->server) throw failure(CORACLE_SHUT_DOWN, "the server was destroyed");
    object->server->listen(address, credentials).throw_if_error();
    object->listens = true;
    object->server->start();
    if (port) *port = object->server->port();
  });
}

int coracle_server_stop(coracle_server server) {
  return guarded([&] {
    const auto object = object_of<server_object>(server);
    const std::lock_guard lock(object->changing);
    if (object->server) object->server->stop();
  });
}

int coracle_server_destroy(coracle_server server) {
  return guarded([&] {
    require_plain_thread();
    const auto object = closed_object_of<server_object>(server);
    const std::lock_guard lock(object->changing);
    object->server.reset();
    object->calls.methods.clear();
  });
}

}  // extern "C"
