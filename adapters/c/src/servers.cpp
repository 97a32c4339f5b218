// Servers: a generic service whose calls are answered from any thread.
#include "coracle/coro/when_any.hpp"
#include "coracle/security/auth_context.hpp"
#include "coracle/server/server.hpp"

#include "handles.hpp"
#include "options.hpp"
#include "streams.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

constexpr std::string_view key_of(peer_identity::kind type) noexcept {
  switch (type) {
    case peer_identity::kind::dns_name: return "dns_name";
    case peer_identity::kind::ip_address: return "ip_address";
    case peer_identity::kind::uri: return "uri";
    case peer_identity::kind::email: return "email";
    case peer_identity::kind::common_name: return "common_name";
  }
  return "name";
}

class server_stream_object : public stream {
 public:
  // `end_to`: where an end without an answer is reported; outlives the call. Null: nowhere.
  server_stream_object(std::shared_ptr<shared_runtime> of, server_context& context, bool unary,
                       const destination* end_to)
      : stream(std::move(of), *loop::current(), std::string(context.method())),
        context_(&context),
        auth_(context.auth() ? context.auth()->shared_from_this() : nullptr),
        end_to_(end_to),
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
  std::span<const coracle_pair> security() override {
    if (auth_) std::call_once(listing_security_, [this] { list_security(); });
    return security_;
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
      outcome = where_.now() < context_->deadline() ? status::cancelled("the call has ended")
                                                    : status::deadline_exceeded("the deadline has passed");
    }
    context_ = nullptr;
    end(outcome);
    if (end_to_ && !answered_) report_end(outcome);
    co_return outcome;
  }

 private:
  void list_security() {
    const auto add = [this](std::string_view key, std::string_view value) {
      security_.push_back({key.data(), key.size(), value.data(), value.size()});
    };
    add("type", auth_->type());
    add("protocol", auth_->protocol());
    add("cipher", auth_->cipher());
    for (const peer_identity& name : auth_->identities()) add(key_of(name.type()), name.value());
    if (auth_->peer_verified()) add("certificates", auth_->peer_certificates_pem());
  }
  void report_end(const status& outcome) noexcept {
    try {
      auto ended = std::make_unique<completion>(CORACLE_EVENT_ENDED, *end_to_);
      ended->outcome = outcome;
      ended->call = handle_;
      completion::finish(std::move(ended));
    } catch (...) {
      where_.log().write(log_room::adapters, log_level::error, "no memory for an event of the C interface");
    }
  }
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
  const std::shared_ptr<const auth_context> auth_;  // null: plaintext
  std::once_flag listing_security_;
  std::vector<coracle_pair> security_;
  const destination* const end_to_;
  const bool unary_;
  std::atomic<bool> answered_once_{false};
  bool answered_ = false;  // on the loop
  answer answer_;
};

class dispatcher : public generic_service {
 public:
  struct method {
    bool unary = false;
    bool reports_end = false;
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
    const auto object =
        std::make_shared<server_stream_object>(owner, context, m.unary, m.reports_end ? &m.to : nullptr);
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

class server_object : public std::enable_shared_from_this<server_object> {
 public:
  static constexpr handle_kind kind_of_handle = handle_kind::server;
  server_object(std::shared_ptr<shared_runtime> of, const server_options& options) : owner(std::move(of)) {
    const shared_runtime::use using_runtime(*owner);
    calls.owner = owner;
    server.emplace(using_runtime.get(), options);
    server->set_fallback(calls);
  }
  // Waits; on a plain thread.
  void end() {
    const std::lock_guard lock(changing);
    hasten_drains();
    for (std::uint32_t left = drains.load(); left != 0; left = drains.load()) drains.wait(left);
    server.reset();
    calls.methods.clear();
  }
  static task<> drain(std::shared_ptr<server_object> of, duration grace, std::unique_ptr<completion> done) {
    try {
      task<> drained = of->server->drain(grace);
      co_await std::move(drained);
    } catch (const coro::cancelled&) {
      done->outcome = status::cancelled("the runtime was stopped");
    } catch (const std::exception& e) {
      done->outcome = status::internal(e.what());
    }
    if (of->drains.fetch_sub(1) == 1) of->drains.notify_all();
    completion::finish(std::move(done));
  }
  // With `changing` held, and the server not destroyed. Throws failure.
  void start_drain(duration grace, std::unique_ptr<completion> done) {
    const shared_runtime::use using_runtime(*owner);
    drains.fetch_add(1);
    try {
      using_runtime.get().spawn_on(using_runtime.get().at(0),
                                   drain(shared_from_this(), grace, std::move(done)));
    } catch (...) {
      drains.fetch_sub(1);
      throw;
    }
  }

  const std::shared_ptr<shared_runtime> owner;
  dispatcher calls;
  std::mutex changing;
  bool listens = false;
  std::optional<coracle::server> server;
  std::atomic<std::uint32_t> drains{0};  // that use the server

 private:
  // Drains that wait for calls would keep the server.
  void hasten_drains() {
    if (drains.load() == 0) return;
    try {
      start_drain(duration::zero(), std::make_unique<completion>(CORACLE_EVENT_DRAINED, destination()));
    } catch (const failure&) {  // the runtime ends, and they with it
    }
  }
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
    dispatcher::method m;
    m.reports_end = (method_kind & CORACLE_METHOD_REPORTS_END) != 0;
    method_kind &= ~CORACLE_METHOD_REPORTS_END;
    if (method_kind != CORACLE_METHOD_UNARY && method_kind != CORACLE_METHOD_STREAM)
      invalid("method_kind is neither CORACLE_METHOD_UNARY nor CORACLE_METHOD_STREAM");
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
    const std::size_t before = object->server->addresses().size();
    object->server->listen(address, credentials).throw_if_error();
    object->listens = true;
    object->server->start();
    if (!port) return;
    const auto addresses = object->server->addresses();
    *port = before < addresses.size() ? addresses[before].port() : 0;
  });
}

int coracle_server_stop(coracle_server server) {
  return guarded([&] {
    const auto object = object_of<server_object>(server);
    const std::lock_guard lock(object->changing);
    if (object->server) object->server->stop();
  });
}

int coracle_server_drain(coracle_server server, int64_t grace_ns, const coracle_completion* completion) {
  return guarded([&] {
    const auto object = object_of<server_object>(server);
    if (grace_ns < 0) invalid("grace_ns is negative: 0 cancels the calls at once");
    auto done = std::make_unique<coracle::c_abi::completion>(CORACLE_EVENT_DRAINED,
                                                             destination::of(completion, *object->owner));
    const std::lock_guard lock(object->changing);
    if (!object->server) throw failure(CORACLE_SHUT_DOWN, "the server was destroyed");
    object->start_drain(coracle::duration(grace_ns), std::move(done));
  });
}

int coracle_server_destroy(coracle_server server) {
  return guarded([&] {
    require_plain_thread();
    closed_object_of<server_object>(server)->end();
  });
}

}  // extern "C"
