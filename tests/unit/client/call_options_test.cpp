// Which options a call inherits from the defaults of its channel.
#include "coracle/client/call_options.hpp"

#include <gtest/gtest.h>

namespace coracle::call_options_test {
namespace {

TEST(CallOptions, TakeTheFormOfMessagesFromTheDefaultsAsAWhole) {
  call_options silent;
  call_options with_codec;
  with_codec.codec = &json_codec();
  silent.inherit(with_codec);
  EXPECT_EQ(silent.codec, &json_codec());
  call_options bytes;
  call_options with_subtype;
  with_subtype.content_subtype = "thrift";
  bytes.inherit(with_subtype);
  EXPECT_EQ(bytes.content_subtype, "thrift");
}

TEST(CallOptions, KeepAContentSubtypeOfTheirOwnBesideADefaultCodec) {
  call_options own;
  own.content_subtype = "thrift";
  call_options with_codec;
  with_codec.codec = &json_codec();
  own.inherit(with_codec);
  EXPECT_EQ(own.codec, nullptr);
  EXPECT_EQ(own.content_subtype, "thrift");
}

}  // namespace
}  // namespace coracle::call_options_test
