// Compressed messages: negotiated in both directions, separately for each direction, call and message.
#include "support/echo_fixture.hpp"

#include "coracle/compress/compression.hpp"

#include <vector>

namespace coracle::testing_support::compression_test {
namespace {

// Stores in `count` whether the request was compressed; replies in the encoding that x-reply names.
class packing_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    echo::Text reply = request;
    reply.set_count(context.read_compressed());
    if (const auto name = context.metadata().find("x-reply")) context.compression(*encoding_named(*name));
    co_return reply;
  }
  // The second of three is sent uncompressed.
  replies<echo::Text> Repeat(server_context& context, const echo::Text& request) override {
    echo::Text reply = request;
    reply.set_count(context.read_compressed());
    context.compression(encoding::gzip);
    auto writer = co_await replies<echo::Text>::writer();
    co_await writer.write(reply);
    co_await writer.write(reply, uncompressed());
    co_yield reply;
    co_return status();
  }
  replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
    echo::Text one;
    while (co_await texts.read(one)) {
      one.set_count(context.read_compressed());
      co_yield one;
    }
    co_return status();
  }
};

std::vector<encoding> encodings_here() {
  std::vector<encoding> all;
  for (std::size_t i = 1; i < encoding_count; ++i)
    if (available(static_cast<encoding>(i))) all.push_back(static_cast<encoding>(i));
  return all;
}

struct answer {
  status outcome;
  echo::Text reply;
  bool compressed = false;
};

class packing : public echo_fixture {
 protected:
  void SetUp() override {
    echo_fixture::SetUp();
    if (world_.get()) serve({});
  }
  void TearDown() override {
    channel_.reset();
    server_.reset();
  }
  void serve(const server_options& options) {
    channel_.reset();
    server_.emplace(rt(), options);
    server_->add(packing_);
    link();
  }
  static task<answer> say(echo_stub s, std::string content, call_options options) {
    const echo::Text request = text(std::move(content));
    auto call = s.Say(request, options);
    auto reply = co_await call;
    answer a;
    a.outcome = reply.status();
    a.compressed = call.read_compressed();
    if (reply) a.reply = *std::move(reply);
    co_return a;
  }
  packing_service packing_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, packing, every_world_over_tcp, echo_fixture::case_name);

const std::string long_text(5000, 'x');

TEST_P(packing, EveryEncodingIsUnderstoodBothWays) {
  for (const encoding e : encodings_here()) {
    call_options compressed;
    compressed.compression = e;
    compressed.add_metadata("x-reply", name_of(e));
    const answer a = run(say(stub(), long_text, compressed));
    ASSERT_EQ(a.outcome, status()) << name_of(e);
    EXPECT_EQ(a.reply.text(), long_text);
    EXPECT_TRUE(a.reply.count()) << "the request, as " << name_of(e);
    EXPECT_TRUE(a.compressed) << "the reply, as " << name_of(e);
  }
}

TEST_P(packing, TheTwoDirectionsHaveEncodingsOfTheirOwn) {
  call_options compressed;
  compressed.compression = encoding::gzip;
  const answer up = run(say(stub(), long_text, compressed));
  EXPECT_TRUE(up.reply.count());
  EXPECT_FALSE(up.compressed) << "a server compresses what it was told to, and mirrors nothing";
  const answer down = run(say(stub(), long_text, call_options().add_metadata("x-reply", "zstd")));
  EXPECT_FALSE(down.reply.count());
  EXPECT_TRUE(down.compressed);
  call_options compressed_2;
  compressed_2.compression = encoding::deflate;
  compressed_2.add_metadata("x-reply", "gzip");
  const answer both = run(say(stub(), long_text, compressed_2));
  EXPECT_TRUE(both.reply.count());
  EXPECT_TRUE(both.compressed);
}

TEST_P(packing, AServersOwnChoiceHoldsUnlessAHandlerSaysOtherwise) {
  server_options options;
  options.compression = encoding::gzip;
  serve(options);
  EXPECT_TRUE(run(say(stub(), long_text, {})).compressed);
  EXPECT_FALSE(run(say(stub(), long_text, call_options().add_metadata("x-reply", "identity"))).compressed);
}

TEST_P(packing, AChannelsChoiceHoldsUnlessACallSaysOtherwise) {
  channel_options options;
  options.calls.compression = encoding::zstd;
  channel_.emplace(rt(), address_, insecure(), options);
  EXPECT_TRUE(run(say(stub(), long_text, {})).reply.count());
  call_options compressed;
  compressed.compression = encoding::identity;
  EXPECT_FALSE(run(say(stub(), long_text, compressed)).reply.count());
}

