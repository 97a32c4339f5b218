// The cases of cases.c, and calls between the C interface and a libcoracle of the program's own.
#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include "cases.h"
#include "echo.coracle.hpp"
#include "support/certificates.hpp"
#include "support/echo_service.hpp"

#include <coracle.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::testing_support::c_test {
namespace {

using ::testing::HasSubstr;

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

// Programs in C++ may pass callbacks that throw: the exception ends the call, as one of a handler does.
class throwing_callbacks : public ::testing::Test {
 protected:
  void SetUp() override {
    const coracle_completion calls = completion_of(&fails);
    ASSERT_EQ(coracle_server_create(0, nullptr, 0, &server_), CORACLE_OK);
    ASSERT_EQ(coracle_server_method(server_, "/t.Fails/Unary", CORACLE_METHOD_UNARY, &calls), CORACLE_OK);
    const coracle_completion chats = completion_of(&reads);
    ASSERT_EQ(coracle_server_method(server_, "/t.Fails/Stream", CORACLE_METHOD_STREAM, &chats), CORACLE_OK);
    std::uint16_t port = 0;
    ASSERT_EQ(coracle_server_listen(server_, "127.0.0.1:0", &plain, 1, &port), CORACLE_OK)
        << coracle_last_error();
    const std::string address = "127.0.0.1:" + std::to_string(port);
    ASSERT_EQ(coracle_channel_create(0, address.c_str(), &plain, 1, &channel_), CORACLE_OK);
    ::testing::internal::CaptureStderr();  // the log
  }
  void TearDown() override {
    EXPECT_EQ(coracle_channel_destroy(channel_), CORACLE_OK);
    EXPECT_EQ(coracle_server_destroy(server_), CORACLE_OK);
    coracle_shutdown();
  }
  static std::string log() { return ::testing::internal::GetCapturedStderr(); }
  // The status of a stream to which one message was written.
  int chat(const char* path) {
    coracle_call call = 0;
    coracle_event end{};
    EXPECT_EQ(coracle_stream(channel_, path, nullptr, &call), CORACLE_OK);
    EXPECT_EQ(coracle_write(call, "x", 1, 0, nullptr), CORACLE_OK);
    EXPECT_EQ(coracle_read_wait(call, &end), CORACLE_OK);
    const int status = end.status;
    coracle_event_release(&end);
    EXPECT_EQ(coracle_call_release(call), CORACLE_OK);
    return status;
  }
  static coracle_completion completion_of(coracle_callback callback) {
    coracle_completion to{};
    to.size = sizeof to;
    to.callback = callback;
    return to;
  }
  [[noreturn]] static void fails(const coracle_event*, void*) { throw std::runtime_error("no such row"); }
  static void reads(const coracle_event* request, void*) {
    const coracle_completion then = completion_of(&fails);
    EXPECT_EQ(coracle_read(request->call, 1, &then), CORACLE_OK);
  }
  static constexpr coracle_option plain{"credentials", "insecure"};
  coracle_server server_ = 0;
  coracle_channel channel_ = 0;
};

TEST_F(throwing_callbacks, OfAServerEndTheCallWithUnknown) {
  coracle_event end{};
  ASSERT_EQ(coracle_unary_wait(channel_, "/t.Fails/Unary", nullptr, 0, nullptr, &end), CORACLE_OK);
  EXPECT_EQ(end.status, 2);
  EXPECT_EQ(std::string(end.status_text, end.status_text_size), "the handler failed");
  coracle_event_release(&end);
  EXPECT_EQ(chat("/t.Fails/Stream"), 2);
  const std::string lines = log();
  EXPECT_THAT(lines, HasSubstr("the callback of /t.Fails/Unary threw std::runtime_error: no such row"));
  EXPECT_THAT(lines, HasSubstr("the callback of /t.Fails/Stream threw std::runtime_error: no such row"));
}

TEST_F(throwing_callbacks, OfAClientCancelItsStreamAndLeaveOtherCalls) {
  const coracle_completion then = completion_of(&fails);
  coracle_call call = 0;
  coracle_event end{};
  ASSERT_EQ(coracle_stream(channel_, "/t.Fails/Nowhere", nullptr, &call), CORACLE_OK);
  ASSERT_EQ(coracle_write(call, "x", 1, 0, &then), CORACLE_OK);
  ASSERT_EQ(coracle_finish_wait(call, &end), CORACLE_OK);
  EXPECT_NE(end.status, 0);
  coracle_event_release(&end);
  EXPECT_EQ(coracle_call_release(call), CORACLE_OK);
  // A unary call has ended when its callback runs.
  ASSERT_EQ(coracle_unary(channel_, "/t.Fails/Missing", nullptr, 0, nullptr, &then, nullptr), CORACLE_OK);
  ASSERT_EQ(coracle_unary_wait(channel_, "/t.Fails/Unary", nullptr, 0, nullptr, &end), CORACLE_OK);
  coracle_event_release(&end);  // the loop has called the callback before
  const std::string lines = log();
  EXPECT_THAT(lines, HasSubstr("the callback of /t.Fails/Nowhere threw std::runtime_error"));
  EXPECT_THAT(lines, HasSubstr("the callback of /t.Fails/Missing threw std::runtime_error"));
}

}  // namespace
}  // namespace coracle::testing_support::c_test
