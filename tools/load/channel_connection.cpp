#include "tools/load/channel_connection.hpp"

#include "tools/terminal_text.hpp"

#include <coracle/client/channel.hpp>
#include <coracle/client/client_observer.hpp>
#include <coracle/client/connection_bytes.hpp>
#include <coracle/client/generic_stub.hpp>
#include <coracle/coro/scope.hpp>
#include <coracle/net/address.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace coracle::tools::load {

namespace {

call_end end_of(const status& outcome) {
  if (outcome.ok()) return {};
  return call_end::failed(std::string(name_of(outcome.code())), std::string(outcome.message()));
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
  [[nodiscard]] call_end ended(const status& outcome) const {
    call_end e = end_of(outcome);
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
task<> write_all(Call& call, const request_source& source, request_place at, traffic& counted_traffic) {
  bytes_message scratch;
  const std::uint32_t messages = source.messages(at);
  for (at.message = 0; at.message < messages; ++at.message) {
    const bytes_message& m = source.message(at, scratch);
    const status written = co_await call.write(m);
    if (!written.ok()) co_return;  // the read side reports how the call ended
    counted_traffic.sent(m);
  }
}

task<> write_side(bidi_call<bytes_message, bytes_message>& call, const request_source& source,
                  request_place at, traffic& counted_traffic) {
  co_await write_all(call, source, at, counted_traffic);
  co_await call.writes_done();
}

// Reads all replies, then returns the call's status.
template <class Call>
task<status> read_all(Call& call, traffic& counted_traffic) {
  for (;;) {
    const result<std::optional<bytes_message>> one = co_await call.next();
    if (!one.ok()) co_return one.status();
    if (!*one) co_return status();
    counted_traffic.received(**one);
  }
}

// Records the address of the server that an attempt was sent to.
class peer_observer final : public client_observer {
 public:
  void attempt_attached(observed_attempt& a) noexcept override { peer = *a.peer; }
  std::optional<net::address> peer;
};

class channel_connection final : public connection {
 public:
  channel_connection(runtime& on, const std::string& target, const channel_credentials& credentials,
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

  task<call_end> call(const request_source& source, request_place at) override {
    switch (source.kind()) {
      case call_kind::unary: return unary(source, at);
      case call_kind::client_streaming: return client_streaming(source, at);
      case call_kind::server_streaming: return server_streaming(source, at);
      case call_kind::bidi: break;
    }
    return bidi(source, at);
  }

  [[nodiscard]] std::uint64_t reconnects() const noexcept override {
    const std::uint64_t made = bytes_of_connections(channel_).connections;
    return made > 0 ? made - 1 : 0;
  }

  [[nodiscard]] wire_bytes wire() const noexcept override {
    const connection_bytes all = bytes_of_connections(channel_);
    return {all.sent, all.received};
  }

  // A channel reports why it cannot connect through the status of its calls. If it is connected by now, this
  // queries the server's health, which has no side effects. Sets `software` to the server's "server" header.
  task<call_end> reason(std::string* software) {
    const bytes_message nothing;
    const call_options at_once = within(std::chrono::seconds(1));
    auto check = stub_.unary("/grpc.health.v1.Health/Check", nothing, at_once);
    const auto reply = co_await check;
    if (software) *software = server_header(check.initial_metadata(), check.trailing_metadata());
    const status outcome = reply.status();
    if (outcome.ok() || outcome.code() == status_code::unimplemented) co_return call_end();
    co_return end_of(outcome);
  }

 private:
  static std::string server_header(const metadata& initial, const metadata& trailing) {
    for (const metadata* one : {&initial, &trailing})
      if (const auto value = one->find("server")) return terminal_text(*value);
    return {};
  }

  task<call_end> unary(const request_source& source, request_place at) {
    traffic counted_traffic;
    bytes_message scratch;
    const bytes_message& request = source.message(at, scratch);
    counted_traffic.sent(request);
    const auto reply = co_await stub_.unary(source.path().c_str(), request);
    if (!reply.ok()) co_return counted_traffic.ended(reply.status());
    counted_traffic.received(*reply);
    co_return counted_traffic.ended(status());
  }

  task<call_end> client_streaming(const request_source& source, request_place at) {
    traffic counted_traffic;
    auto call = stub_.client_streaming(source.path().c_str());
    co_await write_all(call, source, at, counted_traffic);
    const result<bytes_message> reply = co_await call.finish();
    if (!reply.ok()) co_return counted_traffic.ended(reply.status());
    counted_traffic.received(*reply);
    co_return counted_traffic.ended(status());
  }

  task<call_end> server_streaming(const request_source& source, request_place at) {
    traffic counted_traffic;
    bytes_message scratch;
    const bytes_message& request = source.message(at, scratch);
    counted_traffic.sent(request);
    auto call = stub_.server_streaming(source.path().c_str(), request);
    const status outcome = co_await read_all(call, counted_traffic);
    co_return counted_traffic.ended(outcome);
  }

  task<call_end> bidi(const request_source& source, request_place at) {
    traffic counted_traffic;
    auto call = stub_.bidi(source.path().c_str());
    scope writer{co_await coro::this_environment()};
    writer.spawn(write_side(call, source, at, counted_traffic));
    const status outcome = co_await read_all(call, counted_traffic);
    co_await writer.join();
    co_return counted_traffic.ended(outcome);
  }

  channel channel_;
  const generic_stub stub_;
};

}  // namespace

std::unique_ptr<connection> channel_connector::make() {
  return std::make_unique<channel_connection>(on_, target_, credentials_, options_);
}

task<call_end> channel_connector::reach(duration at_most, server_identity& identity) {
  const auto seen = std::make_shared<peer_observer>();
  channel_options observed = options_;
  observed.observer = seen;
  channel_connection one(on_, target_, credentials_, observed);
  const call_end opened = co_await one.open(at_most);
  if (!opened.ok()) co_return opened;
  const call_end healthy = co_await one.reason(&identity.software);
  static_cast<void>(healthy);  // the calls of the run will show that
  if (seen->peer) identity.address = seen->peer->to_string();
  co_return opened;
}

}  // namespace coracle::tools::load
