// everything: a scenario in which a server and its clients do what a peer can make them do, in a simulated
// world.
#pragma once

#include "support/echo_service.hpp"
#include "support/raw_frames.hpp"

#include "coracle/compress/compression.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::test {

using testing_support::echo_service;
using testing_support::echo_stub;

inline echo::Text text(std::string text, int count = 0) {
  echo::Text t;
  t.set_text(std::move(text));
  t.set_count(count);
  return t;
}

// Replies as requested, in the encoding that x-reply names, or with x-id.
class packing_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    if (const auto name = context.metadata().find("x-reply")) context.compression(*encoding_named(*name));
    if (const auto id = context.metadata().find("x-id")) co_return text(std::string(*id));
    co_return request;
  }
};

class passing final : public server_interceptor {
 public:
  task<status> intercept(server_context& context, next_handler next) override {
    const status s = co_await next();
    context.trailing_metadata().add("x-passed", "yes");
    co_return s;
  }
};

// The errors of a process without memory, as texts for the report of a test. Statuses are checked one by one:
// a call succeeds, or ends with a status that tells the client what happened.
class outcomes {
 public:
  void add(std::string_view where, const status& s) {
    if (s.ok() || s.code() == status_code::resource_exhausted || s.code() == status_code::unavailable) return;
    if (!wrong_.empty()) return;
    wrong_ = std::string(where) + " ended with " + s.to_string();
  }
  void must_be_ok(std::string_view where, const status& s) {
    if (!s.ok() && wrong_.empty()) wrong_ = std::string(where) + " ended with " + s.to_string();
  }
  [[nodiscard]] const std::string& wrong() const noexcept { return wrong_; }

 private:
  std::string wrong_;
};

