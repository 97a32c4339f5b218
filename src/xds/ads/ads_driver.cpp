#include "xds/ads/ads_driver.hpp"

#include "coracle/base/log.hpp"
#include "coracle/base/result.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/measure.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "coracle/runtime/loop.hpp"
#include "xds/ads/wait_until.hpp"
#include "xds/limits.hpp"
#include "xds/status/client_instruments.hpp"
#include "xds/wire/discovery.pb.h"

#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds {

namespace {

constexpr const char* stream_path =
    "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";

// Responses come as bytes: what they contain is counted before it is parsed.
using ads_call = bidi_call<wire::DiscoveryRequest, bytes_message>;

// Of an exception that ended a stream.
status status_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return status::internal(std::string("exception: ") + e.what());
  } catch (...) {
    return status::internal("an exception that is no std::exception");
  }
}

}  // namespace

// Shared by the driver, until it closes the stream, and the stream's tasks.
struct ads_driver::stream {
  explicit stream(server_id to, channel by) : server(to), through(std::move(by)) {}

  const server_id server;
  const channel through;
  ads_call* call = nullptr;  // while it is there
  bool closed = false;  // by the driver, which ignores whatever it may still bring
  bool ended = false;  // by the control plane
  event<> writable;  // there may be a request
  event<> delivered;  // the events of the last response

  // Has the stream know its call.
  class call_of {
   public:
    call_of(stream& of, ads_call& c) noexcept : of_(of) { of_.call = &c; }
    call_of(const call_of&) = delete;
    call_of& operator=(const call_of&) = delete;
    ~call_of() { of_.call = nullptr; }

   private:
    stream& of_;
  };

  [[nodiscard]] static task<> write_requests(std::shared_ptr<stream> self, ads_client& from);
  void close() {
    closed = true;
    if (call) call->cancel();
    writable.set();
    delivered.set();
  }
};

task<> ads_driver::stream::write_requests(std::shared_ptr<stream> self, ads_client& from) {
  while (!self->closed && !self->ended) {
    self->writable.reset();
    while (!self->closed && !self->ended) {
      const auto request = from.next_request(self->server, coro::this_executor().now());
      if (!request) break;
      const status written = co_await self->call->write(*request);
      if (!written.ok()) co_return;  // the reader has the status of the call
    }
    if (self->closed || self->ended) co_return;
    co_await self->writable;
  }
}

watch_id ads_driver::watch(resource_kind kind, std::string_view name, watch_function tell) {
  auto kept = std::make_shared<const watch_function>(std::move(tell));
  const watch_id id = client_.watch(kind, name);
  try {
    watches_.emplace(id, std::move(kept));
  } catch (...) {
    client_.cancel(id);
    throw;
  }
  due_.set();
  return id;
}

void ads_driver::cancel(watch_id watch) {
  client_.cancel(watch);
  watches_.erase(watch);
  due_.set();
}

task<> ads_driver::run() {
  scope streams{co_await coro::this_environment()};
  streams.spawn(steer(streams));
  co_await streams.join();
}

task<> ads_driver::steer(scope& streams) {
  for (;;) {
    due_.reset();
    const time_point now = coro::this_executor().now();
    client_.advance(now);
    carry_out(now, streams);
    write_notes();
    measure_events();
    tell_all();
    // Watch functions may have watched more and cancelled, which is carried out before the next responses are
    // read.
    if (due_.is_set()) continue;
    for (const auto& [id, s] : streams_) s->delivered.set();
    const time_point until = client_.deadline();
    co_await wait_until(due_, until);
  }
}

void ads_driver::carry_out(time_point now, scope& streams) {
  while (const auto command = client_.next_command(now)) {
    if (command->what == stream_command::kind::close) {
      const auto found = streams_.find(command->server);
      if (found == streams_.end()) continue;
      const auto s = std::move(found->second);
      streams_.erase(found);
      s->close();
      continue;
    }
    const server_id server = command->server;
    try {
      auto s = std::make_shared<stream>(server, make_(client_.server(server)));
      streams_.insert_or_assign(server, s);
      streams.spawn(run_stream(std::move(s)));
    } catch (...) {
      streams_.erase(server);
      client_.stream_ended(server, status_of(std::current_exception()), now);
    }
  }
  for (const auto& [id, s] : streams_) s->writable.set();
}

void ads_driver::write_notes() {
  while (const auto n = client_.next_note())
    loop::current()->log().write(log_room::client, n->level, n->text);
}

void ads_driver::measure_events() {
  while (const auto e = client_.next_client_event()) {
    const std::string_view target = client_.target();
    const std::string_view server = client_.server(e->server).uri;
    switch (e->what) {
      case client_event::kind::server_failure: measure(client_server_failure, 1, {target, server}); break;
      case client_event::kind::valid_resource:
        measure(client_updates_valid, 1, {target, server, type_name(e->resource)});
        break;
      case client_event::kind::invalid_resource:
        measure(client_updates_invalid, 1, {target, server, type_name(e->resource)});
        break;
    }
  }
}

void ads_driver::tell_all() {
  while (const auto e = client_.next_event()) {
    const auto found = watches_.find(e->watch);
    if (found == watches_.end()) continue;
    const auto tell = found->second;
    (*tell)(*e);
  }
}

task<> ads_driver::run_stream(std::shared_ptr<stream> s) {
  status end;
  try {
    co_await converse(s, end);
  } catch (const coro::cancelled&) {
    throw;
  } catch (...) {
    // Memory may have been exhausted: the other streams go on, and this one is tried again.
    end = status_of(std::current_exception());
  }
  if (s->closed) co_return;
  streams_.erase(s->server);
  client_.stream_ended(s->server, end, coro::this_executor().now());
  due_.set();
}

// `end` becomes the status of the call.
task<> ads_driver::converse(std::shared_ptr<stream> s, status& end) {
  call_options options;
  options.max_receive_bytes = limits::response_bytes_max;
  const generic_stub plane(s->through);
  ads_call call = plane.bidi<wire::DiscoveryRequest, bytes_message>(stream_path, options);
  const stream::call_of at(*s, call);
  end = co_await call.wait_for_connection();
  if (!end.ok() || s->closed) co_return;
  client_.stream_opened(s->server, coro::this_executor().now());
  due_.set();
  scope both{co_await coro::this_environment()};
  std::exception_ptr failure;
  try {
    both.spawn(stream::write_requests(s, client_));
    both.spawn(read_responses(s, end));
  } catch (...) {
    failure = std::current_exception();
    both.request_stop();
  }
  co_await both.join();
  if (failure) std::rethrow_exception(failure);
}

task<> ads_driver::read_responses(std::shared_ptr<stream> s, status& end) {
  const resource_rules rules = client_.rules_of(s->server);
  while (!s->closed) {
    bytes_message bytes;
    const result<bool> more = co_await s->call->read(bytes);
    if (!more.ok() || !*more) {
      end = more.status();
      break;
    }
    if (s->closed) break;
    auto response = read_response(std::string_view(bytes.bytes()), rules);
    if (!response) {
      end = response.status();
      s->call->cancel();
      break;
    }
    s->delivered.reset();
    client_.received(s->server, *std::move(response), coro::this_executor().now());
    due_.set();
    co_await s->delivered;
  }
  s->ended = true;
  s->writable.set();
}

}  // namespace coracle::xds
