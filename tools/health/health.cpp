// health: coracle health is a health probe for scripts, containers and Kubernetes.
#include "tools/commands.hpp"
#include "tools/diagnostics.hpp"
#include "tools/endpoint.hpp"
#include "tools/failure.hpp"
#include "tools/option_names.hpp"
#include "tools/standard_output.hpp"

#include "grpc/health/v1/health.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/client/sync_wait.hpp>
#include <coracle/runtime.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::tools {

namespace {

namespace wire = grpc::health::v1;

struct health {
  static constexpr int serving = 0;
  static constexpr int not_serving = 1;
  static constexpr int no_answer = 2;
  static constexpr std::uint32_t reply_bytes_max = 1024;  // a reply is one number
  static constexpr duration answer_time = std::chrono::seconds(5);  // a probe must not wait without a limit

  endpoint where;
  std::string service;
  bool watch = false;

  int run() {
    where.expect_before(service);
    runtime on(1);
    channel_options options = where.options();
    options.calls.max_receive_bytes = reply_bytes_max;
    channel server(on, where.address(), where.credentials(), options);
    const wire::rpc::Health::stub stub(server);
    wire::HealthCheckRequest request;
    request.set_service(service);
    if (watch) return follow(stub, request);
    const auto reply = sync_wait(stub.Check(request, within(where.timeout_or(answer_time))));
    if (reply) return say(reply->status());
    if (reply.status().code() == status_code::not_found) {
      print("SERVICE_UNKNOWN\n");
      return not_serving;
    }
    return report(reply.status());
  }

  int follow(const wire::rpc::Health::stub& stub, const wire::HealthCheckRequest& request) {
    auto states = stub.Watch(request);
    for (;;) {
      const auto state = sync_wait(states.next());
      if (!state.ok()) return report(state.status());
      if (!state->has_value()) return report(status::unknown("the server ended the call"));
      say((*state)->status());
    }
  }

  static int say(wire::HealthCheckResponse::ServingStatus s) {
    print(wire::HealthCheckResponse::ServingStatus_Name(s) + "\n");
    return s == wire::HealthCheckResponse::SERVING ? serving : not_serving;
  }

  int report(const status& outcome) const {
    print_error(with_option_names(outcome.to_string()), hint(outcome));
    return no_answer;
  }

  std::string hint(const status& outcome) const {
    if (outcome.code() != status_code::unimplemented) return where.hint(outcome);
    // What a client reports of a service that is there.
    const auto says = [&](std::string_view words) {
      return outcome.message().find(words) != outcome.message().npos;
    };
    const bool replied = says("more than one reply") || says("without a reply");
    return replied ? "its health service does not follow grpc.health.v1: Check returns one reply"
                   : "the server has no health service";
  }
};

}  // namespace

void add_health(CLI::App& app, action& chosen) {
  CLI::App* const command =
      app.add_subcommand("health",
                         "Ask a server whether it serves; the exit code is 0 if it does, 1 if it does not, "
                         "and 2 if there is no answer within --timeout (default: 5s)");
  const auto it = std::make_shared<health>();
  it->where.add_to(*command);
  command->add_option("SERVICE", it->service, "package.Service; default: the server as a whole");
  command->add_flag("-w,--watch", it->watch, "Watch the server, and print a line for each change");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
