#include "telemetry/otlp/answer.hpp"
#include "telemetry/otlp/destination.hpp"

#include "coracle/rpc/status_details.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

namespace coracle::telemetry_internal::otlp_answer_test {
namespace {

using namespace std::chrono_literals;
using kind = export_answer::kind;
using ::testing::HasSubstr;

const wall_time moment = std::chrono::sys_days(std::chrono::year(1994) / 11 / 6) + 8h + 49min;

TEST(otlp_answer, OnlyTheCodesOfTheSpecificationAreRetried) {
  for (int code = 1; code <= 16; ++code) {
    const bool retried = code == 1 || code == 4 || code == 10 || code == 11 || code == 14 || code == 15;
    const status s(static_cast<status_code>(code), "why");
    EXPECT_EQ(read_grpc_answer(s).type, retried ? kind::retry : kind::refused) << s;
  }
}

TEST(otlp_answer, RetryInfoMakesResourceExhaustedATransientError) {
  const auto a = read_grpc_answer(with_details(status::resource_exhausted("slow"), retry_info(1500ms)));
  EXPECT_EQ(a.type, kind::retry);
  EXPECT_EQ(a.pause, 1500ms);
  EXPECT_EQ(read_grpc_answer(with_details(status::internal("x"), retry_info(1s))).type, kind::refused);
  EXPECT_EQ(read_grpc_answer(with_details(status::unavailable("x"), retry_info(-1s))).pause, 0s);
}

TEST(otlp_answer, OnlyFourStatusesOfHttpAreRetried) {
  for (int code = 300; code < 600; ++code) {
    const bool retried = code == 429 || code == 502 || code == 503 || code == 504;
    const auto a = read_http_answer(status::unknown("why"), code, "", moment);
    EXPECT_EQ(a.type, retried ? kind::retry : kind::refused) << code;
    EXPECT_THAT(a.reason, HasSubstr("HTTP " + std::to_string(code)));
  }
  // The connection closed, or the request took too long.
  EXPECT_EQ(read_http_answer(status::unavailable("closed"), 0, "", moment).type, kind::retry);
  EXPECT_EQ(read_http_answer(status::deadline_exceeded(), 0, "", moment).type, kind::retry);
  // The collector has taken the request, though its answer is not what it should be.
  EXPECT_EQ(read_http_answer(status::unknown("text/html"), 200, "", moment).type, kind::delivered);
}

TEST(otlp_answer, RetryAfterIsSecondsOrADate) {
  EXPECT_EQ(parse_retry_after("120", moment), 120s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", moment), 37s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:48:37 GMT", moment), 0s);
  for (const char* bad : {"", "-1", "1.5", "1 s", "99999999999", "Sun, 31 Feb 1994 08:49:37 GMT",
                          "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 06 Nov 9999 08:49:37 GMT",
                          "Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:-7 GMT"})
    EXPECT_EQ(parse_retry_after(bad, moment), std::nullopt) << bad;
}

TEST(otlp_answer, APartialSuccessHasTheNumberOfRejectedItemsAndAText) {
  const std::string partial = std::string("\x08\x03\x12\x03") + "old";
  const auto some = read_grpc_answer(bytes_message(std::string("\x0a\x07") + partial));
  EXPECT_EQ(some.type, kind::delivered);
  EXPECT_EQ(some.rejected, 3U);
  EXPECT_EQ(some.reason, "old");
  // Minus one, as ten bytes.
  const auto negative =
      read_grpc_answer(bytes_message(std::string("\x0a\x0b\x08") + std::string(9, '\xff') + '\x01'));
  EXPECT_EQ(negative.rejected, 0U);
  for (const char* any : {"", "not protobuf at all", "\x0a\xff", "\x0a\x05\x08"})
    EXPECT_EQ(read_grpc_answer(bytes_message(std::string(any))).type, kind::delivered);
}

TEST(otlp_endpoint, AUrlIsATargetAndAPath) {
  const auto parts = [](std::string_view url, otlp_protocol p = otlp_protocol::http_protobuf) {
    return parse_endpoint(url, p);
  };
  using security = endpoint_parts::security;
  const auto http = parts("http://collector:4318/v1/metrics?tenant=7#x");
  ASSERT_TRUE(http.ok());
  EXPECT_EQ(http->target, "dns:///collector:4318");
  EXPECT_EQ(http->path, "/v1/metrics?tenant=7");
  EXPECT_EQ(http->secured, security::plaintext);
  EXPECT_EQ(parts("HTTPS://collector")->target, "dns:///collector:443");
  EXPECT_EQ(parts("https://collector")->secured, security::tls);
  EXPECT_EQ(parts("http://collector")->path, "/");
  EXPECT_EQ(parts("http://[::1]/x")->target, "dns:///[::1]:80");
  EXPECT_EQ(parts("http://[::1]:5")->target, "dns:///[::1]:5");
  EXPECT_EQ(parts("http://collector", otlp_protocol::grpc)->target, "dns:///collector:4317");
  EXPECT_EQ(parts("unix:/run/collector", otlp_protocol::grpc)->target, "unix:/run/collector");
  EXPECT_EQ(parts("unix:/run/collector", otlp_protocol::grpc)->secured, security::as_credentials);
  for (const char* bad :
       {"", "collector:4318", "ftp://collector", "http://", "http:///x", "http://me:pw@collector"})
    EXPECT_EQ(parts(bad).status().code(), status_code::invalid_argument) << bad;
}

}  // namespace
}  // namespace coracle::telemetry_internal::otlp_answer_test
