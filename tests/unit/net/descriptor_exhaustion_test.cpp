// A process without descriptors: connecting fails with a clear message, and waiting connections are accepted
// later.
#include "coracle/net/stream.hpp"

#include "support/every_backend.hpp"
#include "support/limited_process.hpp"
#include "unit/net/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

namespace coracle::net::descriptor_exhaustion_test {
namespace {

using testing::HasSubstr;

class Descriptors : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Descriptors, testing_support::kernel_kinds, Descriptors::case_name);

task<> connect_without() {
  listener waiting = listener::open(address::loopback_v4(0)).value();
  {
    const testing_support::descriptor_limit none(0);
    const result<stream> refused = co_await stream::connect(waiting.local_address());
    EXPECT_EQ(refused.status().code(), status_code::resource_exhausted) << refused.status();
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("too many open files"));
    const result<listener> another = listener::open(address::loopback_v4(0));
    EXPECT_EQ(another.status().code(), status_code::resource_exhausted) << another.status();
  }
  const result<stream> made = co_await stream::connect(waiting.local_address());
  EXPECT_TRUE(made.ok());
  co_await waiting.close();
}

TEST_P(Descriptors, WithoutThemConnectAndListenFailInWords) { run(connect_without()); }

}  // namespace
}  // namespace coracle::net::descriptor_exhaustion_test
