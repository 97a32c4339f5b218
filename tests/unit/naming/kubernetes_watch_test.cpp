// How the EndpointSlices of Kubernetes are watched, in simulated time.
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/naming/with_kubernetes.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/runtime/sim.hpp"
#include "support/kept_log.hpp"
#include "support/raw_http.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::naming::kubernetes_watch_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_support;
using testing::HasSubstr;
using testing::Not;

constexpr char watch_begins[] =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";

std::string chunk(const std::string& line) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", line.size() + 1);
  return size + line + "\n\r\n";
}
std::string whole(const std::string& code, const std::string& body) {
  return "HTTP/1.1 " + code +
         "\r\ncontent-type: application/json\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}
std::string list_at(const std::string& version) {
  return whole("200 OK", R"({"kind":"EndpointSliceList","items":[],"metadata":{"resourceVersion":")" +
                             version + R"("}})");
}
std::string bookmark_at(const std::string& version) {
  return chunk(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" + version + R"("}}})");
}

// An answer in pieces, with what passes before each. The connection then stays as it is.
struct answer {
  explicit answer(std::vector<std::pair<duration, std::string>> of) : pieces(std::move(of)) {}
  explicit answer(std::string all) : pieces{{0s, std::move(all)}} {}
  std::vector<std::pair<duration, std::string>> pieces;
};

class KubernetesWatch : public testing::Test {
 protected:
  // The API server gives these answers, one for each request; an empty one closes the connection.
  void answer_with(std::vector<answer> all) {
    answers_ = std::move(all);
    world_.host("api").spawn(serve(*this));
    channel_options options;
    kubernetes_options of{insecure()};
    of.api_server = world_.address_of("api") + ":443";
    of.token_file = "";
    with_kubernetes(options, of);
    runtime& host = world_.host("client");
    client_.emplace(host, "kubernetes:///movies.films:grpc", insecure(), options);
    host.spawn(call(*client_));
  }

  static task<> call(channel to) {
    const generic_stub stub(std::move(to));
    const bytes_message request;
    call_options options;
    options.wait_for_ready = true;
    static_cast<void>(co_await stub.unary("/a.B/C", request, options));
  }

  static task<> serve(KubernetesWatch& t) {
    auto door = net::listener::open(net::address::parse("0.0.0.0:443").value());
    scope connections(co_await coro::this_environment());
    for (;;) {
      result<net::stream> one = co_await door->accept();
      if (!one) break;
      connections.spawn(serve_one(t, *std::move(one)));
    }
    connections.request_stop();
    co_await connections.join();
  }
  static task<> serve_one(KubernetesWatch& t, net::stream s) {
    std::string request;
    for (;;) {
      request.clear();
      const bool came = co_await raw_http::receive_until(s, request, "\r\n\r\n");
      if (!came) co_return;
      t.requests_.push_back(request.substr(0, request.find("\r\n")));
      if (t.requests_.size() > t.answers_.size()) co_return;
      const answer& a = t.answers_[t.requests_.size() - 1];
      for (const auto& [pause, piece] : a.pieces) {
        co_await sleep_for(pause);
        if (piece.empty()) co_return;
        const status written = co_await s.write(as_bytes(piece));
        if (!written.ok()) co_return;
      }
    }
  }

  testing_support::kept_log log_;
  sim::world world_{1, sim::world_options{.log = &log_}};
  std::vector<answer> answers_;
  std::vector<std::string> requests_;  // their first lines
  std::optional<channel> client_;
};

TEST_F(KubernetesWatch, BeginsAnewFromItsVersionAfterASilence) {
  answer_with(
      {answer(list_at("7")), answer({{0s, watch_begins}, {1s, bookmark_at("8")}}), answer(watch_begins)});
  world_.run_for(90s);
  EXPECT_EQ(requests_.size(), 2u);
  world_.run_for(3s);
  ASSERT_EQ(requests_.size(), 3u);
  EXPECT_THAT(requests_[2], HasSubstr("watch=1"));
  EXPECT_THAT(requests_[2], HasSubstr("resourceVersion=8"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("stay in use")));
}

TEST_F(KubernetesWatch, GoesOnWithBookmarks) {
  std::vector<std::pair<duration, std::string>> pieces{{0s, watch_begins}};
  for (int minute = 1; minute <= 4; ++minute) pieces.emplace_back(1min, bookmark_at(std::to_string(minute)));
  answer_with({answer(list_at("7")), answer(pieces)});
  world_.run_for(4min + 30s);
  EXPECT_EQ(requests_.size(), 2u);
}

// After a refusal of the first watch: whether the next request is a list, or a watch from the same version.
class RefusedWatch : public KubernetesWatch,
                     public testing::WithParamInterface<std::pair<std::string, bool>> {};
INSTANTIATE_TEST_SUITE_P(
    By, RefusedWatch,
    testing::Values(std::pair("400 Bad Request", true), std::pair("500 Internal Server Error", true),
                    std::pair("504 Gateway Timeout", true), std::pair("401 Unauthorized", false),
                    std::pair("403 Forbidden", false), std::pair("429 Too Many Requests", false)),
    [](const auto& one) { return "Code" + one.param.first.substr(0, 3); });

TEST_P(RefusedWatch, IsFollowedByAListUnlessTheVersionIsGood) {
  const auto& [code, lists] = GetParam();
  answer_with({answer(list_at("7")), answer(whole(code, R"({"kind":"Status"})")), answer(list_at("9"))});
  world_.run_for(5s);
  ASSERT_GE(requests_.size(), 3u);
  EXPECT_THAT(requests_[1], HasSubstr("resourceVersion=7"));
  if (lists) EXPECT_THAT(requests_[2], Not(HasSubstr("watch=1")));
  else EXPECT_THAT(requests_[2], HasSubstr("resourceVersion=7"));
}

TEST_F(KubernetesWatch, GoesOnFromItsVersionAfterAConnectionIsLost) {
  answer_with({answer(list_at("7")), answer({{0s, watch_begins}, {1s, ""}}), answer("")});
  world_.run_for(5s);
  ASSERT_GE(requests_.size(), 3u);
  EXPECT_THAT(requests_[2], HasSubstr("resourceVersion=7"));
}

}  // namespace
}  // namespace coracle::naming::kubernetes_watch_test
