// xds_interop_client: the client of gRPC's xDS interop tests, for any of their drivers. It makes calls of
// TestService all the time, as XdsUpdateClientConfigureService says, and LoadBalancerStatsService says what
// comes of them.
#include "call_stats.hpp"

#include "../../../examples/command_line.hpp"
#include "grpc/testing/test.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/server.hpp>
#include <coracle/services/defaults.hpp>
#include <coracle/xds/credentials.hpp>
#include <coracle/xds/csds_service.hpp>
#include <coracle/xds/xds.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace interop;

// The calls of one kind that are made at each tick.
struct planned_call {
  call_kind kind = call_kind::unary;
  coracle::metadata metadata;
  coracle::duration timeout{};
};

// Replaced as a whole: calls that have begun keep theirs.
using call_plan = std::shared_ptr<const std::vector<planned_call>>;

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(by);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

call_kind kind_named(std::string_view name) {
  if (name == name_of(call_kind::unary)) return call_kind::unary;
  if (name == name_of(call_kind::empty)) return call_kind::empty;
  throw examples::usage_error("there is no method '" + std::string(name) + "': EmptyCall and UnaryCall");
}

int number(const examples::command_line& line, const std::string& name, int otherwise) {
  const auto text = line.option(name);
  if (!text) return otherwise;
  int value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error == std::errc() && end == text->data() + text->size() && value > 0) return value;
  throw examples::usage_error("--" + name + " is a number, not '" + *text + "'");
}

bool flag(const examples::command_line& line, const std::string& name) {
  return line.option(name).value_or("false") == "true";
}

// As Go writes it: 20s, 500ms, 1m.
coracle::duration time_of(const examples::command_line& line, const std::string& name) {
  const std::string text = line.option(name).value_or("20s");
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (error == std::errc() && value > 0) {
    if (unit == "ms") return value * 1ms;
    if (unit == "s" || unit.empty()) return value * 1s;
    if (unit == "m") return value * 1min;
  }
  throw examples::usage_error("--" + name + " is a time such as 20s or 500ms, not '" + text + "'");
}

// --rpc=UnaryCall,EmptyCall --metadata=EmptyCall:key:value,UnaryCall:key:value
call_plan plan_of(const examples::command_line& line) {
  const coracle::duration timeout = time_of(line, "rpc_timeout");
  auto plan = std::make_shared<std::vector<planned_call>>();
  for (const std::string_view name : split(line.option("rpc").value_or("UnaryCall"), ','))
    plan->push_back({kind_named(name), {}, timeout});
  const std::string metadata = line.option("metadata").value_or("");
  if (metadata.empty()) return plan;
  for (const std::string_view entry : split(metadata, ',')) {
    const auto parts = split(entry, ':');
    if (parts.size() < 3 || parts.size() % 2 == 0)
      throw examples::usage_error("--metadata has entries such as EmptyCall:key:value");
    for (planned_call& each : *plan)
      if (each.kind == kind_named(parts[0]))
        for (std::size_t i = 1; i < parts.size(); i += 2) each.metadata.add(parts[i], parts[i + 1]);
  }
  return plan;
}

class calling final {
 public:
  calling(coracle::runtime& rt, const examples::command_line& line)
      : plan(plan_of(line)),
        timeout(time_of(line, "rpc_timeout")),
        fails_(flag(line, "fail_on_failed_rpc")),
        prints_(flag(line, "print_response")) {
    coracle::channel_options options;
    options.add_resolver("xds", coracle::xds_resolver());
    const coracle::channel_credentials by =
        flag(line, "secure_mode") ? coracle::xds_credentials(coracle::insecure()) : coracle::insecure();
    const int channels = number(line, "num_channels", 1);
    for (int i = 0; i < channels; ++i)
      stubs_.emplace_back(
          coracle::channel(rt, line.option("server").value_or("localhost:8080"), by, options));
    interval_ = coracle::duration(1s) / (number(line, "qps", 1) * channels);
  }

  call_stats stats;
  call_plan plan;
  const coracle::duration timeout;

  // Until it is stopped.
  coracle::task<> run() {
    coracle::scope calls{co_await coracle::coro::this_environment()};
    coracle::time_point next = coracle::loop::current()->now();
    for (std::size_t turn = 0; !calls.environment().stop.stop_requested(); ++turn) {
      for (std::size_t i = 0; i < plan->size(); ++i) calls.spawn(call(turn % stubs_.size(), plan, i));
      next += interval_;
      // sleeps on purpose: this is the rate that the driver asked for
      const coracle::duration pause = next - coracle::loop::current()->now();
      if (pause > 0ns) {
        try {
          co_await coracle::sleep_for(pause);
        } catch (const coracle::coro::cancelled&) {
          break;
        }
      }
    }
    co_await calls.join();
  }

