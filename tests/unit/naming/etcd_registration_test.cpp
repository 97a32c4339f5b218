// Servers that register in etcd, and channels that ask registries, in simulated time.
#include "coracle/base/usage_error.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/naming/with_etcd.hpp"
#include "coracle/naming/with_kubernetes.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "rpc/proto_wire.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace coracle::naming::etcd_registration_test {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// What an etcd answers that is not one: to requests for a list, and to a watch, which it then ends.
struct hostile_answers {
  const char* name;
  std::string list;
  std::vector<std::string> watch;
};

class stand_in final : public generic_service {
 public:
  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override {
    const std::string method(context.method());
    bytes_message request;
    auto out = co_await replies<bytes_message>::writer();
    while (co_await requests.read(request)) {
      ++request_count;
      co_await sleep_for(pause);
      end_leases(loop::current()->now());
      if (method != "/etcdserverpb.Auth/Authenticate" && rejected_tokens > 0) {
        --rejected_tokens;
        co_return status::unauthenticated("etcdserver: invalid auth token");
      }
      std::map<std::uint32_t, std::string> texts;
      std::map<std::uint32_t, std::uint64_t> numbers;
      rpc::proto_reader fields(request.bytes());
      while (fields.next()) {
        texts[fields.field()] = std::string(fields.text());
        numbers[fields.field()] = fields.number();
      }
      std::string reply;
      if (method == "/etcdserverpb.Lease/LeaseGrant") {
        leases[++last_lease] = loop::current()->now() + 15s;
        rpc::put_number(reply, 2, last_lease);
        rpc::put_number(reply, 3, 15);
      } else if (method == "/etcdserverpb.Auth/Authenticate") {
        rpc::put_text(reply, 2, "token");
      } else if (method == "/etcdserverpb.KV/Put") {
        keys[texts[1]] = numbers[3];
        if (failing_puts > 0) {
          --failing_puts;
          co_return status::unavailable("the put may have been done");
        }
      } else if (method == "/etcdserverpb.Lease/LeaseRevoke") {
        if (leases.erase(numbers[1]) == 0) co_return status::not_found("no lease");
        std::erase_if(keys, [&](const auto& one) { return one.second == numbers[1]; });
      } else if (method == "/etcdserverpb.Lease/LeaseKeepAlive") {
        if (!keeps_alive) co_return status::unavailable("no keep-alive");
        const auto lease = leases.find(numbers[1]);
        if (lease != leases.end()) lease->second = loop::current()->now() + 15s;
        rpc::put_number(reply, 2, numbers[1]);
        rpc::put_number(reply, 3, lease != leases.end() ? 15 : 0);
      } else if (hostile && method == "/etcdserverpb.KV/Range") {
        reply = hostile->list;
      } else if (hostile) {
        for (const std::string& answer : hostile->watch) {
          const bytes_message message(answer);
          co_await out.write(message);
        }
        co_return coracle::ok;
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

  void end_leases(time_point now) {
    if (!leases_end) return;
    std::erase_if(leases, [&](const auto& one) { return one.second <= now; });
    std::erase_if(keys, [&](const auto& one) { return !leases.contains(one.second); });
  }

  std::map<std::uint64_t, time_point> leases;  // and their ends
  bool leases_end = false;
  std::map<std::string, std::uint64_t> keys;  // and their leases
  const hostile_answers* hostile = nullptr;
  std::uint64_t last_lease = 0;
  int failing_puts = 0;
  int request_count = 0;
  int rejected_tokens = 0;
  duration pause{};  // before each answer
  bool keeps_alive = true;
  std::string has_leader;
};

class EtcdInTheSimulation : public testing::Test {
 protected:
  void SetUp() override {
    server_.emplace(host_);
    server_->set_fallback(etcd_);
    ASSERT_EQ(server_->listen("0.0.0.0:2379", insecure()), status());
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

TEST_F(EtcdInTheSimulation, ALeaseIsKeptAliveAndEndsWithItsServer) {
  etcd_.leases_end = true;
  runtime& program = world_.host("movies");
  etcd_registration registration({world_.address_of("host") + ":2379", insecure()});
  registration.announce(program, "movies", "10.0.0.1:50051");
  const auto keys_after = [&](duration d) {
    world_.run_for(d);
    etcd_.end_leases(world_.now());
    return etcd_.keys;
  };
  EXPECT_THAT(keys_after(1min), SizeIs(1));
  EXPECT_EQ(etcd_.last_lease, 1u);
  world_.crash("movies");
  EXPECT_THAT(keys_after(9s), SizeIs(1));
  EXPECT_THAT(keys_after(7s), IsEmpty());
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

// The successor has put the key anew, with a lease of its own.
TEST_F(EtcdInTheSimulation, AReplacedProcessRemovesOnlyWhatItsSuccessorDoesNotServe) {
  using net::address;
  struct {
    const char* given_up;
    bool removed;
  } const cases[] = {{"10.0.0.2:50051", false}, {"10.0.0.1:50052", false}, {"0.0.0.0:50052", false},
                     {"10.0.0.1:50051", true},  {"0.0.0.0:50051", true},   {"[::]:50051", false}};
  for (const auto& c : cases) {
    etcd_registration registration({"127.0.0.1:2379", insecure()});
    registration.announce(host_, "movies", "10.0.0.1:50051");
    world_.run_for(1s);
    ASSERT_THAT(etcd_.keys, SizeIs(1));
    const address given_up = address::parse(c.given_up).value();
    registration.replaced(std::span(&given_up, 1));
    world_.run_for(1s);
    EXPECT_EQ(etcd_.keys.empty(), c.removed) << c.given_up;
    etcd_.keys.clear();
    etcd_.leases.clear();
  }
}

// The process that was to be the successor has put the key anew, and its end removes it.
TEST_F(EtcdInTheSimulation, AProcessThatIsNotReplacedAfterAllIsRegisteredAgain) {
  const etcd_options options("127.0.0.1:2379", insecure());
  etcd_registration registration(options);
  registration.announce(host_, "movies", "10.0.0.1:50051");
  world_.run_for(1s);
  for (const bool before : {true, false}) {
    etcd_registration of_successor(options);
    of_successor.announce(host_, "movies", "10.0.0.1:50051");
    world_.run_for(1s);
    if (before) registration.resumed();
    of_successor.leaving();
    world_.run_for(1s);
    if (!before) {
      EXPECT_THAT(etcd_.keys, IsEmpty());
      registration.resumed();
    }
    world_.run_for(1s);
    EXPECT_THAT(etcd_.keys, SizeIs(1)) << (before ? "before" : "after") << " the other one has left";
  }
  registration.leaving();
  registration.resumed();
  world_.run_for(1s);
  EXPECT_THAT(etcd_.keys, IsEmpty());
}

class EtcdWithUsers : public EtcdInTheSimulation {
 protected:
  EtcdWithUsers() {
    options_.user = "movies";
    options_.password = "secret";
    etcd_.rejected_tokens = 1;
  }

  etcd_options options_{"127.0.0.1:2379", insecure()};
};

TEST_F(EtcdWithUsers, ATokenThatIsRejectedIsReplacedInTime) {
  etcd_.pause = 1s;
  etcd_registration registration(options_);
  registration.announce(host_, "movies", "10.0.0.1:50051");
  world_.run_for(6s);  // two tokens, two leases and the key
  EXPECT_THAT(etcd_.keys, SizeIs(1));
}

// Two tokens and two leases would take 16 s.
TEST_F(EtcdWithUsers, ARequestAndItsTokensHaveOneTimeout) {
  etcd_.pause = 4s;
  etcd_registration registration(options_);
  registration.announce(host_, "movies", "10.0.0.1:50051");
  world_.run_for(1s);
  registration.leaving();
  world_.run_for(14s);
  const int in_time = etcd_.request_count;
  EXPECT_GT(in_time, 0);
  world_.run_for(1min);
  EXPECT_EQ(etcd_.request_count, in_time);
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

task<> ask(channel by, std::string& said) {
  const generic_stub stub(std::move(by));
  const bytes_message request;
  const auto reply = co_await stub.unary("/a.B/C", request, within(5s));
  said = std::string(reply.status().message());
}

TEST_F(EtcdInTheSimulation, AWatchRequiresALeader) {
  channel_options options;
  with_etcd(options, {"127.0.0.1:2379", insecure()});
  std::string said;
  const channel movies(host_, "etcd:///movies", insecure(), options);
  host_.spawn(ask(movies, said));
  world_.run_for(3s);
  EXPECT_EQ(etcd_.has_leader, "true");
}

std::string pair_of(std::string_view key, std::string_view value) {
  std::string pair;
  rpc::put_text(pair, 1, key);
  rpc::put_text(pair, 5, value);
  std::string page;
  rpc::put_text(page, 2, pair);
  return page;
}

const hostile_answers hostile_kinds[] = {
    {"Garbage", std::string(50, '\xff'), {}},
    {"APageWithoutAnEnd", "\x18\x01" + pair_of("movies/a", "{}"), {}},
    {"AnEmptyPageWithMore", "\x18\x01", {}},
    {"AHugeAnswer", "\x12\x80\x80\x80\x08" + std::string(16 << 20, 'x'), {}},
    {"AMalformedWatch", "", {"\x5a\x7f"}},
    {"AWatchThatIsCancelled", "", {"\x20\x01\x28\x07"}},
    {"AWatchThatEnds", "", {}},
};

class HostileEtcd : public EtcdInTheSimulation, public testing::WithParamInterface<hostile_answers> {};
INSTANTIATE_TEST_SUITE_P(Of, HostileEtcd, testing::ValuesIn(hostile_kinds),
                         [](const auto& one) { return std::string(one.param.name); });

// No more often than the pauses allow, though a list without an end takes some pages.
TEST_P(HostileEtcd, IsAskedSeldom) {
  etcd_.hostile = &GetParam();
  channel_options options;
  with_etcd(options, {"127.0.0.1:2379", insecure()});
  std::string said;
  const channel movies(host_, "etcd:///movies", insecure(), options);
  host_.spawn(ask(movies, said));
  world_.run_for(1min);
  EXPECT_THAT(said, AnyOf(HasSubstr("etcd: "), HasSubstr("no servers")));
  EXPECT_GE(etcd_.request_count, 4);
  EXPECT_LE(etcd_.request_count, 20);
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
    host_.spawn(ask(channel(host_, target, insecure(), options), said));
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
