// Servers that register in etcd, and channels that ask registries, in simulated time.
#include "coracle/base/usage_error.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/naming/with_etcd.hpp"
#include "coracle/naming/with_kubernetes.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "rpc/proto_wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace coracle::naming::etcd_registration_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Leases do not end by themselves here.
class stand_in final : public generic_service {
 public:
  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override {
    const std::string method(context.method());
    bytes_message request;
    auto out = co_await replies<bytes_message>::writer();
    while (co_await requests.read(request)) {
      std::map<std::uint32_t, std::string> texts;
      std::map<std::uint32_t, std::uint64_t> numbers;
      rpc::proto_reader fields(request.bytes());
      while (fields.next()) {
        texts[fields.field()] = std::string(fields.text());
        numbers[fields.field()] = fields.number();
      }
      std::string reply;
      if (method == "/etcdserverpb.Lease/LeaseGrant") {
        leases.push_back(++last_lease);
        rpc::put_number(reply, 2, last_lease);
        rpc::put_number(reply, 3, 15);
      } else if (method == "/etcdserverpb.KV/Put") {
        keys[texts[1]] = numbers[3];
        if (failing_puts > 0) {
          --failing_puts;
          co_return status::unavailable("the put may have been done");
        }
      } else if (method == "/etcdserverpb.Lease/LeaseRevoke") {
        if (std::erase(leases, numbers[1]) == 0) co_return status::not_found("no lease");
        std::erase_if(keys, [&](const auto& one) { return one.second == numbers[1]; });
      } else if (method == "/etcdserverpb.Lease/LeaseKeepAlive") {
        if (!keeps_alive) co_return status::unavailable("no keep-alive");
        rpc::put_number(reply, 2, numbers[1]);
        rpc::put_number(reply, 3, 15);
      } else if (method == "/etcdserverpb.Watch/Watch") {
        const auto leader = context.metadata().find("hasleader");
        has_leader = leader ? std::string(*leader) : "";
        co_await sleep_for(1h);
      }
      const bytes_message message(reply);
      co_await out.write(message);
    }
    co_return coracle::ok;
  }

  std::vector<std::uint64_t> leases;
  std::map<std::string, std::uint64_t> keys;  // and their leases
  std::uint64_t last_lease = 0;
  int failing_puts = 0;
  bool keeps_alive = true;
  std::string has_leader;
};

class EtcdInTheSimulation : public testing::Test {
 protected:
  void SetUp() override {
    server_.emplace(host_);
    server_->set_fallback(etcd_);
    ASSERT_EQ(server_->listen("127.0.0.1:2379", insecure()), status());
  }

  sim::world world_{1};
  runtime& host_ = world_.host("host");
  stand_in etcd_;
  std::optional<server> server_;
};

TEST_F(EtcdInTheSimulation, TheDestructorRemovesTheServer) {
  std::optional<etcd_registration> registration;
  registration.emplace(etcd_options("127.0.0.1:2379", insecure()));
  registration->announce(host_, "movies", "10.0.0.1:50051");
  world_.run_for(20s);
  EXPECT_THAT(etcd_.keys, SizeIs(1));
  registration.reset();
  world_.run_for(1s);
  EXPECT_THAT(etcd_.keys, IsEmpty());
  EXPECT_THAT(etcd_.leases, IsEmpty());
}

// The key is with the lease of the put that seemed to fail, or with the one before.
TEST_F(EtcdInTheSimulation, AFailedRegistrationLeavesNoKey) {
  etcd_registration registration({"127.0.0.1:2379", insecure()});
  registration.announce(host_, "movies", "10.0.0.1:50051");
  world_.run_for(1s);
  EXPECT_THAT(etcd_.keys, SizeIs(1));
  etcd_.keeps_alive = false;  // the next registration follows
  etcd_.failing_puts = 1'000;
  world_.run_for(30s);
  EXPECT_LT(etcd_.failing_puts, 998);
  EXPECT_THAT(etcd_.leases, SizeIs(2));  // the pending one is used again
  registration.leaving();
  world_.run_for(20s);
  EXPECT_THAT(etcd_.keys, IsEmpty());
  EXPECT_THAT(etcd_.leases, IsEmpty());
}

TEST_F(EtcdInTheSimulation, AnAddressThatClientsCannotReachIsRefused) {
  etcd_registration registration({"127.0.0.1:2379", insecure()});
  for (const char* address : {"0.0.0.0:50051", "[::]:50051", "10.0.0.1:0", "movies:50051", ""})
    EXPECT_THROW(registration.announce(host_, "movies", address), usage_error) << address;
  world_.run_for(1s);
  EXPECT_THAT(etcd_.keys, IsEmpty());
  for (const char* address : {"[::1]:50051", "unix:/run/movies.sock"})
    EXPECT_NO_THROW(registration.announce(host_, "movies", address)) << address;
  world_.run_for(1s);
  EXPECT_THAT(etcd_.keys, SizeIs(2));
}

task<> ask(runtime& on, std::string target, channel_options options, std::string& said) {
  const generic_stub stub(channel(on, target, insecure(), std::move(options)));
  const bytes_message request;
  const auto reply = co_await stub.unary("/a.B/C", request, within(5s));
  said = std::string(reply.status().message());
}

TEST_F(EtcdInTheSimulation, AWatchRequiresALeader) {
  channel_options options;
  with_etcd(options, {"127.0.0.1:2379", insecure()});
  std::string said;
  host_.spawn(ask(host_, "etcd:///movies", options, said));
  world_.run_for(3s);
  EXPECT_EQ(etcd_.has_leader, "true");
}

class KubernetesInTheSimulation : public EtcdInTheSimulation {
 protected:
  std::string answer(const std::string& target, const std::string& api, const std::string& token_file) {
    channel_options options;
    kubernetes_options of{insecure()};
    of.api_server = api;
    of.token_file = token_file;
    with_kubernetes(options, of);
    std::string said;
    host_.spawn(ask(host_, target, options, said));
    world_.run_for(6s);
    return said;
  }
};

TEST_F(KubernetesInTheSimulation, ATokenIsNotSentInPlaintext) {
  const std::string target = "kubernetes:///movies.films:grpc";
  for (const char* api : {"10.1.2.3:443", "api.example:443", "localhost.example:443"})
    EXPECT_THAT(answer(target, api, "/nowhere"),
                HasSubstr("in plaintext: set kubernetes_options::credentials"));
  for (const char* api : {"127.0.0.1:443", "[::1]:443", "localhost:443", "unix:/run/api"})
    EXPECT_THAT(answer(target, api, "/nowhere"), HasSubstr("/nowhere")) << api;  // it reads the token
}

TEST_F(KubernetesInTheSimulation, ANameMayEndAsThatOfDns) {
  for (const char* name : {"movies.films.svcx", "movies.films.x.svc", "movies.films.svc2.local"})
    EXPECT_THAT(answer("kubernetes:///" + std::string(name), "127.0.0.1:1", "/nowhere"),
                HasSubstr("write kubernetes:///"))
        << name;
  for (const char* name : {"movies.films", "movies.films.svc", "movies.films.svc.cluster.local"})
    EXPECT_THAT(answer("kubernetes:///" + std::string(name), "127.0.0.1:1", "/nowhere"),
                HasSubstr("/nowhere"))
        << name;
}

}  // namespace
}  // namespace coracle::naming::etcd_registration_test