 private:
  coracle::task<> call(std::size_t stub, call_plan of, std::size_t which) {
    const planned_call& planned = (*of)[which];
    call_outcome outcome;
    outcome.kind = planned.kind;
    outcome.number = stats.begin(planned.kind);
    coracle::call_options options;
    options.timeout = planned.timeout;
    options.metadata = planned.metadata;
    std::shared_ptr<const coracle::connection_peer> peer;
    const auto take = [&](auto& made, const coracle::status& status) {
      outcome.status = status;
      outcome.initial = made.initial_metadata();
      outcome.trailing = made.trailing_metadata();
      if (const auto host = outcome.initial.find("hostname")) outcome.server = *host;
      peer = made.peer();
    };
    if (planned.kind == call_kind::unary) {
      pb::SimpleRequest request;
      request.set_fill_server_id(true);
      auto made = stubs_[stub].UnaryCall(request, options);
      const auto reply = co_await made;
      if (reply.ok()) outcome.server = reply->hostname();
      take(made, reply.status());
    } else {
      const pb::Empty request;
      auto made = stubs_[stub].EmptyCall(request, options);
      const auto reply = co_await made;
      take(made, reply.status());
    }
    if (prints_) print(outcome, peer ? peer->address.to_string() : "");
    if (!outcome.status.ok() && fails_ && succeeded_) {
      std::fprintf(stderr, "xds_interop_client: a call failed: %s\n", outcome.status.to_string().c_str());
      std::_Exit(1);
    }
    succeeded_ |= outcome.status.ok();
    stats.end(outcome);
  }

  // Drivers read the first form.
  static void print(const call_outcome& of, const std::string& peer) {
    if (!of.status.ok())
      std::printf("RPC \"%s\", failed with %s\n", name_of(of.kind), of.status.to_string().c_str());
    else if (of.kind == call_kind::unary)
      std::printf("Greeting: Hello world, this is %s, from %s\n", of.server.c_str(), peer.c_str());
    else
      std::printf("RPC \"%s\", from host %s, addr %s\n", name_of(of.kind), of.server.c_str(), peer.c_str());
    std::fflush(stdout);
  }

  const bool fails_;
  const bool prints_;
  bool succeeded_ = false;
  coracle::duration interval_{};
  std::deque<pb::rpc::TestService::stub> stubs_;
};

class stats_service final : public pb::rpc::LoadBalancerStatsService::service {
 public:
  explicit stats_service(calling& of) noexcept : of_(of) {}

 private:
  coracle::reply<pb::LoadBalancerStatsResponse> GetClientStats(
      coracle::server_context&, const pb::LoadBalancerStatsRequest& request) override {
    pb::LoadBalancerStatsRequest copy = request;
    auto found = of_.stats.next_ones(std::move(copy));
    co_return co_await std::move(found);
  }
  coracle::reply<pb::LoadBalancerAccumulatedStatsResponse> GetClientAccumulatedStats(
      coracle::server_context&, const pb::LoadBalancerAccumulatedStatsRequest&) override {
    return of_.stats.all();
  }
  calling& of_;
};

class configure_service final : public pb::rpc::XdsUpdateClientConfigureService::service {
 public:
  explicit configure_service(calling& of) noexcept : of_(of) {}

 private:
  coracle::reply<pb::ClientConfigureResponse> Configure(coracle::server_context&,
                                                        const pb::ClientConfigureRequest& request) override {
    auto plan = std::make_shared<std::vector<planned_call>>();
    for (const int type : request.types()) {
      if (type != pb::ClientConfigureRequest::EMPTY_CALL && type != pb::ClientConfigureRequest::UNARY_CALL)
        return coracle::status::invalid_argument("types are those of EmptyCall and UnaryCall");
      planned_call& made = plan->emplace_back();
      made.kind = type == pb::ClientConfigureRequest::EMPTY_CALL ? call_kind::empty : call_kind::unary;
      made.timeout = request.timeout_sec() > 0 ? request.timeout_sec() * coracle::duration(1s) : of_.timeout;
      for (const auto& m : request.metadata())
        if (m.type() == type) made.metadata.add(m.key(), m.value());
    }
    of_.plan = std::move(plan);
    return pb::ClientConfigureResponse();
  }
  calling& of_;
};

}  // namespace

int main(int argc, char** argv) {
  return examples::run("xds_interop_client", [&] {
    const examples::command_line line(
        argc, argv,
        "--stats_port=PORT [--server=TARGET] [--qps=N] [--num_channels=N] [--rpc=METHODS] "
        "[--metadata=ENTRIES] [--rpc_timeout=TIME] [--fail_on_failed_rpc=true] [--print_response=true] "
        "[--secure_mode=true]");
    const auto port = line.port("stats_port");
    coracle::server server;
    calling calls(server.owner(), line);
    stats_service stats(calls);
    configure_service configure(calls);
    coracle::csds_service csds;
    server.add(stats);
    server.add(configure);
    server.add(csds);
    coracle::with_defaults(server);
    server.listen("*:" + std::to_string(port), coracle::insecure()).throw_if_error();
    server.owner().spawn(calls.run());
    std::printf("listening on *:%u\n", unsigned{server.port()});
    std::fflush(stdout);
    return server.run();
  });
}
