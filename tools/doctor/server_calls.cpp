// What a server answers to calls: health, reflection, channelz, latency, compression.
#include "tools/doctor/server.hpp"
#include "tools/schema/reflected.hpp"

#include "grpc/health/v1/health.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/client/generic_stub.hpp>
#include <coracle/client/sync_wait.hpp>
#include <coracle/runtime.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

namespace coracle::tools::doctor {

namespace {

namespace wire = grpc::health::v1;

constexpr duration answer_time = std::chrono::seconds(5);
constexpr int timed_calls = 20;
constexpr duration slow_call = std::chrono::milliseconds(100);

std::string in_ms(duration d) {
  std::string text = std::to_string(static_cast<double>(d.count()) / 1e6);
  return text.substr(0, text.find('.') + 3) + " ms";
}

class calls {
 public:
  calls(findings& to, const endpoint& where)
      : to_(to),
        where_(where),
        runtime_(1),
        server_(runtime_, where.address(), where.credentials(), where.options()),
        health_(server_),
        any_(server_) {}

  // Returns whether calls reach the server.
  bool check_health() {
    wire::HealthCheckRequest request;
    const auto reply = sync_wait(health_.Check(request, within(answer_time)));
    health_code_ = reply.status().code();
    if (reply.ok()) {
      const std::string state = wire::HealthCheckResponse::ServingStatus_Name(reply->status());
      to_.check(reply->status() != wire::HealthCheckResponse::SERVING, "health", state,
                "load balancers send no calls to it: look at the server's log for what it waits for");
      return true;
    }
    const std::string text = reply.status().to_string();
    if (health_code_ == status_code::unimplemented) {
      to_.note("health", "no service grpc.health.v1.Health",
               "probes of load balancers and Kubernetes need it: with_defaults() adds it");
      return true;
    }
    if (health_code_ == status_code::unauthenticated || health_code_ == status_code::permission_denied) {
      to_.note("health", text,
               "--header 'authorization: Bearer ${TOKEN}' sends credentials; probes have none");
      return true;
    }
    const std::string hint = where_.hint(reply.status());
    to_.problem("health", text,
                hint.empty() ? "look at the log of the server, and of the proxy before it" : hint);
    return health_code_ != status_code::unavailable && health_code_ != status_code::deadline_exceeded;
  }

  void check_reflection() {
    try {
      const auto services = reflected(server_, where_)->services();
      to_.ok("reflection", std::to_string(services.size()) + " services");
    } catch (const no_reflection&) {
      to_.note("reflection", "no reflection service",
               "coracle ls and call need --proto or --protoset; with_defaults() adds it");
    } catch (const call_failure& error) {
      to_.note("reflection", error.what(), "coracle ls and call need --proto or --protoset");
    } catch (const failure& error) {
      to_.problem("reflection", error.what(), "the definitions that the server sends are incomplete");
    }
  }

  void check_channelz() {
    const auto reply =
        sync_wait(any_.unary("/grpc.channelz.v1.Channelz/GetServers", bytes_message(), within(answer_time)));
    to_.mention(!reply.ok(), "channelz",
                reply.ok()                                            ? "answers"
                : reply.status().code() == status_code::unimplemented ? "no channelz service"
                                                                      : reply.status().to_string(),
                "without it, the connections of the server cannot be listed; with_defaults() adds it");
  }

  void check_latency() {
    std::vector<duration> all;
    for (int i = 0; i <= timed_calls; ++i) {
      wire::HealthCheckRequest request;
      const auto began = std::chrono::steady_clock::now();
      const auto reply = sync_wait(health_.Check(request, within(answer_time)));
      const duration took = std::chrono::steady_clock::now() - began;
      if (reply.status().code() != health_code_)
        return to_.problem("latency",
                           "call " + std::to_string(i) + " of " + std::to_string(timed_calls) +
                               " ended with " + reply.status().to_string(),
                           "the server, or a proxy before it, does not answer each call alike: several "
                           "servers behind one address?");
      if (i > 0) all.push_back(took);  // the first may have opened the connection
    }
    std::ranges::sort(all);
    const duration median = all[all.size() / 2];
    to_.mention(median > slow_call, "latency",
                in_ms(median) + " median, " + in_ms(all.back()) + " maximum of " +
                    std::to_string(timed_calls) + " calls",
                "compare it with the time of connect above: the rest is the server's");
  }

  void check_compression() {
    call_options options = within(answer_time);
    options.compression = encoding_named("gzip").value();
    wire::HealthCheckRequest request;
    request.set_service(std::string(200, ' '));  // long enough to be compressed
    const auto compressed = sync_wait(health_.Check(request, options));
    const auto plain = sync_wait(health_.Check(request, within(answer_time)));
    const bool same = compressed.status().code() == plain.status().code();
    to_.mention(!same, "compression",
                same ? "accepts gzip" : "does not accept gzip: " + compressed.status().to_string(),
                "clients that compress requests get this status");
  }

 private:
  findings& to_;
  const endpoint& where_;
  runtime runtime_;
  channel server_;
  wire::rpc::Health::stub health_;
  generic_stub any_;
  status_code health_code_ = status_code::ok;
};

}  // namespace

void check_calls(findings& to, const endpoint& where) {
  calls all(to, where);
  if (!all.check_health()) return;
  all.check_reflection();
  all.check_channelz();
  all.check_latency();
  all.check_compression();
}

}  // namespace coracle::tools::doctor
