#include "base/xxh64.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/server/idempotency.hpp"
#include "protocol/grpc/header_names.hpp"
#include "rpc/idempotency_key.hpp"
#include "rpc/method_list.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

namespace coracle {

namespace {

using google::protobuf::Message;

// How long a repetition waits before it asks for the end of the first call again: twice as long each time.
constexpr duration first_pause = std::chrono::milliseconds(10);
constexpr duration max_pause = std::chrono::seconds(1);

// The same for all encodings of one message: REST has a part of it in the path and the query.
std::uint64_t hash_of(intercepted_message& request, std::string_view subtype) {
  if (!request.is<Message>()) return base::xxh64(as_text(request.bytes())) ^ base::xxh64(subtype);
  std::string text;
  {
    google::protobuf::io::StringOutputStream out(&text);
    google::protobuf::io::CodedOutputStream coded(&out);
    coded.SetSerializationDeterministic(true);
    request.as<Message>().SerializePartialToCodedStream(&coded);
  }
  return base::xxh64(text);
}

// Whether the handler has asked its client to come again.
bool asks_for_retry(const metadata& trailing) {
  const auto pushback = trailing.find(protocol::grpc::retry_pushback_header);
  return pushback && !pushback->starts_with('-');
}

std::string kept_form(intercepted_message& reply) {
  if (reply.is<Message>()) return reply.as<Message>().SerializeAsString();
  return std::string(as_text(reply.bytes()));
}

void restore(std::string kept, intercepted_message& reply) {
  if (!reply.is<Message>()) return reply.set_bytes(std::move(kept));
  if (!reply.edit<Message>().ParseFromString(kept))
    throw status_error(status::internal("the idempotency store has a reply that is not one of the method"));
}

// What the server adds to the trailing metadata of each call, and what the handler tells this client alone.
bool is_of_one_call(std::string_view name) {
  return name == protocol::grpc::load_report_header || name == "server-timing" ||
         name == protocol::grpc::retry_pushback_header;
}

// Stops the tasks of a scope some time after a stop.
class late_stop : coro::stop_callback, coro::timer {
 public:
  late_stop(scope& tasks, const coro::stop_token& after) noexcept
      : stop_callback([](coro::stop_callback& s) noexcept { static_cast<late_stop&>(s).arm(); }),
        tasks_(tasks) {
    timer::fire = [](coro::timer& t) noexcept { static_cast<late_stop&>(t).tasks_.request_stop(); };
    if (!after.subscribe(*this)) arm();
  }
  late_stop(const late_stop&) = delete;
  late_stop& operator=(const late_stop&) = delete;
  ~late_stop() {
    if (timer::holder) coro::this_executor().disarm(*this);
  }

 private:
  void arm() noexcept {
    coro::executor& here = coro::this_executor();
    here.arm(*this, deadline_after(here.now(), idempotent_handler_grace));
  }
  scope& tasks_;
};

class idempotent_call_interceptor final : public server_interceptor {
 public:
  idempotent_call_interceptor(std::shared_ptr<idempotency_store> store, std::vector<std::string> methods,
                              client_naming client)
      : store_(std::move(store)), methods_(std::move(methods)), client_(std::move(client)) {
    CORACLE_REQUIRE(store_, "idempotent_calls() requires a store, such as memory_idempotency_store()");
    CORACLE_REQUIRE(client_, "idempotent_calls() requires a function that names clients");
  }

  task<status> intercept(server_context& context, next_handler next) override {
    const std::string_view key = context.metadata().find(rpc::idempotency_key).value_or("");
    if (key.empty() || !next.has_request() || !next.has_reply() || !methods_.contains(context.method()))
      co_return co_await next();
    if (key.size() > idempotency_key_bytes_max)
      co_return status::resource_exhausted("the idempotency key is longer than 255 bytes");
    idempotent_call call;
    call.method = context.method();
    call.client = client_(context);
    call.key = key;
    intercepted_message& request = co_await next.request();
    call.request = hash_of(request, context.content_subtype());
    const coro::environment& here = co_await coro::this_environment();
    for (duration pause = first_pause;; pause = std::min(2 * pause, max_pause)) {
      // A claim that was granted is followed by its end, whatever becomes of the call.
      const coro::environment unstopped{{}, never, here.call, here.span};
      progress p;
      scope work{unstopped};
      work.spawn(run(context, next, call, p));
      {
        const late_stop grace(work, here.stop);
        co_await work.join();
      }
      if (p.outcome) co_return *std::move(p.outcome);
      co_await sleep_for(pause);
    }
  }

 private:
  struct progress {
    std::optional<status> outcome;  // nothing: the call is running elsewhere
  };

  task<> run(server_context& context, next_handler next, const idempotent_call& call, progress& to) {
    task<idempotency_claim> claiming = store_->claim(call);
    idempotency_claim claim = co_await std::move(claiming);
    switch (claim.is) {
      case idempotency_claim::answer::granted: break;
      case idempotency_claim::answer::running: co_return;
      case idempotency_claim::answer::ended:
        to.outcome = repeat(context, next, std::move(claim.outcome));
        co_return;
      case idempotency_claim::answer::another:
        to.outcome = status::invalid_argument("the idempotency key was used for another request");
        co_return;
      case idempotency_claim::answer::full:
        to.outcome = status::resource_exhausted("too many calls with idempotency keys are running");
        co_return;
    }
    metadata& trailing = context.trailing_metadata();
    metadata of_others = std::exchange(trailing, {});
    to.outcome = co_await next();
    const std::optional<status> ended = next.handler_outcome();
    const bool is_undone = !ended || (!ended->ok() && asks_for_retry(trailing));
    idempotent_outcome kept;
    if (!is_undone) keep(*ended, next, trailing, kept);
    for (const auto& [name, value] : trailing) of_others.add_received(name, value);
    trailing = std::move(of_others);
    if (is_undone) {
      task<> releasing = store_->release(call);
      co_return co_await std::move(releasing);
    }
    task<> recording = store_->record(call, std::move(kept));
    co_await std::move(recording);
  }

  static void keep(const status& ended, const next_handler& next, const metadata& trailing,
                   idempotent_outcome& to) noexcept {
    try {
      if (ended.ok()) to.reply = kept_form(next.reply());
      for (const auto& [name, value] : trailing)
        if (!is_of_one_call(name)) to.trailing.add_received(name, value);
      to.outcome = ended;
    } catch (const std::exception&) {
      // What it has done must not be done again.
      to = idempotent_outcome();
      to.outcome = status(status_code::unknown, "");
    }
  }

  static status repeat(server_context& context, const next_handler& next, idempotent_outcome before) {
    for (const auto& [name, value] : before.trailing) context.trailing_metadata().add_received(name, value);
    if (before.outcome.ok()) restore(std::move(before.reply), next.reply());
    return before.outcome;
  }

  const std::shared_ptr<idempotency_store> store_;
  const rpc::method_list methods_;
  const client_naming client_;
};

}  // namespace

std::string name_in_certificate(const server_context& context) {
  const auth_context* const auth = context.auth();
  return auth && !auth->identities().empty() ? auth->identities().front().value() : std::string();
}

std::shared_ptr<server_interceptor> idempotent_calls(std::shared_ptr<idempotency_store> store,
                                                     std::vector<std::string> methods, client_naming client) {
  return std::make_shared<idempotent_call_interceptor>(std::move(store), std::move(methods),
                                                       std::move(client));
}

}  // namespace coracle
