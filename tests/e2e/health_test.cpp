#include "coracle/services/health_service.hpp"
#include "grpc/health/v1/health.coracle.hpp"
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include <optional>
#include <string>
#include <thread>

namespace coracle::testing_support::health_test {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using health_stub = grpc::health::v1::rpc::Health::stub;

class health : public every_backend {
 protected:
  void SetUp() override {
    every_backend::SetUp();
    if (IsSkipped()) return;
    server_.emplace(rt());
    server_->add(echo_);
    server_->add(health_);
    channel_.emplace(rt(), server_->in_process());
  }
  void TearDown() override {
    channel_.reset();
    server_.reset();
  }
  [[nodiscard]] health_stub stub() { return health_stub(*channel_); }
  static HealthCheckRequest named(const std::string& service) {
    HealthCheckRequest r;
    r.set_service(service);
    return r;
  }
  // "SERVING", or the name of the code that the call ended with.
  std::string check(const std::string& service) {
    const HealthCheckRequest request = named(service);
    const auto reply = sync_wait(stub().Check(request));
    if (!reply) return std::string(coracle::name_of(reply.status().code()));
    return HealthCheckResponse::ServingStatus_Name(reply->status());
  }
  static std::string next(server_streaming_call<HealthCheckResponse>& watch) {
    const auto reply = sync_wait(watch.next());
    if (!reply.ok()) return std::string(coracle::name_of(reply.status().code()));
    return *reply ? HealthCheckResponse::ServingStatus_Name((*reply)->status()) : "end";
  }

  echo_service echo_;
  health_service health_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, health, all_kinds, every_backend::case_name);

TEST_P(health, AServerServesUntilSomebodySaysOtherwise) {
  EXPECT_EQ(check(""), "SERVING");
  health_.set_status("", health_status::not_serving);
  EXPECT_EQ(check(""), "NOT_SERVING");
}

TEST_P(health, AServiceOfTheServerFollowsTheWholeUntilItIsSpokenAbout) {
  EXPECT_EQ(check("echo.Echo"), "SERVING");
  health_.set_status("", health_status::not_serving);
  EXPECT_EQ(check("echo.Echo"), "NOT_SERVING");
  health_.set_status("echo.Echo", health_status::serving);
  EXPECT_EQ(check("echo.Echo"), "SERVING");
}

TEST_P(health, AnUnknownServiceIsNotFound) {
  EXPECT_EQ(check("echo.Narcissus"), "NOT_FOUND");
  health_.set_status("echo.Narcissus", health_status::unknown);
  EXPECT_EQ(check("echo.Narcissus"), "UNKNOWN");
}

TEST_P(health, WhoWatchesHearsOfEachChangeFromAnyThread) {
  const HealthCheckRequest request = named("echo.Echo");
  auto watch = stub().Watch(request);
  EXPECT_EQ(next(watch), "SERVING");
  for (const auto& [status, name] :
       {std::pair(health_status::not_serving, "NOT_SERVING"), std::pair(health_status::serving, "SERVING")}) {
    std::thread([&, said = status] { health_.set_status("echo.Echo", said); }).join();
    EXPECT_EQ(next(watch), name);
  }
}

TEST_P(health, WhoWatchesIsNotToldWhatItKnows) {
  const HealthCheckRequest request = named("echo.Echo");
  auto watch = stub().Watch(request);
  EXPECT_EQ(next(watch), "SERVING");
  health_.set_status("echo.Echo", health_status::serving);
  health_.set_status("another", health_status::not_serving);
  EXPECT_EQ(check("another"), "NOT_SERVING");  // the watch had its turn meanwhile
  health_.set_status("echo.Echo", health_status::not_serving);
  EXPECT_EQ(next(watch), "NOT_SERVING");
}

TEST_P(health, AWatchOfAnUnknownServiceWaitsForIt) {
  const HealthCheckRequest request = named("later");
  auto watch = stub().Watch(request);
  EXPECT_EQ(next(watch), "SERVICE_UNKNOWN");
  health_.set_status("later", health_status::serving);
  EXPECT_EQ(next(watch), "SERVING");
}

TEST_P(health, ListNamesTheWholeAndEachService) {
  health_.set_status("extra", health_status::not_serving);
  const grpc::health::v1::HealthListRequest request;
  const auto reply = sync_wait(stub().List(request));
  ASSERT_EQ(reply.status(), status());
  std::map<std::string, int> listed;
  for (const auto& [name, state] : reply->statuses()) listed.emplace(name, state.status());
  EXPECT_EQ(listed, (std::map<std::string, int>{{"", HealthCheckResponse::SERVING},
                                                {"echo.Echo", HealthCheckResponse::SERVING},
                                                {"extra", HealthCheckResponse::NOT_SERVING},
                                                {"grpc.health.v1.Health", HealthCheckResponse::SERVING}}));
}

TEST_P(health, ListHoldsAHundredServicesAndNoMore) {
  // The server as a whole, Echo and Health itself are present.
  for (std::size_t i = 3; i < health_service::listed_max; ++i)
    health_.set_status("service" + std::to_string(i), health_status::serving);
  const grpc::health::v1::HealthListRequest request;
  const auto full = sync_wait(stub().List(request));
  ASSERT_EQ(full.status(), status());
  EXPECT_EQ(full->statuses_size(), 100);
  health_.set_status("one more", health_status::serving);
  EXPECT_EQ(sync_wait(stub().List(request)).status().code(), status_code::resource_exhausted);
}

TEST_P(health, ADrainTellsWhoWatchesAndIsNotHeldUpByThem) {
  const HealthCheckRequest whole = named("");
  const HealthCheckRequest unknown = named("unknown");
  auto watch = stub().Watch(whole);
  auto another = stub().Watch(unknown);
  EXPECT_EQ(next(watch), "SERVING");
  EXPECT_EQ(next(another), "SERVICE_UNKNOWN");
  server_->stop();
  EXPECT_EQ(next(watch), "NOT_SERVING");
  EXPECT_EQ(next(watch), "UNAVAILABLE");
  EXPECT_EQ(next(another), "UNAVAILABLE");
  health_.set_status("", health_status::serving);  // too late: it has no effect any more
}

}  // namespace
}  // namespace coracle::testing_support::health_test
