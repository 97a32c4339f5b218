// bench_engine CALLS_PER_BATCH BATCHES MODE, with the modes
// grpc|in_place|nghttp2|deadlines|indexed_deadlines|traces|metrics|unsampled|sampled|client|
// client_metrics|protobuf|recorder|rejected: the cost of a small unary call from the bytes of its request to
// the bytes of its reply: HTTP/2, routing, call, protobuf and handler on a loop, without a socket. Prints a
// line of JSON; under callgrind only the measured part is collected.
//
// in_place: as grpc, with a handler that constructs its reply in place.
// metrics: as grpc, with telemetry.
// unsampled, sampled: as metrics, with traces of which none or 1 % are recorded.
// rejected: as grpc, but a rate limit rejects all calls after the first one.
// client: the same on the client's side, from the begin of a call to its reply.
// client_metrics: as client, with telemetry.
// recorder: only the events of a server's call.
// protobuf: only the messages, parsed, copied and serialized as often: the part that no engine can save.
#include "base/event_ring.hpp"
#include "helloworld.coracle.hpp"
#include "http2/frame.hpp"
#include "micro/canned_client.hpp"
#include "micro/canned_duplex.hpp"
#include "micro/canned_server.hpp"
#include "micro/measured.hpp"
#include "server/server_state.hpp"
#include "server/shard.hpp"
#include "telemetry/call_observers.hpp"

#include <coracle/client.hpp>
#include <coracle/server.hpp>
#include <coracle/telemetry/finished_span.hpp>
#include <coracle/telemetry/sampler.hpp>
#include <coracle/telemetry/traces.hpp>
#include <coracle/transport/impl/connector.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using bench::measured;
using bench::octets;

constexpr std::size_t name_bytes = 100;
constexpr std::size_t warm_up_batches = 20;

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    helloworld::HelloReply reply;
    reply.set_message(request.name());
    return reply;
  }
};

class in_place_greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context& context,
                                                  const helloworld::HelloRequest& request) override {
    auto& reply = context.make_reply<helloworld::HelloReply>();
    reply.set_message(request.name());
    return &reply;
  }
};

coracle::task<> wait_for(coracle::event<>& e) { co_await e; }

// What is measured of the calls.
enum class observed : unsigned char { nothing, metrics, no_traces, few_traces };

// Where the spans of a program leave it.
class discarding_sink final : public coracle::span_sink {
 public:
  void take(std::vector<coracle::finished_span>&& batch) noexcept override { batch.clear(); }
  [[nodiscard]] std::uint64_t dropped() const noexcept override { return 0; }
};

void observe(coracle::server_internal::server_state& server, coracle::runtime& on, observed what) {
  namespace telemetry = coracle::telemetry_internal;
  if (what == observed::nothing) return;
  const std::shared_ptr<telemetry::core> core = telemetry::core::of(on, {});
  server.add_observer(std::make_shared<telemetry::server_calls>(core, nullptr));
  if (what == observed::metrics) return;
  coracle::trace_options traces;
  traces.sample =
      coracle::sampler::parent_based(coracle::sampler::ratio(what == observed::few_traces ? 0.01 : 0));
  core->sinks()->add(std::make_shared<discarding_sink>());
  core->trace(traces);
}

bool serve(coracle::service& service, bench::canned_client& client, std::size_t batches, observed what,
           bool rejects) {
  bench::canned_course course{client, warm_up_batches, batches};
  coracle::runtime runtime;
  coracle::server_options options;
  if (rejects) options.rate_limits.emplace_back(0.001, 1);
  const auto server = std::make_shared<coracle::server_internal::server_state>(runtime, options);
  server->make_shards();
  server->routes.add(service);
  observe(*server, runtime, what);
  coracle::loop& owner_loop = runtime.at(0);
  server->with_shard(0, [&](coracle::server_internal::shard* shard) {
    shard->adopt(std::make_unique<bench::canned_duplex>(owner_loop, course));
  });
  runtime.spawn_on(owner_loop, wait_for(course.over));
  runtime.run();
  server->close();
  return !course.wrong;
}

class canned_connector final : public coracle::transport::connector {
 public:
  explicit canned_connector(bench::canned_course& course) : course_(course) {}
  coracle::task<coracle::result<std::unique_ptr<coracle::net::duplex>>> make_duplex(
      coracle::loop& on) override {
    std::unique_ptr<coracle::net::duplex> made = std::make_unique<bench::canned_duplex>(on, course_);
    co_return made;
  }
  [[nodiscard]] std::string authority() const override { return "127.0.0.1:50051"; }

 private:
  bench::canned_course& course_;
};

// One of the callers, whose calls are in each batch.
coracle::task<> call(helloworld::rpc::Greeter::stub stub, std::size_t times, std::string_view name,
                     bool& wrong) {
  helloworld::HelloRequest request;
  request.set_name(std::string(name));
  for (std::size_t i = 0; i < times; ++i) {
    const auto reply = co_await stub.SayHello(request);
    wrong |= !reply || reply->message() != name;
  }
}

