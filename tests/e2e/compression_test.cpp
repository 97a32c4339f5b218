// Compressed messages: negotiated in both directions, separately for each direction, call and message.
#include "support/echo_fixture.hpp"

#include "coracle/compress/compression.hpp"

#include <vector>

namespace coracle::testing_support {
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
  status how;
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
  static task<answer> say(echo_stub s, std::string what, call_options options) {
    const echo::Text request = text(std::move(what));
    auto call = s.Say(request, options);
    auto reply = co_await call;
    answer a;
    a.how = reply.status();
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
    const answer a =
        run(say(stub(), long_text, call_options().compression(e).metadata("x-reply", name_of(e))));
    ASSERT_EQ(a.how, status()) << name_of(e);
    EXPECT_EQ(a.reply.text(), long_text);
    EXPECT_TRUE(a.reply.count()) << "the request, as " << name_of(e);
    EXPECT_TRUE(a.compressed) << "the reply, as " << name_of(e);
  }
}

TEST_P(packing, TheTwoDirectionsHaveEncodingsOfTheirOwn) {
  const answer up = run(say(stub(), long_text, call_options().compression(encoding::gzip)));
  EXPECT_TRUE(up.reply.count());
  EXPECT_FALSE(up.compressed) << "a server compresses what it was told to, and mirrors nothing";
  const answer down = run(say(stub(), long_text, call_options().metadata("x-reply", "zstd")));
  EXPECT_FALSE(down.reply.count());
  EXPECT_TRUE(down.compressed);
  const answer both =
      run(say(stub(), long_text, call_options().compression(encoding::deflate).metadata("x-reply", "gzip")));
  EXPECT_TRUE(both.reply.count());
  EXPECT_TRUE(both.compressed);
}

TEST_P(packing, AServersOwnChoiceHoldsUnlessAHandlerSaysOtherwise) {
  serve(server_options().compression(encoding::gzip));
  EXPECT_TRUE(run(say(stub(), long_text, {})).compressed);
  EXPECT_FALSE(run(say(stub(), long_text, call_options().metadata("x-reply", "identity"))).compressed);
}

TEST_P(packing, AChannelsChoiceHoldsUnlessACallSaysOtherwise) {
  channel_.emplace(rt(), address_, insecure(),
                   channel_options().calls(call_options().compression(encoding::zstd)));
  EXPECT_TRUE(run(say(stub(), long_text, {})).reply.count());
  EXPECT_FALSE(run(say(stub(), long_text, call_options().compression(encoding::identity))).reply.count());
}

TEST_P(packing, SmallMessagesGoAsTheyAre) {
  const auto sent = [&](std::size_t n, compression how) {
    return run(say(stub(), std::string(n, 'x'), call_options().compression(how))).reply.count() != 0;
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
      auto call = s.Repeat(request, call_options().compression(encoding::zstd));
      for (const bool compressed : {true, false, true}) {
        const auto one = (co_await call.next()).value();
        EXPECT_EQ(one->text(), long_text);
        EXPECT_TRUE(one->count()) << "the request";
        EXPECT_EQ(call.read_compressed(), compressed);
      }
      EXPECT_FALSE((co_await call.next()).value().has_value());
    }
    static task<> requests(echo_stub s) {
      auto call = s.Chat(call_options().compression(encoding::gzip));
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
  serve(server_options().max_receive_bytes(100'000));
  EXPECT_EQ(run(say(stub(), bomb, call_options().compression(encoding::gzip))).how.code(),
            status_code::resource_exhausted);
  serve(server_options().max_receive_bytes(16 << 20));
  const call_options small =
      call_options().compression(encoding::gzip).metadata("x-reply", "gzip").max_receive_bytes(100'000);
  EXPECT_EQ(run(say(stub(), bomb, small)).how.code(), status_code::resource_exhausted);
}

TEST_P(packing, AServerRefusesAnEncodingThatItDoesNotAccept) {
  serve(server_options().accepted_encodings({encoding::gzip}));
  EXPECT_EQ(run(say(stub(), long_text, call_options().compression(encoding::gzip))).how, status());
  const answer refused = run(say(stub(), long_text, call_options().compression(encoding::zstd)));
  EXPECT_EQ(refused.how.code(), status_code::unimplemented);
  serve(server_options().accepted_encodings({}));
  EXPECT_EQ(run(say(stub(), long_text, call_options().compression(encoding::gzip))).how.code(),
            status_code::unimplemented);
  EXPECT_EQ(run(say(stub(), long_text, {})).how, status()) << "plain messages are always accepted";
}

TEST_P(packing, AServerCompressesOnlyAsItsClientAccepts) {
  serve(server_options().compression(encoding::gzip));
  EXPECT_TRUE(run(say(stub(), long_text, {})).compressed);
  EXPECT_FALSE(run(say(stub(), long_text, call_options().accepted_encodings({encoding::zstd}))).compressed);
  channel_.emplace(rt(), address_, insecure(), channel_options().accepted_encodings({}));
  EXPECT_FALSE(run(say(stub(), long_text, {})).compressed);
  EXPECT_TRUE(run(say(stub(), long_text, call_options().accepted_encodings({encoding::gzip}))).compressed)
      << "a call's own set holds";
}

TEST_P(packing, OtherCodecsAreCompressedToo) {
  serve(server_options().codec(json_codec()).compression(encoding::gzip));
  const answer a =
      run(say(stub(), long_text, call_options().codec(json_codec()).compression(encoding::gzip)));
  ASSERT_EQ(a.how, status());
  EXPECT_TRUE(a.reply.count());
  EXPECT_TRUE(a.compressed);
}

}  // namespace
}  // namespace coracle::testing_support
