// The fields that every response has but those of gRPC: Date, and Strict-Transport-Security over TLS.
#include "support/certificates.hpp"
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::general_fields_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_support;

// Its replies have the date that it is given.
class dated_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    if (!date.empty()) context.initial_metadata().add("date", date);
    co_return request;
  }
  std::string date;
};

class general_fields : public every_backend {
 protected:
  void SetUp() override {
    every_backend::SetUp();
    certificates::made();
    if (auto* world = sim_world()) {  // the certificates are not valid at its first time
      const auto behind = std::chrono::system_clock::now() - rt().at(0).wall_now();
      world->jump_wall_clock("host", std::chrono::duration_cast<duration>(behind));
    }
  }
  void serve(const server_credentials& credentials) {
    server_options options;
    options.web.hsts = 24h;
    server_.emplace(rt(), options);
    server_->add(service_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", credentials), status());
  }
  // The values of a field of a response, with commas; "(none)" if it has none.
  std::string field(const std::string& name, call_protocol protocol, http_version version,
                    const channel_credentials& credentials) {
    channel_options options;
    options.protocol = protocol;
    options.http_version = version;
    channel to(rt(), "127.0.0.1:" + std::to_string(server_->port()), credentials, options);
    const auto ask = [](echo_stub stub, std::string wanted) -> task<std::string> {
      echo::Text request;
      request.set_text("x");
      auto call = stub.Say(request);
      const auto reply = co_await call;
      EXPECT_EQ(reply.status(), status());
      std::string all;
      for (const std::string_view value : call.initial_metadata().find_all(wanted))
        all.append(all.empty() ? "" : ", ").append(value);
      co_return all.empty() ? "(none)" : all;
    };
    return run(ask(echo_stub(to), name));
  }

  dated_service service_;
  std::optional<server> server_;
};
INSTANTIATE_TEST_SUITE_P(Over, general_fields, all_kinds, general_fields::case_name);

TEST_P(general_fields, BrowsersAreToldToUseTlsOnly) {
  serve(served_as("server"));
  const std::string name = "strict-transport-security";
  for (const http_version v : {http_version::http1, http_version::http2})
    for (const call_protocol p : {call_protocol::grpc_web, call_protocol::connect})
      EXPECT_EQ(field(name, p, v, trusting("ca")), "max-age=86400");
  EXPECT_EQ(field(name, call_protocol::grpc, http_version::http2, trusting("ca")), "(none)");
}

TEST_P(general_fields, WithoutTlsThereIsNoPromiseOfIt) {
  serve(insecure());
  EXPECT_EQ(field("strict-transport-security", call_protocol::connect, http_version::http1, insecure()),
            "(none)");
}

TEST_P(general_fields, ResponsesHaveTheDate) {
  serve(insecure());
  for (const http_version v : {http_version::http1, http_version::http2})
    for (const call_protocol p : {call_protocol::grpc_web, call_protocol::connect})
      EXPECT_THAT(field("date", p, v, insecure()), ::testing::EndsWith(" GMT"));
  EXPECT_EQ(field("date", call_protocol::grpc, http_version::http2, insecure()), "(none)");
}

TEST_P(general_fields, TheDateOfAHandlerIsTheOnlyOne) {
  service_.date = "Tue, 01 Jan 2030 00:00:00 GMT";
  serve(insecure());
  for (const http_version v : {http_version::http1, http_version::http2})
    for (const call_protocol p : {call_protocol::grpc_web, call_protocol::connect})
      EXPECT_EQ(field("date", p, v, insecure()), service_.date);
}

}  // namespace
}  // namespace coracle::general_fields_test