struct everything {
  static task<> unary(echo_stub s, outcomes& out) {
    const echo::Text small = text("small");
    for (int i = 0; i < 3; ++i) {
      const auto reply = co_await s.Say(small);
      out.add("a small call", reply.status());
    }
    const auto at_once = co_await s.SayAtOnce(small);
    out.add("a call of a handler that is no coroutine", at_once.status());
    const echo::Text large = text(std::string(300'000, 'x'));
    const auto back = co_await s.Say(large);
    out.add("a large call", back.status());
    const auto missing = co_await s.Missing(small);
    out.add("a method that is not implemented",
            missing.status().code() == status_code::unimplemented ? status() : missing.status());
  }

  static task<> packed(echo_stub s, outcomes& out) {
    for (std::size_t i = 1; i < encoding_count; ++i) {
      const auto e = static_cast<encoding>(i);
      if (!available(e)) continue;
      const echo::Text many = text(std::string(100'000, 'x'));
      call_options options;
      options.compression = e;
      options.add_metadata("x-reply", name_of(e));
      const auto reply = co_await s.Say(many, options);
      out.add("a compressed call", reply.status());
    }
  }

  // The server recognizes headers that repeat except for some values.
  static task<> differing(echo_stub s, outcomes& out) {
    const echo::Text request = text("x");
    for (int i = 0; i < 8; ++i) {
      const std::string id = std::to_string(i);
      call_options options;
      options.timeout = std::chrono::minutes(i + 1);
      options.add_metadata("x-id", id);
      const auto reply = co_await s.Say(request, options);
      out.add("a call with an id", reply.status());
      if (reply && reply->text() != id) out.must_be_ok("the id of a call", status::internal(reply->text()));
    }
  }

  static task<> streams(echo_stub s, outcomes& out) {
    const echo::Text one = text(std::string(2'000, 'x'), 40);
    auto collecting = s.Collect();
    for (int i = 0; i < 10; ++i) {
      const status written = co_await collecting.write(one);
      out.add("a write", written);
    }
    const auto collected = co_await collecting.finish();
    out.add("a client's stream", collected.status());

    auto repeating = s.Repeat(one);
    const status repeated = co_await repeating.finish();
    out.add("a server's stream", repeated);

    auto chatting = s.Chat();
    for (int i = 0; i < 10; ++i) {
      const status written = co_await chatting.write(one);
      if (!written.ok()) break;
      const auto received = co_await chatting.next();
      if (!received.ok() || !*received) break;
    }
    const status chatted = co_await chatting.finish();
    out.add("a stream both ways", chatted);
  }

  // More than the windows permit at once, and a slow reader.
  static task<> queued(echo_stub s, outcomes& out) {
    const echo::Text large = text(std::string(100'000, 'x'), 6);
    auto repeating = s.Repeat(large);
    co_await sleep_for(std::chrono::milliseconds(10));
    echo::Text one;
    while (true) {
      const auto next = co_await repeating.next();
      if (!next.ok()) out.add("a slow stream", next.status());
      if (!next.ok() || !*next) break;
      co_await sleep_for(std::chrono::milliseconds(10));
    }
  }

  static task<> ends(echo_stub s, outcomes& out) {
    const echo::Text hang = text("hang");
    const call_options limit = within(std::chrono::milliseconds(5));
    const auto late = co_await s.Misbehave(hang, limit);
    out.add("a call with a deadline",
            late.status().code() == status_code::deadline_exceeded ? status() : late.status());
    auto cancelled = s.Chat();
    const status begun = co_await cancelled.write(hang);
    out.add("the write of a call that is cancelled", begun);
    cancelled.cancel();
    const echo::Text thrown = text("throw status");
    const auto failed = co_await s.Misbehave(thrown);
    out.add("a handler that throws",
            failed.status().code() == status_code::aborted ? status() : failed.status());
  }

  static task<> one_of_many(echo_stub s, int i, outcomes& out) {
    const echo::Text one = text("one of many", i);
    call_options options;
    // CONTINUATION, and fields that are inserted into the table of either side.
    options.add_metadata("x-long", std::string(1'500, static_cast<char>('a' + i)));
    options.add_metadata("x-longer", std::string(17'000, static_cast<char>('a' + i)));
    const auto reply = co_await s.Say(one, options);
    out.add("one of many calls", reply.status());
  }

  static task<> many(echo_stub s, outcomes& out) {
    std::vector<task<>> all;
    for (int i = 0; i < 12; ++i) all.push_back(one_of_many(s, i, out));
    co_await when_all(std::move(all));
  }

  // Input that our clients never send: a header block in pieces, a message in pieces, a request for a page,
  // and requests without an end.
  static task<> written_by_hand(std::string at) {
    namespace raw = testing_support::raw_frames;
    auto connected = co_await net::stream::connect(net::address::parse(at).value());
    if (!connected) co_return;
    const std::string block = raw::literal(":method", "POST") + raw::literal(":scheme", "http") +
                              raw::literal(":path", "/echo.Echo/Say") + raw::literal(":authority", "h") +
                              raw::literal("te", "trailers") +
                              raw::literal("content-type", "application/grpc");
    std::string content = raw::greeting() + raw::frame(raw::headers, 0, 1, block.substr(0, 20)) +
                          raw::frame(raw::continuation, 0, 1, block.substr(20, 20)) +
                          raw::frame(raw::continuation, raw::end_headers, 1, block.substr(40)) +
                          raw::part_of_message(1, 100'000, 40'000) + raw::head("/echo.Echo/Collect", 3) +
                          raw::part_of_message(3, 50'000, 10'000) +
                          raw::frame(raw::rst_stream, 0, 3, std::string(4, '\0')) +
                          raw::frame(raw::headers, raw::end_headers | raw::end_stream, 5,
                                     raw::literal(":method", "GET") + raw::literal(":scheme", "http") +
                                         raw::literal(":path", "/") + raw::literal(":authority", "h")) +
                          raw::frame(raw::ping, 0, 0, std::string(8, 'p'));
    static_cast<void>(co_await connected->write(as_bytes(content)));
    std::uint8_t room[4096];
    static_cast<void>(co_await connected->read(room));
    co_await sleep_for(std::chrono::milliseconds(5));
  }

  // Of a client on an existing connection.
  static task<> calls(echo_stub s, outcomes& out) {
    co_await unary(s, out);
    co_await packed(s, out);
    co_await differing(s, out);
    co_await streams(s, out);
    co_await queued(s, out);
    co_await ends(s, out);
    co_await many(s, out);
  }

  static task<> all(echo_stub s, std::string at, outcomes& out) {
    co_await calls(s, out);
    std::string where = at;
    co_await written_by_hand(std::move(where));
  }

  static task<> one_call(echo_stub s, outcomes& out) {
    const echo::Text small = text("still there");
    const auto reply = co_await s.Say(small);
    out.must_be_ok("a call after all this, on a new connection,", reply.status());
  }
};

}  // namespace coracle::test
