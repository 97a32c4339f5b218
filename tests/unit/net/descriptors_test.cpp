// A process without descriptors: connections fail in words, those that wait are accepted later.
#include "coracle/net/stream.hpp"

#include "support/every_backend.hpp"
#include "support/limited_process.hpp"
#include "unit/net/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>

namespace coracle::net {
namespace {

using testing::HasSubstr;

class Descriptors : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Descriptors, testing_support::kernel_kinds, Descriptors::case_name);

// The process has no descriptor to give while one lives.
class no_descriptors {
 public:
  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    testing_support::limit_descriptors(0);
  }
  ~no_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

 private:
  rlimit before_{};
};

task<> connect_without() {
  listener waiting = listener::open(address::loopback_v4(0)).value();
  {
    const no_descriptors here;
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
}  // namespace coracle::net
