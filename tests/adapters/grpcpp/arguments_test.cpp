// Arguments of channels and servers of grpc++'s API, as options of Coracle.
#include "adapters/grpcpp/src/values/arguments.hpp"

#include <grpcpp/grpcpp.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <string>

namespace coracle::testing_support::arguments_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int never = std::numeric_limits<int>::max();
constexpr int without_gzip = (1 << GRPC_COMPRESS_NONE) | (1 << GRPC_COMPRESS_DEFLATE);

template <class Options>
struct argument_case {
  const char* name;
  int value;
  std::function<bool(const Options&)> has_arrived;
};

using of_channel = argument_case<channel_options>;

TEST(GrpcppArguments, OfChannelsArrive) {
  const of_channel cases[] = {
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 7, [](auto& o) { return o.calls.max_receive_bytes == 7; }},
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1,
       [](auto& o) { return o.calls.max_receive_bytes == std::numeric_limits<std::uint32_t>::max(); }},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, 7, [](auto& o) { return o.calls.max_send_bytes == 7; }},
      {GRPC_ARG_KEEPALIVE_TIME_MS, 7000, [](auto& o) { return o.keepalive.time == 7s; }},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 7000, [](auto& o) { return o.keepalive.timeout == 7s; }},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, never, [](auto& o) { return o.keepalive.timeout == duration::max(); }},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1, [](auto& o) { return o.keepalive.without_calls; }},
      {GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, 7000, [](auto& o) { return o.idle_timeout == 7s; }},
      {GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, never, [](auto& o) { return o.idle_timeout == duration::max(); }},
      {GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 7000, [](auto& o) { return o.resolve_pause == 7s; }},
      {GRPC_ARG_ENABLE_RETRIES, 0, [](auto& o) { return !o.retries; }},
      {GRPC_ARG_ENABLE_HTTP_PROXY, 0, [](auto& o) { return o.proxy == ""; }},
      {GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM, GRPC_COMPRESS_GZIP,
       [](auto& o) { return o.calls.compression && o.calls.compression->algorithm() == encoding::gzip; }},
      {GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, without_gzip,
       [](auto& o) {
         return o.calls.accepted_encodings && !o.calls.accepted_encodings->has(encoding::gzip);
       }},
  };
  for (const of_channel& c : cases) {
    SCOPED_TRACE(std::string(c.name) + "=" + std::to_string(c.value));
    EXPECT_FALSE(c.has_arrived(grpc::internal::channel_settings(grpc::ChannelArguments()).options));
    grpc::ChannelArguments arguments;
    arguments.SetInt(c.name, c.value);
    EXPECT_TRUE(c.has_arrived(grpc::internal::channel_settings(arguments).options));
  }
}

TEST(GrpcppArguments, TextsOfChannelsArrive) {
  grpc::ChannelArguments arguments;
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "a.example");
  arguments.SetString(GRPC_ARG_HTTP_PROXY, "http://proxy.example:1");
  arguments.SetSslTargetNameOverride("b.example");
  const grpc::internal::channel_settings seen(arguments);
  EXPECT_EQ(seen.options.authority, "a.example");
  EXPECT_EQ(seen.options.proxy, "http://proxy.example:1");
  EXPECT_EQ(seen.tls_target_name, "b.example");
  EXPECT_TRUE(seen.invalid.ok());
  arguments.SetServiceConfigJSON("{");
  EXPECT_FALSE(grpc::internal::channel_settings(arguments).invalid.ok());
}

using of_server = argument_case<server_options>;

TEST(GrpcppArguments, OfServersArrive) {
  const of_server cases[] = {
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 7, [](auto& o) { return o.max_receive_bytes == 7; }},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, 7, [](auto& o) { return o.max_send_bytes == 7; }},
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, 7, [](auto& o) { return o.limits.streams == 7; }},
      {GRPC_ARG_MAX_METADATA_SIZE, 7, [](auto& o) { return o.limits.header_list_bytes == 7; }},
      {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 7000, [](auto& o) { return o.limits.handshake_time == 7s; }},
      {GRPC_ARG_KEEPALIVE_TIME_MS, 7000, [](auto& o) { return o.keepalive.time == 7s; }},
      {GRPC_ARG_KEEPALIVE_TIME_MS, never, [](auto& o) { return o.keepalive.time == duration::max(); }},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 7000, [](auto& o) { return o.keepalive.timeout == 7s; }},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1, [](auto& o) { return o.client_pings.without_calls; }},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 7000,
       [](auto& o) { return o.client_pings.min_interval == 7s; }},
      {GRPC_ARG_MAX_CONNECTION_IDLE_MS, 7000, [](auto& o) { return o.max_connection_idle == 7s; }},
      {GRPC_ARG_MAX_CONNECTION_AGE_MS, 7000, [](auto& o) { return o.max_connection_age.max == 7s; }},
      {GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 7000, [](auto& o) { return o.max_connection_age.grace == 7s; }},
      {GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM, GRPC_COMPRESS_GZIP,
       [](auto& o) { return o.compression.algorithm() == encoding::gzip; }},
      {GRPC_COMPRESSION_CHANNEL_DEFAULT_LEVEL, GRPC_COMPRESS_LEVEL_HIGH,
       [](auto& o) { return o.compression.algorithm() == encoding::gzip; }},
      {GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, without_gzip,
       [](auto& o) { return !o.accepted_encodings.has(encoding::gzip); }},
  };
  for (const of_server& c : cases) {
    SCOPED_TRACE(std::string(c.name) + "=" + std::to_string(c.value));
    server_options options;
    EXPECT_FALSE(c.has_arrived(options));
    grpc::ChannelArguments arguments;
    arguments.SetInt(c.name, c.value);
    grpc::internal::apply(arguments, options);
    EXPECT_TRUE(c.has_arrived(options));
  }
}

TEST(GrpcppArguments, WithoutAnEffectAreNamedOnceInTheLog) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("a.program's.own", 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 7000);
  arguments.SetLoadBalancingPolicyName("a policy of the program");
  ::testing::internal::CaptureStderr();
  const grpc::internal::channel_settings first(arguments);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("the argument a.program's.own has no effect here"));
  EXPECT_THAT(said, HasSubstr("=a policy of the program names a policy that does not exist here"));
  EXPECT_THAT(said, Not(HasSubstr(GRPC_ARG_KEEPALIVE_TIME_MS)));
  ::testing::internal::CaptureStderr();
  const grpc::internal::channel_settings second(arguments);
  server_options options;
  arguments = grpc::ChannelArguments();
  arguments.SetInt("a.program's.own", 1);
  grpc::internal::apply(arguments, options);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace coracle::testing_support::arguments_test
