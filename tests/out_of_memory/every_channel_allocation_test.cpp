// The same for what is below the calls: finding servers, choosing one, connecting to it, with TLS too, the
// attempts of a retried call, calls within a process, messages in JSON, and reflection. Allocations fail from
// the first call of a channel on, and the same channel serves a call as soon as there is memory again.
#include "out_of_memory/everything.hpp"
#include "out_of_memory/failing_host.hpp"
#include "support/certificates.hpp"

#include "coracle/rpc/message_codec.hpp"
#include "coracle/services/defaults.hpp"

#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::every_channel_allocation_test {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing_support::certificate;

constexpr const char* reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

constexpr const char* channels = "/grpc.channelz.v1.Channelz/GetTopChannels";

constexpr const char* rules = R"({"http": {"rules": [
  {"selector": "echo.Echo.Say", "get": "/say/{text}"},
  {"selector": "echo.Echo.Repeat", "post": "/repeat", "body": "*"},
  {"selector": "echo.Echo.Collect", "post": "/collect", "body": "*"},
  {"selector": "echo.Echo.Misbehave", "post": "/misbehave", "body": "*"}]}})";

// Fails every other call, so that a policy makes another attempt.
class failing_service final : public echo_service {
 public:
  explicit failing_service(bool every_other) : every_other_(every_other) {}
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    if (every_other_ && ++calls_ % 2 == 1) co_return status::unavailable("another attempt, please");
    co_return request;
  }

 private:
  const bool every_other_;
  int calls_ = 0;
};

struct served {
  served(runtime& host, bool every_other, duration connection_time, const server_credentials& by)
      : service(every_other), srv(host, options(connection_time)) {
    srv.add(service);
    with_defaults(srv);
    rest_options rest;
    rest.http_rules = rules;
    listening = srv.add_rest(rest);
    for (const char* at : {"0.0.0.0:50051", "0.0.0.0:50052"})
      if (listening.ok()) listening = srv.listen(at, by);
  }
  static server_options options(duration connection_time) {
    server_options o;
    o.max_connection_age.max = connection_time;
    o.max_connection_age.grace = 1ms;
    o.codecs.push_back(&json_codec());
    return o;
  }
  failing_service service;
  server srv;
  status listening;
};

class waiting_source final : public credentials_source {
 public:
  task<result<metadata>> metadata_for(credentials_request call) override {
    co_await sleep_for(1ms);
    metadata token;
    token.add("authorization", "Bearer of a call of " + call.method());
    co_return token;
  }
};

// One way in which a channel reaches its server.
struct way {
  const char* name;
  // Sets what differs from a channel that a name in DNS leads to.
  void (*set)(channel_options&) = [](channel_options&) {};
  bool tls = false;
  bool in_process = false;
  bool reflects = false;
  bool every_other_call_fails = false;
  // After it, the server closes a connection, and the channel makes another.
  duration connection_time = duration::max();
  // One of this many allocations of the client or the server fails. Handshakes make thousands of them.
  std::uint64_t stride_of_client = 1;
  std::uint64_t stride_of_server = 1;
};

std::ostream& operator<<(std::ostream& to, const way& w) { return to << w.name; }

service_config policy(const char* text) {
  return service_config::parse(std::string(R"({"methodConfig":[{"name":[{}],)").append(text).append("}]}"))
      .value();
}