bool make_calls(std::size_t calls, std::size_t batches, bool metrics) {
  const octets message = bench::canned_message(name_bytes);
  bench::canned_server server(calls, name_bytes);
  bench::canned_course course{server, warm_up_batches, batches, false};
  bool wrong = false;
  coracle::runtime runtime(1);
  if (metrics) (void)coracle::telemetry_internal::core::of(runtime, {});
  {
    coracle::channel channel(runtime, std::make_shared<canned_connector>(course));
    const helloworld::rpc::Greeter::stub stub(channel);
    for (std::size_t i = 0; i < calls; ++i)
      runtime.spawn(call(stub, warm_up_batches + batches + 1, coracle::as_text(message).substr(2), wrong));
    runtime.run();
  }
  return !course.wrong && !wrong;
}

bool echo_messages(coracle::bytes_view bytes, std::size_t times) {
  const std::string message(coracle::as_text(bytes));
  std::string out(message.size(), ' ');
  measured::begin();
  for (std::size_t i = 0; i < times; ++i) {
    helloworld::HelloRequest request;
    if (!request.ParseFromString(message)) return false;
    helloworld::HelloReply reply;
    reply.set_message(request.name());
    (void)reply.ByteSizeLong();
    (void)reply.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(out.data()));
  }
  measured::end();
  return out == message;
}

bool record_calls(std::size_t calls, std::size_t batches) {
  namespace base = coracle::base;
  base::heap_event_ring memory;
  base::event_ring& ring = memory.get();
  const base::recorded_connection connection(ring);
  const base::method_name& method = base::method_names::of_server("/helloworld.Greeter/SayHello");
  std::uint8_t header[coracle::http2::frame_header_bytes] = {};
  measured::begin();
  for (std::size_t batch = 0; batch < batches; ++batch) {
    ring.set_time(coracle::time_point(coracle::duration(batch)));
    for (std::uint32_t id = 1; id <= calls; ++id) {
      connection.frame_received(header);
      ring.call_began(connection.number(), id, method);
      connection.frame_received(header);
      ring.reply_sent(connection.number(), id, 11, name_bytes, 2);
    }
  }
  measured::end();
  return ring.read().newer.size() + ring.read().older.size() > 3 * calls;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t calls = argc == 4 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const std::size_t batches = argc == 4 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const std::string_view mode = argc == 4 ? argv[3] : "";
  using bench::client_style;
  const std::map<std::string_view, client_style> styles = {
      {"grpc", client_style::grpc},
      {"in_place", client_style::grpc},
      {"nghttp2", client_style::nghttp2},
      {"deadlines", client_style::deadlines},
      {"indexed_deadlines", client_style::indexed_deadlines},
      {"traces", client_style::traces},
      {"metrics", client_style::grpc},
      {"unsampled", client_style::grpc},
      {"sampled", client_style::grpc},
      {"client", client_style::grpc},
      {"client_metrics", client_style::grpc},
      {"protobuf", client_style::grpc},
      {"recorder", client_style::grpc},
      {"rejected", client_style::grpc}};
  const auto style = styles.find(mode);
  if (calls == 0 || batches == 0 || style == styles.end()) {
    std::fputs(
        "usage: bench_engine CALLS_PER_BATCH BATCHES "
        "grpc|in_place|nghttp2|deadlines|indexed_deadlines|traces|metrics|unsampled|sampled|client|client_"
        "metrics|protobuf|recorder|rejected\n",
        stderr);
    return 2;
  }
  bench::canned_client client(style->second, calls, name_bytes);
  bool right = false;
  if (mode.starts_with("client")) {
    right = make_calls(calls, batches, mode == "client_metrics");
  } else if (mode == "recorder") {
    right = record_calls(calls, batches);
  } else if (mode == "protobuf") {
    right = echo_messages(client.message(), calls * batches);
  } else {
    greeter by_value;
    in_place_greeter in_place;
    coracle::service& service = mode == "in_place" ? static_cast<coracle::service&>(in_place)
                                                   : static_cast<coracle::service&>(by_value);
    const observed what = mode == "metrics"     ? observed::metrics
                          : mode == "unsampled" ? observed::no_traces
                          : mode == "sampled"   ? observed::few_traces
                                                : observed::nothing;
    const bool rejects = mode == "rejected";
    right = serve(service, client, batches, what, rejects) &&
            client.answered() + client.rejected() == 1 + calls * (warm_up_batches + batches) &&
            client.rejected() == (rejects ? calls * (warm_up_batches + batches) : 0);
  }
  if (!right) {
    std::fputs("bench_engine: an answer is not right\n", stderr);
    return 1;
  }
  std::printf(R"({"calls": %zu, "allocations": %llu, "allocated_bytes": %llu})"
              "\n",
              calls * batches, static_cast<unsigned long long>(measured::allocations),
              static_cast<unsigned long long>(measured::allocated_bytes));
}
