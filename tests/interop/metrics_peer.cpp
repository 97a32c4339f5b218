// metrics_peer: what peers/otel_plugin/main.go does with grpc-go, here with Coracle. For
// slow/plugin_comparison_test.py.
//
//   metrics_peer server            prints its address, and serves until SIGTERM
//   metrics_peer client ADDRESS    makes the calls
#include "../../examples/command_line.hpp"
#include "grpc/testing/test.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/runtime.hpp"
#include "coracle/server.hpp"
#include "coracle/telemetry/telemetry.hpp"

#include <nlohmann/json.hpp>

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

using namespace std::chrono_literals;
namespace pb = grpc::testing;

constexpr int deadline_exceeded = 4;

// A request with a status gets that; one with the code 4 is not answered before its client has gone.
class testing_service final : public pb::rpc::TestService::service {
  coracle::reply<pb::SimpleResponse> UnaryCall(coracle::server_context&,
                                               const pb::SimpleRequest& request) override {
    const auto& wanted = request.response_status();
    if (wanted.code() == deadline_exceeded) co_await coracle::sleep_for(1h);
    if (wanted.code() != 0)
      co_return coracle::status(static_cast<coracle::status_code>(wanted.code()), wanted.message());
    pb::SimpleResponse response;
    response.mutable_payload()->set_body(
        std::string(static_cast<std::size_t>(request.response_size()), '\0'));
    co_return response;
  }
  coracle::replies<pb::StreamingOutputCallResponse> StreamingOutputCall(
      coracle::server_context&, const pb::StreamingOutputCallRequest& request) override {
    auto out = co_await coracle::replies<pb::StreamingOutputCallResponse>::writer();
    for (const auto& one : request.response_parameters()) {
      pb::StreamingOutputCallResponse response;
      response.mutable_payload()->set_body(std::string(static_cast<std::size_t>(one.size()), '\0'));
      co_await out.write(response);
    }
    co_return coracle::status();
  }
};

pb::SimpleRequest failing(int code) {
  pb::SimpleRequest request;
  request.mutable_response_status()->set_code(code);
  if (code != deadline_exceeded) request.mutable_response_status()->set_message("as asked for");
  return request;
}

coracle::task<> call(const pb::rpc::TestService::stub& stub, pb::SimpleRequest request,
                     coracle::duration timeout = 1min) {
  coracle::call_options options;
  options.timeout = timeout;
  (void)co_await stub.UnaryCall(request, options);
}

coracle::task<> make_calls(const coracle::channel& channel) {
  const pb::rpc::TestService::stub stub(channel);
  pb::SimpleRequest plain;
  plain.set_response_size(5000);
  plain.mutable_payload()->set_body(std::string(100, '\0'));
  for (int i = 0; i < 3; ++i) co_await call(stub, plain);
  constexpr int not_found = 5;
  constexpr int unavailable = 14;
  for (const int code : {not_found, not_found, unavailable}) co_await call(stub, failing(code));
  co_await call(stub, failing(deadline_exceeded), 200ms);
  pb::StreamingOutputCallRequest several;
  for (const int size : {10, 2000, 100'000}) several.add_response_parameters()->set_size(size);
  auto stream = stub.StreamingOutputCall(several);
  pb::StreamingOutputCallResponse response;
  while (true) {
    const coracle::result<bool> read = co_await stream.read(response);
    if (!read.ok() || !*read) break;
  }
  const pb::Empty empty;
  (void)co_await stub.EmptyCall(empty);
}

void print_all(const coracle::metrics_snapshot& all) {
  for (const coracle::metric_family& family : all.families) {
    if (!family.name.starts_with("grpc.")) continue;
    const bool is_histogram = family.kind == coracle::instrument_kind::histogram;
    nlohmann::json made{{"name", family.name},
                        {"unit", family.unit},
                        {"kind", is_histogram ? "histogram" : "counter"},
                        {"points", nlohmann::json::array()}};
    if (is_histogram) made["bounds"] = family.bounds;
    for (const coracle::metric_point& one : family.points) {
      nlohmann::json point{{"labels", nlohmann::json::object()}};
      for (const auto& [key, value] : one.labels) point["labels"][key] = value;
      point["count"] = one.histogram ? one.histogram->count : static_cast<std::uint64_t>(one.value);
      point["sum"] = one.histogram ? one.histogram->sum : 0;
      if (one.histogram) point["counts"] = one.histogram->buckets;
      made["points"].push_back(point);
    }
    std::printf("%s\n", made.dump().c_str());
  }
}

int serve() {
  sigset_t ending;  // which no thread handles: the metrics are read when the calls have ended
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  coracle::runtime rt;
  coracle::telemetry telemetry(rt);
  coracle::server server(rt);
  testing_service service;
  server.add(service);
  telemetry.observe(server);
  server.listen("127.0.0.1:0", coracle::insecure()).throw_if_error();
  std::printf("listening on 127.0.0.1:%u\n", static_cast<unsigned>(server.port()));
  std::fflush(stdout);
  server.start();
  int signal = 0;
  sigwait(&ending, &signal);
  coracle::sync_wait(rt, server.drain(5s));
  print_all(coracle::sync_wait(rt, telemetry.metrics()));
  return 0;
}

int call_server(const std::string& address) {
  coracle::runtime rt;
  const coracle::telemetry telemetry(rt);
  {
    const coracle::channel channel(rt, address, coracle::insecure());
    coracle::sync_wait(rt, make_calls(channel));
  }
  print_all(coracle::sync_wait(rt, telemetry.metrics()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("metrics_peer", [&] {
    const examples::command_line line(argc, argv, "SIDE [ADDRESS]");
    const auto& words = line.words();
    return words[0] == "client" && words.size() == 2 ? call_server(words[1]) : serve();
  });
}
