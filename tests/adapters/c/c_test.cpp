// The cases of cases.c, and calls between the C interface and a libcoracle of the program's own.
#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include "cases.h"
#include "echo.coracle.hpp"
#include "support/certificates.hpp"
#include "support/echo_service.hpp"

#include <coracle.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <vector>

namespace coracle::testing_support::c_test {
namespace {

class c : public ::testing::TestWithParam<const test_case*> {
 protected:
  static void SetUpTestSuite() {
    const std::string ca = certificates::made().path("ca.pem");
    ASSERT_EQ(::setenv("CORACLE_CASE_CERTIFICATES", ca.substr(0, ca.rfind('/')).c_str(), 1), 0);
    ASSERT_NE(start_case_server(), 0) << coracle_last_error();
  }
  static void TearDownTestSuite() { stop_case_server(); }
};

std::vector<const test_case*> all_cases() {
  std::vector<const test_case*> all;
  for (const test_case* one = test_cases; one->name; ++one) all.push_back(one);
  return all;
}
INSTANTIATE_TEST_SUITE_P(From, c, ::testing::ValuesIn(all_cases()),
                         [](const auto& one) { return std::string(one.param->name); });

TEST_P(c, PassesItsChecks) {
  const char* const wrong = run_test_case(GetParam());
  EXPECT_EQ(wrong, nullptr) << wrong;
}

TEST(c_beside_cpp, CallsAServerOfTheProgram) {
  echo_service service;
  server serves;
  serves.add(service);
  ASSERT_EQ(serves.listen("127.0.0.1:0", insecure()), status());
  serves.start();
  echo::Text text;
  text.set_text("hello");
  text.set_count(3);
  const std::string bytes = text.SerializeAsString();
  const char* const wrong =
      call_echo(("127.0.0.1:" + std::to_string(serves.port())).c_str(), bytes.data(), bytes.size());
  EXPECT_EQ(wrong, nullptr) << wrong;
}

TEST(c_beside_cpp, AnswersAChannelOfTheProgram) {
  const int port = start_case_server();
  ASSERT_NE(port, 0) << coracle_last_error();
  {
    const channel to("127.0.0.1:" + std::to_string(port), insecure());
    const generic_stub any(to);
    const auto reply = sync_wait(any.unary("/t.Echo/Later", bytes_message(std::string("bytes"))));
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (reply) {
      EXPECT_EQ(reply->bytes(), "bytes");
    }
    const auto failed = sync_wait(any.unary("/t.Echo/Fail", bytes_message()));
    EXPECT_EQ(failed.status().code(), status_code::not_found);
    EXPECT_EQ(failed.status().details(), "\x08\x05");
  }
  stop_case_server();
}

}  // namespace
}  // namespace coracle::testing_support::c_test