const way ways[] = {
    {.name = "AName", .reflects = true},
    {.name = "SeveralServers",
     .set =
         [](channel_options& o) {
           o.balance = balancing::round_robin();
           o.health_check = "";
           client::resolution found;
           for (const std::uint16_t port : {50051, 50052})
             found.add(net::address::parse("10.0.0.1:" + std::to_string(port)).value());
           found.service_config(R"({"methodConfig":[{"name":[{}],"timeout":"100s"}]})");
           o.resolver = std::make_shared<client::manual_resolver>(found);
         }},
    {.name = "Retries",
     .set =
         [](channel_options& o) {
           o.service_config = policy(R"("retryPolicy":{"maxAttempts":4,"initialBackoff":"0.01s",
             "maxBackoff":"0.1s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]})");
         },
     .every_other_call_fails = true},
    {.name = "Hedging",
     .set =
         [](channel_options& o) {
           o.service_config = policy(R"("hedgingPolicy":{"maxAttempts":3,"hedgingDelay":"0.001s",
             "nonFatalStatusCodes":["UNAVAILABLE"]})");
         },
     .every_other_call_fails = true},
    {.name = "AServerThatIsReachedLate",
     .set =
         [](channel_options& o) {
           client::resolution found;
           for (const char* at : {"10.0.0.1:1", "10.0.0.77:50051", "10.0.0.1:50051"})
             found.add(net::address::parse(at).value());
           o.resolver = std::make_shared<client::manual_resolver>(found);
         }},
    {.name = "ConnectionsOfShortLife", .connection_time = 20ms},
    {.name = "Rest",
     .set =
         [](channel_options& o) {
           o.protocol = call_protocol::rest;
           o.calls.codec = &json_codec();
           o.rest = rest_methods::make({echo::Text::descriptor()->file()->FindServiceByName("Echo")}, rules)
                        .value();
         }},
    {.name = "Json", .set = [](channel_options& o) { o.calls.codec = &json_codec(); }},
    {.name = "ConnectInJson",
     .set =
         [](channel_options& o) {
           o.calls.codec = &json_codec();
           o.protocol = call_protocol::connect;
         }},
    {.name = "Http1",
     .set =
         [](channel_options& o) {
           o.http_version = http_version::http1;
           o.protocol = call_protocol::grpc_web;
         },
     .reflects = true},
    {.name = "InProcess",
     .set = [](channel_options& o) { o.calls.credentials = std::make_shared<waiting_source>(); },
     .in_process = true,
     .reflects = true},
    {.name = "Tls", .tls = true, .stride_of_client = 7, .stride_of_server = 17},
};