TEST_P(packing, SmallMessagesGoAsTheyAre) {
  const auto sent = [&](std::size_t n, compression encoding_used) {
    call_options compressed;
    compressed.compression = encoding_used;
    return run(say(stub(), std::string(n, 'x'), compressed)).reply.count() != 0;
  };
  EXPECT_FALSE(sent(1000, encoding::gzip));
  EXPECT_TRUE(sent(1024, encoding::gzip));
  EXPECT_TRUE(sent(100, compression(encoding::gzip).min_bytes(100)));
  EXPECT_FALSE(sent(3, compression(encoding::gzip).min_bytes(0))) << "it would not get smaller";
}

TEST_P(packing, AStreamMayLeaveMessagesOut) {
  struct program {
    static task<> replies(echo_stub s) {
      const echo::Text request = text(long_text);
      call_options compressed_2;
      compressed_2.compression = encoding::zstd;
      auto call = s.Repeat(request, compressed_2);
      for (const bool compressed : {true, false, true}) {
        const auto one = (co_await call.next()).value();
        EXPECT_EQ(one->text(), long_text);
        EXPECT_TRUE(one->count()) << "the request";
        EXPECT_EQ(call.read_compressed(), compressed);
      }
      EXPECT_FALSE((co_await call.next()).value().has_value());
    }
    static task<> requests(echo_stub s) {
      call_options compressed_3;
      compressed_3.compression = encoding::gzip;
      auto call = s.Chat(compressed_3);
      const echo::Text request = text(long_text);
      for (const bool compressed : {true, false, true}) {
        if (compressed) (co_await call.write(request)).throw_if_error();
        else (co_await call.write(request, uncompressed())).throw_if_error();
        const auto one = (co_await call.next()).value();
        EXPECT_EQ(one->text(), long_text);
        EXPECT_EQ(one->count() != 0, compressed);
      }
      EXPECT_EQ(co_await call.finish(), status());
    }
  };
  run(program::replies(stub()));
  run(program::requests(stub()));
}

TEST_P(packing, ABombStopsAtTheLimitOfWhoeverReceivesIt) {
  const std::string bomb(8 << 20, '\0');
  server_options options;
  options.max_receive_bytes = 100'000;
  serve(options);
  call_options compressed;
  compressed.compression = encoding::gzip;
  EXPECT_EQ(run(say(stub(), bomb, compressed)).outcome.code(), status_code::resource_exhausted);
  server_options options_2;
  options_2.max_receive_bytes = 16 << 20;
  serve(options_2);
  call_options small;
  small.compression = encoding::gzip;
  small.add_metadata("x-reply", "gzip");
  small.max_receive_bytes = 100'000;
  EXPECT_EQ(run(say(stub(), bomb, small)).outcome.code(), status_code::resource_exhausted);
}

TEST_P(packing, AServerRefusesAnEncodingThatItDoesNotAccept) {
  server_options options;
  options.accepted_encodings = {encoding::gzip};
  serve(options);
  call_options compressed;
  compressed.compression = encoding::gzip;
  EXPECT_EQ(run(say(stub(), long_text, compressed)).outcome, status());
  call_options compressed_2;
  compressed_2.compression = encoding::zstd;
  const answer refused = run(say(stub(), long_text, compressed_2));
  EXPECT_EQ(refused.outcome.code(), status_code::unimplemented);
  server_options options_2;
  options_2.accepted_encodings = {};
  serve(options_2);
  call_options compressed_3;
  compressed_3.compression = encoding::gzip;
  EXPECT_EQ(run(say(stub(), long_text, compressed_3)).outcome.code(), status_code::unimplemented);
  EXPECT_EQ(run(say(stub(), long_text, {})).outcome, status()) << "plain messages are always accepted";
}

TEST_P(packing, AServerCompressesOnlyAsItsClientAccepts) {
  server_options options;
  options.compression = encoding::gzip;
  serve(options);
  EXPECT_TRUE(run(say(stub(), long_text, {})).compressed);
  call_options accepting;
  accepting.accepted_encodings = {encoding::zstd};
  EXPECT_FALSE(run(say(stub(), long_text, accepting)).compressed);
  channel_options options_2;
  options_2.calls.accepted_encodings = encoding_set();
  channel_.emplace(rt(), address_, insecure(), options_2);
  EXPECT_FALSE(run(say(stub(), long_text, {})).compressed);
  call_options accepting_2;
  accepting_2.accepted_encodings = {encoding::gzip};
  EXPECT_TRUE(run(say(stub(), long_text, accepting_2)).compressed) << "a call's own set holds";
}

TEST_P(packing, OtherCodecsAreCompressedToo) {
  server_options options;
  options.codecs.push_back(&json_codec());
  options.compression = encoding::gzip;
  serve(options);
  call_options with_codec;
  with_codec.codec = &json_codec();
  with_codec.compression = encoding::gzip;
  const answer a = run(say(stub(), long_text, with_codec));
  ASSERT_EQ(a.outcome, status());
  EXPECT_TRUE(a.reply.count());
  EXPECT_TRUE(a.compressed);
}

}  // namespace
}  // namespace coracle::testing_support::compression_test
