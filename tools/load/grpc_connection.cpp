#include "tools/load/grpc_connection.hpp"

#include "tools/terminal_text.hpp"

#include <coracle/client/channel.hpp>
#include <coracle/client/client_observer.hpp>
#include <coracle/client/generic_stub.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/net/address.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace coracle::tools::load {

namespace {

call_end end_of(const status& how) {
  if (how.ok()) return {};
  return call_end::failed(std::string(name_of(how.code())), std::string(how.message()));
}

// Counts while the call runs; the result takes the counts over.
struct traffic {
  void sent(const bytes_message& m) {
    ++numbers.messages_sent;
    numbers.bytes_sent += m.view().size();
  }
  void received(const bytes_message& m) {
    ++numbers.messages_received;
    numbers.bytes_received += m.view().size();
  }
  [[nodiscard]] call_end ended(const status& how) const {
    call_end e = end_of(how);
    e.messages_sent = numbers.messages_sent;
    e.messages_received = numbers.messages_received;
    e.bytes_sent = numbers.bytes_sent;
    e.bytes_received = numbers.bytes_received;
    return e;
  }
  call_end numbers;
};

// Writes until the server accepts no more or all messages are written. Leaves the client's side of the stream
// open.
template <class Call>
task<> write_all(Call& call, const request_source& what, request_place at, traffic& counted) {
  bytes_message scratch;
  const std::uint32_t messages = what.messages(at);
  for (at.message = 0; at.message < messages; ++at.message) {
    const bytes_message& m = what.message(at, scratch);
    const status written = co_await call.write(m);
    if (!written.ok()) co_return;  // the read side reports how the call ended
    counted.sent(m);
  }
}

task<> write_side(bidi_call<bytes_message, bytes_message>& call, const request_source& what, request_place at,
                  traffic& counted) {
  co_await write_all(call, what, at, counted);
  co_await call.writes_done();
}

// Reads all replies, then returns the call's status.
template <class Call>
task<status> read_all(Call& call, traffic& counted) {
  for (;;) {
    const result<std::optional<bytes_message>> one = co_await call.next();
    if (!one.ok()) co_return one.status();
    if (!*one) co_return status();
    counted.received(**one);
  }
}

// Records the address of the server that an attempt was sent to.
class peer_observer final : public client_observer {
 public:
  void attempt_attached(made_attempt& a) noexcept override { peer = *a.peer; }
  std::optional<net::address> peer;
};

class grpc_connection final : public connection {
 public:
  grpc_connection(runtime& on, const std::string& target, const channel_credentials& credentials,
                  const channel_options& options)
      : channel_(on, target, credentials, options), stub_(channel_) {}

  task<call_end> open(duration at_most) override {
    const time_point until = deadline_after(channel_.owner().now(), at_most);
    channel_.connect();
    for (;;) {
      const connectivity now = channel_.state();
      if (now == connectivity::ready) co_return call_end();
      if (now == connectivity::transient_failure) co_return co_await reason(nullptr);
      const duration left = until - channel_.owner().now();
      const bool changed = co_await channel_.wait_for_state_change(now, left);
      if (!changed && channel_.owner().now() >= until)
        co_return call_end::failed("DEADLINE_EXCEEDED", "connecting took longer than --connect-timeout");
    }
  }

  task<call_end> call(const request_source& what, request_place at) override {
    switch (what.kind()) {
      case call_kind::unary: return unary(what, at);
      case call_kind::client_streaming: return client_streaming(what, at);
      case call_kind::server_streaming: return server_streaming(what, at);
      case call_kind::bidi: break;
    }
    return bidi(what, at);
  }

  // The channel reconnects by itself when a call is made. This misses a connection that is lost in the same
  // loop iteration in which it becomes ready, but such a connection has carried no call.
  task<> watch() override {
    for (connectivity before = channel_.state();;) {
      co_await channel_.wait_for_state_change(before);
      const connectivity now = channel_.state();
      if (now == connectivity::ready && before != connectivity::ready) ++reconnects_;
      before = now;
    }
  }

  // A channel reports why it cannot connect through the status of its calls. If it is connected by now, this
  // queries the server's health, which has no side effects. Sets `software` to the server's "server" header.
  task<call_end> reason(std::string* software) {
    const bytes_message nothing;
    const call_options at_once = within(std::chrono::seconds(1));
    auto check = stub_.unary("/grpc.health.v1.Health/Check", nothing, at_once);
    const auto reply = co_await check;
    if (software) *software = server_header(check.initial_metadata(), check.trailing_metadata());
    const status how = reply.status();
    if (how.ok() || how.code() == status_code::unimplemented) co_return call_end();
    co_return end_of(how);
  }

 private:
  static std::string server_header(const metadata& initial, const metadata& trailing) {
    for (const metadata* one : {&initial, &trailing})
      if (const auto value = one->find("server")) return terminal_text(*value);
    return {};
  }

  task<call_end> unary(const request_source& what, request_place at) {
    traffic counted;
    bytes_message scratch;
    const bytes_message& request = what.message(at, scratch);
    counted.sent(request);
    const auto reply = co_await stub_.unary(what.path().c_str(), request);
    if (!reply.ok()) co_return counted.ended(reply.status());
    counted.received(*reply);
    co_return counted.ended(status());
  }

  task<call_end> client_streaming(const request_source& what, request_place at) {
    traffic counted;
    auto call = stub_.client_streaming(what.path().c_str());
    co_await write_all(call, what, at, counted);
    const result<bytes_message> reply = co_await call.finish();
    if (!reply.ok()) co_return counted.ended(reply.status());
    counted.received(*reply);
    co_return counted.ended(status());
  }

  task<call_end> server_streaming(const request_source& what, request_place at) {
    traffic counted;
    bytes_message scratch;
    const bytes_message& request = what.message(at, scratch);
    counted.sent(request);
    auto call = stub_.server_streaming(what.path().c_str(), request);
    const status how = co_await read_all(call, counted);
    co_return counted.ended(how);
  }

  task<call_end> bidi(const request_source& what, request_place at) {
    traffic counted;
    auto call = stub_.bidi(what.path().c_str());
    scope writer{co_await coro::this_environment()};
    writer.spawn(write_side(call, what, at, counted));
    const status how = co_await read_all(call, counted);
    co_await writer.join();
    co_return counted.ended(how);
  }

  channel channel_;
  const generic_stub stub_;
};

}  // namespace

std::unique_ptr<connection> grpc_connector::make() {
  return std::make_unique<grpc_connection>(on_, target_, credentials_, options_);
}

task<call_end> grpc_connector::reach(duration at_most, server_identity& who) {
  const auto seen = std::make_shared<peer_observer>();
  channel_options observed = options_;
  observed.observer(seen);
  grpc_connection one(on_, target_, credentials_, observed);
  const call_end opened = co_await one.open(at_most);
  if (!opened.ok()) co_return opened;
  const call_end healthy = co_await one.reason(&who.software);
  static_cast<void>(healthy);  // the calls of the run will show that
  if (seen->peer) who.address = seen->peer->to_string();
  co_return opened;
}

}  // namespace coracle::tools::load
