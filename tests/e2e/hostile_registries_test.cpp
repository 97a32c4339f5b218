// Agents of Consul and API servers of Kubernetes that answer with what they should not, in simulated time.
#include "coracle/client/channel.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/naming/with_consul.hpp"
#include "coracle/naming/with_kubernetes.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "support/kept_log.hpp"
#include "support/raw_http.hpp"
#include "support/server_fleet.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle::naming::hostile_registries_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_support;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* chunked =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

std::string chunk(const std::string& data) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", data.size());
  return size + data + "\r\n";
}

std::string response(const std::string& body, const std::string& fields = {}, const char* code = "200 OK") {
  return "HTTP/1.1 " + std::string(code) + "\r\ncontent-type: application/json\r\n" + fields +
         "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// An answer in pieces, between which `pause` passes; its connection ends with it, unless it is whole.
struct hostile_answer {
  const char* name;
  std::vector<std::string> pieces;
  bool whole = false;
  duration pause{};
};

std::vector<std::string> times(std::size_t n, const std::string& piece, const std::string& first) {
  std::vector<std::string> all{first};
  all.resize(n + 1, piece);
  return all;
}

std::string many_fields() {
  std::string all;
  for (int i = 0; i < 20'000; ++i) all += "x-" + std::to_string(i) + ": " + std::string(100, 'y') + "\r\n";
  return all;
}

std::vector<hostile_answer> hostile_answers() {
  return {{"ABodyWithoutAnEnd", times(400, chunk("{\"kind\":\"" + std::string(65'536, 'x')), chunked)},
          {"Garbage", {"\x16\x03\x01 not HTTP at all\r\n\r\n"}},
          {"NoJson", {response("<html>\xff\xfe</html>")}, true},
          {"DeepJson", {response(std::string(100'000, '['))}, true},
          {"NoAnswer", {}},
          {"AnAnswerThatIsCutOff", {chunked + chunk("{\"kind\":\"EndpointSliceList\",")}},
          {"AFailure",
           {response(R"({"kind":"Status","code":500,"message":"etcd is away\r\nX: y"})", {},
                     "500 Internal Server Error")},
           true},
          {"TooManyFields", {response("{}", many_fields())}, true},
          {"AByteNowAndThen", times(30, chunk(" "), chunked), false, 50ms}};
}

// A registry of one service, on a port of a host.
class stand_in {
 public:
  stand_in(runtime& on, bool of_kubernetes) : of_kubernetes_(of_kubernetes) { on.spawn(serve()); }

  void list(std::string address) {
    addresses_.push_back(std::move(address));
    changed_.set();
  }
  // From the next request on.
  void answer_with(const hostile_answer* h) {
    hostile_ = h;
    changed_.set();
  }
  // With each request.
  void move_index() { index_moves_ = true; }
  [[nodiscard]] std::size_t request_count() const noexcept { return request_count_; }

 private:
  task<> serve() {
    auto door = net::listener::open(net::address::parse("0.0.0.0:8500").value());
    scope connections(co_await coro::this_environment());
    for (;;) {
      result<net::stream> one = co_await door->accept();
      if (!one) break;
      connections.spawn(serve_one(*std::move(one)));
    }
    connections.request_stop();
    co_await connections.join();
  }
  task<> serve_one(net::stream s) {
    std::string all;
    for (;;) {
      all.clear();
      const bool came = co_await raw_http::receive_until(s, all, "\r\n\r\n");
      if (!came) co_return;
      ++request_count_;
      const bool kept = co_await answer(s, all);
      if (!kept) co_return;
    }
  }
  // Returns whether the connection stays.
  task<bool> answer(net::stream& s, const std::string& request) {
    if (hostile_) {
      const hostile_answer& h = *hostile_;
      for (const std::string& piece : h.pieces) {
        const status written = co_await s.write(as_bytes(piece));
        if (!written.ok()) co_return false;
        if (h.pause > duration::zero()) co_await sleep_for(h.pause);  // virtual time
      }
      co_return h.whole;
    }
    if (request.find("watch=1") != std::string::npos) {
      constexpr std::string_view version = "resourceVersion=";
      auto watching = watch(s, std::stoul(request.substr(request.find(version) + version.size())) - 100);
      co_return co_await std::move(watching);
    }
    while (!hostile_ && request.find("index=" + std::to_string(index())) != std::string::npos) {
      changed_.reset();
      co_await changed_;
    }
    const std::string text = of_kubernetes_ ? response(slices()) : instances();
    const status written = co_await s.write(as_bytes(text));
    co_return written.ok();
  }
  // Sends what comes, and ends when the registry becomes a hostile one.
  task<bool> watch(net::stream& s, std::size_t sent) {
    std::string due = chunked;
    while (!hostile_) {
      changed_.reset();
      for (; sent < addresses_.size(); ++sent)
        due += chunk(R"({"type":"ADDED","object":)" + slice(sent) + "}\n");
      const status written = co_await s.write(as_bytes(due));
      if (!written.ok()) co_return false;
      due.clear();
      co_await changed_;
    }
    const status written = co_await s.write(as_bytes(due + "0\r\n\r\n"));
    co_return written.ok();
  }

  [[nodiscard]] std::size_t index() const noexcept {
    return 100 + addresses_.size() + (index_moves_ ? request_count_ : 0);
  }
  [[nodiscard]] std::string instances() const {
    std::string all;
    for (const std::string& address : addresses_)
      all += (all.empty() ? R"({"Service":{"Address":")" : R"(,{"Service":{"Address":")") + address +
             R"(","Port":50051},"Checks":[{"Status":"passing"}]})";
    return response("[" + all + "]", "x-consul-index: " + std::to_string(index()) + "\r\n");
  }
  [[nodiscard]] std::string slice(std::size_t i) const {
    return R"({"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","addressType":"IPv4","metadata":{"name":"movies-)" +
           std::to_string(i) + R"(","resourceVersion":")" + std::to_string(101 + i) +
           R"("},"endpoints":[{"addresses":[")" + addresses_[i] +
           R"("],"conditions":{"ready":true}}],"ports":[{"name":"grpc","port":50051,"protocol":"TCP"}]})";
  }
  [[nodiscard]] std::string slices() const {
    std::string all;
    for (std::size_t i = 0; i < addresses_.size(); ++i) all += (i == 0 ? "" : ",") + slice(i);
    return R"({"kind":"EndpointSliceList","metadata":{"resourceVersion":")" + std::to_string(index()) +
           R"("},"items":[)" + all + "]}";
  }

  const bool of_kubernetes_;
  std::vector<std::string> addresses_;
  const hostile_answer* hostile_ = nullptr;
  bool index_moves_ = false;
  std::size_t request_count_ = 0;
  event<> changed_;
};

class RegistryInTheSimulation : public testing::Test {
 protected:
  static sim::world_options logged_by(logger& log) {
    sim::world_options o;
    o.log = &log;
    return o;
  }
  void start(const std::string& name) {
    runtime& host = world_.host(name);
    services_.push_back(std::make_unique<naming_service>(name));
    servers_.push_back(std::make_unique<server>(host));
    servers_.back()->add(*services_.back());
    ASSERT_EQ(servers_.back()->listen("0.0.0.0:50051", insecure()), status());
    servers_.back()->start();
  }
  [[nodiscard]] channel_options named() const {
    channel_options options;
    options.balance = balancing::round_robin();
    const std::string registry = world_.address_of("registry") + ":8500";
    with_consul(options, {registry, insecure()});
    kubernetes_options kubernetes(insecure());
    kubernetes.api_server = registry;
    kubernetes.token_file = "";
    with_kubernetes(options, kubernetes);
    return options;
  }
  // The servers, or the errors, that answer calls.
  std::set<std::string> answers(const channel& by) {
    std::set<std::string> all;
    for (int i = 0; i < 9; ++i) all.insert(sync_wait(client_, client_.at(0), ask(by)));
    return all;
  }
  static task<std::string> ask(channel by) {
    const echo::Text request;
    const auto reply = co_await echo_stub(by).Say(request, within(2s));
    co_return reply.ok() ? reply->text() : reply.status().to_string();
  }

  void start_registry(bool of_kubernetes) { registry_.emplace(world_.host("registry"), of_kubernetes); }

  std::optional<stand_in> registry_;  // its tasks end with the world
  kept_log log_;
  sim::world world_{1, logged_by(log_)};
  runtime& client_ = world_.host("client");
  std::vector<std::unique_ptr<naming_service>> services_;
  std::vector<std::unique_ptr<server>> servers_;
};
TEST_F(RegistryInTheSimulation, AnIndexThatMovesFastIsNotFollowedAtItsSpeed) {
  start("one");
  start_registry(false);
  registry_->list(world_.address_of("one"));
  registry_->move_index();
  const channel c(client_, "consul:///movies", insecure(), named());
  EXPECT_THAT(answers(c), ElementsAre("one"));
  world_.run_for(10s);
  EXPECT_GE(registry_->request_count(), 20u);
  EXPECT_LE(registry_->request_count(), 22u) << "500 ms lie between two queries";
}

// Of Kubernetes or Consul, with what it answers.
class HostileRegistry : public RegistryInTheSimulation,
                        public testing::WithParamInterface<std::tuple<bool, hostile_answer>> {};
INSTANTIATE_TEST_SUITE_P(Of, HostileRegistry,
                         testing::Combine(testing::Bool(), testing::ValuesIn(hostile_answers())),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param) ? "Kubernetes" : "Consul") +
                                  std::get<1>(one.param).name;
                         });

