// Which options a call inherits from the defaults of its channel.
#include "coracle/client/call_options.hpp"

#include <gtest/gtest.h>

namespace coracle {
namespace {

TEST(CallOptions, TakeTheFormOfMessagesFromTheDefaultsAsAWhole) {
  call_options silent;
  silent.inherit(call_options().codec(json_codec()));
  EXPECT_EQ(silent.codec(), &json_codec());
  call_options bytes;
  bytes.inherit(call_options().content_subtype("thrift"));
  EXPECT_EQ(bytes.content_subtype(), "thrift");
}

TEST(CallOptions, KeepAContentSubtypeOfTheirOwnBesideADefaultCodec) {
  call_options own = call_options().content_subtype("thrift");
  own.inherit(call_options().codec(json_codec()));
  EXPECT_EQ(own.codec(), nullptr);
  EXPECT_EQ(own.content_subtype(), "thrift");
}

}  // namespace
}  // namespace coracle