struct calls {
  static task<> one_of_each(echo_stub s, outcomes& out) {
    const echo::Text one = text("one", 3);
    const auto reply = co_await s.Say(one);
    out.add("a call", reply.status());
    const echo::Text wrong = text("status");
    const auto failed = co_await s.Misbehave(wrong);
    out.add("a call that fails",
            failed.status().code() == status_code::not_found ? status() : failed.status());
    co_await sleep_for(50ms);  // sleeps on purpose: virtual time
    auto collecting = s.Collect();
    const echo::Text large = text(std::string(100'000, 'x'));
    for (int i = 0; i < 4; ++i) {
      const status written = co_await collecting.write(i == 0 ? one : large);
      if (!written.ok()) break;  // finish() has the reason
    }
    const auto collected = co_await collecting.finish();
    out.add("a client's stream", collected.status());
    auto repeating = s.Repeat(one);
    const status repeated = co_await repeating.finish();
    out.add("a server's stream", repeated);
  }

  // Answers are read as texts too, because the numbers of their fields do not matter here.
  static task<> reflect(channel to, outcomes& out) {
    echo::Text services;
    (void)services.ParseFromString("\x3a\x01*");  // list_services
    echo::Text file;
    (void)file.ParseFromString(
        "\x22\x09"
        "echo.Echo");  // file_containing_symbol
    bidi_call<echo::Text, echo::Text> talk{to, reflection, {}};
    for (const echo::Text* question : {&services, &file}) {
      const status written = co_await talk.write(*question);
      if (!written.ok()) break;
      const auto answer = co_await talk.next();
      out.add("an answer of reflection", answer.status());
    }
    const status ended = co_await talk.finish();
    out.add("reflection", ended);
  }

  // The channels of the process of the server, which has some if it is called within the process.
  static task<> list_channels(channel to, outcomes& out) {
    const echo::Text from_the_first;
    bidi_call<echo::Text, google::protobuf::BytesValue> list{to, channels, {}};
    static_cast<void>(co_await list.write(from_the_first));
    const auto page = co_await list.next();
    out.add("a list of channels", page.status());
  }

  static task<> all(channel to, bool reflects, outcomes& out) {
    co_await one_of_each(echo_stub(to), out);
    if (!reflects) co_return;
    co_await reflect(to, out);
    co_await list_channels(to, out);
  }

  // What failed may have left the channel in a pause before it connects again.
  static task<> one_more(echo_stub s, outcomes& out) {
    const echo::Text one = text("still there");
    call_options patient = within(5min);
    patient.wait_for_ready = true;
    const auto reply = co_await s.Say(one, patient);
    out.must_be_ok("a call of the same channel after all this", reply.status());
  }
};

channel channel_of(const way& w, two_hosts& hosts, server& srv) {
  channel_options options;
  options.health_check = {};
  w.set(options);
  if (w.in_process) return {hosts.server, srv.in_process(), options};
  if (!w.tls) return {hosts.client, "server:50051", insecure(), options};
  tls::client_options credentials = testing_support::trusting("ca");
  credentials.certificate = testing_support::pair_of("client");
  credentials.target_name = "localhost";
  return {hosts.client, "server:50051", credentials, options};
}

tls::server_options for_known_clients() {
  tls::server_options credentials = testing_support::served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  return credentials;
}

void set_clocks_to_today(two_hosts& hosts) {
  const auto behind = std::chrono::system_clock::now() - hosts.server.at(0).wall_now();
  for (const char* host : {"server", "client"})
    hosts.world.jump_wall_clock(host, std::chrono::duration_cast<duration>(behind));
}

std::string play(const way& w, two_hosts::failing which) {
  outcomes out;
  two_hosts hosts(which);
  runtime& caller = w.in_process ? hosts.server : hosts.client;
  if (w.tls) set_clocks_to_today(hosts);
  {
    served s(hosts.server, w.every_other_call_fails, w.connection_time,
             w.tls ? server_credentials(for_known_clients()) : insecure());
    if (!s.listening.ok()) return s.listening.to_string();
    channel c = channel_of(w, hosts, s.srv);
    hosts.world.run_for(1ms);  // what belongs to the start
    // An allocation of the test, or of making a call, fails with an exception for the caller.
    const bool ended = with_failing_allocations([&] { sync_wait(caller, calls::all(c, w.reflects, out)); });
    if (!ended && &caller != failing_host) return reached_the_client;
    sync_wait(caller, calls::one_more(echo_stub(c), out));
  }
  return out.wrong();
}

class EveryAllocationBelowTheCalls : public testing::TestWithParam<way> {
 protected:
  void SetUp() override {
    if (GetParam().tls) testing_support::certificates::made();
  }
};

// Where the client has a host of its own.
class EveryAllocationOfAClient : public EveryAllocationBelowTheCalls {};

TEST_P(EveryAllocationOfAClient, MayFail) {
  const way& w = GetParam();
  expect_each_may_fail([&] { return play(w, two_hosts::failing::client); }, 30,
                       options_for(1, w.stride_of_client));
}

TEST_P(EveryAllocationBelowTheCalls, OfAServerMayFail) {
  const way& w = GetParam();
  expect_each_may_fail([&] { return play(w, two_hosts::failing::server); }, 30,
                       options_for(1, w.stride_of_server));
}

TEST_P(EveryAllocationBelowTheCalls, MayFailWithThoseThatFollow) {
  const way& w = GetParam();
  const auto which = w.in_process ? two_hosts::failing::server : two_hosts::failing::client;
  expect_each_may_fail([&] { return play(w, which); }, 0, options_for(20, 5 * w.stride_of_client));
}

std::string name_of(const testing::TestParamInfo<way>& of) { return of.param.name; }

std::vector<way> between_hosts() {
  std::vector<way> found;
  std::copy_if(std::begin(ways), std::end(ways), std::back_inserter(found),
               [](const way& w) { return !w.in_process; });
  return found;
}

INSTANTIATE_TEST_SUITE_P(Of, EveryAllocationBelowTheCalls, testing::ValuesIn(ways), name_of);
INSTANTIATE_TEST_SUITE_P(Of, EveryAllocationOfAClient, testing::ValuesIn(between_hosts()), name_of);

}  // namespace
}  // namespace coracle::every_channel_allocation_test