TEST_P(HostileRegistry, ChangesNothing) {
  const auto& [of_kubernetes, hostile] = GetParam();
  for (const char* name : {"one", "two", "three"}) start(name);
  start_registry(of_kubernetes);
  registry_->list(world_.address_of("one"));
  registry_->list(world_.address_of("two"));
  const channel c(client_, of_kubernetes ? "kubernetes:///movies.films:grpc" : "consul:///movies", insecure(),
                  named());
  answers(c);
  world_.run_for(2s);
  EXPECT_THAT(answers(c), ElementsAre("one", "two"));
  const std::size_t before = registry_->request_count();
  registry_->answer_with(&hostile);
  world_.run_for(30s);
  EXPECT_GE(registry_->request_count(), before + 3);
  EXPECT_LE(registry_->request_count(), before + 10) << "pauses grow";
  EXPECT_THAT(log_.text(), HasSubstr("The last 2 servers stay in use"));
  EXPECT_THAT(answers(c), ElementsAre("one", "two"));
  registry_->list(world_.address_of("three"));
  registry_->answer_with(nullptr);
  world_.run_for(40s);  // pauses take 30 s at most
  EXPECT_THAT(answers(c), ElementsAre("one", "three", "two"));
}

}  // namespace
}  // namespace coracle::naming::hostile_registries_test
